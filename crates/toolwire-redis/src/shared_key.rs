//! The random key that all nodes share.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::time::sleep;
use toolwire::store::StoreError;

use crate::connection::{Connection, Reconnects, Repeat};
use crate::keys::Keys;

/// The time between two attempts to store the key again.
const RETRY: Duration = Duration::from_secs(1);

/// The random key that all nodes share. Clones share it.
///
/// An engine that lost its data has lost the key, too. Then the next node that starts would store another one, and nodes with
/// different keys reject each other's request states. So every node stores its key again after it has connected again.
#[derive(Debug, Clone, Default)]
pub(crate) struct SharedKey {
    key: Arc<OnceLock<[u8; 32]>>,
}

impl SharedKey {
    /// Returns the key that is stored. Stores a random key unless there is one.
    pub(crate) async fn get(
        &self,
        connection: &Connection,
        keys: &Keys,
    ) -> Result<[u8; 32], StoreError> {
        if let Some(key) = self.key.get() {
            return Ok(*key);
        }
        let mut random = [0; 32];
        getrandom::fill(&mut random)
            .map_err(|error| StoreError::unavailable(format!("no random bytes: {error}")))?;
        let reconnects = connection.reconnects();
        let stored = store_unless_present(connection, keys, &random).await?;
        let key = self.key.get_or_init(|| {
            tokio::spawn(store_after_reconnects(reconnects, keys.clone(), stored));
            stored
        });
        Ok(*key)
    }
}

/// Stores a key unless there is one. Returns the stored one.
async fn store_unless_present(
    connection: &Connection,
    keys: &Keys,
    key: &[u8; 32],
) -> Result<[u8; 32], StoreError> {
    let mut set = redis::cmd("SET");
    set.arg(keys.shared_key()).arg(&key[..]);
    set.arg("NX").arg("GET");
    let stored: Option<Vec<u8>> = connection.send(&set, Repeat::Harmless).await?;
    match stored {
        Some(stored) => stored.try_into().map_err(|_| StoreError::UnsupportedFormat),
        None => Ok(*key),
    }
}

/// Stores a key again after each reconnect, and reports a different one.
async fn store_after_reconnects(mut reconnects: Reconnects, keys: Keys, key: [u8; 32]) {
    while reconnects.wait().await {
        while let Some(connection) = reconnects.connection() {
            match store_unless_present(&connection, &keys, &key).await {
                Ok(stored) if stored == key => break,
                Ok(_) | Err(StoreError::UnsupportedFormat) => {
                    tracing::error!(
                        "the engine has lost its data, and another node has stored another shared key since: nodes with \
                         different keys reject each other's request states; restart this node"
                    );
                    break;
                }
                Err(error) => tracing::debug!(%error, "the shared key was not stored again"),
            }
            drop(connection);
            sleep(RETRY).await;
        }
    }
}
