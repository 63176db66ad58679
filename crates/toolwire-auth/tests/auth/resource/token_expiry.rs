//! Server streams end when the token of their request expires. Responses to calls do not.
//!
//! The tokio clock is paused and the system clock is not, so expiry times are compared with a tolerance.

use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tokio::time::Instant;
use toolwire::transport::http::{HttpLimits, HttpOptions, HttpService, ServerBody};
use toolwire::{BoxFuture, RequestContext, Server};
use toolwire_auth::documents::{AccessTokenClaims, Secret};
use toolwire_auth::{ResourceServerConfig, TokenError, TokenPurpose, TokenVerifier};
use toolwire_tests::http::direct::{CompleteResponse, InProcessClient, in_session, next_chunk};
use toolwire_tests::http::fixture;
use toolwire_tests::http::request::Request;
use toolwire_tests::http::session::{initialize_request, tool_call, tool_call_with_token};
use toolwire_tests::peer::{legacy, modern, notification, plain};

use super::protected_server::{config, options, protected_server, tokens, with_token};

/// Tolerance for the time that passes on the system clock during a test.
const TOLERANCE: Duration = Duration::from_secs(20);

/// A verifier whose tokens name a user and a lifetime: `ann-600` is valid for 600 s.
#[derive(Debug)]
struct TimedTokens;

impl TokenVerifier for TimedTokens {
    fn verify<'a>(
        &'a self,
        token: &'a Secret,
        purpose: &'a TokenPurpose,
    ) -> BoxFuture<'a, Result<AccessTokenClaims, TokenError>> {
        let (name, seconds) = token.expose().split_once('-').unwrap();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let mut claims = AccessTokenClaims::default();
        claims.iss = purpose.issuers.first().cloned();
        claims.aud = Some(purpose.resource.as_str().into());
        claims.sub = Some(name.to_owned());
        claims.exp = Some(now.as_secs() + seconds.parse::<u64>().unwrap());
        Box::pin(std::future::ready(Ok(claims)))
    }
}

/// Returns a server whose tool `slow` sends progress at once and its result after this many seconds.
fn server(seconds: u64) -> Server {
    let slow = plain("slow", move |ctx: RequestContext| async move {
        ctx.report_progress(1.0, None, None);
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        format!("slow {:?}", ctx.auth().subject)
    });
    protected_server(&Arc::default()).tool(slow)
}

fn client_of(server: &Server, options: HttpOptions) -> InProcessClient {
    InProcessClient::new(&HttpService::new(server.clone(), options))
}

fn client(config: ResourceServerConfig) -> InProcessClient {
    client_of(&server(1), options(config))
}

/// Reads a stream to its end, and returns the text and the elapsed time.
async fn read_to_end(body: &mut Pin<Box<ServerBody>>) -> (String, Duration) {
    let start = Instant::now();
    let mut text = String::new();
    while let Some(chunk) = next_chunk(body).await {
        text += &chunk;
        assert!(
            start.elapsed() < seconds(100_000),
            "the stream does not end"
        );
    }
    (text, start.elapsed())
}

#[track_caller]
fn assert_duration(actual: Duration, expected: Duration) {
    assert!(
        actual <= expected && actual + TOLERANCE > expected,
        "{actual:?} instead of {expected:?}"
    );
}

async fn open(client: &InProcessClient, request: Request, token: &str) -> Pin<Box<ServerBody>> {
    let response = client.send(with_token(request, token)).await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    Box::pin(response.into_body())
}

async fn send(client: &InProcessClient, request: Request, token: &str) -> CompleteResponse {
    client.request(with_token(request, token)).await
}

async fn open_session(client: &InProcessClient, token: &str) -> String {
    let response = send(client, initialize_request("2025-11-25"), token).await;
    let session = response.session.expect("a session is opened");
    let initialized = notification("notifications/initialized", json!({}));
    let accepted = send(client, in_session(&session, &initialized), token).await;
    assert_eq!(accepted.status, 202);
    session
}

fn listen() -> Request {
    let filter = json!({"notifications": {"toolsListChanged": true}});
    Request::modern(&modern(7, "subscriptions/listen", filter))
}

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

#[tokio::test(start_paused = true)]
async fn subscription_stream_ends_with_a_response_when_its_token_expires() {
    for (config, leeway) in [
        (config().with_verifier(TimedTokens), 60),
        (config().with_verifier(TimedTokens).with_leeway(0), 0),
        (config().with_verifier(TimedTokens).with_leeway(300), 300),
    ] {
        let client = client(config);
        let mut stream = open(&client, listen(), "ann-600").await;
        let (text, elapsed) = read_to_end(&mut stream).await;
        assert_duration(elapsed, seconds(600 + leeway));
        let last = text
            .lines()
            .rev()
            .find_map(|line| line.strip_prefix("data: "));
        let last: Value = serde_json::from_str(last.unwrap()).unwrap();
        assert_eq!(last["id"], 7, "{last}");
        assert!(last["result"].is_object(), "{last}");
        // A new token opens a new stream.
        drop(open(&client, listen(), "ann-600").await);
    }
}

