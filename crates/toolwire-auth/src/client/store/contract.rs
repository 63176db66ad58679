//! Contract tests for token stores.
//!
//! Run them from the tests of a [`TokenStore`] implementation. They check its documentation sentence by sentence, and
//! panic with the violated rule. They need a tokio runtime with time, use unique names, and remove what they store.
//!
//! ```
//! use std::sync::Arc;
//! use toolwire_auth::client::{MemoryTokenStore, contract};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! // Each call is another connection to the same store, as another process would have.
//! let store = Arc::new(MemoryTokenStore::new());
//! contract::token_store(async || store.clone()).await;
//! # }
//! ```

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::client::store::{TokenStore, TokenStoreError};
use crate::documents::Secret;

/// The timeout of operations that should complete at once. Only a broken store reaches it.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The number of concurrent tasks.
const CONCURRENT_TASKS: usize = 8;

/// Checks a [`TokenStore`]. `connect` is called once per process that shares it.
pub async fn token_store<S: TokenStore + 'static>(connect: impl AsyncFn() -> Arc<S>) {
    let (store, other) = (connect().await, connect().await);
    values(&*store, &*other).await;
    unusual_texts(&*store).await;
    concurrent_writes(&store, &other).await;
    lock_waits(&store, &other).await;
    lock_is_exclusive(&store, &other).await;
}

async fn values(store: &impl TokenStore, other: &impl TokenStore) {
    let (name, second) = (unique_name("value"), unique_name("value"));
    check(store, &name, None, "a name has no value at first").await;
    put(store, &name, "one").await;
    check(store, &name, Some("one"), "a value is stored").await;
    check(other, &name, Some("one"), "other processes see it").await;
    check(store, &second, None, "names are independent").await;
    put(other, &name, "two").await;
    check(
        store,
        &name,
        Some("two"),
        "a new value replaces the old one",
    )
    .await;
    put(store, &second, "three").await;
    remove(store, &name).await;
    check(other, &name, None, "a removed value is absent").await;
    check(store, &second, Some("three"), "other values remain").await;
    remove(store, &name).await;
    remove(store, &second).await;
    check(store, &second, None, "removing an absent value succeeds").await;
}

/// Names contain URLs and values contain tokens, which can be long and contain any character.
async fn unusual_texts(store: &impl TokenStore) {
    let long = format!(
        "{} {}",
        unique_name("token of"),
        "https://example.com/".repeat(100)
    );
    let same_start = format!("{long}x");
    put(store, &same_start, "other").await;
    for name in [&long, &unique_name("\"quoted\" \\ ünïcode/../ % \n")] {
        let huge = "0123456789abcdef".repeat(2048) + "end";
        for value in ["", "{\"a\": \"b\"}", "\u{0}ü€😀\r\n", &huge, "short again"] {
            put(store, name, value).await;
            check(store, name, Some(value), "every text is stored unchanged").await;
        }
        let debug = format!("{store:?}");
        assert!(
            !debug.contains("short again"),
            "the debug output of a store shows no secrets"
        );
        remove(store, name).await;
        check(store, name, None, "every text can be removed").await;
    }
    let rule = "names with a common prefix are different names";
    check(store, &same_start, Some("other"), rule).await;
    remove(store, &same_start).await;
}

async fn concurrent_writes<S: TokenStore + 'static>(store: &Arc<S>, other: &Arc<S>) {
    let name = unique_name("concurrent");
    let tasks: Vec<_> = (0..CONCURRENT_TASKS)
        .map(|number| {
            let store = Arc::clone(if number % 2 == 0 { store } else { other });
            let name = format!("{name} {number}");
            tokio::spawn(async move { put(&*store, &name, &number.to_string()).await })
        })
        .collect();
    for task in tasks {
        in_time("concurrent writes complete", task)
            .await
            .expect("no call panics");
    }
    for number in 0..CONCURRENT_TASKS {
        let (name, value) = (format!("{name} {number}"), number.to_string());
        let rule = "concurrent writes lose no value";
        check(&**store, &name, Some(&value), rule).await;
        remove(&**store, &name).await;
    }
}

