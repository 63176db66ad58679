//! A nonce store in memory.

use std::collections::hash_map::{Entry, RandomState};
use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher as _;
use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;

use crate::engine::Principal;
use crate::store::{NonceStore, StoreError, StoreFuture};
use crate::sync::lock;

/// The default limit. It suffices for 8000 DPoP proofs a second, each of which is stored for two minutes.
const DEFAULT_LIMIT: usize = 1_000_000;

/// The default limit of one owner. It suffices for 100 DPoP proofs a second.
const DEFAULT_OWNER_LIMIT: usize = 12_500;

/// A store of used nonces in the memory of this process.
///
/// It holds 1,000,000 nonces by default, and 12,500 of each owner. If an owner has reached its limit, further nonces
/// are rejected until the oldest have expired. Nonces of other owners are not affected. A nonce takes at most 140
/// bytes, so the default takes at most 140 MB, and only while that many nonces are in use.
#[derive(Debug)]
pub struct MemoryNonceStore {
    limit: usize,
    owner_limit: usize,
    /// The start of expiry times.
    start: Instant,
    hasher: RandomState,
    used: Mutex<Used>,
}

/// The first half of a fingerprint. Fingerprints are digests, so each half is a digest.
type Digest = [u8; 16];

/// A keyed hash of a principal. Two owners with the same hash would share a limit.
type OwnerHash = u64;

/// The anonymous principal, which has no limit of its own.
const ANONYMOUS: OwnerHash = 0;

#[derive(Debug, Default)]
struct Used {
    /// The owner of each nonce.
    owners: HashMap<Digest, OwnerHash>,
    /// The number of nonces of each owner with a limit.
    counts: HashMap<OwnerHash, u32>,
    /// The nonces that expire in each second.
    by_expiry: BTreeMap<u64, Vec<Digest>>,
}

impl MemoryNonceStore {
    /// Creates a store for at most `limit` nonces. The limit per owner is 12,500, or the value of
    /// [`with_owner_limit`](Self::with_owner_limit).
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            owner_limit: DEFAULT_OWNER_LIMIT,
            start: Instant::now(),
            hasher: RandomState::new(),
            used: Mutex::default(),
        }
    }

    /// Sets the maximum number of nonces of one owner. Default: 12,500, which is 100 DPoP proofs a second.
    #[must_use]
    pub fn with_owner_limit(mut self, limit: usize) -> Self {
        self.owner_limit = limit;
        self
    }

    fn mark_used_at(
        &self,
        owner: &Principal,
        fingerprint: &[u8; 32],
        lifetime: Duration,
    ) -> Result<bool, StoreError> {
        let owner = match owner.as_str() {
            Some(owner) => self.hasher.hash_one(owner),
            None => ANONYMOUS,
        };
        let digest = digest(owner, fingerprint);
        let now = self.start.elapsed();
        let mut used = lock(&self.used);
        used.remove_expired(now.as_secs());
        if used.owners.contains_key(&digest) {
            return Ok(false);
        }
        let count = used.counts.get(&owner).map_or(0, |count| *count as usize);
        if owner != ANONYMOUS && count >= self.owner_limit {
            return Err(StoreError::OwnerFull);
        }
        if used.owners.len() >= self.limit {
            return Err(StoreError::Full);
        }
        // Whole seconds, rounded up: a nonce is never removed early.
        let expiry = now.saturating_add(lifetime).as_secs().saturating_add(1);
        used.insert(digest, owner, expiry);
        Ok(true)
    }
}

/// Returns the lookup key of a nonce. Owners do not share nonces.
fn digest(owner: OwnerHash, fingerprint: &[u8; 32]) -> Digest {
    let mut digest = [0; 16];
    digest.copy_from_slice(&fingerprint[..16]);
    for (byte, of_owner) in digest.iter_mut().zip(owner.to_le_bytes()) {
        *byte ^= of_owner;
    }
    digest
}

impl Used {
    fn insert(&mut self, digest: Digest, owner: OwnerHash, expiry: u64) {
        self.owners.insert(digest, owner);
        if owner != ANONYMOUS {
            *self.counts.entry(owner).or_default() += 1;
        }
        self.by_expiry.entry(expiry).or_default().push(digest);
    }

    fn remove_expired(&mut self, now: u64) {
        while let Some(first) = self.by_expiry.first_entry()
            && *first.key() <= now
        {
            for digest in first.remove() {
                let owner = self.owners.remove(&digest);
                let count = owner.map(|owner| self.counts.entry(owner));
                if let Some(Entry::Occupied(mut count)) = count {
                    *count.get_mut() -= 1;
                    if *count.get() == 0 {
                        count.remove();
                    }
                }
            }
        }
    }
}

impl Default for MemoryNonceStore {
    fn default() -> Self {
        Self::new(DEFAULT_LIMIT)
    }
}

impl NonceStore for MemoryNonceStore {
    fn mark_used<'a>(
        &'a self,
        owner: &'a Principal,
        fingerprint: &'a [u8; 32],
        lifetime: Duration,
    ) -> StoreFuture<'a, bool> {
        let outcome = self.mark_used_at(owner, fingerprint, lifetime);
        Box::pin(std::future::ready(outcome))
    }
}

#[cfg(test)]
mod tests;
