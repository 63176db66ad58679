//! Dropped connection attempts and trackers: no process is left.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use serde_json::json;
use toolwire::{ProcessTracker, ServerCommand};
use toolwire_tests::peer::within;

use super::ending::{eventually, is_reaped, is_running, shell};
use super::{StderrLines, builder, limits};

/// A script that exits neither by itself nor when its input ends.
const STAYS: &str = "while :; do sleep 1; done";

/// Polls a future at most this often, then drops it. Returns `None` if it was not ready by then.
async fn polled<F: Future>(future: F, times: usize) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut polls = 0;
    poll_fn(|context| {
        polls += 1;
        match future.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if polls == times => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

#[tokio::test]
async fn dropping_spawn_at_any_await_point_leaves_no_process() {
    let mut limits = limits();
    // The test fails by timeout if it waits for the grace period.
    limits.exit_grace = Duration::from_secs(3600);
    for polls in 1.. {
        let tracker = ProcessTracker::new();
        let (command, mut stderr) = StderrLines::of(shell(STAYS).with_tracker(&tracker));
        let connecting = builder().with_limits(limits.clone()).spawn(command);
        let Some(client) = polled(connecting, polls).await else {
            within(tracker.ended()).await;
            // The process may have ended before it reported its id.
            if let Some(id) = stderr.process_so_far() {
                assert!(is_reaped(id), "after {polls} polls");
            }
            continue;
        };
        assert!(polls > 2, "spawn has several await points");
        let client = client.unwrap();
        tracker.kill();
        within(tracker.ended()).await;
        drop(client);
        return;
    }
}

#[test]
fn dropped_spawn_ends_its_server_although_the_runtime_does_not_wait() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let id = runtime.block_on(async {
        let script = format!("echo \"process $$\" >&2; {STAYS}");
        let (command, mut stderr) = StderrLines::of(ServerCommand::new("sh").args(["-c", &script]));
        tokio::select! {
            client = builder().spawn(command) => panic!("connected: {client:?}"),
            id = stderr.process() => id,
        }
    });
    runtime.shutdown_background();
    let later = tokio::runtime::Builder::new_current_thread();
    let later = { later }.enable_time().build().unwrap();
    later.block_on(eventually(|| !is_running(id)));
}

#[tokio::test]
async fn tracker_kills_a_server_that_ignores_sigterm() {
    let tracker = ProcessTracker::new();
    let script = format!("trap '' TERM; echo trapped >&2; {STAYS}");
    let (command, mut stderr) = StderrLines::of(shell(&script).with_tracker(&tracker));
    let client = builder().spawn(command).await.unwrap();
    let id = stderr.process().await;
    stderr.wait_for("trapped").await;
    assert_eq!(tracker.running(), 1);
    tracker.kill();
    within(tracker.ended()).await;
    assert_eq!(tracker.running(), 0);
    assert!(is_reaped(id));
    let error = client.call_tool("x", json!({})).await.unwrap_err();
    assert!(error.to_string().contains("SIGKILL"), "{error}");
}

#[tokio::test]
async fn tracker_waits_for_servers_of_closed_clients() {
    let tracker = ProcessTracker::new();
    // Nothing is tracked yet.
    within(tracker.ended()).await;
    let spawn = async || {
        let (command, mut stderr) = StderrLines::of(shell("cat").with_tracker(&tracker));
        let client = builder().spawn(command).await.unwrap();
        (client, stderr.process().await)
    };
    let ((first, first_id), (second, second_id)) = (spawn().await, spawn().await);
    assert_eq!(tracker.running(), 2);
    drop(first);
    within(second.close()).await;
    within(tracker.ended()).await;
    assert!(is_reaped(first_id) && is_reaped(second_id));
}
