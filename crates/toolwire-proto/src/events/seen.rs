//! The ids of the events that a client has seen, so that each event is reported once.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

/// The default maximum number of ids that are stored.
pub const MAX_SEEN_EVENTS: usize = 10_000;

/// The maximum bytes of all ids that are stored.
pub const MAX_SEEN_BYTES: usize = 1024 * 1024;

/// The most recent ids of events.
#[derive(Debug)]
pub struct SeenEvents {
    max_ids: usize,
    ids: HashSet<Arc<str>>,
    order: VecDeque<Arc<str>>,
    bytes: usize,
}

impl SeenEvents {
    /// Creates an empty set for [`MAX_SEEN_EVENTS`] ids.
    #[must_use]
    pub fn new() -> Self {
        Self::with_max_ids(MAX_SEEN_EVENTS)
    }

    /// Creates an empty set for this number of ids.
    #[must_use]
    pub fn with_max_ids(max_ids: usize) -> Self {
        Self {
            max_ids,
            ids: HashSet::new(),
            order: VecDeque::new(),
            bytes: 0,
        }
    }

    /// Adds an id. Returns `false` if it is already in the set. The oldest ids are dropped beyond the limits.
    pub fn insert(&mut self, id: &str) -> bool {
        if self.ids.contains(id) {
            return false;
        }
        let id: Arc<str> = id.into();
        self.bytes += id.len();
        self.order.push_back(Arc::clone(&id));
        self.ids.insert(id);
        while self.order.len() > self.max_ids || self.bytes > MAX_SEEN_BYTES {
            let Some(oldest) = self.order.pop_front() else {
                break;
            };
            self.bytes -= oldest.len();
            self.ids.remove(&oldest);
        }
        true
    }

    /// Returns `true` if an id is in the set.
    #[must_use]
    pub fn contains(&self, id: &str) -> bool {
        self.ids.contains(id)
    }

    /// Returns the ids of the set, oldest first.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.order.iter().map(|id| &**id)
    }
}

impl Default for SeenEvents {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn set_stores_10_000_ids() {
        let mut seen = SeenEvents::new();
        for id in 0..MAX_SEEN_EVENTS {
            assert!(seen.insert(&id.to_string()));
        }
        assert!(seen.contains("0") && !seen.contains("one more"));
        assert!(!seen.insert("0"), "the first one is still stored");
        assert!(seen.insert("one more"));
        assert!(seen.insert("0"), "the first one was dropped");
        let newest: Vec<_> = seen.ids().skip(MAX_SEEN_EVENTS - 2).collect();
        assert_eq!(newest, ["one more", "0"]);
    }

    #[test]
    fn set_with_a_maximum_stores_the_newest_ids() {
        let mut seen = SeenEvents::with_max_ids(2);
        assert!(seen.insert("a") && seen.insert("b"));
        assert_eq!(seen.ids().collect::<Vec<_>>(), ["a", "b"]);
        assert!(seen.insert("c"));
        assert_eq!(seen.ids().collect::<Vec<_>>(), ["b", "c"]);
        assert_eq!((seen.ids.len(), seen.bytes), (2, 2));
    }

    #[test]
    fn set_stores_one_mebibyte_of_ids() {
        let mut seen = SeenEvents::new();
        let half = |letter: &str| letter.repeat(MAX_SEEN_BYTES / 2);
        assert!(seen.insert(&half("a")) && seen.insert(&half("b")));
        assert!(!seen.insert(&half("a")) && !seen.insert(&half("b")));
        assert!(seen.insert("c"));
        assert!(!seen.insert(&half("b")));
        assert!(seen.insert(&half("a")), "it was dropped for `c`");
    }

    #[test]
    fn id_that_is_larger_than_the_set_is_not_stored() {
        let mut seen = SeenEvents::new();
        let large = "x".repeat(MAX_SEEN_BYTES + 1);
        assert!(seen.insert(&large) && seen.insert(&large));
        assert_eq!((seen.ids.len(), seen.order.len(), seen.bytes), (0, 0, 0));
    }

    proptest! {
        #[test]
        fn set_accepts_each_id_once(ids in proptest::collection::vec("[ab]{0,3}", 0..60)) {
            let mut seen = SeenEvents::new();
            let mut expected = HashSet::new();
            for id in &ids {
                prop_assert_eq!(seen.insert(id), expected.insert(id.clone()));
            }
            prop_assert_eq!(seen.ids.len(), seen.order.len());
            prop_assert_eq!(seen.bytes, expected.iter().map(String::len).sum::<usize>());
        }
    }
}
