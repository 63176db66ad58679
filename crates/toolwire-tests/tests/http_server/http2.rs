//! The server over HTTP/2: many requests on one connection, and `:authority` instead of `Host`.

use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::client::conn::http2::SendRequest;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use toolwire_tests::http::endpoint::Endpoint;
use toolwire_tests::http::fixture::{Fixture, HandlerEvent, count_call, with_token};
use toolwire_tests::http::request::Request;
use toolwire_tests::peer::{call, complete, text, within};

async fn connect(endpoint: &Endpoint) -> SendRequest<Full<Bytes>> {
    let socket = TcpStream::connect(endpoint.address).await.unwrap();
    let (client, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(socket))
            .await
            .unwrap();
    tokio::spawn(connection);
    client
}

fn to(authority: &str, request: &Request) -> http::Request<Full<Bytes>> {
    let request = request.clone().without("Host");
    let request = request.with_target(format!("http://{authority}/mcp"));
    request.to_http().map(|body| Full::new(Bytes::from(body)))
}

#[tokio::test]
async fn authority_is_checked_like_the_host() {
    let fixture = Fixture::new();
    let endpoint = Endpoint::serve(&fixture.server).await;
    let mut client = connect(&endpoint).await;
    let valid = Request::modern(&count_call(1));
    for evil in ["evil.test", "localhost.evil.test", "127.0.0.1.nip.io"] {
        let response = within(client.send_request(to(evil, &valid))).await.unwrap();
        assert_eq!(response.status(), 403, "authority {evil}");
    }
    let mut both = to("localhost", &valid);
    both.headers_mut()
        .insert("host", http::HeaderValue::from_static("evil.test"));
    let response = within(client.send_request(both)).await.unwrap();
    assert_eq!(
        response.status(),
        403,
        "authority localhost and host evil.test"
    );
    assert_eq!(fixture.runs(), 0);
    let own = endpoint.address.to_string();
    for local in ["localhost", &own] {
        let response = within(client.send_request(to(local, &valid)))
            .await
            .unwrap();
        assert_eq!(response.status(), 200);
        let body = response.into_body().collect().await.unwrap().to_bytes();
        let message: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(message, complete(1, text("counted")));
    }
}

#[tokio::test]
async fn requests_of_one_connection_run_concurrently() {
    let mut fixture = Fixture::new();
    let endpoint = Endpoint::serve(&fixture.server).await;
    let client = connect(&endpoint).await;
    let mut first = client.clone();
    let waiting = to("localhost", &Request::modern(&call(1, "wait", json!({}))));
    let waiting = tokio::spawn(async move { first.send_request(waiting).await });
    fixture.expect(HandlerEvent::Started).await;
    for _ in 0..20 {
        let request = to("localhost", &Request::modern(&count_call(1)));
        let response = within(client.clone().send_request(request)).await.unwrap();
        assert_eq!(response.status(), 200);
    }
    fixture.step();
    fixture.step();
    let response = within(waiting).await.unwrap().unwrap();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    assert!(body.ends_with(b"}"));
    fixture.expect(HandlerEvent::Finished).await;
}

#[tokio::test]
async fn resetting_one_stream_cancels_one_handler() {
    let mut fixture = Fixture::new();
    let endpoint = Endpoint::serve(&fixture.server).await;
    let mut client = connect(&endpoint).await;
    let waiting = to("localhost", &Request::modern(&with_token(1, "wait", 1)));
    let response = client.send_request(waiting);
    fixture.expect(HandlerEvent::Started).await;
    fixture.step();
    let response = within(response).await.unwrap();
    drop(response);
    fixture.expect(HandlerEvent::Dropped).await;
    endpoint.wait_until_idle().await;
    let request = to("localhost", &Request::modern(&count_call(1)));
    assert_eq!(
        within(client.send_request(request)).await.unwrap().status(),
        200
    );
}

#[tokio::test]
async fn rejected_body_resets_its_stream_and_not_the_connection() {
    let fixture = Fixture::new();
    let endpoint = Endpoint::serve(&fixture.server).await;
    let client = connect(&endpoint).await;
    let valid = Request::modern(&count_call(1));
    // More than the flow-control window of a stream, and more than the server reads of a rejected body.
    for (length, status) in [(1_000_000, 415), (10_000_000, 415), (10_000_000, 413)] {
        let mut rejected = valid.clone().with_body(vec![b' '; length]);
        if status == 415 {
            rejected = rejected.replacing("Content-Type", "text/plain");
        }
        let rejected = to("localhost", &rejected);
        let response = within(client.clone().send_request(rejected)).await.unwrap();
        assert_eq!(response.status(), status, "{length} bytes");
        assert_eq!(response.headers().get("connection"), None);
        response.into_body().collect().await.unwrap();
        let valid = to("localhost", &valid);
        let response = within(client.clone().send_request(valid)).await.unwrap();
        assert_eq!(response.status(), 200);
    }
}
