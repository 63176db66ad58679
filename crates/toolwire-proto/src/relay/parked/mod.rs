//! Calls of modern clients that a legacy upstream runs and that wait for input of the client.
//!
//! A legacy upstream sends its input requests while the call runs. A modern client gets them in an `input_required`
//! result, which ends its request. The relay therefore leaves the call open, "parks" it, until the client sends the next
//! round. [`ParkedCall`] decides what happens with each round. [`ParkedCalls`] has the limits on the number of such
//! calls. All times are durations on one clock of the caller.

mod calls;
#[cfg(test)]
mod tests;

use std::time::Duration;

use toolwire_types::RawJson;

pub use self::calls::{CallId, MAX_PARKED, MAX_PARKED_PER_PRINCIPAL, ParkedCalls, PrincipalDigest};

/// How long a call is parked at most.
pub const PARKED_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// How long the relay waits for further input requests after the first one, to send them together.
pub const COLLECT_WINDOW: Duration = Duration::from_millis(25);

/// How long the final outcome of a call stays available for a round that is repeated.
pub const OUTCOME_RETENTION: Duration = Duration::from_secs(60);

/// The maximum number of input requests of one call that have no response yet.
pub const MAX_OPEN_REQUESTS: usize = 16;

/// An input request of an upstream.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct OpenRequest<I> {
    /// The key in `inputRequests`: `q1`, `q2` and so on.
    pub key: String,
    /// The id of the upstream's request.
    pub id: I,
    /// The method: `elicitation/create`, `sampling/createMessage` or `roots/list`.
    pub method: String,
    /// The parameters of the upstream.
    pub params: Option<RawJson>,
}

/// A call of a modern client that a legacy upstream runs. `I` is the id of an upstream's request, `O` an outcome.
///
/// The first request of the client is round 0. Each state that the relay sends names the next round.
#[derive(Debug, Clone)]
pub struct ParkedCall<I, O> {
    phase: ParkedPhase<O>,
    /// The round that runs, or whose outcome was sent last.
    round: u32,
    open: Vec<OpenRequest<I>>,
    last_key: u32,
    /// The outcome of the previous round, if the upstream ended the call while it was parked.
    previous: Option<O>,
    /// When the first open request arrived that the client has not got in this round.
    collecting_since: Option<Duration>,
}

/// The phase of a parked call.
///
/// ```text
///              input requested, window over
///           ┌───────────────────────────────┐
///           │                               ▼
/// ──► Running ◄────── next round ──────── Parked
///        │                                  │
///        │ upstream responds                │ deadline over, upstream lost, evicted
///        ▼                                  ▼
///      Done ─────── retention over ─────► Expired
/// ```
#[derive(Debug, Clone, PartialEq)]
enum ParkedPhase<O> {
    /// The upstream works on the current round.
    Running,
    /// The client got an `input_required` result, the outcome of the current round.
    Parked { outcome: O, deadline: Duration },
    /// The call ended with this outcome of the current round.
    Done { outcome: O, until: Duration },
    /// The call is not available any more.
    Expired,
}

/// What a relay does with a round of a client.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Round<I, O> {
    /// The round is new. These responses go to the upstream; the requests without a response are asked again.
    Continue(Vec<(I, RawJson)>),
    /// The round runs already. The client gets its outcome, too.
    Join,
    /// The outcome of the round is known. The client gets the same one again.
    Repeat(O),
    /// The call or the round is not available any more.
    Gone,
}

impl<I: Clone, O: Clone> Default for ParkedCall<I, O> {
    fn default() -> Self {
        Self::new()
    }
}

impl<I: Clone, O: Clone> ParkedCall<I, O> {
    /// Creates a call in round 0, which runs.
    #[must_use]
    pub fn new() -> Self {
        Self {
            phase: ParkedPhase::Running,
            round: 0,
            open: Vec::new(),
            last_key: 0,
            previous: None,
            collecting_since: None,
        }
    }

    /// Returns the round that runs, or whose outcome was sent last. The next state names the round after it.
    #[must_use]
    pub fn round(&self) -> u32 {
        self.round
    }

    /// Adds an input request of the upstream. Returns `false` if the call has too many or has ended; the relay rejects
    /// the request then.
    pub fn request_input(
        &mut self,
        id: I,
        method: impl Into<String>,
        params: Option<RawJson>,
        now: Duration,
    ) -> bool {
        let has_ended = matches!(self.phase, ParkedPhase::Done { .. } | ParkedPhase::Expired);
        if has_ended || self.open.len() >= MAX_OPEN_REQUESTS {
            return false;
        }
        self.last_key += 1;
        self.open.push(OpenRequest {
            key: format!("q{}", self.last_key),
            id,
            method: method.into(),
            params,
        });
        self.collecting_since.get_or_insert(now);
        true
    }

