//! The index of all tasks: totals, the tasks of each principal, the order of expiry, and the tasks to claim.

use std::collections::{BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use tokio::time::Instant;

use crate::engine::Principal;

/// What the index knows about a task. The shard of the task stores a copy, which is changed together with the index.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct IndexedFacts {
    pub(super) bytes: usize,
    pub(super) is_unfinished: bool,
    pub(super) expires_at_ms: Option<u64>,
    pub(super) work: IndexedWork,
}

/// Whether a worker can claim the task.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) enum IndexedWork {
    /// No: it is not runnable, or it is final.
    #[default]
    None,
    /// Yes: it is a task of this tool, created at this time.
    Waiting(String, u64),
    /// From this time on, unless its lease is renewed.
    Leased(Instant),
}

#[derive(Debug, Default)]
pub(super) struct MemoryTaskIndex {
    pub(super) tasks: usize,
    pub(super) bytes: usize,
    owners: HashMap<Principal, OwnedTasks>,
    by_expiry: BTreeSet<(u64, Arc<str>)>,
    /// The tasks of each tool that have no owner, by the time of their creation.
    waiting: HashMap<String, BTreeSet<(u64, Arc<str>)>>,
    leases: BTreeSet<(Instant, Arc<str>)>,
}

#[derive(Debug, Default)]
struct OwnedTasks {
    ids: BTreeSet<Arc<str>>,
    unfinished: usize,
}

impl MemoryTaskIndex {
    pub(super) fn insert(&mut self, id: &Arc<str>, principal: &Principal, facts: &IndexedFacts) {
        self.tasks += 1;
        let owned = self.owners.entry(principal.clone()).or_default();
        owned.ids.insert(Arc::clone(id));
        self.change(id, principal, &IndexedFacts::default(), facts);
    }

    pub(super) fn remove(&mut self, id: &Arc<str>, principal: &Principal, facts: &IndexedFacts) {
        self.change(id, principal, facts, &IndexedFacts::default());
        self.tasks -= 1;
        if let Some(owned) = self.owners.get_mut(principal) {
            owned.ids.remove(id);
            if owned.ids.is_empty() {
                self.owners.remove(principal);
            }
        }
    }

    /// Replaces the facts `before` by the facts `after`.
    pub(super) fn change(
        &mut self,
        id: &Arc<str>,
        principal: &Principal,
        before: &IndexedFacts,
        after: &IndexedFacts,
    ) {
        self.bytes = self.bytes - before.bytes + after.bytes;
        if before.is_unfinished != after.is_unfinished
            && let Some(owned) = self.owners.get_mut(principal)
        {
            owned.unfinished = owned.unfinished + usize::from(after.is_unfinished)
                - usize::from(before.is_unfinished);
        }
        if before.expires_at_ms != after.expires_at_ms {
            if let Some(time) = before.expires_at_ms {
                self.by_expiry.remove(&(time, Arc::clone(id)));
            }
            if let Some(time) = after.expires_at_ms {
                self.by_expiry.insert((time, Arc::clone(id)));
            }
        }
        if before.work != after.work {
            self.remove_work(id, &before.work);
            self.insert_work(id, &after.work);
        }
    }

    fn insert_work(&mut self, id: &Arc<str>, work: &IndexedWork) {
        match work {
            IndexedWork::None => {}
            IndexedWork::Waiting(tool, created_at_ms) => {
                let waiting = self.waiting.entry(tool.clone()).or_default();
                waiting.insert((*created_at_ms, Arc::clone(id)));
            }
            IndexedWork::Leased(end) => {
                self.leases.insert((*end, Arc::clone(id)));
            }
        }
    }

    fn remove_work(&mut self, id: &Arc<str>, work: &IndexedWork) {
        match work {
            IndexedWork::None => {}
            IndexedWork::Waiting(tool, created_at_ms) => {
                if let Some(waiting) = self.waiting.get_mut(tool) {
                    waiting.remove(&(*created_at_ms, Arc::clone(id)));
                    if waiting.is_empty() {
                        self.waiting.remove(tool);
                    }
                }
            }
            IndexedWork::Leased(end) => {
                self.leases.remove(&(*end, Arc::clone(id)));
            }
        }
    }

    /// Returns the number of unfinished tasks of a principal.
    pub(super) fn unfinished(&self, principal: &Principal) -> usize {
        self.owners
            .get(principal)
            .map_or(0, |owned| owned.unfinished)
    }

    /// Returns up to `limit` ids of a principal's tasks, in ascending order, after the id `after`.
    pub(super) fn ids_after(
        &self,
        principal: &Principal,
        after: Option<&str>,
        limit: usize,
    ) -> Vec<Arc<str>> {
        let Some(owned) = self.owners.get(principal) else {
            return Vec::new();
        };
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        let ids = owned.ids.range::<str, _>((start, Bound::Unbounded));
        ids.take(limit).cloned().collect()
    }

    /// Returns up to `limit` tasks that have expired.
    pub(super) fn expired(&self, now_ms: u64, limit: usize) -> Vec<Arc<str>> {
        let expired = self
            .by_expiry
            .iter()
            .take_while(|(time, _)| *time <= now_ms);
        expired.take(limit).map(|(_, id)| Arc::clone(id)).collect()
    }

    /// Returns a task whose lease has ended.
    pub(super) fn ended_lease(&self, now: Instant) -> Option<Arc<str>> {
        let (end, id) = self.leases.first()?;
        (*end <= now).then(|| Arc::clone(id))
    }

    /// Returns the oldest task of these tools that has no owner.
    pub(super) fn oldest_waiting(&self, tools: &[String]) -> Option<Arc<str>> {
        let waiting = tools.iter().filter_map(|tool| self.waiting.get(tool));
        let oldest = waiting.filter_map(BTreeSet::first).min()?;
        Some(Arc::clone(&oldest.1))
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.tasks == 0
            && self.bytes == 0
            && self.owners.is_empty()
            && self.by_expiry.is_empty()
            && self.waiting.is_empty()
            && self.leases.is_empty()
    }
}
