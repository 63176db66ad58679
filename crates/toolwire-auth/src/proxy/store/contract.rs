//! Contract tests for stores of an OAuth proxy.
//!
//! Run them from the tests of a store implementation. They panic with the violated rule. They need a tokio runtime with
//! time, and use unique names, so that the store under test may be shared.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//! use toolwire_auth::proxy::store::{MemoryProxyStore, contract};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! // The shortest time to live that the store can distinguish from a longer one.
//! let ttl = Duration::from_millis(100);
//! // Each call is another connection to the same store, as another node would have.
//! let store = Arc::new(MemoryProxyStore::default());
//! contract::proxy_store(async || store.clone(), ttl).await;
//! # }
//! ```

use std::sync::Arc;
use std::time::Duration;

use toolwire::store::StoreError;

use crate::proxy::store::{NewProxyRecord, OwnerLimit, ProxyOwner, ProxyRecord, ProxyStore};

const LIFETIME: Duration = Duration::from_secs(60);

/// The timeout of operations that should complete at once. Only a broken store reaches it.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Waits for an operation that should complete at once.
async fn in_time<T>(rule: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(TIMEOUT, future)
        .await
        .unwrap_or_else(|_| panic!("{rule}: timed out after {TIMEOUT:?}"))
}

/// Returns the value of a call that should succeed.
fn ok<T>(operation: &str, result: Result<T, StoreError>) -> T {
    result.unwrap_or_else(|error| panic!("{operation}: the store failed: {error:?}"))
}

/// Checks a [`ProxyStore`]. `connect` is called once per node that shares it. `shortest` is the shortest time to live that
/// the store can distinguish from a longer one.
///
/// # Panics
/// Panics if the store violates a rule. The message names the rule.
pub async fn proxy_store<S: ProxyStore + 'static>(
    connect: impl AsyncFn() -> Arc<S>,
    shortest: Duration,
) {
    let (store, other) = (connect().await, connect().await);
    for kind in ProxyRecord::ALL {
        stores_and_returns(&*store, kind).await;
        owner_loses_its_first_record(&*store, kind).await;
        owner_is_rejected_at_its_limit(&*store, kind).await;
    }
    kinds_are_independent(&*store).await;
    replaces_only_what_is_expected(&*store).await;
    replacement_changes_the_owner(&*store).await;
    records_expire(&*store, shortest).await;
    other_node_sees_changes(&*store, &*other).await;
    takes_once([&store, &other]).await;
    replaces_once([&store, &other]).await;
    ok("check", store.check().await);
}

/// Checks the limit of an empty [`ProxyStore`] that holds at most `bound` records of each kind. `shortest` is as for
/// [`proxy_store`].
///
/// # Panics
/// Panics if the store violates a rule. The message names the rule.
pub async fn proxy_store_bound(store: &dyn ProxyStore, bound: usize, shortest: Duration) {
    for kind in ProxyRecord::ALL {
        let mut keys = Vec::new();
        for number in 1..=bound {
            let key = key();
            let put = store.put(kind, &key, record("a")).await;
            assert!(
                put.is_ok(),
                "a record within the limit is stored: number {number} of {bound}"
            );
            keys.push(key);
        }
        rejected(store, kind, record("b")).await;
        for key in &keys {
            assert!(
                exists(store, kind, key).await,
                "a rejected record removes no other"
            );
        }
        let Some(last) = keys.pop() else { return };
        ok("take", store.take(kind, &last).await);
        // Its protection ends at once, so another record may replace it.
        let unprotected = record("c").with_protection(Duration::ZERO);
        let unprotected_key = key();
        let put = store.put(kind, &unprotected_key, unprotected).await;
        ok("a taken record frees its space", put);
        let short = key();
        let put = store.put(kind, &short, NewProxyRecord::new("d", shortest));
        ok("a record without protection is evicted", put.await);
        assert!(
            !exists(store, kind, &unprotected_key).await,
            "a record without protection is removed if the store is full"
        );
        rejected(store, kind, record("e")).await;
        // Only waiting shows that a record expires. A paused clock skips the wait.
        tokio::time::sleep(shortest * 2).await;
        let after = key();
        let put = store.put(kind, &after, record("f")).await;
        ok("an expired record frees its space", put);
        keys.push(after);
        for key in keys {
            ok("take", store.take(kind, &key).await);
        }
    }
}

async fn rejected(store: &dyn ProxyStore, kind: ProxyRecord, record: NewProxyRecord) {
    let key = key();
    let put = store.put(kind, &key, record).await;
    assert!(
        matches!(put, Err(StoreError::Full)),
        "a record beyond the limit is rejected as full: {put:?}"
    );
    assert!(
        !exists(store, kind, &key).await,
        "a rejected record is not stored"
    );
}

