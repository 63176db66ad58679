//! Contract tests for sessions that two nodes use at the same time.

use std::slice;
use std::sync::Arc;

use tokio::task::JoinSet;

use toolwire_types::LoggingLevel;

use crate::store::contract::sessions::{LONG, load, record};
use crate::store::contract::{in_time, ok, unique_name, user};
use crate::store::{Bus, BusDelivery, BusMessage, BusPayload, LoadedSession, SessionStore};

/// The number of concurrent callers of a check.
const CALLERS: usize = 32;

/// Two connections to one store, as two nodes have them.
pub(super) struct Nodes {
    pub(super) here: Arc<dyn SessionStore>,
    pub(super) there: Arc<dyn SessionStore>,
}

impl Nodes {
    /// Returns the connection of a caller.
    fn of(&self, caller: usize) -> Arc<dyn SessionStore> {
        let node = if caller.is_multiple_of(2) {
            &self.here
        } else {
            &self.there
        };
        Arc::clone(node)
    }
}

pub(super) async fn session_of_one_node_is_known_to_the_other(nodes: &Nodes) {
    let Nodes { here, there } = nodes;
    let (id, owner) = (unique_name("session"), user("alice"));
    let created = ok("create", here.create(&id, &owner, record("a"), LONG).await);
    let loaded = load(&**there, &id, &owner, LONG).await;
    assert_eq!(
        loaded.as_ref(),
        Some(&created),
        "a session that one node creates is known to the others"
    );
    let replaced = there.replace(&id, &owner, created.revision, record("b"));
    let revision = ok("replace", replaced.await).expect("every node can replace the record");
    let loaded = load(&**here, &id, &owner, LONG).await;
    assert_eq!(
        loaded.map(|session| (session.revision, (*session.record).clone())),
        Some((revision, record("b"))),
        "a record that one node replaces is read by the others"
    );
    let stale = here.replace(&id, &owner, created.revision, record("c"));
    assert_eq!(
        ok("replace", stale.await),
        None,
        "a revision that another node has replaced is not the current one"
    );
    let deleted = ok("delete", here.delete(&id, &owner).await);
    assert!(deleted, "every node can delete a session");
    assert_eq!(
        load(&**there, &id, &owner, LONG).await,
        None,
        "a session that one node deletes has ended for the others"
    );
}

pub(super) async fn session_is_initialized_on_another_node(nodes: &Nodes) {
    let Nodes { here, there } = nodes;
    let (owner, other) = (user("alice"), user("mallory"));
    for log_level in [None, Some(LoggingLevel::Error)] {
        let id = unique_name("session");
        let created = here.create(&id, &owner, record("a"), LONG).await;
        let mut before = ok("create", created);
        let mut expected = record("a");
        expected.log_level = log_level;
        if log_level.is_some() {
            let replaced = here.replace(&id, &owner, before.revision, expected.clone());
            let replaced = ok("replace", replaced.await);
            before.revision = replaced.expect("the revision is the current one");
        }
        for is_first in [true, false] {
            let loaded = there.load_initialized(&id, &owner, LONG).await;
            let Some(LoadedSession::Newer(loaded)) = ok("load_initialized", loaded) else {
                panic!("`load_initialized` returns the record");
            };
            expected.initialized = loaded.record.initialized;
            assert_eq!(
                *loaded.record, expected,
                "`load_initialized` changes nothing but `initialized`"
            );
            assert_eq!(
                loaded.revision != before.revision,
                is_first && loaded.record.initialized,
                "`load_initialized` changes the revision once, if it changes the record"
            );
            before.revision = loaded.revision;
            assert_eq!(
                load(&**here, &id, &owner, LONG).await,
                Some(loaded),
                "the record that `load_initialized` returns is stored"
            );
        }
        for unknown in [id.as_str(), &unique_name("session")] {
            let loaded = there.load_initialized(unknown, &other, LONG);
            assert_eq!(
                ok("load_initialized", loaded.await),
                None,
                "`load_initialized` finds no session of another principal, and no unknown one"
            );
        }
    }
}

