//! What a workload leaves in the engine and in the nodes.

use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep};
use toolwire_interop::Fleet;
use toolwire_tests::http::request::Request;
use toolwire_tests::peer::call;

use super::ledger::Failure;
use super::node_client::{LEGACY, NodeClient, text_of};

/// The longest time until what belongs to an ended session is gone. It is longer than the timeout of a store call.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Keys without an expiry: what nodes compare at their start, the shared key, and the tasks, which claims remove.
const PERMANENT: [&str; 3] = [
    "tw:toolwire-demo:nodes",
    "tw:toolwire-demo:key",
    "tw:toolwire-demo:{tasks}:",
];

/// Ends all sessions of a client. Nothing of those that still exist may stay in the engine, and nothing else without an
/// expiry.
pub(super) async fn check(fleet: &Fleet, client: &NodeClient) {
    let mut sessions = Vec::new();
    for session in client.sessions() {
        let delete = Request::delete(&session, LEGACY);
        match client.send(&client.next_node(), &delete).await {
            Ok(_) => sessions.push(session),
            // A fault has ended the session. What its calls still wrote expires.
            Err(Failure::Lost(_)) => {}
            Err(failure) => panic!("a session cannot be ended: {failure}"),
        }
    }
    let start = Instant::now();
    loop {
        let keys = keys(fleet);
        let of_sessions = keys.iter().filter(|(key, _)| {
            let id = session_of(key);
            id.is_some_and(|id| sessions.iter().any(|session| session == id))
        });
        let permanent = keys.iter().filter(|(key, expires)| {
            !expires && !PERMANENT.iter().any(|permanent| key.starts_with(permanent))
        });
        let leftovers: Vec<_> = of_sessions.chain(permanent).collect();
        if leftovers.is_empty() {
            return;
        }
        assert!(
            start.elapsed() < TIMEOUT,
            "the engine still has {leftovers:?}"
        );
        sleep(Duration::from_millis(50)).await;
    }
}

/// Waits until no node runs a call that a client has cancelled.
pub(super) async fn wait_for_cancelled_calls(client: &NodeClient) {
    let start = Instant::now();
    let active = Request::modern(&call(1, "active", json!({})));
    for node in client.nodes() {
        loop {
            let running = client.result_of(&node, &active).await;
            let running = running.unwrap_or_else(|failure| panic!("{failure}"));
            if text_of(&running) == "0" {
                break;
            }
            assert!(start.elapsed() < TIMEOUT, "{node} runs {running}");
            sleep(Duration::from_millis(50)).await;
        }
    }
}

/// Returns all keys in the engine, and whether each expires.
fn keys(fleet: &Fleet) -> Vec<(String, bool)> {
    let script = "local found = {} \
         for _, key in ipairs(redis.call('KEYS', 'tw:*')) do \
         local expires = redis.call('PTTL', key) >= 0 and '+' or '-' \
         found[#found + 1] = expires .. key end \
         return table.concat(found, string.char(10))";
    let keys = fleet.engine_command(&format!("EVAL \"{script}\" 0"));
    let keys = keys.unwrap_or_else(|problem| panic!("{problem}"));
    let keys = keys.lines().filter_map(|key| {
        let (expires, key) = key.split_at_checked(1)?;
        Some((key.to_owned(), expires == "+"))
    });
    keys.collect()
}

/// Returns the session to which a key belongs.
fn session_of(key: &str) -> Option<&str> {
    let (_, rest) = key.split_once("{s:")?;
    let (session, _) = rest.split_once('}')?;
    Some(session)
}