async fn stores_and_returns(store: &dyn ProxyStore, kind: ProxyRecord) {
    let (one, other) = (key(), key());
    let get = async |key: &[u8; 32]| ok("get", store.get(kind, key).await);
    assert_eq!(get(&one).await, None, "an unused key has no record");
    ok("put", store.put(kind, &one, record("a")).await);
    assert_eq!(get(&one).await, Some(text("a")), "a record is stored");
    assert_eq!(get(&other).await, None, "keys are independent");
    ok("put", store.put(kind, &one, record("b")).await);
    assert_eq!(
        get(&one).await,
        Some(text("b")),
        "a record replaces another with the same key"
    );
    let taken = ok("take", store.take(kind, &one).await);
    assert_eq!(taken, Some(text("b")), "a record can be taken");
    assert_eq!(get(&one).await, None, "a taken record is absent");
    let taken = ok("take", store.take(kind, &one).await);
    assert_eq!(taken, None, "a record is taken once");
}

async fn owner_loses_its_first_record(store: &dyn ProxyStore, kind: ProxyRecord) {
    let owner = ProxyOwner::new(key(), 2, OwnerLimit::RemoveFirst);
    let other = ProxyOwner::new(key(), 2, OwnerLimit::RemoveFirst);
    let (first, second, third, of_other_owner) = (key(), key(), key(), key());
    let owned = |lifetime| NewProxyRecord::new("a", lifetime).with_owner(owner);
    let early = NewProxyRecord::new("a", LIFETIME / 3).with_owner(other);
    ok("put", store.put(kind, &of_other_owner, early).await);
    ok("put", store.put(kind, &second, owned(LIFETIME)).await);
    ok("put", store.put(kind, &first, owned(LIFETIME / 2)).await);
    ok("put", store.put(kind, &first, owned(LIFETIME / 2)).await);
    assert!(
        exists(store, kind, &second).await,
        "a record that replaces another does not count twice"
    );
    ok("put", store.put(kind, &third, owned(LIFETIME)).await);
    assert!(
        !exists(store, kind, &first).await,
        "an owner at its limit loses the record that expires first"
    );
    for key in [&second, &third, &of_other_owner] {
        assert!(
            exists(store, kind, key).await,
            "an owner at its limit loses one record, and another owner none"
        );
        ok("take", store.take(kind, key).await);
    }
}

async fn owner_is_rejected_at_its_limit(store: &dyn ProxyStore, kind: ProxyRecord) {
    let owner = ProxyOwner::new(key(), 2, OwnerLimit::Reject);
    let (one, two, three) = (key(), key(), key());
    let owned = || record("a").with_owner(owner);
    ok("put", store.put(kind, &one, owned()).await);
    ok("put", store.put(kind, &two, owned()).await);
    rejected(store, kind, owned()).await;
    for key in [&one, &two] {
        assert!(
            exists(store, kind, key).await,
            "a rejected record removes no other"
        );
    }
    ok("take", store.take(kind, &one).await);
    let put = store.put(kind, &three, owned()).await;
    ok("a taken record does not count for its owner", put);
    for key in [&two, &three] {
        ok("take", store.take(kind, key).await);
    }
}

async fn kinds_are_independent(store: &dyn ProxyStore) {
    let (shared, owner) = (key(), ProxyOwner::new(key(), 1, OwnerLimit::Reject));
    for kind in ProxyRecord::ALL {
        let record = record(kind.as_str()).with_owner(owner);
        ok("put", store.put(kind, &shared, record).await);
    }
    for kind in ProxyRecord::ALL {
        let taken = ok("take", store.take(kind, &shared).await);
        assert_eq!(taken, Some(text(kind.as_str())), "kinds are independent");
    }
}

async fn replaces_only_what_is_expected(store: &dyn ProxyStore) {
    let (kind, key) = (ProxyRecord::Grant, key());
    let replace = async |expected: &str, new: &str| {
        let replaced = store.replace(kind, &key, expected, record(new));
        ok("replace", replaced.await)
    };
    assert!(!replace("", "a").await, "an absent record is not replaced");
    assert!(
        !exists(store, kind, &key).await,
        "a failed replacement stores nothing"
    );
    ok("put", store.put(kind, &key, record("b")).await);
    assert!(
        !replace("a", "c").await,
        "a record with another text is not replaced"
    );
    assert!(replace("b", "c").await, "a record can be replaced");
    let taken = ok("take", store.take(kind, &key).await);
    assert_eq!(taken, Some(text("c")), "a replaced record has the new text");
    assert!(!replace("c", "d").await, "a taken record is not restored");
}

async fn replacement_changes_the_owner(store: &dyn ProxyStore) {
    let kind = ProxyRecord::Client;
    let before = ProxyOwner::new(key(), 1, OwnerLimit::Reject);
    let after = ProxyOwner::new(key(), 1, OwnerLimit::RemoveFirst);
    let (one, two, three) = (key(), key(), key());
    let put = store.put(kind, &one, record("a").with_owner(before));
    ok("put", put.await);
    let put = store.put(kind, &two, record("a").with_owner(after));
    ok("put", put.await);
    let new = record("b").with_owner(after);
    let replaced = store.replace(kind, &one, "a", new).await;
    assert!(ok("replace", replaced), "a record can change its owner");
    assert!(
        !exists(store, kind, &two).await && exists(store, kind, &one).await,
        "the new owner loses another record if it has too many"
    );
    let put = store.put(kind, &three, record("c").with_owner(before));
    ok("the former owner is below its limit again", put.await);
    for key in [&one, &three] {
        ok("take", store.take(kind, key).await);
    }
}

