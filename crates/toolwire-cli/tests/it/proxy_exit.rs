//! The end of a proxy that listens, while a call runs.

use std::process::Stdio;
use std::time::Instant;

use rustix::process::Signal;
use tokio::net::TcpStream;

use crate::http::HttpDemo;
use crate::process::{Demo, Era, toolwire, within};
use crate::proxy_kills::{kill, signal};

/// Starts a proxy with a call that takes more than an hour. Its client has disconnected, but the call of a session goes on.
async fn proxy_with_running_call() -> HttpDemo {
    let mut command = toolwire(&["proxy", "--listen", "127.0.0.1:0", "--"]);
    command.args([env!("CARGO_BIN_EXE_toolwire"), "demo", "--stdio"]);
    let proxy = HttpDemo::start_command(command).await;
    let mut command = toolwire(&["proxy", "--lazy", &proxy.url()]);
    command.stderr(Stdio::null());
    let mut client = Demo::start_command(Era::Legacy, command).await;
    client.start_countdown(100_000, 60).await;
    kill(client.process_id());
    client.close_output();
    client.ended().await;
    proxy
}

#[tokio::test]
async fn signal_ends_a_proxy_although_a_call_runs() {
    let proxy = proxy_with_running_call().await;
    signal(proxy.process_id(), Signal::TERM);
    proxy.exits_successfully().await;
}

#[tokio::test]
async fn second_signal_ends_a_proxy_at_once() {
    let proxy = proxy_with_running_call().await;
    let address = proxy.address().to_owned();
    let start = Instant::now();
    signal(proxy.process_id(), Signal::TERM);
    // It closes its listener when it has received the signal.
    within(async { while TcpStream::connect(&address).await.is_ok() {} }).await;
    signal(proxy.process_id(), Signal::TERM);
    assert_eq!(proxy.exit_code().await, Some(143));
    // Otherwise it would wait ten seconds for the call.
    assert!(start.elapsed().as_secs() < 9);
}
