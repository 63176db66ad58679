//! Requests that are rejected by their headers, while their bodies are still on the way.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use serde_json::{Value, json};
use toolwire::transport::http_client::{HttpClient as _, HyperClient};

use super::guarded::{Guarded, config, options, tokens, with_token};
use crate::http::request::Request;
use crate::peer::call;

const PAGE: &str = "https://app.example.com";
const METADATA_PATH: &str = "/.well-known/oauth-protected-resource/mcp";

/// How many times a client is rejected, reads the metadata, and comes back with a token.
const SEQUENCES: usize = 2000;

/// Longer than all sequences take on a busy machine.
const HANG: Duration = Duration::from_secs(120);

/// A call whose message has this many bytes.
fn call_of(length: usize) -> Value {
    let empty = call(7, "whoami", json!({"padding": ""}));
    let padding = length.saturating_sub(empty.to_string().len());
    call(7, "whoami", json!({"padding": "x".repeat(padding)}))
}

async fn guarded() -> Guarded {
    let options = options(config().with_verifier(tokens())).with_allowed_origins([PAGE]);
    Guarded::serve(options, |server| server).await
}

#[tokio::test]
async fn a_rejected_request_leaves_its_connection_usable() {
    let guarded = guarded().await;
    for length in [200, 10_000, 1_000_000] {
        let message = call_of(length);
        let request = Request::modern(&message);
        let with_token = with_token(request.clone(), "ann");
        for (rejected, status) in [
            (request.clone(), 401),
            (with_token.clone().with("Origin", "https://evil.test"), 403),
            (with_token.clone().replacing("Host", "evil.test"), 403),
            (with_token.clone().with_target("/nothing"), 404),
            (with_token.clone().with_target(METADATA_PATH), 405),
            (with_token.clone().replacing("Accept", "text/html"), 406),
            (
                with_token.clone().replacing("Content-Type", "text/plain"),
                415,
            ),
        ] {
            let mut wire = guarded.endpoint.connect().await;
            for _ in 0..2 {
                wire.send(rejected.head()).await;
                wire.send(rejected.body()).await;
                let answer = wire.answer().await;
                assert_eq!(answer.status(), status, "{length} bytes");
                assert_eq!(answer.header("connection"), None, "{status}");
            }
            wire.send(with_token.bytes()).await;
            assert_eq!(wire.answer().await.status(), 200, "after {status}");
        }
    }
}

/// A client that sends everything before it reads anything.
#[tokio::test]
async fn a_body_that_is_too_long_gets_its_413_and_a_closed_connection() {
    let guarded = guarded().await;
    for is_announced in [true, false] {
        let mut request = with_token(Request::modern(&call_of(10_000_000)), "ann");
        let mut bytes = request.bytes();
        if !is_announced {
            request = request
                .without_length()
                .with("Transfer-Encoding", "chunked");
            let size = format!("{:x}\r\n", request.body().len());
            bytes = [
                request.head().as_bytes(),
                size.as_bytes(),
                request.body(),
                b"\r\n0\r\n\r\n",
            ]
            .concat();
        }
        let mut wire = guarded.endpoint.connect().await;
        wire.send(bytes).await;
        let answer = wire.answer().await;
        assert_eq!(answer.status(), 413);
        assert_eq!(answer.header("connection"), Some("close"));
        wire.expect_close().await;
    }
}

#[tokio::test]
async fn a_client_that_waits_for_100_continue_gets_the_final_response() {
    let guarded = guarded().await;
    let request = Request::modern(&call_of(100_000)).with("Expect", "100-continue");
    let mut wire = guarded.endpoint.connect().await;
    wire.send(request.head()).await;
    let answer = wire.answer().await;
    assert_eq!(answer.status(), 401);
    assert_eq!(answer.header("connection"), Some("close"));
    wire.expect_close().await;
}

/// The sizes of the bodies: from 100 bytes to 1 MB, the long ones more rarely.
fn sizes() -> impl Iterator<Item = usize> {
    let sizes = [100, 1000, 9000, 300, 20_000, 3000, 100_000, 500];
    (0..).map(move |round| match round % 50 {
        49 => 1_000_000,
        _ => sizes[round % sizes.len()],
    })
}

/// The start of every OAuth login, with the client of this crate. On one thread, because hyper returns a connection to the pool
/// in another task, which on several threads may come after the next request.
#[tokio::test]
async fn a_client_is_rejected_and_comes_back_on_one_connection() {
    let guarded = guarded().await;
    let connections = Arc::new(AtomicUsize::new(0));
    let http = HyperClient::new().without_proxy().with_address_policy({
        let connections = Arc::clone(&connections);
        move |_| {
            connections.fetch_add(1, Ordering::SeqCst);
            true
        }
    });
    let origin = format!("http://{}", guarded.endpoint.address);
    let send = async |request: Request| {
        let target = format!("{origin}{}", request.target());
        let mut request = request.to_http().map(Bytes::from);
        request.headers_mut().remove("host");
        *request.uri_mut() = target.parse().unwrap();
        let answer = http.send(request).await.unwrap();
        let status = answer.status();
        answer.into_body().collect(1_000_000).await.unwrap();
        status
    };
    let sequences = async {
        for size in sizes().take(SEQUENCES) {
            let request = Request::modern(&call_of(size));
            let rejected = send(request.clone()).await;
            assert_eq!(rejected, StatusCode::UNAUTHORIZED, "{size} bytes");
            let metadata = send(Request::new("GET").with_target(METADATA_PATH)).await;
            assert_eq!(metadata, StatusCode::OK, "after {size} bytes");
            let accepted = send(with_token(request, "ann")).await;
            assert_eq!(accepted, StatusCode::OK, "{size} bytes");
        }
    };
    tokio::time::timeout(HANG, sequences).await.unwrap();
    assert_eq!(connections.load(Ordering::SeqCst), 1);
}
