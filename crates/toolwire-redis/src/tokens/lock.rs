//! Locks with a lease.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use redis::{Script, cmd};
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};
use toolwire::store::StoreError;
use toolwire_auth::client::TokenStoreError;

use crate::connection::{Connection, Repeat, milliseconds};
use crate::random_id::random_id;
use crate::sync::lock;
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
    /// The callers of this store wait here for each other, by key. So a lock whose lease has ended has no second owner in
    /// this store, under whose name the first one could store a value.
    local_locks: Mutex<HashMap<String, Weak<AsyncMutex<()>>>>,
}

/// A lock that is released on drop, also before it is known whether it was acquired.
pub(super) struct LockGuard {
    locks: Locks,
    key: String,
    owner: String,
    renewal: Option<AbortHandle>,
    /// Released after the owner was forgotten.
    local_lock: Option<OwnedMutexGuard<()>>,
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
                local_locks: Mutex::default(),
            }),
        }
    }

    /// Returns the owner of a lock that this store holds.
    pub(super) fn owner(&self, key: &str) -> Option<String> {
        self.owners().get(key).cloned()
    }

    /// Waits until the lock is free, and acquires it.
    pub(super) async fn acquire(&self, key: String) -> Result<LockGuard, TokenStoreError> {
        let acquiring = async {
            let local_lock = self.local_lock(&key).lock_owned().await;
            let mut pause = FIRST_PAUSE;
            loop {
                if let Some(mut guard) = self.try_acquire(&key).await? {
                    guard.local_lock = Some(local_lock);
                    return Ok(guard);
                }
                sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        };
        match timeout(LONGEST_WAIT, acquiring).await {
            Ok(acquired) => acquired.map_err(failed),
            Err(_) => Err(TokenStoreError::new(
                "another caller holds the lock of the token for too long",
            )),
        }
    }

    /// Returns the lock that only the callers of this store share.
    fn local_lock(&self, key: &str) -> Arc<AsyncMutex<()>> {
        let mut local_locks = lock(&self.shared.local_locks);
        local_locks.retain(|_, lock| lock.strong_count() > 0);
        if let Some(lock) = local_locks.get(key).and_then(Weak::upgrade) {
            return lock;
        }
        let lock = Arc::default();
        local_locks.insert(key.to_owned(), Arc::downgrade(&lock));
        lock
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
            local_lock: None,
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
        lock(&self.shared.owners)
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
