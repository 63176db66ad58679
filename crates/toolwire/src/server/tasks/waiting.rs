//! The handlers that wait at an input request in memory, up to a limit.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::server::tasks::runtime::TaskRegistration;
use crate::sync::lock;

/// The handlers that wait in this process.
#[derive(Debug, Default)]
pub(crate) struct WaitingHandlers(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    next: u64,
    /// The handlers by the order in which they began to wait.
    handlers: BTreeMap<u64, Arc<TaskRegistration>>,
}

impl WaitingHandlers {
    /// Adds a handler until the returned value is dropped. If more than `limit` handlers wait then, the one that has
    /// waited longest has to end.
    pub(crate) fn add(&self, handler: &Arc<TaskRegistration>, limit: usize) -> WaitingGuard<'_> {
        let mut waiting = lock(&self.0);
        let number = waiting.next;
        waiting.next += 1;
        waiting.handlers.insert(number, Arc::clone(handler));
        let surplus = waiting.handlers.len() > limit;
        let longest = surplus.then(|| waiting.handlers.pop_first()).flatten();
        drop(waiting);
        if let Some((_, longest)) = longest {
            longest.park.cancel();
        }
        WaitingGuard {
            waiting: &self.0,
            number,
        }
    }
}

/// The place of a handler that waits.
pub(crate) struct WaitingGuard<'a> {
    waiting: &'a Mutex<Waiting>,
    number: u64,
}

impl Drop for WaitingGuard<'_> {
    fn drop(&mut self) {
        let removed = lock(self.waiting).handlers.remove(&self.number);
        // Dropped after the lock is released.
        drop(removed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handler_that_waits_longest_ends_first() {
        let handlers: Vec<Arc<TaskRegistration>> = (0..4).map(|_| Arc::default()).collect();
        let ended = || -> Vec<bool> {
            let parks = handlers.iter().map(|handler| &handler.park);
            parks.map(|park| park.is_cancelled()).collect()
        };
        let waiting = WaitingHandlers::default();
        let first = waiting.add(&handlers[0], 2);
        let _second = waiting.add(&handlers[1], 2);
        assert_eq!(ended(), [false; 4]);
        drop(first);
        let _third = waiting.add(&handlers[2], 2);
        assert_eq!(ended(), [false; 4], "the first one waits no longer");
        let _fourth = waiting.add(&handlers[3], 2);
        assert_eq!(ended(), [false, true, false, false]);
    }

    #[test]
    fn without_places_every_handler_ends() {
        let (waiting, handler) = (WaitingHandlers::default(), Arc::default());
        let _guard = waiting.add(&handler, 0);
        assert!(handler.park.is_cancelled());
    }
}
