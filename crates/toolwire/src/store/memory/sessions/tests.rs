//! Tests of the limits and times of the session store in memory. Other rules are in the contract.

use proptest::prelude::*;
use tokio::time::advance;
use toolwire_types::{ClientCapabilities, ProtocolVersion};

use super::*;
use crate::engine::TokenInfo;
use crate::store::contract;

const TTL: Duration = Duration::from_secs(10);

fn user(name: &str) -> Principal {
    Principal::of(&TokenInfo {
        valid: true,
        subject: Some(name.to_owned()),
        ..TokenInfo::default()
    })
}

fn record() -> SessionRecord {
    let version = ProtocolVersion::V2025_06_18;
    SessionRecord::new(version, ClientCapabilities::default(), None)
}

fn store(sessions: usize, sessions_per_principal: usize) -> MemorySessionStore {
    let limits = MemorySessionLimits::default()
        .with_sessions(sessions)
        .with_sessions_per_principal(sessions_per_principal);
    MemorySessionStore::new(limits)
}

async fn is_created(store: &MemorySessionStore, id: &str, principal: &Principal) -> bool {
    match store.create(id, principal, record(), TTL).await {
        Ok(_) => true,
        Err(StoreError::Full) => false,
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test(start_paused = true)]
async fn store_meets_the_contract() {
    let store = Arc::<MemorySessionStore>::default();
    let connect = async || Arc::clone(&store);
    contract::session_store(connect, Duration::from_millis(100)).await;
}

#[tokio::test(start_paused = true)]
async fn store_meets_the_contract_of_limits() {
    let ttl = Duration::from_millis(100);
    contract::session_store_bound(&store(3, 100), 3, ttl).await;
    contract::session_store_bound(&store(100, 3), 3, ttl).await;
}

#[tokio::test(start_paused = true)]
async fn total_number_of_sessions_is_limited() {
    let store = store(3, 100);
    for (number, expected) in [(1, true), (2, true), (3, true), (4, false)] {
        let (id, owner) = (format!("s{number}"), user(&format!("u{number}")));
        assert_eq!(
            is_created(&store, &id, &owner).await,
            expected,
            "session {number}"
        );
    }
    assert!(!is_created(&store, "anonymous", &Principal::anonymous()).await);
    assert_eq!(store.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn bytes_of_records_are_limited() {
    let one = record().memory_bytes();
    let store = MemorySessionStore::new(MemorySessionLimits::default().with_bytes(2 * one));
    let anonymous = Principal::anonymous();
    assert!(is_created(&store, "a", &anonymous).await);
    assert!(is_created(&store, "b", &anonymous).await);
    assert!(!is_created(&store, "c", &anonymous).await);
    // A record cannot grow beyond the limit, and a failed change changes nothing.
    let mut larger = record();
    larger.subscriptions.insert("note:1".to_owned());
    let grown = store.replace("a", &anonymous, 1, larger.clone()).await;
    assert!(matches!(grown, Err(StoreError::Full)), "{grown:?}");
    assert!(store.delete("b", &anonymous).await.unwrap());
    let grown = store.replace("a", &anonymous, 1, larger).await;
    assert_eq!(grown.unwrap(), Some(2));
    assert!(!is_created(&store, "c", &anonymous).await);
    // An expired session frees its bytes.
    advance(TTL).await;
    assert!(is_created(&store, "c", &anonymous).await);
    assert!(is_created(&store, "d", &anonymous).await);
}

#[tokio::test(start_paused = true)]
async fn anonymous_sessions_of_one_address_are_limited() {
    let limits = MemorySessionLimits::default().with_sessions_per_address(2);
    let store = MemorySessionStore::new(limits);
    let anonymous = Principal::anonymous();
    let create = async |id: &str, address: [u8; 4]| {
        let mut record = record();
        record.network = Some(address.into());
        store.create(id, &anonymous, record, TTL).await.map(drop)
    };
    create("a", [192, 0, 2, 1]).await.unwrap();
    create("b", [192, 0, 2, 1]).await.unwrap();
    let full = create("c", [192, 0, 2, 1]).await;
    assert!(matches!(full, Err(StoreError::OwnerFull)), "{full:?}");
    create("d", [192, 0, 2, 2]).await.unwrap();
    // A replaced record still belongs to the address that opened the session.
    assert_eq!(
        store.replace("a", &anonymous, 1, record()).await.unwrap(),
        Some(2)
    );
    assert!(create("e", [192, 0, 2, 1]).await.is_err());
    assert!(store.delete("a", &anonymous).await.unwrap());
    create("f", [192, 0, 2, 1]).await.unwrap();
    advance(TTL).await;
    create("g", [192, 0, 2, 1]).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn sessions_of_each_principal_are_limited() {
    let store = store(100, 2);
    let (alice, bob) = (user("alice"), user("bob"));
    for (id, owner, expected) in [
        ("a1", &alice, true),
        ("a2", &alice, true),
        ("a3", &alice, false),
        ("b1", &bob, true),
    ] {
        assert_eq!(is_created(&store, id, owner).await, expected, "{id}");
    }
    assert!(store.delete("a1", &alice).await.unwrap());
    assert!(is_created(&store, "a3", &alice).await);
    assert!(!is_created(&store, "a4", &alice).await);
}

#[tokio::test(start_paused = true)]
async fn anonymous_sessions_have_only_the_total_limit() {
    let store = store(3, 0);
    let anonymous = Principal::anonymous();
    for (id, expected) in [("1", true), ("2", true), ("3", true), ("4", false)] {
        assert_eq!(is_created(&store, id, &anonymous).await, expected, "{id}");
    }
    assert!(!is_created(&store, "5", &user("alice")).await);
}

#[tokio::test(start_paused = true)]
async fn session_ends_exactly_after_its_ttl() {
    let store = MemorySessionStore::default();
    let owner = user("alice");
    assert!(store.is_empty());
    assert!(is_created(&store, "a", &owner).await);
    advance(TTL - Duration::from_millis(1)).await;
    assert!(store.touch("a", &owner, TTL).await.unwrap());
    advance(TTL - Duration::from_millis(1)).await;
    assert_eq!(store.len(), 1);
    advance(Duration::from_millis(1)).await;
    assert_eq!(store.load("a", &owner, TTL, None).await.unwrap(), None);
    assert!(store.is_empty());
}

#[tokio::test(start_paused = true)]
async fn ended_sessions_do_not_count() {
    let store = store(2, 1);
    let (alice, bob) = (user("alice"), user("bob"));
    assert!(is_created(&store, "a", &alice).await);
    assert!(is_created(&store, "b", &bob).await);
    advance(TTL / 2).await;
    assert!(store.touch("b", &bob, TTL).await.unwrap());
    advance(TTL / 2).await;
    assert!(!is_created(&store, "b2", &bob).await);
    assert!(is_created(&store, "a2", &alice).await);
    assert!(!is_created(&store, "c", &user("carol")).await);
}

#[tokio::test(start_paused = true)]
async fn maximum_ttl_does_not_overflow() {
    let store = MemorySessionStore::default();
    let owner = user("alice");
    let created = store.create("a", &owner, record(), Duration::MAX).await;
    assert!(created.is_ok());
    advance(TTL * 1000).await;
    assert!(store.touch("a", &owner, Duration::MAX).await.unwrap());
    assert_eq!(store.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn load_shares_the_record() {
    let store = MemorySessionStore::default();
    let owner = user("alice");
    let created = store.create("a", &owner, record(), TTL).await.unwrap();
    let loaded = store.load("a", &owner, TTL, None).await.unwrap();
    let Some(LoadedSession::Newer(loaded)) = loaded else {
        panic!("the session exists: {loaded:?}");
    };
    assert!(Arc::ptr_eq(&created.record, &loaded.record));
}

/// A step of a client, with the number of a session and of a principal.
#[derive(Debug, Clone)]
enum Step {
    Create(u8, u8, u8),
    Touch(u8, u8, u8),
    Delete(u8, u8),
    Wait(u8),
}

fn step() -> impl Strategy<Value = Step> {
    let (id, owner, seconds) = (0..6u8, 0..3u8, 0..20u8);
    prop_oneof![
        4 => (id.clone(), owner.clone(), seconds.clone()).prop_map(|(a, b, c)| Step::Create(a, b, c)),
        3 => (id.clone(), owner.clone(), seconds.clone()).prop_map(|(a, b, c)| Step::Touch(a, b, c)),
        1 => (id, owner).prop_map(|(a, b)| Step::Delete(a, b)),
        3 => seconds.prop_map(Step::Wait),
    ]
}

proptest! {
    /// For every sequence of steps, the store agrees with a linear list of sessions.
    #[test]
    fn sessions_agree_with_a_plain_list(steps in proptest::collection::vec(step(), 0..60)) {
        let limits = MemorySessionLimits::default().with_sessions(4).with_sessions_per_principal(2);
        let owners = [Principal::anonymous(), user("alice"), user("bob")];
        let mut sessions = Sessions::default();
        let mut list: Vec<(u8, u8, Instant)> = Vec::new();
        let mut now = Instant::from_std(std::time::Instant::now());
        for step in steps {
            list.retain(|(.., deadline)| *deadline > now);
            match step {
                Step::Create(id, owner, seconds) => {
                    let ttl = Duration::from_secs(seconds.into());
                    let owned = list.iter().filter(|(_, other, _)| *other == owner).count();
                    let used = list.iter().any(|(other, ..)| *other == id);
                    let expected = !used && list.len() < 4 && (owner == 0 || owned < 2);
                    let created = sessions.create(
                        limits, &id.to_string(), &owners[usize::from(owner)], record(), now, ttl,
                    );
                    prop_assert_eq!(created.is_ok(), expected);
                    if expected {
                        list.push((id, owner, now + ttl));
                    }
                }
                Step::Touch(id, owner, seconds) => {
                    let ttl = Duration::from_secs(seconds.into());
                    let entry = list.iter_mut().find(|(a, b, _)| (*a, *b) == (id, owner));
                    let touched =
                        sessions.extend_ttl(&id.to_string(), &owners[usize::from(owner)], now, ttl);
                    prop_assert_eq!(touched.is_some(), entry.is_some());
                    if let Some((.., deadline)) = entry {
                        *deadline = now + ttl;
                    }
                }
                Step::Delete(id, owner) => {
                    let position = list.iter().position(|(a, b, _)| (*a, *b) == (id, owner));
                    let owner = &owners[usize::from(owner)];
                    let known = sessions.find(&id.to_string(), owner, now).is_some();
                    prop_assert_eq!(known, position.is_some());
                    if let Some(index) = position {
                        list.remove(index);
                        sessions.remove(&id.to_string());
                    }
                }
                Step::Wait(seconds) => now += Duration::from_secs(seconds.into()),
            }
            prop_assert_eq!(sessions.by_id.len(), sessions.by_deadline.len());
        }
        sessions.remove_expired(now);
        list.retain(|(.., deadline)| *deadline > now);
        prop_assert_eq!(sessions.by_id.len(), list.len());
        let owned: usize = sessions.owned.values().sum();
        prop_assert_eq!(owned, list.iter().filter(|(_, owner, _)| *owner != 0).count());
    }
}

#[tokio::test(start_paused = true)]
async fn expired_sessions_are_returned_once() {
    let store = MemorySessionStore::default();
    let alice = user("alice");
    let ttl = Duration::from_secs(60);
    for id in ["a", "b"] {
        store.create(id, &alice, record(), ttl).await.unwrap();
    }
    assert_eq!(store.take_expired().await.unwrap(), []);
    tokio::time::sleep(ttl / 2).await;
    store.touch("b", &alice, ttl).await.unwrap();
    tokio::time::sleep(ttl / 2).await;
    // Creating a session removes expired sessions, which must still be returned.
    store.create("c", &alice, record(), ttl).await.unwrap();
    let expired = ExpiredSession::new("a", alice.clone());
    assert_eq!(store.take_expired().await.unwrap(), [expired]);
    assert_eq!(store.take_expired().await.unwrap(), []);
    // A deleted session has not expired.
    assert!(store.delete("b", &alice).await.unwrap());
    tokio::time::sleep(ttl * 2).await;
    let expired = ExpiredSession::new("c", alice);
    assert_eq!(store.take_expired().await.unwrap(), [expired]);
}
