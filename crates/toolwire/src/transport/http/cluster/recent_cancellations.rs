//! The latest cancellations that this node has published.
//!
//! A node that has lost messages of the bus does not know which of its requests were cancelled meanwhile. So it asks the
//! other nodes, which publish these cancellations again. They say how long ago their clients sent them.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;
use toolwire_types::RequestId;

use crate::store::{BusPayload, SessionSignal};

/// How long a cancellation is published again. It is longer than the lease of a response stream: the call of a node that
/// was away for longer has ended.
const RETENTION: Duration = Duration::from_secs(60);

/// The maximum number of these cancellations. Beyond it, the oldest are not published again.
const MAX_CANCELLATIONS: usize = 256;

/// The maximum length of a request id in bytes. The cancellation of a longer one is not published again.
const MAX_ID_BYTES: usize = 1024;

/// The latest cancellations, oldest first.
#[derive(Debug, Default)]
pub(super) struct RecentCancellations(VecDeque<RecentCancellation>);

#[derive(Debug)]
struct RecentCancellation {
    session: String,
    id: RequestId,
    at: Instant,
}

impl RecentCancellations {
    /// Adds a cancellation that a client has sent now.
    pub(super) fn add(&mut self, session: &str, id: &RequestId) {
        self.remove_old();
        if matches!(id, RequestId::String(text) if text.len() > MAX_ID_BYTES) {
            return;
        }
        if self.0.len() >= MAX_CANCELLATIONS {
            self.0.pop_front();
        }
        self.0.push_back(RecentCancellation {
            session: session.to_owned(),
            id: id.clone(),
            at: Instant::now(),
        });
    }

    /// Returns the messages that repeat the cancellations.
    pub(super) fn payloads(&mut self) -> Vec<BusPayload> {
        self.remove_old();
        let repeated = self.0.iter().map(|cancelled| BusPayload::Session {
            session: cancelled.session.clone(),
            signal: SessionSignal::Cancelled {
                id: cancelled.id.clone(),
                age: cancelled.at.elapsed(),
            },
        });
        repeated.collect()
    }

    fn remove_old(&mut self) {
        while self
            .0
            .front()
            .is_some_and(|oldest| oldest.at.elapsed() > RETENTION)
        {
            self.0.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the ids of the repeated cancellations, and how many seconds ago they were sent.
    fn repeated(recent: &mut RecentCancellations) -> Vec<(String, u64)> {
        let payloads = recent.payloads().into_iter();
        let ids = payloads.map(|payload| match payload {
            BusPayload::Session {
                signal: SessionSignal::Cancelled { id, age },
                ..
            } => (id.to_string(), age.as_secs()),
            other => panic!("{other:?}"),
        });
        ids.collect()
    }

    #[tokio::test(start_paused = true)]
    async fn cancellations_are_repeated_with_their_age_for_a_minute() {
        let mut recent = RecentCancellations::default();
        recent.add("session", &1.into());
        tokio::time::advance(RETENTION - Duration::from_secs(1)).await;
        recent.add("session", &2.into());
        let both = [("1".to_owned(), 59), ("2".to_owned(), 0)];
        assert_eq!(repeated(&mut recent), both);
        assert_eq!(repeated(&mut recent), both, "they are not taken");
        tokio::time::advance(Duration::from_millis(1001)).await;
        assert_eq!(repeated(&mut recent), [("2".to_owned(), 1)]);
    }

    #[tokio::test]
    async fn repeated_cancellations_are_limited_in_count_and_bytes() {
        let mut recent = RecentCancellations::default();
        for id in 0..=MAX_CANCELLATIONS {
            recent.add("session", &i64::try_from(id).unwrap().into());
        }
        let ids = repeated(&mut recent);
        assert_eq!(ids.len(), MAX_CANCELLATIONS);
        assert_eq!(ids[0].0, "1", "the oldest is removed");
        let mut recent = RecentCancellations::default();
        recent.add("session", &"x".repeat(MAX_ID_BYTES).into());
        recent.add("session", &"x".repeat(MAX_ID_BYTES + 1).into());
        assert_eq!(repeated(&mut recent).len(), 1);
    }
}
