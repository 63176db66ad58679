//! Locks by key, for work that must not overlap with other work for the same key.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::sync::OwnedMutexGuard;

use crate::sync::lock;

/// The lock of one key.
type KeyLock = Arc<tokio::sync::Mutex<()>>;

/// The locks of all keys that are in use.
#[derive(Debug, Default)]
pub(crate) struct KeyLocks(Mutex<HashMap<String, KeyLock>>);

impl KeyLocks {
    /// Waits until the lock of this key is free. Callers get it in the order of their calls.
    ///
    /// # Cancellation
    /// Dropping the future gives up the place in the order.
    pub(crate) async fn lock(&self, key: &str) -> KeyGuard<'_> {
        let found = Arc::clone(lock(&self.0).entry(key.to_owned()).or_default());
        let user = KeyUser {
            locks: self,
            key: key.to_owned(),
            lock: found,
        };
        let guard = Arc::clone(&user.lock).lock_owned().await;
        KeyGuard {
            _guard: guard,
            _user: user,
        }
    }
}

/// The locked key. It is released on drop.
#[derive(Debug)]
pub(crate) struct KeyGuard<'a> {
    // Released before the key is removed.
    _guard: OwnedMutexGuard<()>,
    _user: KeyUser<'a>,
}

/// A caller that holds the lock of a key or waits for it. The last one removes the key.
#[derive(Debug)]
struct KeyUser<'a> {
    locks: &'a KeyLocks,
    key: String,
    lock: KeyLock,
}

impl Drop for KeyUser<'_> {
    fn drop(&mut self) {
        let mut locks = lock(&self.locks.0);
        // The map and this caller.
        if Arc::strong_count(&self.lock) == 2 {
            locks.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn only_the_same_key_waits() {
        let locks = KeyLocks::default();
        let first = locks.lock("a").await;
        let _other = locks.lock("b").await;
        let mut second = pin!(locks.lock("a"));
        assert!(timeout(SECOND, &mut second).await.is_err());
        drop(first);
        assert!(timeout(SECOND, second).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn unused_keys_are_removed() {
        let locks = KeyLocks::default();
        let count = || lock(&locks.0).len();
        let first = locks.lock("a").await;
        assert!(timeout(SECOND, locks.lock("a")).await.is_err());
        assert_eq!(count(), 1, "the first one still has it");
        drop(first);
        assert_eq!(count(), 0);
    }
}
