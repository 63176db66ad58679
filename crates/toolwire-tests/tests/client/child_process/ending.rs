//! The end of child processes and the release of their resources.

use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, kill_process, test_kill_process};
use serde_json::json;
use toolwire::ServerCommand;
use toolwire_tests::peer::within;

use super::child::Behavior;
use super::{StderrLines, builder, builder_with_short_grace, connect};

fn process(id: u32) -> Pid {
    Pid::from_raw(id.cast_signed()).expect("a process id that is not 0")
}

/// Returns `true` if a process runs. A zombie does not run.
pub(super) fn is_running(id: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat"));
    match stat {
        Ok(stat) => !stat.contains(") Z "),
        Err(_) => test_kill_process(process(id)).is_ok(),
    }
}

/// Returns `true` if a process has ended and is not a zombie.
pub(super) fn is_reaped(id: u32) -> bool {
    test_kill_process(process(id)).is_err()
}

/// Polls until the condition is true. There is no event for the end of a process that is not a child.
pub(super) async fn eventually(condition: impl Fn() -> bool) {
    let polling = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    within(polling).await;
}

/// Returns a legacy server in `sh` that runs this script after the handshake.
pub(super) fn shell(script: &str) -> ServerCommand {
    let serve = r#"
        echo "process $$" >&2
        respond() { echo "{\"jsonrpc\":\"2.0\",\"id\":$1,$2}"; }
        read discover && respond 1 '"error":{"code":-32601,"message":"?"}'
        read initialize && respond 2 '"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"sh","version":"1"}}'
        read initialized
    "#;
    ServerCommand::new("sh").args(["-c", &format!("{serve}\n{script}")])
}

#[tokio::test]
async fn killed_server_fails_every_pending_call() {
    let (client, mut stderr) = connect(Behavior::Rejects(-32601)).await;
    let id = stderr.process().await;
    let calls: Vec<_> = (0..10)
        .map(|_| {
            let call = client.call_tool("wait", json!({}));
            tokio::spawn(call.into_future())
        })
        .collect();
    for _ in 0..10 {
        stderr.wait_for("got tools/call").await;
    }
    kill_process(process(id), Signal::KILL).unwrap();
    for call in calls {
        let error = within(call).await.unwrap().unwrap_err();
        assert!(error.is_closed(), "{error}");
        let exit = error.server_exit().expect("an exited process");
        assert_eq!(exit.code, None);
        assert!(exit.stderr.contains("got tools/call"), "{}", exit.stderr);
        assert!(error.to_string().contains("SIGKILL"), "{error}");
    }
    let late = client.call_tool("wait", json!({})).await.unwrap_err();
    assert!(late.server_exit().is_some(), "{late}");
    eventually(|| is_reaped(id)).await;
}

#[tokio::test]
async fn closing_waits_until_the_server_is_reaped() {
    let (client, mut stderr) = connect(Behavior::Toolwire).await;
    let id = stderr.process().await;
    assert!(is_running(id));
    within(client.close()).await;
    assert!(is_reaped(id));
    let error = client.call_tool("add", json!({})).await.unwrap_err();
    assert!(error.is_closed(), "{error}");
    // A second call of `close` does nothing.
    within(client.close()).await;
}

#[tokio::test]
async fn server_can_finish_its_work_after_its_input_is_closed() {
    let (command, mut stderr) = StderrLines::of(shell("cat; echo finished >&2"));
    let client = builder().spawn(command).await.unwrap();
    within(client.close()).await;
    stderr.wait_for("finished").await;
}

#[tokio::test]
async fn server_that_ignores_the_end_of_its_input_gets_sigterm() {
    let script = "trap 'echo terminated >&2; exit 0' TERM; while :; do sleep 1; done";
    let (command, mut stderr) = StderrLines::of(shell(script));
    let client = builder_with_short_grace().spawn(command).await.unwrap();
    let id = stderr.process().await;
    within(client.close()).await;
    assert!(is_reaped(id));
    stderr.wait_for("terminated").await;
}

#[tokio::test]
async fn server_that_ignores_sigterm_is_killed() {
    let script = "trap '' TERM; echo trapped >&2; while :; do sleep 1; done";
    let (command, mut stderr) = StderrLines::of(shell(script));
    let client = builder_with_short_grace().spawn(command).await.unwrap();
    let id = stderr.process().await;
    stderr.wait_for("trapped").await;
    within(client.close()).await;
    assert!(is_reaped(id));
}

#[tokio::test]
async fn closing_ends_the_descendants_of_the_server() {
    // The first descendant keeps the output open, the second does not.
    let script =
        "sleep 1000 & echo first $! >&2; sleep 1000 >/dev/null 2>&1 & echo second $! >&2; cat";
    let (command, mut stderr) = StderrLines::of(shell(script));
    let client = builder_with_short_grace().spawn(command).await.unwrap();
    let first = stderr.wait_for("first ").await.parse().unwrap();
    let second = stderr.wait_for("second ").await.parse().unwrap();
    assert!(is_running(first) && is_running(second));
    within(client.close()).await;
    assert!(!is_running(first), "an orphan");
    assert!(!is_running(second), "an orphan");
}

