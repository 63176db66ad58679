//! A node-wide limit on the bytes that the server stores for its peers.
//!
//! Other limits bound the number of requests and streams; this one bounds their total size. Bytes are counted as they
//! arrive: an announced length is not counted, and a body of unknown length cannot exceed the limit.
//!
//! One holder may use at most a share of the free bytes. The fuller the budget, the smaller the messages that still
//! fit: a few peers with large messages cannot block the small messages of other peers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::transport::batch_responses::ResponseByteBudget;

/// The largest part of the free bytes that one holder may use, as a divisor.
const SHARE: usize = 8;

/// A byte limit that all requests or all streams of an endpoint share.
#[derive(Debug)]
pub(crate) struct ByteBudget {
    used: AtomicUsize,
    limit: usize,
    share: usize,
}

impl ByteBudget {
    /// Creates a budget of `limit` bytes whose holders use at most `largest` each.
    ///
    /// If the limit is less than 32 times the largest size, one holder may use more than an eighth of the free
    /// bytes.
    pub(crate) fn new(limit: usize, largest: usize) -> Arc<Self> {
        let limit = Self::effective_limit(limit, largest);
        let share = limit / largest.max(1).saturating_mul(4);
        Arc::new(Self {
            used: AtomicUsize::new(0),
            limit,
            share: share.clamp(1, SHARE),
        })
    }

    /// Returns the enforced limit. It is at least twice `largest`, because a request is counted twice: for its body and
    /// for the parameters that its handler uses.
    pub(crate) fn effective_limit(limit: usize, largest: usize) -> usize {
        limit.max(largest.saturating_mul(2))
    }

    /// Returns the number of counted bytes.
    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Counts `bytes` for a holder that already uses `already_used` bytes. Returns `false` and counts nothing if they
    /// do not fit.
    pub(crate) fn try_add(&self, already_used: usize, bytes: usize) -> bool {
        let before = self.used.fetch_add(bytes, Ordering::Relaxed);
        let by_others = before.saturating_sub(already_used);
        let free = self.limit.saturating_sub(by_others);
        let fits = already_used
            .saturating_add(bytes)
            .saturating_mul(self.share)
            <= free;
        if !fits {
            self.release(bytes);
        }
        fits
    }

    /// Counts `bytes` without a check, for messages that must not be dropped.
    pub(crate) fn add(&self, bytes: usize) {
        self.used.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Subtracts `bytes` from the counted bytes.
    pub(crate) fn release(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Returns an empty reservation for one holder.
    pub(crate) fn reservation(self: &Arc<Self>) -> Reservation {
        Reservation {
            budget: Arc::clone(self),
            bytes: 0,
        }
    }
}

/// The counted bytes of one holder. They are released on drop.
#[derive(Debug)]
pub(crate) struct Reservation {
    budget: Arc<ByteBudget>,
    bytes: usize,
}

impl Reservation {
    /// Counts `bytes` more. Returns `false` and counts nothing if they do not fit.
    pub(crate) fn try_grow(&mut self, bytes: usize) -> bool {
        let fits = self.budget.try_add(self.bytes, bytes);
        if fits {
            self.bytes += bytes;
        }
        fits
    }

    /// Counts `bytes` more without a check, for messages that must not be dropped.
    pub(crate) fn grow(&mut self, bytes: usize) {
        self.budget.add(bytes);
        self.bytes += bytes;
    }

    /// Releases all bytes.
    pub(crate) fn clear(&mut self) {
        self.budget.release(std::mem::take(&mut self.bytes));
    }
}

impl ResponseByteBudget for Reservation {
    fn try_grow(&mut self, bytes: usize) -> bool {
        Self::try_grow(self, bytes)
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.release(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: usize = 1024;

    #[test]
    fn reservation_counts_bytes_and_releases_them_on_drop() {
        let budget = ByteBudget::new(64 * KIB, 2 * KIB);
        let mut first = budget.reservation();
        assert!(first.try_grow(KIB));
        assert!(first.try_grow(KIB));
        let mut second = budget.reservation();
        assert!(second.try_grow(KIB));
        assert_eq!(budget.used(), 3 * KIB);
        drop(first);
        assert_eq!(budget.used(), KIB);
        drop(second);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn one_holder_uses_at_most_an_eighth_of_the_free_bytes() {
        let budget = ByteBudget::new(64 * KIB, 2 * KIB);
        let mut holder = budget.reservation();
        assert!(holder.try_grow(8 * KIB));
        assert!(!holder.try_grow(1));
        assert_eq!(budget.used(), 8 * KIB, "a rejected byte is not counted");
        // Seven eighths are free for the next holder.
        let mut next = budget.reservation();
        assert!(next.try_grow(7 * KIB));
        assert!(!next.try_grow(1));
    }

    #[test]
    fn small_messages_fit_when_large_ones_do_not() {
        let budget = ByteBudget::new(64 * KIB, 2 * KIB);
        let mut large = Vec::new();
        loop {
            let mut reservation = budget.reservation();
            if !reservation.try_grow(2 * KIB) {
                break;
            }
            large.push(reservation);
        }
        assert_eq!(large.len(), 25);
        assert!(budget.reservation().try_grow(KIB));
        assert!(budget.reservation().try_grow(100));
        assert!(budget.used() <= 64 * KIB);
    }

    #[test]
    fn holder_of_the_largest_size_fits_into_an_empty_budget_with_any_limit() {
        for (limit, largest) in [(0, 10), (10, 10), (39, 10), (1000, 10), (10, 0)] {
            let budget = ByteBudget::new(limit, largest);
            assert!(budget.reservation().try_grow(largest), "{limit} {largest}");
        }
    }
}
