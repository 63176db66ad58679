//! Tests of the active and cached sessions of a node and of their updates.

use toolwire_types::{ClientCapabilities, ProtocolVersion};

use super::*;
use crate::engine::TokenInfo;

const IDLE: Duration = Duration::from_secs(300);

fn record(revision: u64) -> SessionRecord {
    let mut record = SessionRecord::new(ProtocolVersion::LATEST, ClientCapabilities::new(), None);
    record.initialized = revision > 1;
    record
}

fn enter(sessions: &Arc<ActiveSessions>, id: &str, revision: u64) -> Arc<ActiveSession> {
    enter_as(sessions, id, revision, record(revision))
}

fn enter_as(
    sessions: &Arc<ActiveSessions>,
    id: &str,
    revision: u64,
    record: SessionRecord,
) -> Arc<ActiveSession> {
    let stored = StoredSession::new(Arc::new(record), revision);
    let principal = Principal::anonymous();
    sessions.enter(id, &principal, &stored, IDLE, || Duration::ZERO)
}

/// Returns a record that takes `bytes` bytes as JSON.
fn record_of(bytes: usize) -> SessionRecord {
    let mut record = record(1);
    let length = |record: &SessionRecord| serde_json::to_vec(record).unwrap().len();
    // The quotation marks of the resource.
    let uri_length = bytes - length(&record) - 2;
    record.subscriptions.insert("x".repeat(uri_length));
    assert_eq!(length(&record), bytes);
    record
}

#[test]
fn next_request_reuses_and_updates_the_cached_session() {
    let sessions = Arc::new(ActiveSessions::default());
    let first = enter(&sessions, "a", 1);
    assert!(!first.state.is_initialized());
    assert_eq!(sessions.len(), 1);
    let first = {
        let weak = Arc::downgrade(&first);
        drop(first);
        weak
    };
    assert_eq!(sessions.len(), 0, "it is not in use");
    let second = enter(&sessions, "a", 2);
    assert!(Weak::ptr_eq(&first, &Arc::downgrade(&second)));
    assert!(second.state.is_initialized());
    assert_eq!(sessions.len(), 1);
}

#[test]
fn cache_contains_only_the_most_recent_sessions() {
    let sessions = Arc::new(ActiveSessions::default());
    let needed = enter(&sessions, "needed", 1);
    enter(&sessions, "forgotten", 1);
    for id in 0..CACHED_SESSIONS - 2 {
        enter(&sessions, &id.to_string(), 1);
    }
    assert!(sessions.find("forgotten").is_some());
    enter(&sessions, "one more", 1);
    enter(&sessions, "and another", 1);
    assert!(sessions.find("forgotten").is_none());
    assert!(sessions.find("0").is_some());
    // It is not cached any more, but it exists while it is in use.
    assert!(sessions.find("needed").is_some());
    assert_eq!(sessions.len(), 1);
    drop(needed);
    assert!(sessions.find("needed").is_none());
    assert_eq!(sessions.lock().by_id.len(), CACHED_SESSIONS);
}

#[test]
fn ended_session_is_not_cached() {
    let sessions = Arc::new(ActiveSessions::default());
    let running = enter(&sessions, "a", 1);
    enter(&sessions, "b", 1);
    let anonymous = Principal::anonymous();
    let token = TokenInfo {
        valid: true,
        subject: Some("another user".to_owned()),
        ..TokenInfo::default()
    };
    sessions.end("b", &Principal::of(&token));
    assert!(sessions.find("b").is_some());
    for id in ["a", "b", "never seen"] {
        sessions.end(id, &anonymous);
    }
    assert!(sessions.find("b").is_none());
    assert!(sessions.find("a").is_some());
    assert!(running.key.ended.is_cancelled());
    drop(running);
    assert!(sessions.find("a").is_none());
}

#[tokio::test(start_paused = true)]
async fn old_session_is_not_cached() {
    let sessions = Arc::new(ActiveSessions::default());
    enter(&sessions, "first", 1);
    let moment = Duration::from_millis(1);
    tokio::time::advance(moment).await;
    enter(&sessions, "second", 1);
    let running = enter(&sessions, "running", 1);
    tokio::time::advance(IDLE - moment * 2).await;
    enter(&sessions, "third", 1);
    assert!(sessions.find("first").is_some());
    tokio::time::advance(moment).await;
    enter(&sessions, "fourth", 1);
    assert!(sessions.find("first").is_none());
    assert!(sessions.find("second").is_some());
    tokio::time::advance(moment).await;
    enter(&sessions, "fifth", 1);
    assert!(sessions.find("second").is_none());
    assert!(sessions.find("running").is_some(), "it is in use");
    drop(running);
    assert!(sessions.find("running").is_none());
    assert!(sessions.find("third").is_some());
}

