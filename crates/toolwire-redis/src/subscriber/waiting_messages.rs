//! Messages that wait to be published.
//!
//! While one publication is sent, the messages of other callers wait. The next publication contains all of them, so callers wait
//! for about two round trips, whatever their number.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};

use tokio::sync::oneshot;
use toolwire::store::{BusMessage, StoreError};

use crate::sync::lock;

/// The number of messages in one publication. Further messages are in the next one. One caller may have more.
const MAX_BATCH: usize = 256;

/// The messages of all callers that wait.
#[derive(Debug, Default)]
pub(super) struct WaitingMessages {
    callers: Mutex<VecDeque<Caller>>,
}

#[derive(Debug)]
struct Caller {
    messages: Vec<BusMessage>,
    outcome: oneshot::Sender<Result<(), StoreError>>,
}

/// The outcome of a caller's messages. It closes without an outcome if they may have been sent.
pub(super) type Outcome = oneshot::Receiver<Result<(), StoreError>>;

/// The messages of one publication.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) messages: Vec<BusMessage>,
    callers: Vec<oneshot::Sender<Result<(), StoreError>>>,
}

impl WaitingMessages {
    /// Adds the messages of a caller.
    pub(super) fn add(&self, messages: &[BusMessage]) -> Outcome {
        let (sender, outcome) = oneshot::channel();
        self.lock().push_back(Caller {
            messages: messages.to_vec(),
            outcome: sender,
        });
        outcome
    }

    /// Takes the messages of the callers that have waited longest. Those of a caller that was dropped are not published.
    pub(super) fn take(&self) -> Batch {
        let mut callers = self.lock();
        let mut batch = Batch {
            messages: Vec::new(),
            callers: Vec::new(),
        };
        while let Some(caller) = callers.pop_front() {
            if caller.outcome.is_closed() {
                continue;
            }
            let count = batch.messages.len() + caller.messages.len();
            if count > MAX_BATCH && !batch.messages.is_empty() {
                callers.push_front(caller);
                break;
            }
            batch.messages.extend(caller.messages);
            batch.callers.push(caller.outcome);
        }
        batch
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Caller>> {
        lock(&self.callers)
    }
}

impl Batch {
    /// Reports the outcome to all callers.
    pub(super) fn end(self, outcome: &Result<(), StoreError>) {
        for caller in self.callers {
            // A caller that was dropped needs no outcome.
            let _ = caller.send(copy_of(outcome));
        }
    }
}

/// Returns the outcome for another caller.
fn copy_of(outcome: &Result<(), StoreError>) -> Result<(), StoreError> {
    match outcome {
        Ok(()) => Ok(()),
        Err(StoreError::Unknown(error)) => Err(StoreError::unknown(error.to_string())),
        Err(StoreError::Full) => Err(StoreError::Full),
        Err(error) => Err(StoreError::unavailable(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use toolwire::store::BusPayload;

    use super::*;

    fn messages(count: usize) -> Vec<BusMessage> {
        vec![BusMessage::new("node", BusPayload::Everything); count]
    }

    #[test]
    fn messages_of_all_callers_are_taken_together() {
        let waiting = WaitingMessages::default();
        let mut outcomes: Vec<_> = (1..=3).map(|count| waiting.add(&messages(count))).collect();
        drop(outcomes.remove(1));
        let batch = waiting.take();
        assert_eq!(batch.messages.len(), 4, "the second caller was dropped");
        batch.end(&Err(StoreError::Full));
        for outcome in &mut outcomes {
            assert!(matches!(outcome.try_recv(), Ok(Err(StoreError::Full))));
        }
        assert!(waiting.take().messages.is_empty());
    }

    #[test]
    fn messages_of_one_publication_are_limited() {
        let waiting = WaitingMessages::default();
        let counts = [MAX_BATCH - 1, 1, 1, MAX_BATCH + 1, 1];
        let _outcomes: Vec<_> = counts.map(|count| waiting.add(&messages(count))).into();
        for expected in [MAX_BATCH, 1, MAX_BATCH + 1, 1, 0] {
            assert_eq!(waiting.take().messages.len(), expected);
        }
    }

    #[test]
    fn caller_whose_publication_was_dropped_gets_no_outcome() {
        let waiting = WaitingMessages::default();
        let mut outcome = waiting.add(&messages(1));
        drop(waiting.take());
        assert_eq!(
            outcome.try_recv().unwrap_err(),
            oneshot::error::TryRecvError::Closed
        );
    }
}
