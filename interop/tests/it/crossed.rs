//! Clients of the SDKs with servers of all SDKs, through `toolwire proxy` and `toolwire gateway`.
//!
//! Each client uses each server: four pairs run over stdio, and the others over HTTP.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::thread;

use toolwire_interop::CrossedClient::{self, FastMcp, Python, TypeScript1, TypeScript2};
use toolwire_interop::ServerWire::{Http, ModernHttp, Stdio};
use toolwire_interop::{Check, ListeningServer, ServerPeer, ServerWire, toolwire_program};

/// The checks of every client.
const CHECKS: [&str; 10] = [
    "negotiate",
    "list_tools",
    "call_echo",
    "tool_failure",
    "progress",
    "read_resource",
    "prompt",
    "elicit",
    "close",
    "server_ends",
];

/// A check of the TypeScript SDKs, which report errors of their transport.
const TYPESCRIPT_ONLY: &str = "no_transport_errors";

/// The server of FastMCP has no tool that asks.
const WITHOUT_ELICITATION: [&str; 1] = ["elicit"];

const LEGACY: &str = "2025-11-25";
const MODERN: &str = "2026-07-28";

/// Runs a client, and requires that exactly the expected checks ran and succeeded.
fn check(client: CrossedClient, revision: &str, target: &[OsString], server: ServerPeer) {
    check_named(client, revision, target, server, name_of(server));
}

/// Runs a client that sees another name than that of the server.
fn check_named(
    client: CrossedClient,
    revision: &str,
    target: &[OsString],
    server: ServerPeer,
    name: &str,
) {
    let run = format!("{client:?} in {revision} with {server:?}, {target:?}");
    let excluded: &[&str] = match server {
        ServerPeer::FastMcp => &WITHOUT_ELICITATION,
        _ => &[],
    };
    let checks = client.run(revision, target, name, excluded);
    let checks = checks.unwrap_or_else(|problem| panic!("{run}: {problem}"));
    let failed = Check::failures(&checks);
    assert!(failed.is_empty(), "{run}:\n{}", failed.join("\n"));
    let mut expected: Vec<&str> = CHECKS.to_vec();
    expected.retain(|check| !excluded.contains(check));
    if matches!(client, TypeScript1 | TypeScript2) {
        expected.push(TYPESCRIPT_ONLY);
    }
    let mut ran: Vec<&str> = checks.iter().map(|check| check.name.as_str()).collect();
    ran.sort_unstable();
    expected.sort_unstable();
    assert_eq!(ran, expected, "{run} ran other checks");
}

fn name_of(server: ServerPeer) -> &'static str {
    match server {
        ServerPeer::TypeScript1 => "interop-typescript-1",
        ServerPeer::TypeScript2 => "interop-typescript-2",
        ServerPeer::Python => "interop-python",
        ServerPeer::FastMcp => "interop-fastmcp",
        other => panic!("{other:?} has other features"),
    }
}

/// Returns the newest revision of a client.
fn newest(client: CrossedClient) -> &'static str {
    match client {
        TypeScript1 => LEGACY,
        _ => MODERN,
    }
}

/// The pairs over stdio. Each client and each server is in one of them.
const STDIO_PAIRS: [(CrossedClient, ServerPeer); 4] = [
    (TypeScript1, ServerPeer::FastMcp),
    (TypeScript2, ServerPeer::TypeScript1),
    (Python, ServerPeer::TypeScript2),
    (FastMcp, ServerPeer::Python),
];

/// Runs the other clients at a time with a server over HTTP.
fn check_other_pairs(server: ServerPeer) {
    let mut clients = CrossedClient::ALL.to_vec();
    clients.retain(|client| !STDIO_PAIRS.contains(&(*client, server)));
    check_over_http(server, Http, &clients, newest);
}

/// Runs clients at a time with a server over HTTP, behind a proxy that listens.
fn check_over_http(
    server: ServerPeer,
    wire: ServerWire,
    clients: &[CrossedClient],
    revision: fn(CrossedClient) -> &'static str,
) {
    let upstream = server.start(wire);
    let upstream = upstream.unwrap_or_else(|problem| panic!("{problem}"));
    let front = front(["proxy", "--listen", "127.0.0.1:0", &upstream.url()]);
    let target = [OsString::from(front.url())];
    thread::scope(|scope| {
        for &client in clients {
            let target = &target;
            scope.spawn(move || check(client, revision(client), target, server));
        }
    });
}

/// Starts a proxy or a gateway.
fn front<const N: usize>(arguments: [&str; N]) -> ListeningServer {
    let arguments = arguments.map(OsString::from).to_vec();
    let started = ListeningServer::start_program(&program(), arguments);
    started.unwrap_or_else(|problem| panic!("{problem}"))
}

fn program() -> PathBuf {
    toolwire_program().unwrap_or_else(|problem| panic!("{problem}"))
}

#[test]
fn clients_use_typescript_1_over_http() {
    check_other_pairs(ServerPeer::TypeScript1);
}

#[test]
fn clients_use_typescript_2_over_http() {
    check_other_pairs(ServerPeer::TypeScript2);
}

#[test]
fn clients_use_python_over_http() {
    check_other_pairs(ServerPeer::Python);
}

#[test]
fn clients_use_fastmcp_over_http() {
    check_other_pairs(ServerPeer::FastMcp);
}

#[test]
fn legacy_clients_use_a_server_of_2026_07_28_only() {
    let clients = [TypeScript1, TypeScript2, Python];
    check_over_http(ServerPeer::TypeScript2, ModernHttp, &clients, |_| LEGACY);
}

#[test]
fn clients_use_a_server_over_stdio() {
    thread::scope(|scope| {
        for (client, server) in STDIO_PAIRS {
            scope.spawn(move || {
                let command = server.command(Stdio, 0);
                let (upstream, arguments) = command.unwrap_or_else(|problem| panic!("{problem}"));
                let mut target = vec![program().into(), "proxy".into(), "--".into()];
                target.push(upstream.into());
                target.extend(arguments);
                check(client, newest(client), &target, server);
            });
        }
    });
}

#[test]
fn clients_use_a_legacy_server_behind_a_gateway() {
    let server = ServerPeer::TypeScript1;
    let upstream = server.start(Http);
    let upstream = upstream.unwrap_or_else(|problem| panic!("{problem}"));
    let config = Path::new(env!("CARGO_TARGET_TMPDIR")).join("crossed_gateway.toml");
    let url = upstream.url();
    let text = format!("listen = \"127.0.0.1:0\"\n[upstream.one]\nflat = true\nurl = {url:?}\n");
    std::fs::write(&config, text).expect("the directory of the tests is writable");
    let config = config.to_str().expect("the path is text");
    let front = front(["gateway", "--config", config]);
    let target = [OsString::from(front.url())];
    thread::scope(|scope| {
        for client in [TypeScript1, TypeScript2, Python] {
            let target = &target;
            scope.spawn(move || {
                check_named(client, newest(client), target, server, "toolwire-gateway");
            });
        }
    });
}
