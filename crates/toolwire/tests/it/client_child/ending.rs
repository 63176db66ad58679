//! How children end, and that nothing of them is left.

use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, kill_process, test_kill_process};
use serde_json::json;
use toolwire::ServerCommand;

use super::child::Part;
use super::{Heard, builder, connect, hasty};
use crate::peer::within;

fn process(id: u32) -> Pid {
    Pid::from_raw(id.cast_signed()).expect("no process has the number 0")
}

/// Whether a process runs. One that has ended and waits for its parent does not.
pub(super) fn is_running(id: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat"));
    match stat {
        Ok(stat) => !stat.contains(") Z "),
        Err(_) => test_kill_process(process(id)).is_ok(),
    }
}

/// Whether it is not even waiting for its parent.
pub(super) fn is_reaped(id: u32) -> bool {
    test_kill_process(process(id)).is_err()
}

/// Processes of others give no sign when they end, so this looks until it is so.
pub(super) async fn eventually(condition: impl Fn() -> bool) {
    let looking = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    within(looking).await;
}

/// `sh` that does something beside being a legacy server.
pub(super) fn shell(script: &str) -> ServerCommand {
    let serve = r#"
        echo "process $$" >&2
        answer() { echo "{\"jsonrpc\":\"2.0\",\"id\":$1,$2}"; }
        read discover && answer 1 '"error":{"code":-32601,"message":"?"}'
        read initialize && answer 2 '"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"sh","version":"1"}}'
        read initialized
    "#;
    ServerCommand::new("sh").args(["-c", &format!("{serve}\n{script}")])
}

