//! Contract tests for session stores.

mod nodes;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use toolwire_types::{ClientCapabilities, Implementation, LoggingLevel, ProtocolVersion};

use crate::engine::Principal;
use crate::store::contract::{ok, unique_name, user};
use crate::store::{Bus, LoadedSession, SessionRecord, SessionStore, StoreError, StoredSession};

/// A time to live that is long enough for each check that is not about time.
const LONG: Duration = Duration::from_secs(60);

/// Checks a [`SessionStore`]. Each call of `connect` returns a connection to the same store, as each node has one. `ttl` is
/// the shortest time to live that the store observes with an error of less than a third. For most stores, 100 ms is
/// suitable.
///
/// # Panics
/// Panics if the store violates a rule. The message names the rule.
pub async fn session_store<S: SessionStore + 'static>(
    connect: impl AsyncFn() -> Arc<S>,
    ttl: Duration,
) {
    let store: Arc<dyn SessionStore> = connect().await;
    created_session_can_be_loaded(&*store).await;
    used_id_is_rejected(&*store).await;
    sessions_with_unusual_ids_are_separate(&*store).await;
    session_of_other_principal_does_not_exist(&*store).await;
    replacement_needs_the_revision(&*store).await;
    fields_of_newer_versions_are_stored(&*store).await;
    deleted_session_does_not_exist(&*store).await;
    live_session_is_not_reported_as_expired(&*store).await;
    let nodes = nodes::Nodes {
        there: connect().await,
        here: Arc::clone(&store),
    };
    nodes::session_of_one_node_is_known_to_the_other(&nodes).await;
    nodes::session_is_initialized_on_another_node(&nodes).await;
    nodes::one_id_is_created_once(&nodes).await;
    nodes::one_of_many_replacements_wins(&nodes).await;
    nodes::session_is_deleted_once(&nodes).await;
    tokio::join!(
        unused_session_ends(&*store, ttl),
        load_prolongs(&*store, ttl),
        touch_prolongs(&*store, ttl),
        touch_of_many_prolongs(&*store, ttl),
        replacement_does_not_prolong(&*store, ttl),
    );
}

/// Checks that a [`SessionStore`] which publishes changes of records on the bus of its engine does so once and in order
/// ([`SessionStore::replace_and_publish`]). `bus` belongs to the node of the store, and `other` to another node.
///
/// A store that cannot publish on this bus passes.
///
/// # Panics
/// Panics if the store violates a rule. The message names the rule.
pub async fn session_store_with_bus(store: &dyn SessionStore, bus: &dyn Bus, other: &dyn Bus) {
    nodes::replacement_is_published_once(store, bus, other).await;
}

/// Checks that a store with space for `bound` more sessions of one principal rejects the next one. It accepts it after
/// another session has ended: by [`SessionStore::delete`], and `ttl` after its last use.
///
/// # Panics
/// Panics if the store violates a rule. The message names the rule.
pub async fn session_store_bound(store: &dyn SessionStore, bound: usize, ttl: Duration) {
    let owner = user(&unique_name("owner"));
    let mut ids = Vec::new();
    for number in 1..=bound {
        let id = unique_name("session");
        let created = store.create(&id, &owner, record("a"), LONG).await;
        assert!(
            created.is_ok(),
            "a session within the limit is accepted: number {number} of {bound}"
        );
        ids.push(id);
    }
    assert_rejected(store, &owner).await;
    let Some(id) = ids.pop() else { return };
    assert!(
        ok("delete", store.delete(&id, &owner).await),
        "a session that exists can be deleted"
    );
    let short = unique_name("session");
    let created = store.create(&short, &owner, record("a"), ttl).await;
    ok("a deleted session frees its space", created);
    assert_rejected(store, &owner).await;
    sleep(ttl + ttl / 2).await;
    let last = unique_name("session");
    let created = store.create(&last, &owner, record("a"), LONG).await;
    ok("an expired session frees its space", created);
    ids.push(last);
    for id in ids {
        ok("delete", store.delete(&id, &owner).await);
    }
}