/// `here` and `bus` belong to one node, and `other` to another one.
pub(super) async fn replacement_is_published_once(
    here: &dyn SessionStore,
    bus: &dyn Bus,
    other: &dyn Bus,
) {
    let (id, owner, node) = (unique_name("session"), user("alice"), unique_name("node"));
    let created = here.create(&id, &owner, record("a"), LONG).await;
    let revision = ok("create", created).revision;
    let mut subscription = ok("subscribe", other.subscribe().await);
    let (changed, late) = (record("b"), record("c"));
    // The record may be stored by two calls that change the same, and by a call whose response was lost.
    for (new, is_replaced) in [(&changed, true), (&changed, true), (&late, false)] {
        let replacing = here.replace_and_publish(&id, &owner, revision, new, bus, &node);
        let Some(replacing) = replacing else {
            return;
        };
        let replaced = ok("replace_and_publish", replacing.await);
        if new == &changed && replaced.is_none() {
            // The store distinguishes two calls with one record.
            continue;
        }
        assert_eq!(
            replaced.is_some(),
            is_replaced,
            "`replace_and_publish` replaces the current revision"
        );
    }
    let end = BusMessage::new(&node, BusPayload::Everything);
    ok("publish_all", bus.publish_all(slice::from_ref(&end)).await);
    let rule = "`replace_and_publish` publishes what it stores, and no message is missing";
    let updated = BusMessage::session_updated(&node, &id, changed, revision + 1);
    let mut published = 0;
    loop {
        match in_time(rule, subscription.next()).await {
            Some(BusDelivery::Message(message)) if message == end => break,
            Some(BusDelivery::Message(message)) if message.node == node => {
                assert_eq!(message, updated, "{rule}");
                published += 1;
            }
            // Other programs may use the bus, too.
            Some(BusDelivery::Message(_)) => {}
            other => panic!("{rule}: {other:?}"),
        }
    }
    assert!(published > 0, "{rule}");
}

pub(super) async fn one_id_is_created_once(nodes: &Nodes) {
    let rule = "of several creations with one id on all nodes exactly one succeeds";
    let (id, owner) = (unique_name("session"), user("alice"));
    let mut creations = JoinSet::new();
    for caller in 0..CALLERS {
        let (store, id, owner) = (nodes.of(caller), id.clone(), owner.clone());
        creations.spawn(async move {
            let created = store.create(&id, &owner, record("a"), LONG).await;
            created.is_ok()
        });
    }
    let outcomes = in_time(rule, creations.join_all()).await;
    let successes = outcomes.into_iter().filter(|success| *success).count();
    assert_eq!(successes, 1, "{rule}");
}

pub(super) async fn one_of_many_replacements_wins(nodes: &Nodes) {
    let rule = "of several replacements of one revision on all nodes exactly one succeeds";
    let (id, owner) = (unique_name("session"), user("alice"));
    let created = nodes.here.create(&id, &owner, record("a"), LONG).await;
    let revision = ok("create", created).revision;
    let mut replacements = JoinSet::new();
    for caller in 0..CALLERS {
        let (store, id, owner) = (nodes.of(caller), id.clone(), owner.clone());
        let new = record(&caller.to_string());
        replacements.spawn(async move {
            let replaced = store.replace(&id, &owner, revision, new.clone());
            ok("replace", replaced.await).map(|revision| (revision, new))
        });
    }
    let outcomes = in_time(rule, replacements.join_all()).await;
    let winners: Vec<_> = outcomes.into_iter().flatten().collect();
    assert_eq!(winners.len(), 1, "{rule}");
    for store in [&nodes.here, &nodes.there] {
        let loaded = load(&**store, &id, &owner, LONG).await;
        let loaded = loaded.map(|session| (session.revision, (*session.record).clone()));
        assert_eq!(
            loaded.as_ref(),
            winners.first(),
            "the record is the one whose replacement succeeded"
        );
    }
}

pub(super) async fn session_is_deleted_once(nodes: &Nodes) {
    let rule = "of several deletions on all nodes exactly one finds the session";
    let (id, owner) = (unique_name("session"), user("alice"));
    let created = nodes.here.create(&id, &owner, record("a"), LONG).await;
    ok("create", created);
    let mut deletions = JoinSet::new();
    for caller in 0..CALLERS {
        let (store, id, owner) = (nodes.of(caller), id.clone(), owner.clone());
        deletions.spawn(async move { ok("delete", store.delete(&id, &owner).await) });
    }
    let outcomes = in_time(rule, deletions.join_all()).await;
    let found = outcomes.into_iter().filter(|found| *found).count();
    assert_eq!(found, 1, "{rule}");
}
