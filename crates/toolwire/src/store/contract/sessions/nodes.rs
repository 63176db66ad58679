//! Contract tests for sessions that two nodes use at the same time.

use std::sync::Arc;

use tokio::task::JoinSet;

use crate::store::SessionStore;
use crate::store::contract::sessions::{LONG, load, record};
use crate::store::contract::{in_time, ok, unique_name, user};

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
