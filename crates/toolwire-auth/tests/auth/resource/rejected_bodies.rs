//! Requests that are rejected after their headers, before their bodies have arrived.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use serde_json::{Value, json};
use toolwire::transport::http_client::{HttpClient as _, HyperClient};
use toolwire_tests::http::request::Request;
use toolwire_tests::peer::call;

use super::protected_server::{ProtectedServer, config, options, tokens, with_token};

const ALLOWED_ORIGIN: &str = "https://app.example.com";
const METADATA_PATH: &str = "/.well-known/oauth-protected-resource/mcp";

/// Number of sequences of a rejected request, a metadata request and an accepted request.
const SEQUENCES: usize = 600;

/// Timeout for all sequences, with a margin for a busy machine.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Returns a call whose message has this many bytes.
fn call_of(length: usize) -> Value {
    let empty = call(7, "whoami", json!({"padding": ""}));
    let padding = length.saturating_sub(empty.to_string().len());
    call(7, "whoami", json!({"padding": "x".repeat(padding)}))
}

async fn start_server() -> ProtectedServer {
    let options = options(config().with_verifier(tokens())).with_allowed_origins([ALLOWED_ORIGIN]);
    ProtectedServer::serve(options, |server| server).await
}

#[tokio::test]
async fn connection_stays_usable_after_a_rejected_request() {
    let server = start_server().await;
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
            let mut connection = server.endpoint.connect().await;
            for _ in 0..2 {
                connection.send(rejected.header_text()).await;
                connection.send(rejected.body()).await;
                let response = connection.response().await;
                assert_eq!(response.status(), status, "{length} bytes");
                assert_eq!(response.header("connection"), None, "{status}");
            }
            connection.send(with_token.bytes()).await;
            assert_eq!(connection.response().await.status(), 200, "after {status}");
        }
    }
}

/// The client sends the complete request before it reads the response.
#[tokio::test]
async fn oversized_body_returns_413_and_closes_the_connection() {
    let server = start_server().await;
    for has_content_length in [true, false] {
        let mut request = with_token(Request::modern(&call_of(10_000_000)), "ann");
        let mut bytes = request.bytes();
        if !has_content_length {
            request = request
                .without_length()
                .with("Transfer-Encoding", "chunked");
            let size = format!("{:x}\r\n", request.body().len());
            bytes = [
                request.header_text().as_bytes(),
                size.as_bytes(),
                request.body(),
                b"\r\n0\r\n\r\n",
            ]
            .concat();
        }
        let mut connection = server.endpoint.connect().await;
        connection.send(bytes).await;
        let response = connection.response().await;
        assert_eq!(response.status(), 413);
        assert_eq!(response.header("connection"), Some("close"));
        connection.expect_close().await;
    }
}

#[tokio::test]
async fn client_that_expects_100_continue_gets_the_final_response() {
    let server = start_server().await;
    let request = Request::modern(&call_of(100_000)).with("Expect", "100-continue");
    let mut connection = server.endpoint.connect().await;
    connection.send(request.header_text()).await;
    let response = connection.response().await;
    assert_eq!(response.status(), 401);
    assert_eq!(response.header("connection"), Some("close"));
    connection.expect_close().await;
}

/// Returns body sizes from 100 bytes to 1 MB; large sizes are less frequent.
fn sizes() -> impl Iterator<Item = usize> {
    let sizes = [100, 1000, 9000, 300, 20_000, 3000, 100_000, 500];
    (0..).map(move |round| match round % 50 {
        49 => 1_000_000,
        _ => sizes[round % sizes.len()],
    })
}

/// Runs the start of an OAuth login with [`HyperClient`]. The test uses one thread, because hyper returns a connection
/// to the pool in another task. On several threads, that task may run after the next request.
#[tokio::test]
async fn rejected_client_retries_on_the_same_connection() {
    let server = start_server().await;
    let connections = Arc::new(AtomicUsize::new(0));
    let http = HyperClient::new().without_proxy().with_address_policy({
        let connections = Arc::clone(&connections);
        move |_| {
            connections.fetch_add(1, Ordering::SeqCst);
            true
        }
    });
    let origin = format!("http://{}", server.endpoint.address);
    let send = async |request: Request| {
        let target = format!("{origin}{}", request.target());
        let mut request = request.to_http().map(Bytes::from);
        request.headers_mut().remove("host");
        *request.uri_mut() = target.parse().unwrap();
        let response = http.send(request).await.unwrap();
        let status = response.status();
        response.into_body().collect(1_000_000).await.unwrap();
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
    tokio::time::timeout(TIMEOUT, sequences).await.unwrap();
    assert_eq!(connections.load(Ordering::SeqCst), 1);
}
