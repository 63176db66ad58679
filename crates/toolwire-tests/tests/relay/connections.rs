//! The connections of a relay: their number, and the callers that share them.

use std::time::Duration;

use serde_json::{Value, json};
use toolwire::ServerCommand;
use toolwire::relay::{Sharing, Upstream};
use toolwire::transport::http::{HttpOptions, HttpService};
use toolwire_tests::http::direct::{InProcessClient, in_session};
use toolwire_tests::http::request::Request;
use toolwire_tests::http::session::initialize_request;
use toolwire_tests::peer::{Peer, legacy, modern, modern_with, within};

use crate::modern_client::{accept_askable, ask, details, elicitation, pair_of, send_request};
use crate::raw_upstream::{RawConnection, RawUpstream, raw_upstream};

pub(crate) fn initialize(id: i64) -> Value {
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "peer", "version": "9"},
    });
    legacy(id, "initialize", params)
}

pub(crate) const DETAILS: &str = r#"{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"old","version":"1"}}"#;

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

#[cfg(unix)]
#[tokio::test]
async fn process_counts_until_it_has_ended() {
    // The server takes a while to end, and must not run twice at a time.
    let directory = std::env::temp_dir().join(format!("toolwire-relay-{}", std::process::id()));
    // An earlier process with this id may have been killed.
    let _ = std::fs::remove_dir(&directory);
    let script = format!(
        r#"mkdir "$0" || exit 1; read line; printf '%s\n' '{{"jsonrpc":"2.0","id":1,"result":{DETAILS}}}'; cat > /dev/null; sleep 0.2; rmdir "$0""#
    );
    let upstream = Upstream::new(move |builder| {
        let command = ServerCommand::new("sh").arg("-c").arg(script.clone());
        builder.spawn(command.arg(directory.as_os_str()))
    });
    let relay = upstream.with_max_processes(1).relay();
    for _ in 0..2 {
        let mut client = Peer::connect(relay.server());
        client.send(initialize(1)).await;
        let response = client.receive().await;
        assert!(response.get("result").is_some(), "{response}");
        client.close_input();
        client.expect_end().await;
    }
    within(relay.close()).await;
}

