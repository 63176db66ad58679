//! Tracks changes during requests in flight, and the removals that the store has not done yet.

use std::collections::HashMap;

use crate::client::cache::key::{CacheFilter, CacheKey};

/// The maximum number of different filters that wait for the store. One more replaces them all by a complete removal.
const MAX_PENDING_FILTERS: usize = 1024;

/// The requests in flight and the pending removals of one client.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// The requests whose results may be stored. A change that concerns a request removes it.
    open: HashMap<u64, CacheKey>,
    /// The filters that the store has to apply before it is read again, oldest first.
    pending_filters: Vec<(u64, CacheFilter)>,
    /// Whether a task is applying the filters.
    sweeping: bool,
    last_number: u64,
}

impl Changes {
    /// Registers a request and returns its number for the other methods.
    pub(super) fn open(&mut self, key: CacheKey) -> u64 {
        let number = self.next_number();
        self.open.insert(number, key);
        number
    }

    /// Returns `true` if no change since [`open`](Self::open) concerns the request.
    pub(super) fn is_open(&self, number: u64) -> bool {
        self.open.contains_key(&number)
    }

    pub(super) fn close(&mut self, number: u64) {
        self.open.remove(&number);
    }

    /// Returns `true` if any request is in flight.
    #[cfg(test)]
    pub(super) fn has_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Invalidates what the filter matches. Invalidates `everything` if too many filters wait for the store.
    pub(super) fn invalidate(&mut self, filter: CacheFilter, everything: CacheFilter) {
        self.open.retain(|_, key| !filter.matches(key));
        self.add_filter(filter);
        if self.pending_filters.len() > MAX_PENDING_FILTERS {
            self.open.clear();
            self.pending_filters.clear();
            self.add_filter(everything);
        }
    }

    /// Invalidates what the filter matches, except the result of this request, which is the newest.
    pub(super) fn invalidate_older(&mut self, number: u64, filter: CacheFilter) {
        self.open
            .retain(|&other, key| other == number || !filter.matches(key));
        self.add_filter(filter);
    }

    /// Returns `true` if the store still has to remove entries of this request.
    pub(super) fn is_outdated(&self, key: &CacheKey) -> bool {
        self.pending_filters
            .iter()
            .any(|(_, filter)| filter.matches(key))
    }

    /// Returns the filter that the store has to apply next.
    pub(super) fn next_filter(&self) -> Option<(u64, CacheFilter)> {
        self.pending_filters.first().cloned()
    }

    /// Records that the store has applied a filter.
    pub(super) fn record_applied(&mut self, number: u64) {
        self.pending_filters.retain(|(other, _)| *other != number);
    }

    /// Returns `true` if the caller has to sweep, and `false` if a sweep is running.
    pub(super) fn begin_sweep(&mut self) -> bool {
        !std::mem::replace(&mut self.sweeping, true)
    }

    /// Returns `true` if the sweep is finished: no filter is left, or the store failed.
    pub(super) fn end_sweep(&mut self, swept: bool) -> bool {
        let is_finished = !swept || self.pending_filters.is_empty();
        self.sweeping = !is_finished;
        is_finished
    }

    fn add_filter(&mut self, filter: CacheFilter) {
        // A repeated change counts as a new one: results stored between the two are outdated as well.
        self.pending_filters.retain(|(_, other)| *other != filter);
        let number = self.next_number();
        self.pending_filters.push((number, filter));
    }

    fn next_number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolwire_types::{ProtocolVersion, RawJson};

    use super::*;

    fn read(uri: &str) -> CacheKey {
        let params = RawJson::from(json!({ "uri": uri }));
        let version = ProtocolVersion::V2026_07_28;
        CacheKey::of("s", version, "resources/read", Some(&params)).unwrap()
    }

    fn everything() -> CacheFilter {
        CacheFilter::everything("s", "me")
    }

    fn updated(uri: &str) -> CacheFilter {
        let mut filter = everything().with_method("resources/read");
        filter.uri = Some(uri.to_owned());
        filter
    }

    #[test]
    fn change_invalidates_only_the_requests_it_concerns() {
        let mut changes = Changes::default();
        let one = changes.open(read("test://one"));
        let other = changes.open(read("test://other"));
        changes.invalidate(updated("test://one"), everything());
        assert!(!changes.is_open(one));
        assert!(changes.is_open(other));
        let again = changes.open(read("test://one"));
        assert!(changes.is_open(again));
    }

    #[test]
    fn newest_result_invalidates_older_results_of_the_same_request() {
        let mut changes = Changes::default();
        let older = changes.open(read("test://one"));
        let newer = changes.open(read("test://one"));
        changes.invalidate_older(newer, everything().with_request(&read("test://one")));
        assert!(!changes.is_open(older));
        assert!(changes.is_open(newer));
        assert!(changes.is_outdated(&read("test://one")));
        assert!(!changes.is_outdated(&read("test://other")));
    }

    #[test]
    fn too_many_pending_filters_become_one_complete_removal() {
        let mut changes = Changes::default();
        for number in 0..MAX_PENDING_FILTERS {
            changes.invalidate(updated(&format!("test://{number}")), everything());
        }
        changes.invalidate(updated("test://0"), everything());
        assert_eq!(changes.pending_filters.len(), MAX_PENDING_FILTERS);
        assert!(!changes.is_outdated(&read("test://new")));
        let open = changes.open(read("test://new"));
        changes.invalidate(updated("test://one more"), everything());
        assert_eq!(changes.pending_filters.len(), 1);
        assert!(changes.is_outdated(&read("test://new")));
        assert!(!changes.is_open(open));
    }

    #[test]
    fn change_repeated_during_a_sweep_is_swept_again() {
        let mut changes = Changes::default();
        changes.invalidate(updated("test://one"), everything());
        assert!(changes.begin_sweep());
        assert!(!changes.begin_sweep());
        let (number, _) = changes.next_filter().unwrap();
        changes.invalidate(updated("test://one"), everything());
        changes.record_applied(number);
        assert!(!changes.end_sweep(true));
        let (number, _) = changes.next_filter().unwrap();
        changes.record_applied(number);
        assert!(changes.end_sweep(true));
        assert!(changes.begin_sweep());
    }

    #[test]
    fn failed_sweep_ends_and_its_filters_stay_pending() {
        let mut changes = Changes::default();
        changes.invalidate(updated("test://one"), everything());
        assert!(changes.begin_sweep());
        assert!(changes.end_sweep(false));
        assert!(changes.is_outdated(&read("test://one")));
    }
}
