//! The connections of a relay: their number, and the callers that share them.

use std::time::Duration;

use serde_json::{Value, json};
use toolwire::ServerCommand;
use toolwire::relay::{Sharing, Upstream};
use toolwire::transport::http::{HttpOptions, HttpService};
use toolwire_tests::http::direct::InProcessClient;
use toolwire_tests::http::request::Request;
use toolwire_tests::peer::{Peer, legacy, modern, within};

use crate::raw_upstream::{RawConnection, RawUpstream, raw_upstream};

fn initialize(id: i64) -> Value {
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "peer", "version": "9"},
    });
    legacy(id, "initialize", params)
}

const DETAILS: &str = r#"{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"old","version":"1"}}"#;

#[tokio::test]
async fn session_beyond_the_limit_is_rejected() {
    let (upstream, mut connections) = raw_upstream();
    let relay = upstream.with_name("files").with_max_sessions(2).relay();
    let mut clients = Vec::new();
    let mut servers = Vec::new();
    for _ in 0..2 {
        let mut client = Peer::connect(relay.server());
        client.send(initialize(1)).await;
        servers.push(connections.accept_legacy(DETAILS).await.0);
        assert!(client.receive().await.get("result").is_some());
        clients.push(client);
    }
    let mut third = Peer::connect(relay.server());
    third.send(initialize(1)).await;
    let error = third.expect_error(1, -32603).await;
    let text = error.to_string();
    assert!(
        text.contains("2 sessions of the upstream server `files`"),
        "{text}"
    );
    assert!(text.contains("with_max_sessions"), "{text}");
    // The end of a session makes room.
    let mut first = clients.remove(0);
    first.close_input();
    first.expect_end().await;
    servers[0].expect_end().await;
    third.send(initialize(2)).await;
    let _server = connections.accept_legacy(DETAILS).await;
    assert!(third.receive().await.get("result").is_some());
}

#[cfg(unix)]
#[tokio::test]
async fn processes_have_a_limit_of_their_own() {
    // The server responds to one `initialize`, and ends with its input.
    let script = format!(
        r#"read line; printf '%s\n' '{{"jsonrpc":"2.0","id":1,"result":{DETAILS}}}'; cat > /dev/null"#
    );
    let upstream = Upstream::new(move |builder| {
        let command = ServerCommand::new("sh").arg("-c").arg(script.clone());
        builder.spawn(command)
    });
    let relay = upstream.with_max_processes(1).relay();
    let mut first = Peer::connect(relay.server());
    first.send(initialize(1)).await;
    assert!(first.receive().await.get("result").is_some());
    let mut second = Peer::connect(relay.server());
    second.send(initialize(1)).await;
    let error = second.expect_error(1, -32603).await;
    assert!(error.to_string().contains("1 processes"), "{error}");
    within(relay.close()).await;
}

/// The clients of two users at one relay.
fn users(upstream: Upstream) -> [InProcessClient; 2] {
    let service = HttpService::new(upstream.relay().server().clone(), HttpOptions::new());
    ["ann", "bob"].map(|user| InProcessClient::with_token(&service, "https://issuer", user))
}

/// Sends a request that the next message of the server responds to.
async fn list_tools(client: &InProcessClient, server: &mut RawConnection) {
    let calling = start_listing(client);
    respond(server).await;
    assert_eq!(within(calling).await.expect("the request ends"), 200);
}

fn start_listing(client: &InProcessClient) -> tokio::task::JoinHandle<u16> {
    let client = client.clone();
    tokio::spawn(async move {
        let request = modern(1, "tools/list", json!({}));
        client.request(Request::modern(&request)).await.status
    })
}

async fn respond(server: &mut RawConnection) {
    let request = server.receive().await;
    assert_eq!(request["method"], "tools/list");
    let result = r#"{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"private"}"#;
    server.respond(&request, result).await;
}

/// Sends a request that opens a connection.
async fn connect(client: &InProcessClient, connections: &mut RawUpstream) -> RawConnection {
    let calling = start_listing(client);
    let mut server = connections.accept_modern().await;
    respond(&mut server).await;
    assert_eq!(within(calling).await.expect("the request ends"), 200);
    server
}

#[tokio::test(start_paused = true)]
async fn principals_have_connections_of_their_own() {
    let (upstream, mut connections) = raw_upstream();
    let [ann, bob] = users(upstream);
    let mut of_ann = connect(&ann, &mut connections).await;
    let mut of_bob = connect(&bob, &mut connections).await;
    list_tools(&ann, &mut of_ann).await;
    // A connection in use stays open. Others end after five minutes.
    let running = start_listing(&bob);
    let request = of_bob.receive().await;
    let ended = tokio::time::timeout(Duration::from_secs(310), async {
        while of_ann.next().await.is_some() {}
    });
    assert!(ended.await.is_ok());
    let result = r#"{"resultType":"complete","tools":[]}"#;
    of_bob.respond(&request, result).await;
    assert_eq!(running.await.unwrap(), 200);
    list_tools(&bob, &mut of_bob).await;
    connect(&ann, &mut connections).await;
}

#[tokio::test]
async fn principals_share_a_connection_if_the_operator_says_so() {
    let (upstream, mut connections) = raw_upstream();
    let [ann, bob] = users(upstream.with_sharing(Sharing::Shared));
    let mut server = connect(&ann, &mut connections).await;
    list_tools(&bob, &mut server).await;
}

#[tokio::test]
async fn unused_connection_of_a_principal_gives_way() {
    let (upstream, mut connections) = raw_upstream();
    let [ann, bob] = users(upstream.with_max_sessions(1));
    let mut of_ann = connect(&ann, &mut connections).await;
    let mut of_bob = connect(&bob, &mut connections).await;
    of_ann.expect_end().await;
    list_tools(&bob, &mut of_bob).await;
}
