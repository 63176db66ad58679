//! The tests every token store has to pass.
//!
//! Whoever writes a store runs these from tests of their own. They check what the documentation of
//! [`TokenStore`] says, one sentence after the other, and panic with the sentence that does not hold. They need a
//! tokio runtime with time, use names of their own, and remove what they put.
//!
//! ```
//! use std::sync::Arc;
//! use toolwire::auth::client::{MemoryTokenStore, contract};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! // Each call is another way to the same store, as another process would have it.
//! let store = Arc::new(MemoryTokenStore::new());
//! contract::token_store(async || store.clone()).await;
//! # }
//! ```

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::oneshot;
use toolwire_types::auth::Secret;

use crate::auth::client::store::{TokenStore, TokenStoreError};

/// How long anything may take that should happen at once. Only a store that is broken takes it.
const PATIENCE: Duration = Duration::from_secs(30);

/// How many come at once.
const CROWD: usize = 8;

/// Checks a [`TokenStore`]; `connect` is called once per process that shares it.
pub async fn token_store<S: TokenStore + 'static>(connect: impl AsyncFn() -> Arc<S>) {
    let (store, other) = (connect().await, connect().await);
    values(&*store, &*other).await;
    odd_texts(&*store).await;
    nothing_is_lost(&store, &other).await;
    locks_are_waited_for(&store, &other).await;
    one_holds_a_lock(&store, &other).await;
}

async fn values(store: &impl TokenStore, other: &impl TokenStore) {
    let (name, second) = (fresh("value"), fresh("value"));
    check(store, &name, None, "a name has no value at first").await;
    put(store, &name, "one").await;
    check(store, &name, Some("one"), "a value is kept").await;
    check(other, &name, Some("one"), "others see it").await;
    check(store, &second, None, "names do not touch each other").await;
    put(other, &name, "two").await;
    check(store, &name, Some("two"), "a new value takes the place").await;
    put(store, &second, "three").await;
    remove(store, &name).await;
    check(other, &name, None, "what was removed is gone").await;
    check(store, &second, Some("three"), "and nothing else is").await;
    remove(store, &name).await;
    remove(store, &second).await;
    check(store, &second, None, "removing twice is no error").await;
}

/// Addresses are in the names and tokens in the values; neither is short or simple.
async fn odd_texts(store: &impl TokenStore) {
    let long = format!(
        "{} {}",
        fresh("token of"),
        "https://example.com/".repeat(100)
    );
    let same_start = format!("{long}x");
    put(store, &same_start, "other").await;
    for name in [&long, &fresh("\"quoted\" \\ ünïcode/../ % \n")] {
        let huge = "0123456789abcdef".repeat(2048) + "end";
        for value in ["", "{\"a\": \"b\"}", "\u{0}ü€😀\r\n", &huge, "short again"] {
            put(store, name, value).await;
            check(store, name, Some(value), "every text is kept as it is").await;
        }
        let shown = format!("{store:?}");
        assert!(
            !shown.contains("short again"),
            "the debug output of a store shows no secrets"
        );
        remove(store, name).await;
        check(store, name, None, "every text can be removed").await;
    }
    let rule = "names that begin alike are different names";
    check(store, &same_start, Some("other"), rule).await;
    remove(store, &same_start).await;
}

async fn nothing_is_lost<S: TokenStore + 'static>(store: &Arc<S>, other: &Arc<S>) {
    let name = fresh("crowd");
    let tasks: Vec<_> = (0..CROWD)
        .map(|number| {
            let store = Arc::clone(if number % 2 == 0 { store } else { other });
            let name = format!("{name} {number}");
            tokio::spawn(async move { put(&*store, &name, &number.to_string()).await })
        })
        .collect();
    for task in tasks {
        soon("all who write at once are served", task)
            .await
            .expect("no call panics");
    }
    for number in 0..CROWD {
        let (name, value) = (format!("{name} {number}"), number.to_string());
        let rule = "who writes at the same time takes nothing away";
        check(&**store, &name, Some(&value), rule).await;
        remove(&**store, &name).await;
    }
}

async fn locks_are_waited_for<S: TokenStore + 'static>(store: &Arc<S>, other: &Arc<S>) {
    let (name, second) = (fresh("lock"), fresh("lock"));
    let held = soon("a free lock is given", store.lock(&name)).await;
    let held = ok("lock", held);
    let another = soon("locks of other names are free", store.lock(&second)).await;
    drop(ok("lock", another));
    {
        // Whoever gives up leaves nothing behind.
        let mut waiting = other.lock(&name);
        let first = std::future::poll_fn(|cx| std::task::Poll::Ready(waiting.as_mut().poll(cx)));
        assert!(first.await.is_pending(), "a lock that is held is not given");
    }
    let (waits, waiting) = oneshot::channel();
    let waiter = {
        let (other, name) = (Arc::clone(other), name.clone());
        tokio::spawn(async move {
            let _ = waits.send(());
            let _lock = ok("lock", other.lock(&name).await);
            ok("get", other.get(&name).await)
        })
    };
    let _ = waiting.await;
    put(&**store, &name, "made under the lock").await;
    drop(held);
    let seen = soon("a lock that was let go is given", waiter).await;
    assert_eq!(
        seen.expect("no call panics"),
        Some("made under the lock".into()),
        "whoever waited sees what was done"
    );
    remove(&**store, &name).await;
}

async fn one_holds_a_lock<S: TokenStore + 'static>(store: &Arc<S>, other: &Arc<S>) {
    let name = fresh("lock");
    let is_held = Arc::new(AtomicBool::new(false));
    let tasks: Vec<_> = (0..CROWD)
        .map(|number| {
            let store = Arc::clone(if number % 2 == 0 { store } else { other });
            let (name, is_held) = (name.clone(), Arc::clone(&is_held));
            tokio::spawn(async move {
                let _lock = ok("lock", store.lock(&name).await);
                let others = is_held.swap(true, Ordering::SeqCst);
                assert!(!others, "one at a time holds a lock");
                for _ in 0..16 {
                    tokio::task::yield_now().await;
                }
                is_held.store(false, Ordering::SeqCst);
            })
        })
        .collect();
    for task in tasks {
        let done = soon("everybody gets the lock in the end", task).await;
        done.expect("one at a time holds a lock");
    }
}

async fn check(store: &impl TokenStore, name: &str, expected: Option<&str>, rule: &str) {
    let value = ok("get", soon(rule, store.get(name)).await);
    // Not compared by `assert_eq!`: the value may be long, and its owner may not want it to be shown.
    assert!(value == expected.map(Secret::from), "{rule}");
}

async fn put(store: &impl TokenStore, name: &str, value: &str) {
    let value = Secret::from(value);
    let kept = soon("a value is kept soon", store.put(name, &value)).await;
    ok("put", kept);
}

async fn remove(store: &impl TokenStore, name: &str) {
    let removed = soon("a value is removed soon", store.remove(name)).await;
    ok("remove", removed);
}

async fn soon<T>(rule: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future)
        .await
        .unwrap_or_else(|_| panic!("{rule}: nothing happened for {PATIENCE:?}"))
}

fn ok<T>(what: &str, result: Result<T, TokenStoreError>) -> T {
    result.unwrap_or_else(|error| panic!("{what}: the store failed: {error:?}"))
}

/// A name nobody else uses.
fn fresh(kind: &str) -> String {
    let mut bytes = [0; 12];
    getrandom::fill(&mut bytes).expect("the system has randomness");
    let mut name = format!("{kind}-");
    for byte in bytes {
        write!(name, "{byte:02x}").expect("writing to a string succeeds");
    }
    name
}