/// Returns the record of a session, and checks that it is returned only to callers that do not know it.
async fn load(
    store: &dyn SessionStore,
    id: &str,
    principal: &Principal,
    ttl: Duration,
) -> Option<StoredSession> {
    let stored = match ok("load", store.load(id, principal, ttl, None).await)? {
        LoadedSession::Newer(stored) => stored,
        LoadedSession::Same => panic!("a caller that knows no revision gets the record"),
    };
    let known = Some(stored.revision);
    let same = ok("load", store.load(id, principal, ttl, known).await);
    assert_eq!(
        same,
        Some(LoadedSession::Same),
        "a caller that knows the revision gets no record"
    );
    let other = Some(stored.revision.wrapping_sub(1));
    let newer = ok("load", store.load(id, principal, ttl, other).await);
    assert_eq!(
        newer,
        Some(LoadedSession::Newer(stored.clone())),
        "a caller that knows another revision gets the record"
    );
    Some(stored)
}

async fn assert_rejected(store: &dyn SessionStore, owner: &Principal) {
    let id = unique_name("session");
    let created = store.create(&id, owner, record("a"), LONG).await;
    assert!(
        matches!(created, Err(StoreError::Full)),
        "one session beyond the limit is rejected as full"
    );
}

/// Ids that an adapter could confuse with others. Clients choose no ids, but may send any text.
async fn sessions_with_unusual_ids_are_separate(store: &dyn SessionStore) {
    let (prefix, owner) = (unique_name("session"), user("alice"));
    let long = "x".repeat(4096);
    let names = [
        "{a}",
        "a}b",
        "a%7Db",
        "a:b",
        "a b",
        "a\r\nb",
        "*",
        "é\u{2603}",
        "",
        &long,
    ];
    let sessions: Vec<_> = names
        .iter()
        .map(|name| (format!("{prefix}{name}"), record(name)))
        .collect();
    for (id, record) in &sessions {
        let created = store.create(id, &owner, record.clone(), LONG).await;
        ok("create a session with an unusual id", created);
    }
    for (id, record) in &sessions {
        let loaded = load(store, id, &owner, LONG).await;
        let loaded = loaded.map(|session| (*session.record).clone());
        assert_eq!(
            loaded.as_ref(),
            Some(record),
            "sessions with unusual ids are separate: {id:?}"
        );
    }
    for (id, _) in &sessions {
        assert!(ok("delete", store.delete(id, &owner).await), "{id:?}");
    }
}

async fn created_session_can_be_loaded(store: &dyn SessionStore) {
    for owner in [Principal::anonymous(), user("alice")] {
        let id = unique_name("session");
        let mut initial = record("a");
        initial.initialized = true;
        initial.log_level = Some(LoggingLevel::Warning);
        initial.subscriptions.insert("file:///ä b".to_owned());
        let created = ok(
            "create",
            store.create(&id, &owner, initial.clone(), LONG).await,
        );
        assert_eq!(
            *created.record, initial,
            "create returns the record it was given"
        );
        let loaded = load(store, &id, &owner, LONG)
            .await
            .expect("a created session can be loaded");
        assert_eq!(
            loaded, created,
            "load returns what create returned: the record and its revision"
        );
        assert!(
            ok("touch", store.touch(&id, &owner, LONG).await),
            "touch finds a session that exists"
        );
        let again = load(store, &id, &owner, LONG).await;
        assert_eq!(
            again,
            Some(loaded),
            "neither load nor touch changes the record or its revision"
        );
    }
}