async fn lock_waits<S: TokenStore + 'static>(store: &Arc<S>, other: &Arc<S>) {
    let (name, second) = (unique_name("lock"), unique_name("lock"));
    let lock = in_time("a free lock is acquired", store.lock(&name)).await;
    let lock = ok("lock", lock);
    let second_lock = in_time("locks of other names are independent", store.lock(&second)).await;
    drop(ok("lock", second_lock));
    {
        // A dropped future stops waiting for the lock.
        let mut waiting = other.lock(&name);
        let first = std::future::poll_fn(|cx| std::task::Poll::Ready(waiting.as_mut().poll(cx)));
        assert!(
            first.await.is_pending(),
            "a lock is not acquired while another owner holds it"
        );
    }
    let (started, has_started) = oneshot::channel();
    let waiter = {
        let (other, name) = (Arc::clone(other), name.clone());
        tokio::spawn(async move {
            let _ = started.send(());
            let _lock = ok("lock", other.lock(&name).await);
            ok("get", other.get(&name).await)
        })
    };
    let _ = has_started.await;
    put(&**store, &name, "made under the lock").await;
    drop(lock);
    let value = in_time("a released lock is acquired", waiter).await;
    assert_eq!(
        value.expect("no call panics"),
        Some("made under the lock".into()),
        "the next owner sees the previous owner's writes"
    );
    remove(&**store, &name).await;
}

async fn lock_is_exclusive<S: TokenStore + 'static>(store: &Arc<S>, other: &Arc<S>) {
    let name = unique_name("lock");
    let is_held = Arc::new(AtomicBool::new(false));
    let tasks: Vec<_> = (0..CONCURRENT_TASKS)
        .map(|number| {
            let store = Arc::clone(if number % 2 == 0 { store } else { other });
            let (name, is_held) = (name.clone(), Arc::clone(&is_held));
            tokio::spawn(async move {
                let _lock = ok("lock", store.lock(&name).await);
                let was_held = is_held.swap(true, Ordering::SeqCst);
                assert!(!was_held, "one owner at a time holds a lock");
                for _ in 0..16 {
                    tokio::task::yield_now().await;
                }
                is_held.store(false, Ordering::SeqCst);
            })
        })
        .collect();
    for task in tasks {
        let done = in_time("every waiting task acquires the lock", task).await;
        done.expect("one owner at a time holds a lock");
    }
}

async fn check(store: &impl TokenStore, name: &str, expected: Option<&str>, rule: &str) {
    let value = ok("get", in_time(rule, store.get(name)).await);
    // Not compared by `assert_eq!`, because the value may be long and secret.
    assert!(value == expected.map(Secret::from), "{rule}");
}

async fn put(store: &impl TokenStore, name: &str, value: &str) {
    let value = Secret::from(value);
    let stored = in_time("storing a value completes", store.put(name, &value)).await;
    ok("put", stored);
}

async fn remove(store: &impl TokenStore, name: &str) {
    let removed = in_time("removing a value completes", store.remove(name)).await;
    ok("remove", removed);
}

async fn in_time<T>(rule: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(TIMEOUT, future)
        .await
        .unwrap_or_else(|_| panic!("{rule}: timed out after {TIMEOUT:?}"))
}

fn ok<T>(operation: &str, result: Result<T, TokenStoreError>) -> T {
    result.unwrap_or_else(|error| panic!("{operation}: the store failed: {error:?}"))
}

/// Returns a unique name.
fn unique_name(kind: &str) -> String {
    let mut bytes = [0; 12];
    getrandom::fill(&mut bytes).expect("the operating system provides random bytes");
    let mut name = format!("{kind}-");
    for byte in bytes {
        write!(name, "{byte:02x}").expect("writing to a string succeeds");
    }
    name
}