#[tokio::test(start_paused = true)]
async fn server_stream_ends_with_its_token_and_resumes_without_loss() {
    let server = server(1);
    let client = client_of(&server, options(config().with_verifier(TimedTokens)));
    let session_id = open_session(&client, "ann-86400").await;
    let get = || Request::get(&session_id, "2025-11-25");
    let mut stream = open(&client, get(), "ann-600").await;
    let (text, elapsed) = read_to_end(&mut stream).await;
    assert_duration(elapsed, seconds(660));
    let id = text
        .lines()
        .find_map(|line| line.strip_prefix("id: "))
        .unwrap();
    let resume = get().with("Last-Event-ID", id);
    let mut stream = open(&client, resume, "ann-900").await;
    server.tools_changed();
    let (text, elapsed) = read_to_end(&mut stream).await;
    assert_duration(elapsed, seconds(960));
    assert!(text.contains("list_changed"), "{text}");
    let ping = in_session(&session_id, &legacy(1, "ping", json!({})));
    assert_eq!(send(&client, ping, "ann-600").await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn response_stream_of_a_call_outlives_its_token() {
    let client = client_of(&server(7200), options(config().with_verifier(TimedTokens)));
    let call = Request::modern(&fixture::with_token(7, "slow", "t"));
    let mut stream = open(&client, call, "ann-600").await;
    let (text, elapsed) = read_to_end(&mut stream).await;
    assert_eq!(elapsed, seconds(7200));
    assert!(text.contains("slow Some"), "{text}");

    let session = open_session(&client, "ann-600").await;
    let call = in_session(&session, &tool_call_with_token(1, "slow", "t"));
    let mut stream = open(&client, call.clone(), "ann-600").await;
    let (text, elapsed) = read_to_end(&mut stream).await;
    assert_eq!(elapsed, seconds(7200));
    assert!(text.contains("slow Some"), "{text}");

    // A resumed response stream outlives the token, too.
    let mut stream = open(&client, call, "ann-600").await;
    let first = next_chunk(&mut stream).await.unwrap();
    drop(stream);
    let id = first
        .lines()
        .find_map(|line| line.strip_prefix("id: "))
        .unwrap();
    let resume = Request::get(&session, "2025-11-25").with("Last-Event-ID", id);
    let mut stream = open(&client, resume, "ann-600").await;
    let (text, elapsed) = read_to_end(&mut stream).await;
    assert_eq!(elapsed, seconds(7200));
    assert!(text.contains("slow Some"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn stream_of_a_token_without_expiry_stays_open() {
    let day = seconds(24 * 3600);
    let client = client(config().with_verifier(tokens()));
    let session = open_session(&client, "ann").await;
    for request in [Request::get(&session, "2025-11-25"), listen()] {
        let mut stream = open(&client, request, "ann").await;
        let start = Instant::now();
        while start.elapsed() < day {
            next_chunk(&mut stream).await.expect("the stream is open");
        }
    }
}

/// Opens a stream of the HTTP+SSE transport, and returns it with its message endpoint.
async fn http_sse_stream(client: &InProcessClient, token: &str) -> (Pin<Box<ServerBody>>, String) {
    let get = Request::new("GET")
        .with_target("/sse")
        .with("Accept", "text/event-stream");
    let mut stream = open(client, get, token).await;
    let first = next_chunk(&mut stream).await.unwrap();
    let address = first.lines().find_map(|line| line.strip_prefix("data: "));
    (stream, address.unwrap().to_owned())
}

async fn post(client: &InProcessClient, address: &str, message: &Value, token: &str) -> u16 {
    let request = Request::post(message).with_target(address);
    send(client, request, token).await.status
}

fn http_sse_client(server: &Server) -> InProcessClient {
    let options = options(config().with_verifier(TimedTokens)).with_http_sse();
    client_of(server, options)
}

#[tokio::test(start_paused = true)]
async fn http_sse_stream_and_its_message_endpoint_end_with_the_token() {
    let client = http_sse_client(&server(1));
    let (mut stream, address) = http_sse_stream(&client, "ann-600").await;
    let (_, elapsed) = read_to_end(&mut stream).await;
    assert_duration(elapsed, seconds(660));
    let ping = legacy(1, "ping", json!({}));
    assert_eq!(post(&client, &address, &ping, "ann-600").await, 404);
}

#[tokio::test(start_paused = true)]
async fn http_sse_stream_lasts_until_the_latest_token_of_its_client_expires() {
    let client = http_sse_client(&server(1));
    let (mut stream, address) = http_sse_stream(&client, "ann-600").await;
    let ping = legacy(1, "ping", json!({}));
    assert_eq!(post(&client, &address, &ping, "bob-9999").await, 404);
    assert_eq!(post(&client, &address, &ping, "ann-1800").await, 202);
    assert_eq!(post(&client, &address, &ping, "ann-60").await, 202);
    let (text, elapsed) = read_to_end(&mut stream).await;
    assert_duration(elapsed, seconds(1860));
    assert_eq!(text.matches("\"result\"").count(), 2, "{text}");
}

#[tokio::test(start_paused = true)]
async fn calls_on_an_expired_http_sse_stream_have_the_drain_time_to_finish() {
    let drain = HttpLimits::default().drain;
    for (excess, has_response) in [(1, true), (drain.as_secs() + 60, false)] {
        let client = http_sse_client(&server(660 + excess));
        let (mut stream, address) = http_sse_stream(&client, "ann-600").await;
        let params = json!({
            "protocolVersion": "2024-11-05", "capabilities": {},
            "clientInfo": {"name": "old", "version": "1"},
        });
        let initialize = legacy(0, "initialize", params);
        let call = tool_call(1, "slow", json!({}));
        for message in [&initialize, &call] {
            assert_eq!(post(&client, &address, message, "ann-600").await, 202);
        }
        let (text, elapsed) = read_to_end(&mut stream).await;
        assert_eq!(text.contains("slow Some"), has_response, "{text}");
        assert!(elapsed <= seconds(660) + drain, "{elapsed:?}");
    }
}
