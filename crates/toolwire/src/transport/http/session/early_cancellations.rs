//! Cancellations that reached this node before their request.
//!
//! A client may send a request to one node and its cancellation to another. The bus can be faster than the request. So a
//! cancellation waits a short time for its request, which is then not served.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use tokio::time::Instant;
use toolwire_types::RequestId;

use crate::sync::lock;

/// How long after its cancellation a request may begin. It is longer than the deadline of the session store, which delays
/// a request most.
pub(crate) const REQUEST_DELAY: Duration = Duration::from_secs(3);

/// The maximum number of cancellations that wait. Beyond it, the oldest one of the session with the most is forgotten.
const MAX_CANCELLATIONS: usize = 1024;

/// The maximum length of a request id in bytes. The cancellation of a longer one does not wait.
const MAX_ID_BYTES: usize = 1024;

/// The cancellations that wait for their requests.
#[derive(Debug, Default)]
pub(crate) struct EarlyCancellations {
    waiting: Mutex<VecDeque<EarlyCancellation>>,
    /// Not set if nothing waits, so that a request needs no lock.
    is_used: AtomicBool,
}

#[derive(Debug)]
struct EarlyCancellation {
    session: String,
    id: RequestId,
    until: Instant,
}

impl EarlyCancellations {
    /// Lets a cancellation wait until a time.
    pub(crate) fn add(&self, session: &str, id: &RequestId, until: Instant) {
        if matches!(id, RequestId::String(text) if text.len() > MAX_ID_BYTES) {
            return;
        }
        let mut waiting = self.lock();
        let now = Instant::now();
        waiting.retain(|early| early.until > now);
        if waiting.len() >= MAX_CANCELLATIONS {
            let oldest = oldest_of_largest_session(&waiting);
            oldest.and_then(|oldest| waiting.remove(oldest));
        }
        waiting.push_back(EarlyCancellation {
            session: session.to_owned(),
            id: id.clone(),
            until,
        });
        self.is_used.store(true, Ordering::SeqCst);
    }

    /// Removes the cancellation of a request. Returns `false` if it was not cancelled.
    #[inline]
    pub(crate) fn take(&self, session: &str, id: &RequestId) -> bool {
        self.is_used.load(Ordering::SeqCst) && self.take_waiting(session, id)
    }

    #[cold]
    fn take_waiting(&self, session: &str, id: &RequestId) -> bool {
        let mut waiting = self.lock();
        let now = Instant::now();
        waiting.retain(|early| early.until > now);
        let index = waiting
            .iter()
            .position(|early| early.session == session && early.id == *id);
        let found = index.and_then(|index| waiting.remove(index));
        self.is_used.store(!waiting.is_empty(), Ordering::SeqCst);
        found.is_some()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<EarlyCancellation>> {
        lock(&self.waiting)
    }
}

/// Returns the index of the oldest cancellation of the session with the most. So a client that sends many cancellations does
/// not remove those of others.
fn oldest_of_largest_session(waiting: &VecDeque<EarlyCancellation>) -> Option<usize> {
    let mut sessions: HashMap<&str, (usize, usize)> = HashMap::new();
    for (index, early) in waiting.iter().enumerate() {
        let (count, _oldest) = sessions.entry(&early.session).or_insert((0, index));
        *count += 1;
    }
    let largest = sessions.into_values().max_by_key(|(count, _)| *count);
    largest.map(|(_, oldest)| oldest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn cancellation_waits_for_one_request_of_its_session() {
        let early = EarlyCancellations::default();
        let until = Instant::now() + REQUEST_DELAY;
        early.add("a", &1.into(), until);
        early.add("a", &2.into(), until);
        assert!(!early.take("b", &1.into()));
        assert!(!early.take("a", &"1".into()));
        assert!(early.take("a", &1.into()));
        assert!(!early.take("a", &1.into()), "another request with its id");
        tokio::time::advance(REQUEST_DELAY).await;
        assert!(!early.take("a", &2.into()), "it was too late");
    }

    #[tokio::test]
    async fn many_cancellations_of_one_session_do_not_remove_those_of_others() {
        let early = EarlyCancellations::default();
        let until = Instant::now() + Duration::from_secs(3600);
        early.add("a", &1.into(), until);
        early.add("a", &2.into(), until);
        let ids = 0..2 * i64::try_from(MAX_CANCELLATIONS).unwrap();
        for id in ids.clone() {
            early.add("b", &id.into(), until);
        }
        assert!(early.take("a", &1.into()));
        assert!(early.take("a", &2.into()));
        let waiting = ids.filter(|id| early.take("b", &(*id).into()));
        assert_eq!(waiting.count(), MAX_CANCELLATIONS - 2);
    }

    #[tokio::test]
    async fn waiting_cancellations_are_limited_in_count_and_bytes() {
        let early = EarlyCancellations::default();
        let until = Instant::now() + Duration::from_secs(3600);
        for id in 0..=MAX_CANCELLATIONS {
            early.add("a", &i64::try_from(id).unwrap().into(), until);
        }
        assert!(!early.take("a", &0.into()), "the oldest is forgotten");
        assert!(early.take("a", &1.into()));
        let (longest, too_long) = ("x".repeat(MAX_ID_BYTES), "x".repeat(MAX_ID_BYTES + 1));
        early.add("a", &longest.clone().into(), until);
        early.add("a", &too_long.clone().into(), until);
        assert!(early.take("a", &longest.into()));
        assert!(!early.take("a", &too_long.into()));
    }
}
