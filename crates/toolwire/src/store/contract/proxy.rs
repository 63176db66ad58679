//! What a store of an OAuth proxy has to do.

use std::sync::Arc;
use std::time::Duration;

use crate::store::contract::{ok, soon};
use crate::store::{ProxyRecord, ProxyStore};

const LIFETIME: Duration = Duration::from_secs(60);

/// Checks a [`ProxyStore`]; `connect` is called once per node, and `shortest` is the shortest time to live that the store
/// can tell apart from a longer one.
pub async fn proxy_store<S: ProxyStore + 'static>(
    connect: impl AsyncFn() -> Arc<S>,
    shortest: Duration,
) {
    let store = connect().await;
    for kind in ProxyRecord::ALL {
        keeps_and_gives(&*store, kind).await;
    }
    kinds_do_not_meet(&*store).await;
    replaces_only_what_is_there(&*store).await;
    forgets(&*store, shortest).await;
    gives_once(&store).await;
}

async fn keeps_and_gives(store: &dyn ProxyStore, kind: ProxyRecord) {
    let (one, other) = (key(), key());
    let get = async |key: &[u8; 32]| ok("get", store.get(kind, key).await);
    assert_eq!(get(&one).await, None, "nothing is there at first");
    ok("put", store.put(kind, &one, text("a"), LIFETIME).await);
    assert_eq!(get(&one).await, Some(text("a")), "a record is kept");
    assert_eq!(get(&other).await, None, "keys do not meet");
    ok("put", store.put(kind, &one, text("b"), LIFETIME).await);
    assert_eq!(
        get(&one).await,
        Some(text("b")),
        "a record takes the place of another"
    );
    let taken = ok("take", store.take(kind, &one).await);
    assert_eq!(taken, Some(text("b")), "a record can be taken");
    assert_eq!(get(&one).await, None, "a record that was taken is gone");
    let taken = ok("take", store.take(kind, &one).await);
    assert_eq!(taken, None, "a record is taken once");
}

async fn kinds_do_not_meet(store: &dyn ProxyStore) {
    let shared = key();
    for kind in ProxyRecord::ALL {
        let record = text(kind.as_str());
        ok("put", store.put(kind, &shared, record, LIFETIME).await);
    }
    for kind in ProxyRecord::ALL {
        let taken = ok("take", store.take(kind, &shared).await);
        assert_eq!(taken, Some(text(kind.as_str())), "kinds do not meet");
    }
}

async fn replaces_only_what_is_there(store: &dyn ProxyStore) {
    let (kind, key) = (ProxyRecord::Grant, key());
    let replace = async |record: &str| {
        let replaced = store.replace(kind, &key, text(record), LIFETIME);
        ok("replace", replaced.await)
    };
    assert!(!replace("a").await, "there is nothing to replace");
    assert_eq!(
        ok("get", store.get(kind, &key).await),
        None,
        "what was not replaced is not kept"
    );
    ok("put", store.put(kind, &key, text("b"), LIFETIME).await);
    assert!(replace("c").await, "a record can be replaced");
    let taken = ok("take", store.take(kind, &key).await);
    assert_eq!(
        taken,
        Some(text("c")),
        "a record is what it was replaced by"
    );
    assert!(
        !replace("d").await,
        "a record that was taken does not come back"
    );
}

async fn forgets(store: &dyn ProxyStore, shortest: Duration) {
    let kind = ProxyRecord::Code;
    let (short, long, prolonged) = (key(), key(), key());
    ok("put", store.put(kind, &short, text("a"), shortest).await);
    ok("put", store.put(kind, &long, text("b"), LIFETIME).await);
    ok(
        "put",
        store.put(kind, &prolonged, text("c"), shortest).await,
    );
    let replaced = store.replace(kind, &prolonged, text("d"), LIFETIME).await;
    assert!(ok("replace", replaced), "a record can be replaced in time");
    // Only waiting shows that something ends; a paused clock skips it.
    tokio::time::sleep(shortest * 2).await;
    let get = async |key: &[u8; 32]| ok("get", store.get(kind, key).await);
    assert_eq!(get(&short).await, None, "a record ends");
    assert_eq!(get(&long).await, Some(text("b")), "a record lasts");
    assert_eq!(get(&prolonged).await, Some(text("d")), "replacing prolongs");
}

async fn gives_once<S: ProxyStore + 'static>(store: &Arc<S>) {
    let (kind, wanted) = (ProxyRecord::RefreshToken, key());
    ok("put", store.put(kind, &wanted, text("a"), LIFETIME).await);
    let tasks: Vec<_> = (0..16)
        .map(|_| {
            let store = Arc::clone(store);
            tokio::spawn(async move { store.take(kind, &wanted).await })
        })
        .collect();
    let mut winners = 0;
    for task in tasks {
        let outcome = soon("everybody is answered", task).await;
        let taken = ok("take", outcome.expect("no call panics"));
        winners += usize::from(taken.is_some());
    }
    assert_eq!(winners, 1, "of all who come at once, one gets the record");
}

fn text(text: &str) -> String {
    text.to_owned()
}

/// A key nobody has used.
fn key() -> [u8; 32] {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).expect("random bytes");
    bytes
}
