//! The contract of a store of webhook subscriptions.

use std::sync::Arc;

use toolwire_types::RawJson;

use crate::engine::TokenInfo;
use crate::store::{SubscriptionRecord, SubscriptionStore};

fn record(id: &str, cursor: Option<&str>) -> SubscriptionRecord {
    SubscriptionRecord {
        id: id.to_owned(),
        caller: Arc::new(TokenInfo {
            valid: true,
            subject: Some("ann".to_owned()),
            ..TokenInfo::default()
        }),
        url: "https://app.example/hooks?a=1".to_owned(),
        name: "mail.received".to_owned(),
        arguments: Some(RawJson::empty_object()),
        secret: "whsec_AAAA".to_owned(),
        cursor: cursor.map(str::to_owned),
        expires_at_ms: cursor.map(|_| u64::MAX),
    }
}

async fn loaded(store: &dyn SubscriptionStore) -> Vec<SubscriptionRecord> {
    let mut records = store.load().await.expect("the store can be read");
    records.sort_by(|one, other| one.id.cmp(&other.id));
    records
}

/// Checks that a store returns what was written last, and nothing that was removed. The store must be empty.
///
/// # Panics
/// Panics if the store violates the contract.
pub async fn subscriptions(store: &dyn SubscriptionStore) {
    assert_eq!(loaded(store).await, [], "a new store is empty");
    let written = "a record can be written";
    store.put(record("a", None)).await.expect(written);
    store.put(record("b", Some("1"))).await.expect(written);
    store.put(record("b", Some("2"))).await.expect(written);
    let both = [record("a", None), record("b", Some("2"))];
    assert_eq!(
        loaded(store).await,
        both,
        "a record replaces an earlier one"
    );
    store.remove("a").await.expect("a record can be removed");
    store
        .remove("c")
        .await
        .expect("an unknown id is not an error");
    assert_eq!(loaded(store).await, [record("b", Some("2"))]);
    store.remove("b").await.expect("a record can be removed");
    assert_eq!(loaded(store).await, []);
}
