//! The server listens, and the proxy connects to it. The client has started the proxy.

use std::process::Stdio;
use std::time::Instant;

use rustix::process::Signal;

use crate::http::HttpDemo;
use crate::process::{Demo, Era, toolwire};
use crate::proxy_kills::{Killed, kill, signal};

#[tokio::test]
async fn killed_proxy_or_client_ends_the_call_of_an_http_server() {
    for (era, killed) in [
        (Era::Modern, Killed::Relay),
        (Era::Modern, Killed::Client),
        // A call of a legacy server goes on without its connection, so a killed proxy cannot end it.
        (Era::Legacy, Killed::Client),
    ] {
        let server = HttpDemo::start(&[]).await;
        let mut command = toolwire(&["proxy", "--lazy", &server.url()]);
        command.stderr(Stdio::null());
        let mut proxy = Demo::start_command(era, command).await;
        proxy.start_countdown(100_000, 5).await;
        if killed == Killed::Relay {
            kill(proxy.process_id());
        }
        proxy.close_output();
        proxy.end().await;
        // The server waits ten seconds for calls that run.
        let start = Instant::now();
        signal(server.process_id(), Signal::TERM);
        server.exits_successfully().await;
        assert!(start.elapsed().as_secs() < 9, "{era:?}, {killed:?}");
    }
}

#[tokio::test]
async fn killed_http_server_fails_the_call() {
    for era in Era::BOTH {
        let server = HttpDemo::start(&[]).await;
        let mut command = toolwire(&["proxy", "--lazy", &server.url()]);
        command.stderr(Stdio::null());
        let mut proxy = Demo::start_command(era, command).await;
        let call = proxy.start_countdown(100_000, 5).await;
        kill(server.process_id());
        let response = proxy.response(call).await;
        let reason = &response["error"]["data"]["reason"];
        assert_eq!(reason, "upstream_unreachable", "{era:?}: {response}");
        proxy.end().await;
    }
}