async fn used_id_is_rejected(store: &dyn SessionStore) {
    let (id, owner) = (unique_name("session"), user("alice"));
    ok(
        "create",
        store.create(&id, &owner, record("first"), LONG).await,
    );
    let second = store.create(&id, &owner, record("second"), LONG).await;
    assert!(
        matches!(second, Err(StoreError::Taken)),
        "an id in use is rejected with `Taken`"
    );
    // A store may accept or reject the id of another principal's session, because clients do not choose ids.
    let _ = store
        .create(&id, &user("mallory"), record("third"), LONG)
        .await;
    let loaded = load(store, &id, &owner, LONG).await;
    assert_eq!(
        loaded.map(|session| (*session.record).clone()),
        Some(record("first")),
        "a session does not change when its id is used again"
    );
}

async fn session_of_other_principal_does_not_exist(store: &dyn SessionStore) {
    let (alice, mallory) = (user("alice"), user("mallory"));
    let anonymous = Principal::anonymous();
    for (owner, other) in [
        (&alice, &mallory),
        (&alice, &anonymous),
        (&anonymous, &mallory),
    ] {
        let id = unique_name("session");
        let created = ok("create", store.create(&id, owner, record("a"), LONG).await);
        for unknown in [id.as_str(), &unique_name("session")] {
            absent(store, unknown, other, created.revision).await;
        }
        let loaded = load(store, &id, owner, LONG).await;
        assert_eq!(
            loaded,
            Some(created),
            "calls of other principals do not change a session"
        );
    }
}

/// Checks that the session does not exist for this principal.
async fn absent(store: &dyn SessionStore, id: &str, principal: &Principal, revision: u64) {
    assert_eq!(
        load(store, id, principal, LONG).await,
        None,
        "load finds no session that ended, never existed or belongs to another principal"
    );
    assert!(
        !ok("touch", store.touch(id, principal, LONG).await),
        "touch finds no session that ended, never existed or belongs to another principal"
    );
    let replaced = store.replace(id, principal, revision, record("b")).await;
    assert_eq!(
        ok("replace", replaced),
        None,
        "replace finds no session that ended, never existed or belongs to another principal"
    );
    assert!(
        !ok("delete", store.delete(id, principal).await),
        "delete finds no session that ended, never existed or belongs to another principal"
    );
}

async fn replacement_needs_the_revision(store: &dyn SessionStore) {
    let (id, owner) = (unique_name("session"), user("alice"));
    let created = ok("create", store.create(&id, &owner, record("a"), LONG).await);
    let first = created.revision;
    let second = ok(
        "replace",
        store.replace(&id, &owner, first, record("b")).await,
    )
    .expect("a record of the current revision can be replaced");
    assert!(second > first, "the revision grows with every replacement");
    for stale in [first, second + 1] {
        let replaced = store.replace(&id, &owner, stale, record("c")).await;
        assert_eq!(
            ok("replace", replaced),
            None,
            "a record is not replaced under another revision than its own"
        );
    }
    let loaded = load(store, &id, &owner, LONG)
        .await
        .expect("a session exists after it was replaced");
    assert_eq!(
        (&*loaded.record, loaded.revision),
        (&record("b"), second),
        "load returns the record that replaced the first, and its revision"
    );
}

async fn live_session_is_not_reported_as_expired(store: &dyn SessionStore) {
    let (id, owner) = (unique_name("session"), user("alice"));
    ok("create", store.create(&id, &owner, record("a"), LONG).await);
    let expired = ok("take_expired", store.take_expired().await);
    assert!(
        expired.iter().all(|expired| expired.id != id),
        "take_expired returns no session that has not expired"
    );
}

async fn fields_of_newer_versions_are_stored(store: &dyn SessionStore) {
    let rule = "fields that this version does not know are stored, also by a replacement";
    let (id, owner) = (unique_name("session"), user("alice"));
    let mut bytes = record("newer").to_bytes();
    bytes.pop();
    bytes.extend_from_slice(b",\"fieldOfANewerVersion\":[1]}");
    let mut newer = ok(rule, SessionRecord::from_bytes(&bytes));
    let created = store.create(&id, &owner, newer.clone(), LONG).await;
    let revision = ok("create", created).revision;
    newer.initialized = true;
    let replaced = store.replace(&id, &owner, revision, newer.clone()).await;
    assert!(ok("replace", replaced).is_some());
    let loaded = load(store, &id, &owner, LONG).await;
    assert_eq!(
        loaded.map(|stored| (*stored.record).clone()),
        Some(newer),
        "{rule}"
    );
}

