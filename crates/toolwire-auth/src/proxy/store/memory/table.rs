//! A table of records with an expiry, a protection and an owner each, limited in number and bytes.

use std::collections::{BTreeSet, HashMap};
use std::fmt;

use tokio::time::Instant;
use toolwire::store::StoreError;

use crate::clock::deadline_after;
use crate::proxy::store::{NewProxyRecord, OwnerLimit, ProxyOwner};

pub(super) type RecordKey = [u8; 32];

/// Keys in order of time.
type Ordered = BTreeSet<(Instant, RecordKey)>;

/// The limits of a table.
#[derive(Debug, Clone, Copy)]
pub(super) struct TableCapacity {
    pub(super) records: usize,
    pub(super) bytes: usize,
}

/// The records of one kind.
#[derive(Default)]
pub(super) struct Table {
    records: HashMap<RecordKey, Stored>,
    by_expiry: Ordered,
    by_protection: Ordered,
    /// The records of each owner, by their expiry.
    owners: HashMap<RecordKey, Ordered>,
    bytes: usize,
}

struct Stored {
    text: String,
    expiry: Instant,
    protected_until: Instant,
    owner: Option<RecordKey>,
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table")
            .field("records", &self.records.len())
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

impl Table {
    pub(super) fn get(&self, key: &RecordKey) -> Option<&str> {
        self.records.get(key).map(|stored| stored.text.as_str())
    }

    pub(super) fn remove_expired(&mut self, now: Instant) {
        while let Some(&(expiry, key)) = self.by_expiry.first()
            && expiry <= now
        {
            self.remove(&key);
        }
    }

    /// Stores a record within the limits of its owner and of the table. A rejected record changes nothing.
    pub(super) fn put(
        &mut self,
        key: RecordKey,
        record: NewProxyRecord,
        now: Instant,
        capacity: TableCapacity,
    ) -> Result<(), StoreError> {
        let replaced = self.records.get(&key);
        let replaced_bytes = replaced.map(|stored| stored.text.len());
        let is_new_to =
            |owner: &ProxyOwner| replaced.is_none_or(|stored| stored.owner != Some(owner.key));
        let victim = match &record.owner {
            Some(owner) if is_new_to(owner) && self.is_at_limit(owner) => match owner.at_limit {
                OwnerLimit::Reject => return Err(StoreError::Full),
                OwnerLimit::RemoveFirst => self.first_of(owner, &key),
            },
            _ => None,
        };
        // The replaced record and the owner's evicted record free their space.
        let freed = victim.map(|victim| self.length_of(&victim));
        let removed_lengths = [replaced_bytes, freed].into_iter().flatten();
        let (mut count, mut bytes) = (self.records.len(), self.bytes);
        for length in removed_lengths {
            count = count.saturating_sub(1);
            bytes = bytes.saturating_sub(length);
        }
        let added = record.text.len();
        let fits = |count: usize, bytes: usize| {
            count < capacity.records && bytes.saturating_add(added) <= capacity.bytes
        };
        let mut victims: Vec<RecordKey> = victim.into_iter().collect();
        let mut unprotected = self
            .by_protection
            .iter()
            .take_while(|(until, _)| *until <= now);
        while !fits(count, bytes) {
            let Some((_, other)) = unprotected.next() else {
                return Err(StoreError::Full);
            };
            if *other != key && Some(*other) != victim {
                count = count.saturating_sub(1);
                bytes = bytes.saturating_sub(self.length_of(other));
                victims.push(*other);
            }
        }
        for victim in victims {
            self.remove(&victim);
        }
        self.insert(key, record, now);
        Ok(())
    }

    /// Replaces a record. The limits of the table do not apply.
    pub(super) fn replace(&mut self, key: RecordKey, record: NewProxyRecord, now: Instant) {
        let owner = record.owner;
        self.insert(key, record, now);
        if let Some(owner) = owner
            && self.count_of(&owner) > owner.limit.max(1)
            && let Some(first) = self.first_of(&owner, &key)
        {
            self.remove(&first);
        }
    }

    pub(super) fn remove(&mut self, key: &RecordKey) -> Option<String> {
        let stored = self.records.remove(key)?;
        self.by_expiry.remove(&(stored.expiry, *key));
        self.by_protection.remove(&(stored.protected_until, *key));
        self.bytes = self.bytes.saturating_sub(stored.text.len());
        if let Some(owner) = stored.owner
            && let Some(owned) = self.owners.get_mut(&owner)
        {
            owned.remove(&(stored.expiry, *key));
            if owned.is_empty() {
                self.owners.remove(&owner);
            }
        }
        Some(stored.text)
    }

    fn insert(&mut self, key: RecordKey, record: NewProxyRecord, now: Instant) {
        self.remove(&key);
        let stored = Stored {
            expiry: deadline_after(now, record.lifetime),
            protected_until: deadline_after(now, record.protection.min(record.lifetime)),
            owner: record.owner.map(|owner| owner.key),
            text: record.text,
        };
        self.by_expiry.insert((stored.expiry, key));
        self.by_protection.insert((stored.protected_until, key));
        if let Some(owner) = stored.owner {
            let owned = self.owners.entry(owner).or_default();
            owned.insert((stored.expiry, key));
        }
        self.bytes = self.bytes.saturating_add(stored.text.len());
        self.records.insert(key, stored);
    }

    fn count_of(&self, owner: &ProxyOwner) -> usize {
        self.owners.get(&owner.key).map_or(0, BTreeSet::len)
    }

    fn is_at_limit(&self, owner: &ProxyOwner) -> bool {
        self.count_of(owner) >= owner.limit.max(1)
    }

    /// Returns the record of an owner that expires first, except `excluded`.
    fn first_of(&self, owner: &ProxyOwner, excluded: &RecordKey) -> Option<RecordKey> {
        let mut owned = self.owners.get(&owner.key)?.iter();
        owned.find(|(_, key)| key != excluded).map(|(_, key)| *key)
    }

    fn length_of(&self, key: &RecordKey) -> usize {
        self.records.get(key).map_or(0, |stored| stored.text.len())
    }
}