async fn records_expire(store: &dyn ProxyStore, shortest: Duration) {
    let kind = ProxyRecord::Login;
    let (short, long, prolonged) = (key(), key(), key());
    let owner = ProxyOwner::new(key(), 1, OwnerLimit::Reject);
    let brief = |text: &str| NewProxyRecord::new(text, shortest);
    let put = store.put(kind, &short, brief("a").with_owner(owner));
    ok("put", put.await);
    ok("put", store.put(kind, &long, record("b")).await);
    ok("put", store.put(kind, &prolonged, brief("c")).await);
    let replaced = store.replace(kind, &prolonged, "c", record("d")).await;
    assert!(ok("replace", replaced), "a record can be replaced in time");
    // Only waiting shows that a record expires. A paused clock skips the wait.
    tokio::time::sleep(shortest * 2).await;
    let get = async |key: &[u8; 32]| ok("get", store.get(kind, key).await);
    assert_eq!(get(&short).await, None, "a record expires");
    assert_eq!(
        get(&long).await,
        Some(text("b")),
        "a record is stored until it expires"
    );
    assert_eq!(
        get(&prolonged).await,
        Some(text("d")),
        "a replacement sets a new lifetime"
    );
    let next = key();
    let put = store.put(kind, &next, record("e").with_owner(owner)).await;
    ok("an expired record does not count for its owner", put);
    for key in [&long, &prolonged, &next] {
        ok("take", store.take(kind, key).await);
    }
}

async fn other_node_sees_changes(store: &dyn ProxyStore, other: &dyn ProxyStore) {
    let (kind, key) = (ProxyRecord::Grant, key());
    ok("put", store.put(kind, &key, record("a")).await);
    let seen = ok("get", other.get(kind, &key).await);
    assert_eq!(seen, Some(text("a")), "other nodes see a stored record");
    let replaced = other.replace(kind, &key, "a", record("b")).await;
    assert!(ok("replace", replaced), "other nodes can replace a record");
    let stale = store.replace(kind, &key, "a", record("c")).await;
    assert!(
        !ok("replace", stale),
        "a record that another node replaced is not replaced again"
    );
    let taken = ok("take", store.take(kind, &key).await);
    assert_eq!(taken, Some(text("b")), "the last replacement is stored");
    let late = other.replace(kind, &key, "b", record("c")).await;
    assert!(
        !ok("replace", late),
        "a record that another node took is not restored"
    );
}

async fn takes_once<S: ProxyStore + 'static>(nodes: [&Arc<S>; 2]) {
    let [store, other] = nodes;
    let (kind, wanted) = (ProxyRecord::Login, key());
    ok("put", store.put(kind, &wanted, record("a")).await);
    let tasks: Vec<_> = (0..32)
        .map(|number| {
            let store = Arc::clone(if number % 2 == 0 { store } else { other });
            tokio::spawn(async move { store.take(kind, &wanted).await })
        })
        .collect();
    let mut winners = 0;
    for task in tasks {
        let outcome = in_time("every call returns", task).await;
        let taken = ok("take", outcome.expect("no call panics"));
        winners += usize::from(taken.is_some());
    }
    assert_eq!(winners, 1, "of concurrent calls, one gets the record");
}

async fn replaces_once<S: ProxyStore + 'static>(nodes: [&Arc<S>; 2]) {
    let [store, other] = nodes;
    let (kind, wanted) = (ProxyRecord::Grant, key());
    ok("put", store.put(kind, &wanted, record("a")).await);
    let tasks: Vec<_> = (0..32)
        .map(|number| {
            let store = Arc::clone(if number % 2 == 0 { store } else { other });
            let new = record(&format!("b{number}"));
            tokio::spawn(async move { store.replace(kind, &wanted, "a", new).await })
        })
        .collect();
    let mut winners = Vec::new();
    for (number, task) in tasks.into_iter().enumerate() {
        let outcome = in_time("every call returns", task).await;
        if ok("replace", outcome.expect("no call panics")) {
            winners.push(format!("b{number}"));
        }
    }
    assert_eq!(winners.len(), 1, "of concurrent replacements, one succeeds");
    let taken = ok("take", store.take(kind, &wanted).await);
    assert_eq!(taken, winners.pop(), "the successful replacement is stored");
}

async fn exists(store: &dyn ProxyStore, kind: ProxyRecord, key: &[u8; 32]) -> bool {
    ok("get", store.get(kind, key).await).is_some()
}

fn record(text: &str) -> NewProxyRecord {
    NewProxyRecord::new(text, LIFETIME)
}

fn text(text: &str) -> String {
    text.to_owned()
}

/// Returns an unused key.
fn key() -> [u8; 32] {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).expect("random bytes");
    bytes
}
