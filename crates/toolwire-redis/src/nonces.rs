//! The store of used nonces.

use std::sync::Arc;
use std::time::Duration;

use redis::{Script, cmd};
use toolwire::Principal;
use toolwire::store::{NonceStore, StoreError};

use crate::connection::{Connection, Repeat, milliseconds};
use crate::keys::{self, Keys};
use crate::random_id::random_id;
use crate::{RedisOptions, StoreFuture};

/// A store of used request states and DPoP proofs that all nodes share ([`Redis::nonces`](crate::Redis::nonces)).
///
/// A nonce takes about 150 bytes in the engine until it expires. If the memory of the engine is used up, further nonces
/// are rejected, and no nonce is evicted.
#[derive(Debug, Clone)]
pub struct RedisNonceStore {
    connection: Connection,
    keys: Keys,
    per_owner: usize,
    script: Arc<Script>,
}

impl RedisNonceStore {
    pub(crate) fn new(connection: Connection, keys: Keys, options: &RedisOptions) -> Self {
        Self {
            connection,
            keys,
            per_owner: options.nonces_per_owner,
            script: Arc::new(Script::new(include_str!("scripts/use_nonce.lua"))),
        }
    }

    /// Marks a nonce of the anonymous principal as used. It has no limit of its own, so one command suffices.
    async fn mark_anonymous(&self, key: &str, lifetime_ms: u64) -> Result<bool, StoreError> {
        let call = random_id()?;
        let mut set = cmd("SET");
        set.arg(key).arg(&call).arg("NX").arg("GET");
        set.arg("PX").arg(lifetime_ms);
        let user: Option<String> = self.connection.send(&set, Repeat::Harmless).await?;
        // The same call comes again if its first response was lost.
        Ok(user.is_none_or(|user| user == call))
    }

    async fn mark_owned(
        &self,
        key: &str,
        owner: &str,
        fingerprint: &[u8; 32],
        lifetime_ms: u64,
    ) -> Result<bool, StoreError> {
        let mut invocation = self.script.prepare_invoke();
        invocation
            .key(key)
            .key(self.keys.nonces_of(owner))
            .arg(random_id()?)
            .arg(lifetime_ms)
            .arg(self.per_owner)
            .arg(&fingerprint[..]);
        match self.connection.send(&invocation, Repeat::Harmless).await? {
            -1 => Err(StoreError::OwnerFull),
            used => Ok(used == 1),
        }
    }
}

impl NonceStore for RedisNonceStore {
    fn mark_used<'a>(
        &'a self,
        owner: &'a Principal,
        fingerprint: &'a [u8; 32],
        lifetime: Duration,
    ) -> StoreFuture<'a, bool> {
        Box::pin(async move {
            let lifetime_ms = milliseconds(lifetime);
            let name = keys::owner(owner);
            let key = self.keys.nonce(&name, fingerprint);
            if owner.as_str().is_none() {
                self.mark_anonymous(&key, lifetime_ms).await
            } else {
                self.mark_owned(&key, &name, fingerprint, lifetime_ms).await
            }
        })
    }
}
