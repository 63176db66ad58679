//! Requests that wait for a connection, and for how long.

use serde_json::json;
use tokio::time::Instant;
use toolwire_tests::peer::{Peer, modern};

use crate::connections::{DETAILS, connect, start_call, start_listing, users};
use crate::modern_client::details;
use crate::raw_http::raw_http;
use crate::raw_upstream::{RawUpstream, raw_upstream};

/// Serves all connections as a legacy server that responds to each call.
fn serve_legacy(mut connections: RawUpstream) {
    tokio::spawn(async move {
        loop {
            let mut connection = connections.accept().await;
            tokio::spawn(async move {
                while let Some(request) = connection.next().await {
                    match request["method"].as_str() {
                        Some("server/discover") => {
                            let error = r#"{"code":-32601,"message":"unknown method"}"#;
                            connection.reject(&request, error).await;
                        }
                        Some("initialize") => connection.respond(&request, &details()).await,
                        Some("tools/call") => {
                            connection.respond(&request, r#"{"content":[]}"#).await;
                        }
                        _ => {}
                    }
                }
            });
        }
    });
}

#[tokio::test(start_paused = true)]
async fn first_calls_of_as_many_principals_as_sessions_succeed() {
    let (upstream, connections) = raw_upstream();
    let [ann, bob] = users(upstream.with_max_sessions(2));
    serve_legacy(connections);
    for call in [start_call(&ann), start_call(&bob)] {
        let body = call.await.expect("the request ends");
        assert!(body.contains(r#""content":[]"#), "{body}");
    }
}

#[tokio::test(start_paused = true)]
async fn call_of_a_client_with_input_capabilities_uses_the_only_session() {
    let (upstream, connections) = raw_upstream();
    let [ann, _] = users(upstream.with_max_sessions(1).with_name("files"));
    serve_legacy(connections);
    let sent = Instant::now();
    let body = start_call(&ann).await.expect("the request ends");
    assert!(body.contains(r#""content":[]"#), "{body}");
    assert_eq!(sent.elapsed().as_secs(), 0);
}

#[tokio::test(start_paused = true)]
async fn requests_of_one_principal_wait_at_the_same_time() {
    let (upstream, mut connections) = raw_upstream();
    let [ann, bob] = users(upstream.with_max_sessions(1));
    let mut of_ann = connect(&ann, &mut connections).await;
    let _running = start_listing(&ann);
    of_ann.receive().await;
    let sent = Instant::now();
    for waiting in [start_listing(&bob), start_listing(&bob)] {
        waiting.await.expect("the request ends");
    }
    assert_eq!(sent.elapsed().as_secs(), 30);
}

#[cfg(unix)]
#[tokio::test]
async fn second_process_waits_until_the_first_shows_that_processes_are_limited() {
    use toolwire::ServerCommand;
    use toolwire::relay::Upstream;
    use toolwire_tests::peer::within;

    use crate::connections::initialize;

    let script = format!(
        r#"read line; printf '%s\n' '{{"jsonrpc":"2.0","id":1,"result":{DETAILS}}}'; cat > /dev/null"#
    );
    let upstream = Upstream::new(move |builder| {
        let command = ServerCommand::new("sh").arg("-c").arg(script.clone());
        builder.spawn(command)
    });
    let relay = upstream.with_max_processes(1).relay();
    let mut clients = [(); 2].map(|()| Peer::connect(relay.server()));
    for client in &clients {
        client.send(initialize(1)).await;
    }
    let mut opened = 0;
    for client in &mut clients {
        let response = client.receive().await;
        opened += usize::from(response.get("result").is_some());
    }
    assert_eq!(opened, 1);
    within(relay.close()).await;
}

#[tokio::test(start_paused = true)]
async fn server_that_does_not_accept_the_end_of_the_initialization_fails_after_30_s() {
    let (upstream, mut posts) = raw_http();
    let relay = upstream.relay();
    let mut client = Peer::connect(relay.server());
    client.send(modern(1, "tools/list", json!({}))).await;
    let discover = posts.expect("server/discover").await;
    discover.reject(json!({"code": -32601, "message": "unknown method"}));
    let initialize = posts.expect("initialize").await;
    initialize.respond(serde_json::from_str(DETAILS).expect("JSON"));
    let _initialized = posts.expect("notifications/initialized").await;
    let sent = Instant::now();
    let error = client.expect_error(1, -32603).await;
    assert_eq!(error["data"]["reason"], "upstream_unreachable", "{error}");
    assert_eq!(sent.elapsed().as_secs(), 30);
}