    /// Returns when the open requests are sent to the client. Returns `None` while none is open or the client has no
    /// request that waits.
    #[must_use]
    pub fn park_at(&self) -> Option<Duration> {
        if !matches!(self.phase, ParkedPhase::Running) {
            return None;
        }
        Some(self.collecting_since?.saturating_add(COLLECT_WINDOW))
    }

    /// Returns the requests without a response, in the order of their arrival.
    #[must_use]
    pub fn open_requests(&self) -> &[OpenRequest<I>] {
        &self.open
    }

    /// Parks the call: the client gets this `input_required` result for the current round. Returns the deadline for the
    /// next round, or `None` if the call is not running.
    pub fn park(&mut self, outcome: O, now: Duration) -> Option<Duration> {
        if !matches!(self.phase, ParkedPhase::Running) {
            return None;
        }
        let deadline = now.saturating_add(PARKED_TIMEOUT);
        self.phase = ParkedPhase::Parked { outcome, deadline };
        self.collecting_since = None;
        Some(deadline)
    }

    /// Processes a round of the client with its input responses by key. Responses with unknown keys are ignored.
    pub fn receive_round(
        &mut self,
        round: u32,
        responses: &[(String, RawJson)],
        now: Duration,
    ) -> Round<I, O> {
        self.expire(now);
        match &self.phase {
            ParkedPhase::Parked { .. } if self.round.checked_add(1) == Some(round) => {
                self.round = round;
                self.phase = ParkedPhase::Running;
                Round::Continue(self.take_responses(responses, now))
            }
            ParkedPhase::Running if round == self.round => Round::Join,
            ParkedPhase::Parked { outcome, .. } | ParkedPhase::Done { outcome, .. }
                if round == self.round =>
            {
                Round::Repeat(outcome.clone())
            }
            ParkedPhase::Done { .. } if round.checked_add(1) == Some(self.round) => {
                let previous = self.previous.clone();
                previous.map_or(Round::Gone, Round::Repeat)
            }
            _ => Round::Gone,
        }
    }

    /// Ends the call with the response of the upstream, or with the error for a lost upstream. Open requests end, too.
    ///
    /// A parked call gets the outcome in its next round.
    pub fn finish(&mut self, outcome: O, now: Duration) {
        match &self.phase {
            ParkedPhase::Running => {}
            // The client has the outcome of this round. The next round gets the final one.
            ParkedPhase::Parked { outcome, .. } => {
                self.previous = Some(outcome.clone());
                self.round = self.round.saturating_add(1);
            }
            ParkedPhase::Done { .. } | ParkedPhase::Expired => return,
        }
        self.open.clear();
        self.collecting_since = None;
        self.phase = ParkedPhase::Done {
            outcome,
            until: now.saturating_add(OUTCOME_RETENTION),
        };
    }

    /// Ends the call if its deadline is over. Returns `true` if it has ended by now.
    pub fn expire(&mut self, now: Duration) -> bool {
        let has_expired = self.has_expired(now);
        if has_expired {
            self.open.clear();
            self.previous = None;
            self.phase = ParkedPhase::Expired;
        }
        has_expired
    }

    /// Returns when the call expires. Returns `None` while it runs, and after it expired.
    #[must_use]
    pub fn expires_at(&self) -> Option<Duration> {
        match self.phase {
            ParkedPhase::Parked { deadline, .. } => Some(deadline),
            ParkedPhase::Done { until, .. } => Some(until),
            ParkedPhase::Running | ParkedPhase::Expired => None,
        }
    }

    /// Returns `true` if the upstream still works on the call or waits for input, so that it must be cancelled if the
    /// relay drops the call.
    #[must_use]
    pub fn is_open(&self) -> bool {
        matches!(
            self.phase,
            ParkedPhase::Running | ParkedPhase::Parked { .. }
        )
    }

    fn has_expired(&self, now: Duration) -> bool {
        let is_over = self.expires_at().is_some_and(|deadline| now >= deadline);
        is_over || matches!(self.phase, ParkedPhase::Expired)
    }

    fn take_responses(
        &mut self,
        responses: &[(String, RawJson)],
        now: Duration,
    ) -> Vec<(I, RawJson)> {
        let mut taken = Vec::new();
        self.open.retain(|request| {
            let response = responses.iter().find(|(key, _)| *key == request.key);
            if let Some((_, response)) = response {
                taken.push((request.id.clone(), response.clone()));
            }
            response.is_none()
        });
        if !self.open.is_empty() {
            self.collecting_since = Some(now);
        }
        taken
    }
}