#[test]
fn large_session_is_not_cached() {
    let sessions = Arc::new(ActiveSessions::default());
    enter_as(&sessions, "small", 1, record_of(MAX_CACHED_RECORD_BYTES));
    assert!(sessions.find("small").is_some());
    let large = enter_as(
        &sessions,
        "large",
        1,
        record_of(MAX_CACHED_RECORD_BYTES + 1),
    );
    assert!(sessions.find("large").is_some(), "it is in use");
    drop(large);
    assert!(sessions.find("large").is_none());
    // A cached session is removed when its record grows.
    enter_as(
        &sessions,
        "small",
        2,
        record_of(MAX_CACHED_RECORD_BYTES + 1),
    );
    assert!(sessions.find("small").is_none());
}

#[test]
fn session_whose_record_grows_is_not_cached() {
    let grown = record_of(MAX_CACHED_RECORD_BYTES + 1);
    let stored = StoredSession::new(Arc::new(grown.clone()), 2);
    let by_a_request = |active: &ActiveSession| active.refresh(&stored);
    let by_another_node = |active: &ActiveSession| {
        active.on_signal(SessionSignal::Updated {
            record: Box::new(grown.clone()),
            revision: 2,
        });
    };
    for grow in [&by_a_request as &dyn Fn(&ActiveSession), &by_another_node] {
        let sessions = Arc::new(ActiveSessions::default());
        let active = enter(&sessions, "a", 1);
        grow(&active);
        assert!(sessions.find("a").is_some(), "it is in use");
        drop(active);
        assert!(sessions.find("a").is_none());
    }
}

#[test]
fn signals_during_a_load_are_applied_to_the_loaded_session() {
    let updated = || SessionSignal::Updated {
        record: Box::new(record(2)),
        revision: 2,
    };
    let sessions = Arc::new(ActiveSessions::default());
    let loading = ["updated", "ended", "other"].map(|id| sessions.loading.start(id));
    sessions.on_signal("updated", updated());
    sessions.on_signal("ended", SessionSignal::Ended);
    // The store had returned the first revision before.
    let entered = ["updated", "ended", "other"].map(|id| enter(&sessions, id, 1));
    let is_initialized = entered
        .each_ref()
        .map(|active| active.state.is_initialized());
    assert_eq!(is_initialized, [true, false, false]);
    let has_ended = entered
        .each_ref()
        .map(|active| active.key.ended.is_cancelled());
    assert_eq!(has_ended, [false, true, false]);
    drop(loading);
    sessions.on_signal("late", updated());
    assert!(
        !enter(&sessions, "late", 1).state.is_initialized(),
        "nothing loaded it"
    );
}

#[test]
fn signal_during_two_loads_is_applied_until_both_have_ended() {
    let sessions = Arc::new(ActiveSessions::default());
    let (first, second) = (sessions.loading.start("a"), sessions.loading.start("a"));
    sessions.on_signal("a", SessionSignal::Ended);
    drop(first);
    assert!(enter(&sessions, "a", 1).key.ended.is_cancelled());
    drop(second);
    assert!(!enter(&sessions, "a", 1).key.ended.is_cancelled());
}

#[test]
fn unsaved_changes_survive_an_update_from_the_store() {
    let sessions = Arc::new(ActiveSessions::default());
    let active = enter(&sessions, "a", 1);
    active.state.subscribe("notes://mine").unwrap();
    let mut others = record(2);
    others.subscriptions.insert("notes://theirs".to_owned());
    enter_as(&sessions, "a", 2, others.clone());
    let (stored, current) = active.stored_and_current().unwrap();
    assert_eq!((stored.revision, &*stored.record), (2, &others));
    others.subscriptions.insert("notes://mine".to_owned());
    assert_eq!(current, others);
}

#[test]
fn stored_and_current_record_are_consistent() {
    const ROUNDS: u64 = 5_000;
    let sessions = Arc::new(ActiveSessions::default());
    let active = enter(&sessions, "a", 1);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for revision in 2..ROUNDS {
                let mut record = record(revision);
                record.subscriptions.insert(format!("notes://{revision}"));
                enter_as(&sessions, "a", revision, record);
            }
        });
        while active.stored_and_current().unwrap().0.revision < ROUNDS - 1 {
            let (stored, current) = active.stored_and_current().unwrap();
            assert_eq!(*stored.record, current);
        }
    });
}