async fn deleted_session_does_not_exist(store: &dyn SessionStore) {
    let (id, owner) = (unique_name("session"), user("alice"));
    let created = ok("create", store.create(&id, &owner, record("a"), LONG).await);
    assert!(
        ok("delete", store.delete(&id, &owner).await),
        "delete finds a session that exists"
    );
    absent(store, &id, &owner, created.revision).await;
}

async fn unused_session_ends(store: &dyn SessionStore, ttl: Duration) {
    let (id, owner) = (unique_name("session"), user("alice"));
    let created = ok("create", store.create(&id, &owner, record("a"), ttl).await);
    sleep(ttl + ttl / 3).await;
    absent(store, &id, &owner, created.revision).await;
}

async fn load_prolongs(store: &dyn SessionStore, ttl: Duration) {
    let (id, owner) = (unique_name("session"), user("alice"));
    ok("create", store.create(&id, &owner, record("a"), ttl).await);
    for _ in 0..2 {
        sleep(ttl * 2 / 3).await;
        assert!(
            load(store, &id, &owner, ttl).await.is_some(),
            "a session lives for another time to live after each load"
        );
    }
    sleep(ttl + ttl / 3).await;
    assert_eq!(
        load(store, &id, &owner, ttl).await,
        None,
        "a session ends when the time to live has passed since the last load"
    );
}

async fn touch_prolongs(store: &dyn SessionStore, ttl: Duration) {
    let (id, owner) = (unique_name("session"), user("alice"));
    ok("create", store.create(&id, &owner, record("a"), LONG).await);
    // A time shorter than the remaining one also counts from now.
    for _ in 0..2 {
        assert!(
            ok("touch", store.touch(&id, &owner, ttl).await),
            "a session lives for another time to live after each touch"
        );
        sleep(ttl * 2 / 3).await;
    }
    sleep(ttl * 2 / 3).await;
    assert!(
        !ok("touch", store.touch(&id, &owner, ttl).await),
        "a session ends when the time to live has passed since the last touch"
    );
}

async fn touch_of_many_prolongs(store: &dyn SessionStore, ttl: Duration) {
    let rule = "a touch of several sessions prolongs each and reports which exist";
    let (id, owner) = (unique_name("session"), user("alice"));
    ok("create", store.create(&id, &owner, record("a"), ttl).await);
    let sessions = [
        (unique_name("session"), owner.clone()),
        (id.clone(), owner.clone()),
        (id.clone(), user("mallory")),
    ];
    for _ in 0..4 {
        sleep(ttl / 2).await;
        let exist = ok("touch_many", store.touch_many(&sessions, ttl).await);
        assert_eq!(exist, [false, true, false], "{rule}");
    }
    assert!(ok("touch_many", store.touch_many(&[], ttl).await).is_empty());
}

async fn replacement_does_not_prolong(store: &dyn SessionStore, ttl: Duration) {
    let (id, owner) = (unique_name("session"), user("alice"));
    let created = ok("create", store.create(&id, &owner, record("a"), ttl).await);
    sleep(ttl * 2 / 3).await;
    let replaced = store
        .replace(&id, &owner, created.revision, record("b"))
        .await;
    assert!(
        ok("replace", replaced).is_some(),
        "a session can be replaced until it ends"
    );
    sleep(ttl * 2 / 3).await;
    assert_eq!(
        load(store, &id, &owner, ttl).await,
        None,
        "a replacement does not change the remaining time of a session"
    );
}

fn record(client: &str) -> SessionRecord {
    SessionRecord::new(
        ProtocolVersion::LATEST,
        ClientCapabilities::default(),
        Some(Implementation::new(client, "1.0.0")),
    )
}
