//! Request states that can be used once.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use toolwire::store::{MemoryNonceStore, NonceStore, StoreError};
use toolwire::{BoxFuture, Error, KeyRing, Principal, RequestContext, Server, StateKey};
use toolwire_tests::peer::plain;

use super::manual_call::ManualCall;
use super::{Name, Recorder, accept};

const INVALID_STATE: &str = "-32602: requestState is invalid or has expired";

fn server(recorder: &Recorder) -> Server {
    let recorder = recorder.clone();
    let tool = plain("work", move |ctx: RequestContext| {
        let recorder = recorder.clone();
        async move {
            let name: Name = ctx.ask("name", "Who?").await?;
            recorder.record("done");
            Ok::<_, Error>(name.name)
        }
    });
    Server::new("service", "1")
        .with_request_state_keys(KeyRing::new(StateKey::new([7; 32])))
        .tool(tool)
}

fn named() -> Value {
    json!({"name": accept(json!({"name": "Ada"}))})
}

#[tokio::test(start_paused = true)]
async fn used_state_is_stored_for_its_remaining_lifetime() {
    let recorder = Recorder::default();
    // A node with a long ttl creates the state, and a node with a short ttl uses it.
    let long_ttl = server(&recorder).with_request_state_ttl(Duration::from_secs(3600));
    let short_ttl = server(&recorder)
        .with_request_state_ttl(Duration::from_secs(1))
        .with_single_use_request_state(MemoryNonceStore::default());
    let first = ManualCall::call(&long_ttl, "work").start().await;
    let mut call = ManualCall::call(&short_ttl, "work");
    assert_eq!(call.respond(&first, named()).await.text(), "Ada");
    for _ in 0..3 {
        tokio::time::advance(Duration::from_secs(100)).await;
        assert_eq!(call.respond(&first, named()).await.text(), INVALID_STATE);
    }
    assert_eq!(recorder.take(), ["done"]);
}

/// The fingerprint of a state, and how long it must be stored.
type UsedState = ([u8; 32], Duration);

/// A nonce store that records its calls and returns a fixed result.
#[derive(Debug, Clone)]
struct ScriptedStore {
    result: fn() -> Result<bool, StoreError>,
    used_states: Arc<Mutex<Vec<UsedState>>>,
}

impl ScriptedStore {
    fn returning(result: fn() -> Result<bool, StoreError>) -> Self {
        let used_states = Arc::default();
        Self {
            result,
            used_states,
        }
    }

    fn used_states(&self) -> Vec<UsedState> {
        self.used_states
            .lock()
            .expect("the lock is not poisoned")
            .clone()
    }
}

impl NonceStore for ScriptedStore {
    fn mark_used<'a>(
        &'a self,
        _: &'a Principal,
        fingerprint: &'a [u8; 32],
        lifetime: Duration,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        let mut used_states = self.used_states.lock().expect("the lock is not poisoned");
        used_states.push((*fingerprint, lifetime));
        Box::pin(std::future::ready((self.result)()))
    }
}

#[tokio::test]
async fn handler_runs_only_if_the_store_accepts_the_state() {
    let check = async |result: fn() -> Result<bool, StoreError>, expected: &str| {
        let recorder = Recorder::default();
        let store = ScriptedStore::returning(result);
        let server = server(&recorder).with_single_use_request_state(store.clone());
        let mut call = ManualCall::call(&server, "work");
        let first = call.start().await;
        assert_eq!(store.used_states().len(), 0, "a first call has no state");
        let second = call.respond(&first, named()).await;
        assert_eq!(second.text(), expected);
        let done = recorder.take().len();
        assert_eq!(done, usize::from(expected == "Ada"));
        store.used_states()
    };
    let used_states = check(|| Ok(true), "Ada").await;
    let [(_, lifetime)] = used_states[..] else {
        panic!("one state was used: {used_states:?}");
    };
    // Ten minutes minus the elapsed time, plus one minute for clock skew.
    let expected = Duration::from_secs(600)..=Duration::from_secs(660);
    assert!(expected.contains(&lifetime), "{lifetime:?}");
    check(|| Ok(false), INVALID_STATE).await;
    let unavailable = "-32603: request state cannot be checked now; try again";
    check(|| Err(StoreError::Full), unavailable).await;
    let too_many =
        "-32603: too many request states of this user were used in a short time; try again later";
    check(|| Err(StoreError::OwnerFull), too_many).await;
}

#[tokio::test]
async fn each_round_has_its_own_state() {
    let store = ScriptedStore::returning(|| Ok(true));
    let server = server(&Recorder::default()).with_single_use_request_state(store.clone());
    let mut call = ManualCall::call(&server, "work");
    let mut round = call.start().await;
    for _ in 0..3 {
        round = call.respond(&round, json!({})).await;
    }
    let mut used: Vec<_> = store
        .used_states()
        .into_iter()
        .map(|(state, _)| state)
        .collect();
    used.sort_unstable();
    used.dedup();
    assert_eq!(used.len(), 3);
}

#[tokio::test]
async fn invalid_state_is_not_marked_as_used() {
    let store = ScriptedStore::returning(|| Ok(true));
    let server = server(&Recorder::default()).with_single_use_request_state(store.clone());
    let mut call = ManualCall::call(&server, "work");
    let first = call.start().await;
    let state = first.state().expect("a state");
    let truncated = &state[..state.len() - 2];
    assert_eq!(
        call.send(Some(named()), Some(truncated)).await.text(),
        INVALID_STATE
    );
    assert_eq!(store.used_states().len(), 0);
}
