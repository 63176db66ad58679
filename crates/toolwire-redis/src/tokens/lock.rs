//! Locks with a lease.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use redis::{Script, cmd};
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep};
use toolwire::store::StoreError;
use toolwire_auth::client::TokenStoreError;

use crate::connection::{Connection, Repeat, milliseconds};
use crate::random_id::random_id;
use crate::tokens::error::failed;

/// The time after which a lock ends that its owner does not renew.
const LEASE: Duration = Duration::from_secs(30);

/// The time between two renewals.
const RENEWAL: Duration = Duration::from_secs(10);

/// The first pause between two attempts to acquire a lock. It doubles with each attempt.
const FIRST_PAUSE: Duration = Duration::from_millis(10);

/// The longest pause between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_millis(250);

/// How long a caller waits for a lock. A login of a user may take minutes.
const LONGEST_WAIT: Duration = Duration::from_secs(10 * 60);

/// The locks of one store. Clones share them.
#[derive(Clone)]
pub(super) struct Locks {
    shared: Arc<SharedLocks>,
}

struct SharedLocks {
    connection: Connection,
    renew: Script,
    unlock: Script,
    /// The owner of each lock that this store holds, by key.
    owners: Mutex<HashMap<String, String>>,
}

/// A lock that is released on drop, also before it is known whether it was acquired.
pub(super) struct LockGuard {
    locks: Locks,
    key: String,
    owner: String,
    renewal: Option<AbortHandle>,
}

impl Locks {
    pub(super) fn new(connection: Connection) -> Self {
        let script = Script::new;
        Self {
            shared: Arc::new(SharedLocks {
                connection,
                renew: script(include_str!("../scripts/tokens/renew_lock.lua")),
                unlock: script(include_str!("../scripts/tokens/unlock.lua")),
                owners: Mutex::default(),
            }),
        }
    }

    /// Returns the owner of a lock that this store holds.
    pub(super) fn owner(&self, key: &str) -> Option<String> {
        self.owners().get(key).cloned()
    }

    /// Waits until the lock is free, and acquires it.
    pub(super) async fn acquire(&self, key: String) -> Result<LockGuard, TokenStoreError> {
        let start = Instant::now();
        let mut pause = FIRST_PAUSE;
        loop {
            if let Some(guard) = self.try_acquire(&key).await.map_err(failed)? {
                return Ok(guard);
            }
            if start.elapsed() > LONGEST_WAIT {
                return Err(TokenStoreError::new(
                    "another process holds the lock of the token for too long",
                ));
            }
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    async fn try_acquire(&self, key: &str) -> Result<Option<LockGuard>, StoreError> {
        let owner = random_id()?;
        let mut set = cmd("SET");
        set.arg(key).arg(&owner).arg("NX").arg("GET");
        set.arg("PX").arg(milliseconds(LEASE));
        // If this future is dropped before the response arrives, the lock may have been acquired.
        let mut guard = LockGuard {
            locks: self.clone(),
            key: key.to_owned(),
            owner,
            renewal: None,
        };
        let other: Option<String> = self.shared.connection.send(&set, Repeat::Harmless).await?;
        if other.is_some_and(|other| other != guard.owner) {
            guard.forget();
            return Ok(None);
        }
        self.owners().insert(guard.key.clone(), guard.owner.clone());
        let renewal = keep(self.clone(), guard.key.clone(), guard.owner.clone());
        guard.renewal = Some(tokio::spawn(renewal).abort_handle());
        Ok(Some(guard))
    }

    fn owners(&self) -> MutexGuard<'_, HashMap<String, String>> {
        let owners = self.shared.owners.lock();
        owners.unwrap_or_else(PoisonError::into_inner)
    }

    async fn renew(&self, key: &str, owner: &str) -> Result<bool, StoreError> {
        let mut invocation = self.shared.renew.prepare_invoke();
        invocation.key(key).arg(owner).arg(milliseconds(LEASE));
        let connection = &self.shared.connection;
        let renewed: u8 = connection.send(&invocation, Repeat::Harmless).await?;
        Ok(renewed == 1)
    }

    async fn release(&self, key: &str, owner: &str) -> Result<(), StoreError> {
        let mut invocation = self.shared.unlock.prepare_invoke();
        invocation.key(key).arg(owner);
        let connection = &self.shared.connection;
        connection.send(&invocation, Repeat::Harmless).await
    }
}

/// Renews a lock until it is lost.
async fn keep(locks: Locks, key: String, owner: String) {
    loop {
        sleep(RENEWAL).await;
        match locks.renew(&key, &owner).await {
            Ok(true) => {}
            Ok(false) => return,
            // The lease lasts longer than a short outage of the engine.
            Err(error) => tracing::debug!(%error, "a lock was not renewed"),
        }
    }
}

impl LockGuard {
    /// Releases nothing on drop, because another owner has the lock.
    fn forget(&mut self) {
        self.owner.clear();
    }
}

impl Drop for LockGuard {
    fn drop(&mut self) {
        if let Some(renewal) = &self.renewal {
            renewal.abort();
        }
        if self.owner.is_empty() {
            return;
        }
        let (locks, key) = (self.locks.clone(), std::mem::take(&mut self.key));
        let owner = std::mem::take(&mut self.owner);
        let mut owners = locks.owners();
        if owners.get(&key) == Some(&owner) {
            owners.remove(&key);
        }
        drop(owners);
        // Without a runtime, the lock ends with its lease.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                if let Err(error) = locks.release(&key, &owner).await {
                    tracing::debug!(%error, "a lock was not released, and ends with its lease");
                }
            });
        }
    }
}