#[tokio::test]
async fn a_killed_server_fails_every_call_and_says_so() {
    let (client, mut heard) = connect(Part::Refuses(-32601)).await;
    let id = heard.process().await;
    let calls: Vec<_> = (0..10)
        .map(|_| {
            let call = client.call_tool("wait", json!({}));
            tokio::spawn(call.into_future())
        })
        .collect();
    for _ in 0..10 {
        heard.until("got tools/call").await;
    }
    kill_process(process(id), Signal::KILL).unwrap();
    for call in calls {
        let error = within(call).await.unwrap().unwrap_err();
        assert!(error.is_closed(), "{error}");
        let exit = error.server_exit().expect("it was a process");
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
    let (client, mut heard) = connect(Part::Toolwire).await;
    let id = heard.process().await;
    assert!(is_running(id));
    within(client.close()).await;
    assert!(is_reaped(id));
    let error = client.call_tool("add", json!({})).await.unwrap_err();
    assert!(error.is_closed(), "{error}");
    // Closing once more has nothing to do.
    within(client.close()).await;
}

#[tokio::test]
async fn a_server_may_finish_its_work_after_its_input_is_closed() {
    let (command, mut heard) = Heard::of(shell("cat; echo finished >&2"));
    let client = builder().spawn(command).await.unwrap();
    within(client.close()).await;
    heard.until("finished").await;
}

#[tokio::test]
async fn a_server_that_ignores_the_end_of_its_input_is_asked_to_terminate() {
    let script = "trap 'echo terminated >&2; exit 0' TERM; while :; do sleep 1; done";
    let (command, mut heard) = Heard::of(shell(script));
    let client = hasty().spawn(command).await.unwrap();
    let id = heard.process().await;
    within(client.close()).await;
    assert!(is_reaped(id));
    heard.until("terminated").await;
}

#[tokio::test]
async fn a_server_that_ignores_everything_is_killed() {
    let script = "trap '' TERM; echo trapped >&2; while :; do sleep 1; done";
    let (command, mut heard) = Heard::of(shell(script));
    let client = hasty().spawn(command).await.unwrap();
    let id = heard.process().await;
    heard.until("trapped").await;
    within(client.close()).await;
    assert!(is_reaped(id));
}

#[tokio::test]
async fn what_a_wrapper_started_ends_with_it() {
    // One of them keeps the output open, the other one does not.
    let script =
        "sleep 1000 & echo first $! >&2; sleep 1000 >/dev/null 2>&1 & echo second $! >&2; cat";
    let (command, mut heard) = Heard::of(shell(script));
    let client = hasty().spawn(command).await.unwrap();
    let first = heard.until("first ").await.parse().unwrap();
    let second = heard.until("second ").await.parse().unwrap();
    assert!(is_running(first) && is_running(second));
    within(client.close()).await;
    assert!(!is_running(first), "an orphan");
    assert!(!is_running(second), "an orphan");
}

#[tokio::test]
async fn a_wrapper_that_dies_takes_what_it_started_with_it() {
    let (command, mut heard) =
        Heard::of(shell("sleep 1000 & echo first $! >&2; read call; exit 4"));
    let client = hasty().spawn(command).await.unwrap();
    let first = heard.until("first ").await.parse().unwrap();
    let error = within(client.call_tool("x", json!({})).into_future()).await;
    let error = error.unwrap_err();
    assert_eq!(error.server_exit().expect("it ended").code, Some(4));
    eventually(|| !is_running(first)).await;
}

#[tokio::test]
async fn what_was_written_before_the_end_arrives_before_the_end() {
    let answer = r#"answer 3 '"result":{"content":[{"type":"text","text":"last"}]}'"#;
    let client = builder().spawn(shell(&format!("read call; {answer}; exit 1")));
    let client = client.await.unwrap();
    let result = within(client.call_tool("x", json!({})).into_future()).await;
    assert_eq!(result.unwrap().content[0].as_text(), Some("last"));
    client.close().await;
}

#[tokio::test]
async fn a_server_that_closes_its_output_is_gone() {
    let (command, mut heard) = Heard::of(shell("read call; exec 1>&-; while :; do sleep 1; done"));
    let client = hasty().spawn(command).await.unwrap();
    let id = heard.process().await;
    let error = within(client.call_tool("x", json!({})).into_future()).await;
    assert!(error.unwrap_err().is_closed());
    eventually(|| is_reaped(id)).await;
}

#[tokio::test]
async fn the_last_handle_ends_the_server() {
    let (client, mut heard) = connect(Part::Toolwire).await;
    let id = heard.process().await;
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
async fn giving_up_while_connecting_ends_the_server() {
    let (command, mut heard) = Heard::of(Part::AnswersNothing.command());
    let connecting = builder().spawn(command);
    let id = tokio::select! {
        client = connecting => panic!("connected: {client:?}"),
        id = async {
            let id = heard.process().await;
            heard.until("got server/discover").await;
            id
        } => id,
    };
    eventually(|| is_reaped(id)).await;
}

#[test]
fn a_runtime_that_shuts_down_leaves_no_process_and_no_zombie() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (client, id, first) = runtime.block_on(async {
        let script = "trap '' TERM; sleep 1000 & echo first $! >&2; while :; do sleep 1; done";
        let (command, mut heard) = Heard::of(shell(script));
        let client = builder().spawn(command).await.unwrap();
        let id = heard.process().await;
        let first = heard.until("first ").await.parse().unwrap();
        (client, id, first)
    });
    drop(runtime);
    let later = tokio::runtime::Builder::new_current_thread();
    let later = { later }.enable_time().build().unwrap();
    later.block_on(eventually(|| is_reaped(id) && !is_running(first)));
    drop(client);
}

#[test]
fn a_process_that_somebody_else_reaps_is_still_over() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let (client, mut heard) = connect(Part::Toolwire).await;
        let id = heard.process().await;
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
async fn a_hundred_children_leave_neither_process_nor_descriptor() {
    // In a process of its own, where nobody else opens anything.
    let (command, mut heard) = Heard::of(Part::Parent.command());
    let error = builder().spawn(command).await.unwrap_err();
    let exit = error.server_exit().expect("it ends without a word of MCP");
    assert_eq!(exit.code, Some(0), "{}", exit.stderr);
    heard.until("nothing is left").await;
}

/// The part of the child in the test above.
#[cfg(target_os = "linux")]
#[expect(
    clippy::unwrap_used,
    reason = "a test may panic, also outside its own function"
)]
pub(super) fn a_hundred_children() {
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
            let client = builder().spawn(Part::Modern.command());
            let client = client.await.unwrap();
            client.call_tool("anything", json!({})).await.unwrap();
            client.close().await;
            drop(client);
            // The first one may have made the runtime open something for good.
            let first = *first.get_or_insert_with(open);
            assert_eq!(open(), first);
            assert_eq!(children(), "");
        }
    });
    eprintln!("nothing is left");
}
