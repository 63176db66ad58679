//! Requests that wait for a connection, and for how long.

use tokio::time::Instant;

use crate::connections::{connect, start_call, start_listing, users};
use crate::modern_client::details;
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
async fn call_that_needs_two_sessions_fails_at_once_if_one_is_permitted() {
    let (upstream, connections) = raw_upstream();
    let [ann, _] = users(upstream.with_max_sessions(1).with_name("files"));
    serve_legacy(connections);
    let sent = Instant::now();
    let body = start_call(&ann).await.expect("the request ends");
    assert!(
        body.contains("needs 2 sessions of the upstream server `files`"),
        "{body}"
    );
    assert!(body.contains("with_max_sessions"), "{body}");
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
