//! The webhook subscriptions of a server.
//!
//! The subscriptions of one process are one hash. Its fields are the ids, which do not reveal what they are derived from.

use std::fmt;

use redis::cmd;
use toolwire::KeyRing;
use toolwire::store::{StoreError, SubscriptionRecord, SubscriptionStore};

use crate::StoreFuture;
use crate::connection::{Connection, Repeat};
use crate::sealing::Sealing;

/// The webhook subscriptions of one server process ([`Redis::subscriptions`](crate::Redis::subscriptions)).
///
/// Records are sealed, because they contain the secrets of signatures. A record that other keys have sealed is ignored with a
/// warning. The server limits the number of records.
#[derive(Clone)]
pub struct RedisSubscriptionStore {
    connection: Connection,
    /// The key of the records of this process.
    key: String,
    sealing: Sealing,
}

impl RedisSubscriptionStore {
    pub(crate) fn new(connection: Connection, key: String, seals: KeyRing) -> Self {
        Self {
            connection,
            key,
            sealing: Sealing::new(seals),
        }
    }

    /// Returns the name that a record is sealed for.
    fn sealed_name(&self, id: &str) -> String {
        format!("{}:{id}", self.key)
    }

    fn open(
        &self,
        id: &str,
        sealed: &[u8],
    ) -> Option<Result<SubscriptionRecord, serde_json::Error>> {
        let opened = self.sealing.open(&self.sealed_name(id), sealed);
        if opened.is_none() {
            tracing::warn!("a webhook subscription was sealed with other keys, and is ignored");
        }
        opened.map(|record| serde_json::from_slice(&record))
    }
}

impl fmt::Debug for RedisSubscriptionStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisSubscriptionStore")
            .finish_non_exhaustive()
    }
}

impl SubscriptionStore for RedisSubscriptionStore {
    fn is_durable(&self) -> bool {
        true
    }

    fn put(&self, record: SubscriptionRecord) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let text = serde_json::to_vec(&record).map_err(StoreError::unavailable)?;
            let sealed = self.sealing.seal(&self.sealed_name(&record.id), &text)?;
            let mut set = cmd("HSET");
            set.arg(&self.key).arg(&record.id).arg(sealed);
            self.connection.send(&set, Repeat::Harmless).await
        })
    }

    fn remove<'a>(&'a self, id: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let mut delete = cmd("HDEL");
            delete.arg(&self.key).arg(id);
            self.connection.send(&delete, Repeat::Harmless).await
        })
    }

    fn load(&self) -> StoreFuture<'_, Vec<SubscriptionRecord>> {
        Box::pin(async move {
            let mut all = cmd("HGETALL");
            all.arg(&self.key);
            let stored: Vec<(String, Vec<u8>)> =
                self.connection.send(&all, Repeat::Harmless).await?;
            let records = stored
                .iter()
                .filter_map(|(id, sealed)| self.open(id, sealed));
            let records: Result<_, _> = records.collect();
            records.map_err(|_| StoreError::UnsupportedFormat)
        })
    }
}
