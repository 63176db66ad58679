//! The examples that are clients, as separate processes.

use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

use crate::client::program;

/// Runs an example and returns its output.
async fn output_of(example: &str, arguments: &[&str]) -> String {
    let running = Command::new(program(example))
        .args(arguments)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = timeout(Duration::from_secs(60), running).await;
    let output = output
        .expect("the example exits")
        .expect("the example starts");
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{text}");
    text
}

#[tokio::test]
async fn client_starts_a_server_and_calls_it() {
    let server = program("quickstart");
    let text = output_of("client", &[server.to_str().unwrap()]).await;
    assert!(text.contains("revision 2026-07-28"), "{text}");
    assert!(text.contains("20 + 22 = 42"), "{text}");
    assert!(text.contains("tools/call succeeded"), "{text}");
}

#[tokio::test]
async fn client_responds_to_elicitations_in_both_eras() {
    let text = output_of("client_elicitation", &[]).await;
    assert_eq!(
        text.matches("the server asks: What is your name?").count(),
        2,
        "{text}"
    );
    assert!(text.contains("2026-07-28: Hello, Ada!"), "{text}");
    assert!(text.contains("2025-11-25: Hello, Ada!"), "{text}");
}

#[cfg(unix)]
#[tokio::test]
async fn client_calls_a_server_on_a_unix_socket() {
    let text = output_of("unix_socket", &[]).await;
    assert!(text.contains("Hello, Ada! This is 2026-07-28."), "{text}");
}
