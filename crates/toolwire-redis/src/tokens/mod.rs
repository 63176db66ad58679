//! The tokens of a client.

mod error;
mod lock;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use redis::{Script, cmd};
use toolwire::KeyRing;
use toolwire::store::StoreError;
use toolwire_auth::client::{TokenStore, TokenStoreError, TokenStoreFuture, TokenStoreLock};
use toolwire_auth::documents::Secret;

use crate::connection::{Connection, Repeat, milliseconds};
use crate::keys::Keys;
use crate::sealing::Sealing;
use error::failed;
use lock::Locks;

/// How long a value is stored after its last use.
const RETENTION: Duration = Duration::from_secs(90 * 24 * 60 * 60);

/// The tokens of one user that all nodes of a client share ([`Redis::token_store`](crate::Redis::token_store)).
///
/// Values are sealed. They are removed 90 days after they were last used.
///
/// A lock has a lease of 30 s, which is renewed while the lock is held. So the lock of a process that was killed ends by
/// itself. An owner that was stopped for longer has lost the lock, and cannot store a value under it any more.
#[derive(Clone)]
pub struct RedisTokenStore {
    connection: Connection,
    keys: Keys,
    /// The digest of the user in keys.
    user: String,
    sealing: Sealing,
    locks: Locks,
    put_locked: Arc<Script>,
}

impl RedisTokenStore {
    pub(crate) fn new(connection: Connection, keys: Keys, user: String, seals: KeyRing) -> Self {
        Self {
            locks: Locks::new(connection.clone()),
            connection,
            keys,
            user,
            sealing: Sealing::new(seals),
            put_locked: Arc::new(Script::new(include_str!("../scripts/tokens/put.lua"))),
        }
    }

    fn key(&self, name: &str) -> String {
        self.keys.token(&self.user, name)
    }

    fn lock_key(&self, name: &str) -> String {
        self.keys.token_lock(&self.user, name)
    }

    async fn read(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let mut get = cmd("GETEX");
        get.arg(self.key(name))
            .arg("PX")
            .arg(milliseconds(RETENTION));
        self.connection.send(&get, Repeat::Harmless).await
    }

    /// Stores a sealed value. Returns `false` if the lock of its name was lost.
    async fn write(&self, name: &str, sealed: &str) -> Result<bool, StoreError> {
        let key = self.key(name);
        let Some(owner) = self.locks.owner(&self.lock_key(name)) else {
            let mut set = cmd("SET");
            set.arg(key).arg(sealed);
            set.arg("PX").arg(milliseconds(RETENTION));
            let () = self.connection.send(&set, Repeat::Harmless).await?;
            return Ok(true);
        };
        let mut invocation = self.put_locked.prepare_invoke();
        invocation
            .key(key)
            .key(self.lock_key(name))
            .arg(owner)
            .arg(sealed)
            .arg(milliseconds(RETENTION));
        let stored: u8 = self.connection.send(&invocation, Repeat::Harmless).await?;
        Ok(stored == 1)
    }
}

impl fmt::Debug for RedisTokenStore {
    /// Omits the user.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisTokenStore").finish_non_exhaustive()
    }
}

impl TokenStore for RedisTokenStore {
    fn get<'a>(&'a self, name: &'a str) -> TokenStoreFuture<'a, Option<Secret>> {
        Box::pin(async move {
            let Some(sealed) = self.read(name).await.map_err(failed)? else {
                return Ok(None);
            };
            let opened = self.sealing.open(&self.key(name), &sealed);
            let text = opened.and_then(|bytes| String::from_utf8(bytes).ok());
            if text.is_none() {
                tracing::warn!("a stored token was sealed with other keys, and is ignored");
            }
            Ok(text.map(Secret::from))
        })
    }

    fn put<'a>(&'a self, name: &'a str, value: &'a Secret) -> TokenStoreFuture<'a, ()> {
        Box::pin(async move {
            let sealed = self
                .sealing
                .seal(&self.key(name), value.expose().as_bytes());
            let sealed = sealed.map_err(failed)?;
            if self.write(name, &sealed).await.map_err(failed)? {
                return Ok(());
            }
            Err(TokenStoreError::new(
                "the lock of the token was lost, because this process did not renew it in time",
            ))
        })
    }

    fn remove<'a>(&'a self, name: &'a str) -> TokenStoreFuture<'a, ()> {
        Box::pin(async move {
            let mut delete = cmd("DEL");
            delete.arg(self.key(name));
            let deleted = self.connection.send(&delete, Repeat::Harmless).await;
            deleted.map_err(failed)
        })
    }

    fn lock<'a>(&'a self, name: &'a str) -> TokenStoreFuture<'a, TokenStoreLock> {
        Box::pin(async move {
            let guard = self.locks.acquire(self.lock_key(name)).await?;
            Ok(TokenStoreLock::new(guard))
        })
    }
}
