//! Warnings of options with which nodes share some stores, but not those that belong to them.

use std::sync::Arc;

use toolwire::store::{
    ClusterStores, MemoryBus, MemoryEventLog, MemoryMailboxes, MemorySessionStore,
};
use toolwire::transport::http::{HttpOptions, HttpService, LegacyMode};
use toolwire_tests::peer::server;
use toolwire_tests::traces::Traces;

/// Returns what is traced when a service with these options is created.
fn traced(options: HttpOptions) -> String {
    let (traces, recording) = Traces::record();
    drop(HttpService::new(server(), options));
    drop(recording);
    traces.text()
}

fn with_bus() -> HttpOptions {
    HttpOptions::new().with_bus(Arc::<MemoryBus>::default())
}

#[test]
fn bus_without_mailboxes_is_reported_with_the_remedy() {
    let warnings = |options| traced(options).matches("with_mailboxes").count();
    assert_eq!(warnings(with_bus()), 1);
    let mailboxes = Arc::<MemoryMailboxes>::default();
    assert_eq!(warnings(with_bus().with_mailboxes(mailboxes)), 0);
    assert_eq!(warnings(HttpOptions::new()), 0);
    let without_sessions = with_bus().with_legacy(LegacyMode::Stateless);
    assert_eq!(warnings(without_sessions), 0);
}

#[test]
fn missing_stores_of_sessions_are_reported_with_the_remedy() {
    const NO_SESSION_STORE: &str = "the nodes share an event log, a bus or mailboxes, but the sessions are in the memory of this \
         process, so a client that reaches another node gets 404 for its session: set `HttpOptions::with_session_store`, or \
         `HttpOptions::with_legacy(LegacyMode::Stateless)` for a server without sessions";
    const ONLY_SESSIONS: &str = "the sessions have a store, but their streams or changes are in the memory of this process, so a \
         client that reaches another node cannot resume a stream or misses changes: set `HttpOptions::with_event_log` and \
         `with_bus` beside `with_session_store`";
    let warnings = |options: HttpOptions| {
        let text = traced(options);
        [NO_SESSION_STORE, ONLY_SESSIONS].map(|warning| text.contains(warning))
    };
    let sessions = Arc::<MemorySessionStore>::default();
    let events = Arc::<MemoryEventLog>::default();
    let with_events = HttpOptions::new().with_event_log(events);
    assert_eq!(warnings(with_bus()), [true, false]);
    assert_eq!(warnings(with_events.clone()), [true, false]);
    let stateless = with_events.with_legacy(LegacyMode::Stateless);
    assert_eq!(warnings(stateless), [false, false]);
    let only_sessions = HttpOptions::new().with_session_store(sessions);
    assert_eq!(warnings(only_sessions), [false, true]);
    let cluster = ClusterStores::new(
        MemorySessionStore::default(),
        MemoryEventLog::default(),
        MemoryBus::default(),
        MemoryMailboxes::default(),
    );
    let complete = HttpOptions::new().with_cluster(cluster);
    assert_eq!(warnings(complete), [false, false]);
    assert_eq!(warnings(HttpOptions::new()), [false, false]);
}