#[tokio::test]
async fn call_beyond_the_limit_waits_for_a_session() {
    let (upstream, connections) = raw_upstream();
    // One session for calls, and the shared one.
    let upstream = upstream.with_max_sessions(2);
    let (_relay, mut client, mut connections, _shared) = pair_of(upstream, connections).await;
    for id in 2..5 {
        client.send(ask(id, json!({}))).await;
    }
    let mut session = accept_askable(&mut connections).await;
    for id in 2..5 {
        let call = session.receive().await;
        session.respond(&call, r#"{"content":[]}"#).await;
        assert_eq!(client.receive().await["id"], id);
    }
    // A client with other capabilities gets the next session. That of the first client is closed for it.
    let other = json!({"sampling": {}});
    let request = modern_with(5, "tools/call", json!({"name": "ask"}), other.clone());
    client.send(request).await;
    session.expect_end().await;
    let (_session, params) = connections.accept_legacy(&details()).await;
    assert_eq!(params["capabilities"], other);
}

#[tokio::test(start_paused = true)]
async fn call_waits_30_seconds_for_a_session() {
    let (upstream, connections) = raw_upstream();
    let upstream = upstream.with_max_sessions(2);
    let (_relay, mut client, mut connections, _shared) = pair_of(upstream, connections).await;
    client.send(ask(2, json!({}))).await;
    let mut session = accept_askable(&mut connections).await;
    let call = session.receive().await;
    let sent = tokio::time::Instant::now();
    client.send(ask(3, json!({}))).await;
    let error = client.expect_error(3, -32603).await;
    assert!(error.to_string().contains("2 sessions"), "{error}");
    assert_eq!(sent.elapsed().as_secs(), 30);
    session.respond(&call, r#"{"content":[]}"#).await;
    assert_eq!(client.receive().await["id"], 2);
}

#[tokio::test(start_paused = true)]
async fn session_of_a_silent_client_is_closed_at_the_limit_and_opened_again() {
    let (upstream, mut connections) = raw_upstream();
    let relay = upstream.with_max_sessions(1).relay();
    let service = HttpService::new(relay.server().clone(), HttpOptions::new());
    let client = InProcessClient::new(&service);
    let open = || {
        let client = client.clone();
        tokio::spawn(async move { client.open_session().await })
    };
    let opening = open();
    let (mut first_server, _) = connections.accept_legacy(DETAILS).await;
    let first = within(opening).await.expect("the session opens");
    tokio::time::sleep(Duration::from_secs(29)).await;
    // The client was not silent for long enough.
    let rejected = client.request(initialize_request("2025-11-25")).await;
    assert!(rejected.body.contains("1 sessions"), "{}", rejected.body);
    tokio::time::sleep(Duration::from_secs(2)).await;
    let opening = open();
    first_server.expect_end().await;
    let (mut second_server, _) = connections.accept_legacy(DETAILS).await;
    within(opening).await.expect("the session opens");
    tokio::time::sleep(Duration::from_secs(31)).await;
    assert!(connections.is_quiet(), "only a message opens it again");
    let ping = in_session(&first, &legacy(2, "ping", json!({})));
    let pinging = tokio::spawn(async move { client.request(ping).await.status });
    second_server.expect_end().await;
    let (mut first_server, _) = connections.accept_legacy(DETAILS).await;
    let initialized = first_server.receive().await;
    assert_eq!(initialized["method"], "notifications/initialized");
    let ping = first_server.receive().await;
    first_server.respond(&ping, "{}").await;
    assert_eq!(within(pinging).await.expect("the request ends"), 200);
}

#[tokio::test]
async fn lost_session_does_not_count_beside_its_replacement() {
    let (upstream, mut connections) = raw_upstream();
    let relay = upstream.with_max_sessions(1).relay();
    let mut client = Peer::connect(relay.server());
    client.send(initialize(1)).await;
    let (server, _) = connections.accept_legacy(DETAILS).await;
    client.receive().await;
    drop(server);
    client.send(legacy(2, "ping", json!({}))).await;
    let (mut server, _) = connections.accept_legacy(DETAILS).await;
    assert_eq!(server.receive().await["method"], "ping");
}

/// The clients of two users at one relay.
pub(crate) fn users(upstream: Upstream) -> [InProcessClient; 2] {
    let service = HttpService::new(upstream.relay().server().clone(), HttpOptions::new());
    ["ann", "bob"].map(|user| InProcessClient::with_token(&service, "https://issuer", user))
}

/// Sends a request that the next message of the server responds to.
async fn list_tools(client: &InProcessClient, server: &mut RawConnection) {
    let calling = start_listing(client);
    respond(server).await;
    assert_eq!(within(calling).await.expect("the request ends"), 200);
}

pub(crate) fn start_listing(client: &InProcessClient) -> tokio::task::JoinHandle<u16> {
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
pub(crate) async fn connect(
    client: &InProcessClient,
    connections: &mut RawUpstream,
) -> RawConnection {
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
async fn principals_share_a_connection_if_the_sharing_is_shared() {
    let (upstream, mut connections) = raw_upstream();
    let [ann, bob] = users(upstream.with_sharing(Sharing::Shared));
    let mut server = connect(&ann, &mut connections).await;
    list_tools(&bob, &mut server).await;
}

#[tokio::test]
async fn notification_without_a_name_reaches_no_principal_of_a_shared_connection() {
    for sharing in [Sharing::PerPrincipal, Sharing::Shared] {
        let (upstream, mut connections) = raw_upstream();
        let [ann, bob] = users(upstream.with_sharing(sharing));
        let mut server = connect(&ann, &mut connections).await;
        let is_shared = sharing == Sharing::Shared;
        let caller = if is_shared { bob } else { ann };
        let calling = tokio::spawn(async move {
            let request = modern(1, "tools/call", json!({"name": "slow"}));
            caller.request(Request::modern(&request)).await.body
        });
        let call = server.receive().await;
        // The notification may belong to an earlier request of the other principal.
        let event = json!({"jsonrpc": "2.0", "method": "com.example/event", "params": {}});
        server.send(event).await;
        let result = r#"{"resultType":"complete","content":[]}"#;
        server.respond(&call, result).await;
        let body = within(calling).await.expect("the request ends");
        assert_eq!(body.contains("com.example/event"), !is_shared, "{body}");
    }
}

#[tokio::test]
async fn unused_connection_of_a_principal_is_closed_at_the_limit() {
    let (upstream, mut connections) = raw_upstream();
    let [ann, bob] = users(upstream.with_max_sessions(1));
    let mut of_ann = connect(&ann, &mut connections).await;
    let mut of_bob = connect(&bob, &mut connections).await;
    of_ann.expect_end().await;
    list_tools(&bob, &mut of_bob).await;
}

/// Sends a call of a client that can be asked.
pub(crate) fn start_call(client: &InProcessClient) -> tokio::task::JoinHandle<String> {
    let client = client.clone();
    tokio::spawn(async move {
        client
            .request(Request::modern(&ask(1, json!({}))))
            .await
            .body
    })
}

/// Accepts the session without capabilities.
async fn accept_shared(connections: &mut RawUpstream) -> RawConnection {
    let mut server = connections.accept().await;
    let discover = server.receive().await;
    let error = r#"{"code":-32601,"message":"unknown method"}"#;
    server.reject(&discover, error).await;
    let initialize = server.receive().await;
    server.respond(&initialize, &details()).await;
    server.receive().await;
    server
}

#[tokio::test]
async fn principals_that_share_connections_do_not_share_sessions_of_calls() {
    let (upstream, mut connections) = raw_upstream();
    let [ann, bob] = users(upstream.with_sharing(Sharing::Shared));
    let mut calling = start_call(&ann);
    let _shared = accept_shared(&mut connections).await;
    let mut of_ann = accept_askable(&mut connections).await;
    for is_last in [false, true] {
        let call = of_ann.receive().await;
        of_ann.respond(&call, r#"{"content":[]}"#).await;
        within(calling).await.expect("the request ends");
        // The next call of the same principal uses the session again. The server may ask for input late, so that of
        // another one does not.
        calling = start_call(if is_last { &bob } else { &ann });
    }
    let mut of_bob = accept_askable(&mut connections).await;
    assert_eq!(of_bob.receive().await["method"], "tools/call");
}

#[tokio::test]
async fn state_of_another_principal_is_rejected_like_a_forged_one() {
    let (upstream, mut connections) = raw_upstream();
    let [ann, bob] = users(upstream);
    let calling = start_call(&ann);
    let _shared = accept_shared(&mut connections).await;
    let mut session = accept_askable(&mut connections).await;
    session.receive().await;
    send_request(&session, "s1", "elicitation/create", &elicitation("Who?")).await;
    let body = within(calling).await.expect("the request ends");
    let required: Value = serde_json::from_str(&body).expect("a JSON response");
    let state = &required["result"]["requestState"];
    assert!(state.is_string(), "{body}");
    let retry = |client: &InProcessClient, state: &Value| {
        let client = client.clone();
        let responses = json!({"q1": {"action": "decline"}});
        let request = ask(
            1,
            json!({"requestState": state, "inputResponses": responses}),
        );
        tokio::spawn(async move { client.request(Request::modern(&request)).await.body })
    };
    let stolen = retry(&bob, state);
    let _shared_of_bob = accept_shared(&mut connections).await;
    let stolen = within(stolen).await.expect("the request ends");
    assert!(stolen.contains("-32602"), "{stolen}");
    let forged = retry(&bob, &json!("forged"));
    assert_eq!(within(forged).await.expect("the request ends"), stolen);
    // The call still waits for its own principal.
    let own = retry(&ann, state);
    let response = session.receive().await;
    assert_eq!(response["id"], "s1");
    assert_eq!(response["result"]["action"], "decline", "{response}");
    own.abort();
}
