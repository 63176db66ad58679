//! The first spans of calls that ask for input, so that the spans of later rounds link to them.
//!
//! A round is found by the digest of the request state that the previous round returned.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;

use opentelemetry::trace::SpanContext;
use sha2::{Digest as _, Sha256};

use crate::sync::lock;

/// The maximum number of calls that wait for their next round. The oldest are removed.
const MAX_CALLS: usize = 1024;

/// A round of a call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Round {
    /// The span of the first round. `None` if it is unknown.
    pub(crate) first: Option<SpanContext>,
    /// 1 for the first round.
    pub(crate) number: i64,
}

impl Round {
    /// Returns a first round.
    pub(crate) fn first() -> Self {
        Self {
            first: None,
            number: 1,
        }
    }
}

type StateDigest = [u8; 32];

/// The calls that wait for their next round.
#[derive(Debug, Default)]
pub(crate) struct FirstRounds {
    waiting: Mutex<WaitingCalls>,
}

#[derive(Debug, Default)]
struct WaitingCalls {
    rounds: HashMap<StateDigest, Round>,
    order: VecDeque<StateDigest>,
}

impl FirstRounds {
    /// Returns the round of a request. `state` is the request state that it repeats.
    pub(crate) fn round(&self, is_retry: bool, state: Option<&str>) -> Round {
        if !is_retry {
            return Round::first();
        }
        let found = state.and_then(|state| {
            let waiting = lock(&self.waiting);
            waiting.rounds.get(&digest(state)).cloned()
        });
        // Without a state, only the fact that there was an earlier round is known.
        found.unwrap_or(Round {
            first: None,
            number: 2,
        })
    }

    /// Stores a round that ended with `input_required` and this request state.
    pub(crate) fn store(&self, round: &Round, span: &SpanContext, state: &str) {
        let next = Round {
            first: Some(round.first.clone().unwrap_or_else(|| span.clone())),
            number: round.number + 1,
        };
        let mut waiting = lock(&self.waiting);
        let digest = digest(state);
        if waiting.rounds.insert(digest, next).is_none() {
            waiting.order.push_back(digest);
        }
        if waiting.order.len() > MAX_CALLS
            && let Some(oldest) = waiting.order.pop_front()
        {
            waiting.rounds.remove(&oldest);
        }
    }
}

fn digest(state: &str) -> StateDigest {
    Sha256::digest(state).into()
}

#[cfg(test)]
mod tests {
    use opentelemetry::trace::{SpanId, TraceFlags, TraceId, TraceState};

    use super::*;

    fn span(number: u8) -> SpanContext {
        SpanContext::new(
            TraceId::from_bytes([1; 16]),
            SpanId::from_bytes([number; 8]),
            TraceFlags::SAMPLED,
            false,
            TraceState::default(),
        )
    }

    #[test]
    fn later_rounds_have_the_span_of_the_first() {
        let rounds = FirstRounds::default();
        assert_eq!(rounds.round(false, Some("a")), Round::first());
        rounds.store(&Round::first(), &span(1), "a");
        let second = rounds.round(true, Some("a"));
        assert_eq!((second.number, &second.first), (2, &Some(span(1))));
        rounds.store(&second, &span(2), "b");
        let third = rounds.round(true, Some("b"));
        assert_eq!((third.number, &third.first), (3, &Some(span(1))));
        let unknown = rounds.round(true, None);
        assert_eq!((unknown.number, &unknown.first), (2, &None));
    }

    #[test]
    fn oldest_call_is_removed_at_the_limit() {
        let rounds = FirstRounds::default();
        for number in 0..=MAX_CALLS {
            rounds.store(&Round::first(), &span(1), &number.to_string());
        }
        assert_eq!(rounds.round(true, Some("0")).first, None);
        assert_eq!(rounds.round(true, Some("1")).first, Some(span(1)));
    }
}