#[tokio::test]
async fn exit_of_the_server_ends_its_descendants() {
    let (command, mut stderr) =
        StderrLines::of(shell("sleep 1000 & echo first $! >&2; read call; exit 4"));
    let client = builder_with_short_grace().spawn(command).await.unwrap();
    let first = stderr.wait_for("first ").await.parse().unwrap();
    let error = within(client.call_tool("x", json!({})).into_future()).await;
    let error = error.unwrap_err();
    assert_eq!(
        error.server_exit().expect("an exited process").code,
        Some(4)
    );
    eventually(|| !is_running(first)).await;
}

#[tokio::test]
async fn response_before_the_exit_is_delivered() {
    let response = r#"respond 3 '"result":{"content":[{"type":"text","text":"last"}]}'"#;
    let client = builder().spawn(shell(&format!("read call; {response}; exit 1")));
    let client = client.await.unwrap();
    let result = within(client.call_tool("x", json!({})).into_future()).await;
    assert_eq!(result.unwrap().content[0].as_text(), Some("last"));
    client.close().await;
}

#[tokio::test]
async fn server_that_closes_its_output_is_terminated() {
    let (command, mut stderr) =
        StderrLines::of(shell("read call; exec 1>&-; while :; do sleep 1; done"));
    let client = builder_with_short_grace().spawn(command).await.unwrap();
    let id = stderr.process().await;
    let error = within(client.call_tool("x", json!({})).into_future()).await;
    assert!(error.unwrap_err().is_closed());
    eventually(|| is_reaped(id)).await;
}

#[tokio::test]
async fn dropping_the_last_handle_ends_the_server() {
    let (client, mut stderr) = connect(Behavior::Toolwire).await;
    let id = stderr.process().await;
    let other = client.clone();
    drop(client);
    assert!(
        other
            .call_tool("add", json!({"a": 1, "b": 2}))
            .await
            .is_ok()
    );
    drop(other);
    eventually(|| is_reaped(id)).await;
}

#[tokio::test]
async fn dropping_the_connect_future_ends_the_server() {
    let (command, mut stderr) = StderrLines::of(Behavior::NeverResponds.command());
    let connecting = builder().spawn(command);
    let id = tokio::select! {
        client = connecting => panic!("connected: {client:?}"),
        id = async {
            let id = stderr.process().await;
            stderr.wait_for("got server/discover").await;
            id
        } => id,
    };
    eventually(|| is_reaped(id)).await;
}

#[test]
fn runtime_shutdown_leaves_no_process_and_no_zombie() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (client, id, first) = runtime.block_on(async {
        let script = "trap '' TERM; sleep 1000 & echo first $! >&2; while :; do sleep 1; done";
        let (command, mut stderr) = StderrLines::of(shell(script));
        let client = builder().spawn(command).await.unwrap();
        let id = stderr.process().await;
        let first = stderr.wait_for("first ").await.parse().unwrap();
        (client, id, first)
    });
    drop(runtime);
    let later = tokio::runtime::Builder::new_current_thread();
    let later = { later }.enable_time().build().unwrap();
    later.block_on(eventually(|| is_reaped(id) && !is_running(first)));
    drop(client);
}

#[test]
fn close_completes_if_another_thread_reaps_the_process() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let (client, mut stderr) = connect(Behavior::Toolwire).await;
        let id = stderr.process().await;
        let reaping = tokio::task::spawn_blocking(move || {
            rustix::process::waitpid(Some(process(id)), WaitOptions::empty())
        });
        within(client.close()).await;
        drop(reaping.await);
        assert!(is_reaped(id));
    });
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn hundred_children_leave_neither_process_nor_descriptor() {
    // A separate process, in which no other test opens file descriptors.
    let (command, mut stderr) = StderrLines::of(Behavior::Parent.command());
    let error = builder().spawn(command).await.unwrap_err();
    let exit = error.server_exit().expect("an exited process");
    assert_eq!(exit.code, Some(0), "{}", exit.stderr);
    stderr.wait_for("nothing is left").await;
}

/// The code of the child in the test above.
#[cfg(target_os = "linux")]
#[expect(
    clippy::unwrap_used,
    reason = "a test may panic, also outside its own function"
)]
pub(super) fn run_hundred_children() {
    let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let children = || {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        let children =
            tasks.map(|task| std::fs::read_to_string(task.unwrap().path().join("children")));
        children.filter_map(Result::ok).collect::<String>()
    };
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build().unwrap();
    runtime.block_on(async {
        let mut first = None;
        for _ in 0..100 {
            let client = builder().spawn(Behavior::Modern.command());
            let client = client.await.unwrap();
            client.call_tool("anything", json!({})).await.unwrap();
            client.close().await;
            drop(client);
            // The first child may cause the runtime to open descriptors permanently.
            let first = *first.get_or_insert_with(open);
            assert_eq!(open(), first);
            assert_eq!(children(), "");
        }
    });
    eprintln!("nothing is left");
}
