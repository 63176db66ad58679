//! The server listens, and the proxy connects to it. The server or a client of the proxy is killed in each phase of a
//! request, and the proxy serves others.

mod client;
mod upstream;

use std::process::Stdio;
use std::time::Instant;

use rustix::process::Signal;

use crate::client::run;
use crate::http::HttpDemo;
use crate::process::{Demo, Era, toolwire, within};
use crate::proxy_kills::http_server::client::Client;
use crate::proxy_kills::http_server::upstream::{HttpUpstream, Withheld};
use crate::proxy_kills::{Killed, kill, signal};

/// How far a request has come.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Phase {
    /// The proxy is connected, and no request was sent.
    Idle,
    /// The server has received the request for a list.
    ListRequested,
    /// The proxy has received the headers of the response.
    HeadersReceived,
    /// The proxy has received an event of the response.
    StreamOpen,
    /// The server, or the client, waits for the response to an input request.
    InputRequested,
    /// The client is subscribed to changes.
    Subscribed,
}

impl Phase {
    const ALL: [Self; 6] = [
        Self::Idle,
        Self::ListRequested,
        Self::HeadersReceived,
        Self::StreamOpen,
        Self::InputRequested,
        Self::Subscribed,
    ];

    /// Returns the responses that are withheld, so that the phase lasts.
    fn withheld(self) -> Option<Withheld> {
        let (of_requests_with, forwards_headers) = match self {
            Self::ListRequested => ("\"tools/list\"", false),
            Self::HeadersReceived => ("\"countdown\"", true),
            _ => return None,
        };
        Some(Withheld {
            of_requests_with,
            forwards_headers,
        })
    }

    /// Returns the number of calls that the server gets from a client.
    fn calls(self) -> usize {
        let has_call = [
            Self::HeadersReceived,
            Self::StreamOpen,
            Self::InputRequested,
        ];
        usize::from(has_call.contains(&self))
    }
}

/// Starts a proxy in front of the server.
async fn start_proxy(upstream: &HttpUpstream) -> HttpDemo {
    let command = toolwire(&["proxy", "--listen", "127.0.0.1:0", &upstream.url()]);
    HttpDemo::start_command(command).await
}

/// Starts a client of each era, which continue up to a phase.
async fn start_clients(phase: Phase, proxy: &HttpDemo, upstream: &HttpUpstream) -> [Client; 2] {
    upstream.withhold(phase.withheld());
    let [modern, legacy] = Era::BOTH.map(|era| Client::start(era, phase, proxy));
    let (modern, legacy) = tokio::join!(modern, legacy);
    if phase.withheld().is_some() {
        upstream.expect_withheld(2).await;
    }
    [modern, legacy]
}

/// Kills the server in each phase. Its requests fail, and none is sent to the next server. Later requests succeed.
async fn check_killed_server(server: Era) {
    let mut upstream = HttpUpstream::start(server).await;
    let proxy = start_proxy(&upstream).await;
    let mut calls = 0;
    for phase in Phase::ALL {
        let mut clients = start_clients(phase, &proxy, &upstream).await;
        upstream.kill().await;
        for (client, era) in clients.iter_mut().zip(Era::BOTH) {
            let case = format!("{phase:?}, a {era:?} client of a {server:?} server");
            // A legacy server waits for the input of a legacy client. Otherwise, the client continues the call.
            let waits = era == Era::Legacy && server == Era::Legacy;
            match phase {
                Phase::Idle => client.expect_failed_call(&case).await,
                Phase::InputRequested if !waits => client.expect_failed_input(&case).await,
                _ => client.expect_failure(&case).await,
            }
        }
        upstream.restart().await;
        for (mut client, era) in clients.into_iter().zip(Era::BOTH) {
            let case = format!("after {phase:?}, a {era:?} client of a {server:?} server");
            client.expect_served(&case).await;
            client.end().await;
        }
        calls += 2 * phase.calls();
        assert_eq!(upstream.calls(), calls, "{phase:?}, a {server:?} server");
    }
    signal(proxy.process_id(), Signal::TERM);
    proxy.exits_successfully().await;
}

#[tokio::test]
async fn killed_modern_http_server_fails_its_requests_and_is_used_again() {
    check_killed_server(Era::Modern).await;
}

#[tokio::test]
async fn killed_legacy_http_server_fails_its_requests_and_is_used_again() {
    check_killed_server(Era::Legacy).await;
}

/// Kills the clients in each phase. The calls of modern clients are cancelled, and another client is served.
async fn check_killed_clients(server: Era) {
    let upstream = HttpUpstream::start(server).await;
    let proxy = start_proxy(&upstream).await;
    let (mut calls, mut running) = (0, 0);
    for phase in Phase::ALL {
        let clients = start_clients(phase, &proxy, &upstream).await;
        for client in &clients {
            kill(client.process_id());
        }
        for client in clients {
            client.ended().await;
        }
        upstream.withhold(None);
        calls += 2 * phase.calls();
        // The call of a session goes on until the session expires.
        if matches!(phase, Phase::HeadersReceived | Phase::StreamOpen) {
            running += 1;
        }
        within(async { while active_countdowns(&proxy).await != running {} }).await;
        assert_eq!(upstream.calls(), calls, "{phase:?}, a {server:?} server");
    }
}

/// Returns the number of countdowns that the server runs.
async fn active_countdowns(proxy: &HttpDemo) -> usize {
    let output = run(&["call", &proxy.url(), "active"]).await.ok();
    output.trim().parse().expect("a number")
}

#[tokio::test]
async fn killed_clients_of_a_modern_http_server_end_their_calls_only() {
    check_killed_clients(Era::Modern).await;
}

#[tokio::test]
async fn killed_clients_of_a_legacy_http_server_end_their_calls_only() {
    check_killed_clients(Era::Legacy).await;
}

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
