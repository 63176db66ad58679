//! The handlers that wait at an input request in memory, up to a limit.

use std::collections::BTreeMap;
use std::sync::Mutex;

use crate::engine::Cancellation;
use crate::sync::lock;

/// The handlers that wait in this process.
#[derive(Debug, Default)]
pub(crate) struct WaitingHandlers(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    next: u64,
    /// What ends a handler, by the order in which they began to wait.
    handlers: BTreeMap<u64, Cancellation>,
}

impl WaitingHandlers {
    /// Adds a handler, which `park` ends, until the returned value is dropped. If more than `limit` handlers wait then,
    /// the one that has waited longest has to end.
    pub(crate) fn add(&self, park: &Cancellation, limit: usize) -> WaitingGuard<'_> {
        let mut waiting = lock(&self.0);
        let number = waiting.next;
        waiting.next += 1;
        waiting.handlers.insert(number, park.clone());
        let surplus = waiting.handlers.len() > limit;
        let longest = surplus.then(|| waiting.handlers.pop_first()).flatten();
        drop(waiting);
        if let Some((_, longest)) = longest {
            longest.cancel();
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
        let parks: [Cancellation; 4] = Default::default();
        let ended = || parks.each_ref().map(Cancellation::is_cancelled);
        let waiting = WaitingHandlers::default();
        let first = waiting.add(&parks[0], 2);
        let _second = waiting.add(&parks[1], 2);
        assert_eq!(ended(), [false; 4]);
        drop(first);
        let _third = waiting.add(&parks[2], 2);
        assert_eq!(ended(), [false; 4], "the first one waits no longer");
        let _fourth = waiting.add(&parks[3], 2);
        assert_eq!(ended(), [false, true, false, false]);
    }

    #[test]
    fn without_places_every_handler_ends() {
        let (waiting, park) = (WaitingHandlers::default(), Cancellation::default());
        let _guard = waiting.add(&park, 0);
        assert!(park.is_cancelled());
    }
}
