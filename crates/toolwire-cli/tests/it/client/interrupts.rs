//! Ctrl-C cancels the call, ends the server and sets the exit code.
#![cfg(unix)]

use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Child;

use crate::client::task_server::{TASK, TaskServer, modern, task};
use crate::client::{demo_command, run};
use crate::http::HttpDemo;
use crate::process::{toolwire, within};

fn signal(child: &Child, signal: Signal) {
    let id = child.id().expect("the process still runs");
    let process = Pid::from_raw(id.cast_signed()).expect("a process id is not zero");
    kill_process(process, signal).expect("the process still runs");
}

#[tokio::test]
async fn interrupted_call_is_cancelled_at_the_server() {
    let demo = HttpDemo::start(&[]).await;
    for (era, sent, code) in [("modern", Signal::INT, 130), ("legacy", Signal::TERM, 143)] {
        let url = demo.url();
        let mut command = toolwire(&[
            "call",
            &url,
            "countdown",
            "from=100000",
            "delay_ms=20",
            "--era",
            era,
            "-v",
        ]);
        command
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let mut stderr_lines = BufReader::new(child.stderr.take().unwrap()).lines();
        // After the first progress, the call is running.
        while let Some(line) = within(stderr_lines.next_line()).await.unwrap() {
            if line.contains("notifications/progress") {
                break;
            }
        }
        signal(&child, sent);
        // Standard error must be read, or the process cannot exit.
        while within(stderr_lines.next_line()).await.unwrap().is_some() {}
        let status = within(child.wait()).await.unwrap();
        assert_eq!(status.code(), Some(code), "{era}");
        // The server may process the cancellation later.
        let mut running = String::new();
        for _ in 0..100 {
            running = run(&["call", &url, "active"]).await.ok();
            if running == "0\n" {
                break;
            }
        }
        assert_eq!(running, "0\n", "{era}");
    }
}

#[tokio::test]
async fn interrupted_command_ends_its_server() {
    let mut command = demo_command(&["listen", "demo://counter"]);
    command
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    let mut child = command.spawn().unwrap();
    let mut stderr_lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let line = within(stderr_lines.next_line()).await.unwrap().unwrap();
    assert!(line.starts_with("listening"), "{line}");
    let children =
        std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id().unwrap()));
    signal(&child, Signal::INT);
    let status = within(child.wait()).await.unwrap();
    assert_eq!(status.code(), Some(130));
    // Only Linux lists child processes.
    if let Ok(children) = children {
        for id in children.split_whitespace() {
            let id = id.parse().unwrap();
            let result = kill_process(Pid::from_raw(id).unwrap(), Signal::CONT);
            assert!(result.is_err(), "{id} still runs");
        }
    }
}

/// Interrupts a command that waits for a task, and returns how often it has cancelled the task.
async fn interrupt_while_waiting(words: &[&str]) -> usize {
    let server = TaskServer::start(|method, _, _| match method {
        "tasks/get" => Ok(task("working", json!({}))),
        "tasks/cancel" => Ok(json!({"resultType": "complete"})),
        _ => modern(method),
    })
    .await;
    let url = server.url();
    let words: Vec<_> = words
        .iter()
        .map(|word| if *word == "URL" { &url } else { *word })
        .collect();
    let mut command = toolwire(&words);
    command.stdin(Stdio::null()).kill_on_drop(true);
    let mut child = command.spawn().expect("the program under test starts");
    // After the second poll, the command waits.
    let polled = async {
        while server.params_of("tasks/get").len() < 2 {
            tokio::task::yield_now().await;
        }
    };
    within(polled).await;
    signal(&child, Signal::INT);
    let status = within(child.wait()).await.expect("the process is a child");
    assert_eq!(status.code(), Some(130), "{words:?}");
    server.params_of("tasks/cancel").len()
}

#[tokio::test]
async fn interrupted_call_cancels_its_task() {
    assert_eq!(interrupt_while_waiting(&["call", "URL", "render"]).await, 1);
}

#[tokio::test]
async fn interrupted_wait_leaves_the_task_running() {
    let cancelled = interrupt_while_waiting(&["task", "wait", "URL", TASK]).await;
    assert_eq!(cancelled, 0);
}
