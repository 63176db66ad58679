//! What changed while requests are under way, and what the store has yet to forget.

use std::collections::HashMap;

use crate::client::cache::key::{CacheFilter, CacheKey};

/// How many different changes wait for the store; with one more, everything is forgotten instead.
const WAITING_CHANGES: usize = 1024;

/// The changes a client has heard of, as far as they still matter.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// The requests whose answers may be kept. A change that concerns one takes it out.
    open: HashMap<u64, CacheKey>,
    /// What the store has to forget before it is asked for anything of it, oldest first.
    outdated: Vec<(u64, CacheFilter)>,
    /// Whether somebody is at it.
    sweeping: bool,
    last_number: u64,
}

impl Changes {
    /// Notes that a request goes out; its number is what the others ask about.
    pub(super) fn open(&mut self, key: CacheKey) -> u64 {
        let number = self.number();
        self.open.insert(number, key);
        number
    }

    /// Whether nothing has changed since that concerns the request.
    pub(super) fn is_open(&self, number: u64) -> bool {
        self.open.contains_key(&number)
    }

    pub(super) fn close(&mut self, number: u64) {
        self.open.remove(&number);
    }

    /// Whether any request is under way.
    #[cfg(test)]
    pub(super) fn has_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Nothing the filter matches is used any more. When too much waits for the store, `everything` is outdated.
    pub(super) fn outdate(&mut self, filter: CacheFilter, everything: CacheFilter) {
        self.open.retain(|_, key| !filter.matches(key));
        self.wait_for_store(filter);
        if self.outdated.len() > WAITING_CHANGES {
            self.open.clear();
            self.outdated.clear();
            self.wait_for_store(everything);
        }
    }

    /// The request has the newest answer: what the filter matches is not used any more, but its own answer may be.
    pub(super) fn replaced(&mut self, number: u64, filter: CacheFilter) {
        self.open
            .retain(|&other, key| other == number || !filter.matches(key));
        self.wait_for_store(filter);
    }

    /// Whether the store still has to forget something about a request.
    pub(super) fn is_outdated(&self, key: &CacheKey) -> bool {
        self.outdated.iter().any(|(_, filter)| filter.matches(key))
    }

    /// What the store has to forget next.
    pub(super) fn next_outdated(&self) -> Option<(u64, CacheFilter)> {
        self.outdated.first().cloned()
    }

    /// The store has forgotten it.
    pub(super) fn removed(&mut self, number: u64) {
        self.outdated.retain(|(other, _)| *other != number);
    }

    /// True for the one who is to sweep; everybody else may rely on it.
    pub(super) fn begin_sweep(&mut self) -> bool {
        !std::mem::replace(&mut self.sweeping, true)
    }

    /// True when the sweep is over: nothing is left, or the store does not work.
    pub(super) fn end_sweep(&mut self, swept: bool) -> bool {
        let over = !swept || self.outdated.is_empty();
        self.sweeping = !over;
        over
    }

    fn wait_for_store(&mut self, filter: CacheFilter) {
        // The same change again is a new one: what came between the two is outdated as well.
        self.outdated.retain(|(_, other)| *other != filter);
        let number = self.number();
        self.outdated.push((number, filter));
    }

    fn number(&mut self) -> u64 {
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
    fn a_change_spoils_the_requests_it_concerns_and_no_others() {
        let mut changes = Changes::default();
        let one = changes.open(read("test://one"));
        let other = changes.open(read("test://other"));
        changes.outdate(updated("test://one"), everything());
        assert!(!changes.is_open(one));
        assert!(changes.is_open(other));
        let again = changes.open(read("test://one"));
        assert!(changes.is_open(again));
    }

    #[test]
    fn the_newest_answer_spoils_older_ones_to_the_same_request() {
        let mut changes = Changes::default();
        let older = changes.open(read("test://one"));
        let newer = changes.open(read("test://one"));
        changes.replaced(newer, everything().with_request(&read("test://one")));
        assert!(!changes.is_open(older));
        assert!(changes.is_open(newer));
        assert!(changes.is_outdated(&read("test://one")));
        assert!(!changes.is_outdated(&read("test://other")));
    }

    #[test]
    fn what_waits_for_the_store_is_bounded_and_nothing_is_missed() {
        let mut changes = Changes::default();
        for number in 0..WAITING_CHANGES {
            changes.outdate(updated(&format!("test://{number}")), everything());
        }
        changes.outdate(updated("test://0"), everything());
        assert_eq!(changes.outdated.len(), WAITING_CHANGES);
        assert!(!changes.is_outdated(&read("test://new")));
        let open = changes.open(read("test://new"));
        changes.outdate(updated("test://one more"), everything());
        assert_eq!(changes.outdated.len(), 1);
        assert!(changes.is_outdated(&read("test://new")));
        assert!(!changes.is_open(open));
    }

    #[test]
    fn a_change_that_comes_again_while_it_is_swept_is_swept_again() {
        let mut changes = Changes::default();
        changes.outdate(updated("test://one"), everything());
        assert!(changes.begin_sweep());
        assert!(!changes.begin_sweep());
        let (number, _) = changes.next_outdated().unwrap();
        changes.outdate(updated("test://one"), everything());
        changes.removed(number);
        assert!(!changes.end_sweep(true));
        let (number, _) = changes.next_outdated().unwrap();
        changes.removed(number);
        assert!(changes.end_sweep(true));
        assert!(changes.begin_sweep());
    }

    #[test]
    fn a_store_that_does_not_work_ends_the_sweep_and_nothing_is_forgotten_about() {
        let mut changes = Changes::default();
        changes.outdate(updated("test://one"), everything());
        assert!(changes.begin_sweep());
        assert!(changes.end_sweep(false));
        assert!(changes.is_outdated(&read("test://one")));
    }
}
