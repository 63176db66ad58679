//! States that work once.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use toolwire::store::{MemoryNonceStore, NonceStore, StoreError, StoreFuture};
use toolwire::{Error, KeyRing, Principal, RequestContext, Server, StateKey};

use super::by_hand::ByHand;
use super::{Diary, Name, accept};
use crate::peer::plain;

const REFUSED: &str = "-32602: requestState is invalid or has expired";

fn server(diary: &Diary) -> Server {
    let diary = diary.clone();
    let tool = plain("work", move |ctx: RequestContext| {
        let diary = diary.clone();
        async move {
            let name: Name = ctx.ask("name", "Who?").await?;
            diary.note("done");
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
async fn a_used_state_is_remembered_as_long_as_it_would_open() {
    let diary = Diary::default();
    // A node that was configured to be patient hands out the state, one that is not uses it.
    let patient = server(&diary).with_request_state_ttl(Duration::from_secs(3600));
    let hasty = server(&diary)
        .with_request_state_ttl(Duration::from_secs(1))
        .with_single_use_request_state(MemoryNonceStore::default());
    let first = ByHand::call(&patient, "work").begin().await;
    let mut call = ByHand::call(&hasty, "work");
    assert_eq!(call.answer(&first, named()).await.text(), "Ada");
    for _ in 0..3 {
        tokio::time::advance(Duration::from_secs(100)).await;
        assert_eq!(call.answer(&first, named()).await.text(), REFUSED);
    }
    assert_eq!(diary.take(), ["done"]);
}

/// A state, by its digest, and how long it is to be remembered.
type Spent = ([u8; 32], Duration);

/// A store that tells what it was asked, and answers what it is told to.
#[derive(Debug, Clone)]
struct Told {
    answer: fn() -> Result<bool, StoreError>,
    asked: Arc<Mutex<Vec<Spent>>>,
}

impl Told {
    fn to(answer: fn() -> Result<bool, StoreError>) -> Self {
        let asked = Arc::default();
        Self { answer, asked }
    }

    fn asked(&self) -> Vec<Spent> {
        self.asked.lock().expect("no test panics with it").clone()
    }
}

impl NonceStore for Told {
    fn mark_used<'a>(
        &'a self,
        _: &'a Principal,
        fingerprint: &'a [u8; 32],
        lifetime: Duration,
    ) -> StoreFuture<'a, bool> {
        let mut asked = self.asked.lock().expect("no test panics with it");
        asked.push((*fingerprint, lifetime));
        Box::pin(std::future::ready((self.answer)()))
    }
}

#[tokio::test]
async fn without_the_word_of_the_store_nothing_is_done() {
    let check = async |answer: fn() -> Result<bool, StoreError>, expected: &str| {
        let diary = Diary::default();
        let store = Told::to(answer);
        let server = server(&diary).with_single_use_request_state(store.clone());
        let mut call = ByHand::call(&server, "work");
        let first = call.begin().await;
        assert_eq!(store.asked().len(), 0, "a first call has no state to use");
        let second = call.answer(&first, named()).await;
        assert_eq!(second.text(), expected);
        let done = diary.take().len();
        assert_eq!(done, usize::from(expected == "Ada"));
        store.asked()
    };
    let asked = check(|| Ok(true), "Ada").await;
    let [(_, lifetime)] = asked[..] else {
        panic!("one state was used: {asked:?}");
    };
    // Ten minutes, less what has passed, and a minute for clocks that differ.
    let expected = Duration::from_secs(600)..=Duration::from_secs(660);
    assert!(expected.contains(&lifetime), "{lifetime:?}");
    check(|| Ok(false), REFUSED).await;
    let unclear = "-32603: request state cannot be checked now; try again";
    check(|| Err(StoreError::Full), unclear).await;
    let too_many =
        "-32603: too many request states of this user were used in a short time; try again later";
    check(|| Err(StoreError::OwnerFull), too_many).await;
}

#[tokio::test]
async fn each_round_has_a_state_of_its_own() {
    let store = Told::to(|| Ok(true));
    let server = server(&Diary::default()).with_single_use_request_state(store.clone());
    let mut call = ByHand::call(&server, "work");
    let mut round = call.begin().await;
    for _ in 0..3 {
        round = call.answer(&round, json!({})).await;
    }
    let mut used: Vec<_> = store.asked().into_iter().map(|(state, _)| state).collect();
    used.sort_unstable();
    used.dedup();
    assert_eq!(used.len(), 3);
}

#[tokio::test]
async fn a_state_that_does_not_open_is_not_used_up() {
    let store = Told::to(|| Ok(true));
    let server = server(&Diary::default()).with_single_use_request_state(store.clone());
    let mut call = ByHand::call(&server, "work");
    let first = call.begin().await;
    let state = first.state().expect("a state");
    let cut = &state[..state.len() - 2];
    assert_eq!(call.send(Some(named()), Some(cut)).await.text(), REFUSED);
    assert_eq!(store.asked().len(), 0);
}
