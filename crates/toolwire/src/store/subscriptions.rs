//! The store of webhook subscriptions.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use toolwire_types::RawJson;

use crate::engine::TokenInfo;
use crate::store::{StoreFuture, token_record};

/// The stored state of one subscription. Times are milliseconds since 1970-01-01 UTC.
///
/// A record exists only after its URL was verified. It contains a secret, which is not part of the debug output. A store
/// should encrypt its records.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SubscriptionRecord {
    /// The id, which is derived from the principal, the URL, the event type and the arguments.
    pub id: String,
    /// The caller that subscribed.
    #[serde(with = "token_record")]
    pub caller: Arc<TokenInfo>,
    /// The URL that receives the events.
    pub url: String,
    /// The name of the event type.
    pub name: String,
    /// The arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<RawJson>,
    /// The secret of the signatures.
    pub secret: String,
    /// The position up to which every event was delivered or given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// When the subscription expires. `None` means never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at_ms: Option<u64>,
}

impl fmt::Debug for SubscriptionRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SubscriptionRecord")
            .field("id", &self.id)
            .field("url", &self.url)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// Stores the webhook subscriptions of one server process.
///
/// Every store passes the test [`contract::subscriptions`](crate::store::contract::subscriptions).
pub trait SubscriptionStore: fmt::Debug + Send + Sync + 'static {
    /// Returns `true` if records survive a restart. Only then may a subscription be valid without end.
    fn is_durable(&self) -> bool;

    /// Writes a record. It replaces the record with the same id.
    fn put(&self, record: SubscriptionRecord) -> StoreFuture<'_, ()>;

    /// Removes a record. An unknown id is not an error.
    fn remove<'a>(&'a self, id: &'a str) -> StoreFuture<'a, ()>;

    /// Returns all records, in any order. The server reads them when it starts.
    fn load(&self) -> StoreFuture<'_, Vec<SubscriptionRecord>>;
}
