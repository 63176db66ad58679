//! Counts the responses of all unfinished batches of a connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::transport::batch_responses::ResponseByteBudget;

/// The counted bytes of the responses of one batch. All batches of a connection share the limit.
#[derive(Debug)]
pub(crate) struct BatchBudget {
    /// The bytes of all batches of the connection.
    used: Arc<AtomicUsize>,
    limit: usize,
    /// The bytes of this batch.
    bytes: usize,
}

impl BatchBudget {
    pub(super) fn new(used: &Arc<AtomicUsize>, limit: usize) -> Self {
        Self {
            used: Arc::clone(used),
            limit,
            bytes: 0,
        }
    }
}

impl ResponseByteBudget for BatchBudget {
    fn try_grow(&mut self, bytes: usize) -> bool {
        let before = self.used.fetch_add(bytes, Ordering::Relaxed);
        let fits = bytes <= self.limit.saturating_sub(before);
        if fits {
            self.bytes += bytes;
        } else {
            self.used.fetch_sub(bytes, Ordering::Relaxed);
        }
        fits
    }
}

impl Drop for BatchBudget {
    fn drop(&mut self) {
        self.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_share_the_limit_until_they_are_dropped() {
        let used = Arc::default();
        let mut first = BatchBudget::new(&used, 100);
        let mut second = BatchBudget::new(&used, 100);
        assert!(first.try_grow(60));
        assert!(!second.try_grow(41));
        assert!(second.try_grow(40));
        assert!(!first.try_grow(1));
        drop(first);
        assert!(second.try_grow(60));
        assert!(!second.try_grow(1));
        drop(second);
        assert_eq!(used.load(Ordering::Relaxed), 0);
    }
}
