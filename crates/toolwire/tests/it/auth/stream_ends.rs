//! Streams that never end by themselves end with the token they were opened with; answers to calls do not.
//!
//! Time stands still until the test waits. The calendar does not, so the ends are met within a few seconds.

use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tokio::time::Instant;
use toolwire::transport::http::{HttpLimits, HttpOptions, HttpService, ServerBody};
use toolwire::{BoxFuture, RequestContext, Server};
use toolwire_auth::documents::{AccessTokenClaims, Secret};
use toolwire_auth::{ResourceServerConfig, TokenError, TokenPurpose, TokenVerifier};

use super::guarded::{config, options, protected_server, tokens, with_token};
use crate::http::direct::{Direct, Whole, in_session, next_chunk};
use crate::http::request::Request;
use crate::http::session::{initialize_request, tool_call, tool_call_with_token};
use crate::http::stage;
use crate::peer::{legacy, modern, notification, plain};

/// How much the calendar may move on while a test runs.
const SLACK: Duration = Duration::from_secs(20);

/// The token `ann-600` is Ann's for ten minutes.
#[derive(Debug)]
struct Lasting;

impl TokenVerifier for Lasting {
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

/// Says something at once, and its answer after this many seconds.
fn server(seconds: u64) -> Server {
    let slow = plain("slow", move |ctx: RequestContext| async move {
        ctx.report_progress(1.0, None, None);
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        format!("slow {:?}", ctx.auth().subject)
    });
    protected_server(&Arc::default()).tool(slow)
}

fn client_of(server: &Server, options: HttpOptions) -> Direct {
    Direct::new(&HttpService::new(server.clone(), options))
}

fn client(config: ResourceServerConfig) -> Direct {
    client_of(&server(1), options(config))
}

/// Reads a stream to its end: what was said, and after which time it was over.
async fn rest(body: &mut Pin<Box<ServerBody>>) -> (String, Duration) {
    let began = Instant::now();
    let mut text = String::new();
    while let Some(chunk) = next_chunk(body).await {
        text += &chunk;
        assert!(began.elapsed() < seconds(100_000), "it never ends");
    }
    (text, began.elapsed())
}

#[track_caller]
fn about(found: Duration, expected: Duration) {
    assert!(
        found <= expected && found + SLACK > expected,
        "{found:?} instead of {expected:?}"
    );
}

async fn open(client: &Direct, request: Request, token: &str) -> Pin<Box<ServerBody>> {
    let answer = client.send(with_token(request, token)).await;
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.headers()["content-type"], "text/event-stream");
    Box::pin(answer.into_body())
}

async fn ask(client: &Direct, request: Request, token: &str) -> Whole {
    client.ask(with_token(request, token)).await
}

async fn session(client: &Direct, token: &str) -> String {
    let opened = ask(client, initialize_request("2025-11-25"), token).await;
    let session = opened.session.expect("a session is opened");
    let initialized = notification("notifications/initialized", json!({}));
    let told = ask(client, in_session(&session, &initialized), token).await;
    assert_eq!(told.status, 202);
    session
}

fn listen() -> Request {
    let wish = json!({"notifications": {"toolsListChanged": true}});
    Request::modern(&modern(7, "subscriptions/listen", wish))
}

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

#[tokio::test(start_paused = true)]
async fn a_stream_of_changes_is_concluded_when_its_token_ends() {
    for (config, leeway) in [
        (config().with_verifier(Lasting), 60),
        (config().with_verifier(Lasting).with_leeway(0), 0),
        (config().with_verifier(Lasting).with_leeway(300), 300),
    ] {
        let client = client(config);
        let mut stream = open(&client, listen(), "ann-600").await;
        let (text, lasted) = rest(&mut stream).await;
        about(lasted, seconds(600 + leeway));
        let last = text
            .lines()
            .rev()
            .find_map(|line| line.strip_prefix("data: "));
        let last: Value = serde_json::from_str(last.unwrap()).unwrap();
        assert_eq!(last["id"], 7, "{last}");
        assert!(last["result"].is_object(), "{last}");
        // Whoever comes back with another token goes on.
        drop(open(&client, listen(), "ann-600").await);
    }
}

#[tokio::test(start_paused = true)]
async fn a_pushed_stream_ends_and_is_resumed_without_a_loss() {
    let server = server(1);
    let client = client_of(&server, options(config().with_verifier(Lasting)));
    let session_id = session(&client, "ann-86400").await;
    let get = || Request::get(&session_id, "2025-11-25");
    let mut stream = open(&client, get(), "ann-600").await;
    let (text, lasted) = rest(&mut stream).await;
    about(lasted, seconds(660));
    let id = text
        .lines()
        .find_map(|line| line.strip_prefix("id: "))
        .unwrap();
    let resume = get().with("Last-Event-ID", id);
    let mut stream = open(&client, resume, "ann-900").await;
    server.tools_changed();
    let (text, lasted) = rest(&mut stream).await;
    about(lasted, seconds(960));
    assert!(text.contains("list_changed"), "{text}");
    let ping = in_session(&session_id, &legacy(1, "ping", json!({})));
    assert_eq!(ask(&client, ping, "ann-600").await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn the_answer_to_a_call_is_not_cut_off() {
    let client = client_of(&server(7200), options(config().with_verifier(Lasting)));
    let call = Request::modern(&stage::with_token(7, "slow", "t"));
    let mut stream = open(&client, call, "ann-600").await;
    let (text, lasted) = rest(&mut stream).await;
    assert_eq!(lasted, seconds(7200));
    assert!(text.contains("slow Some"), "{text}");

    let session = session(&client, "ann-600").await;
    let call = in_session(&session, &tool_call_with_token(1, "slow", "t"));
    let mut stream = open(&client, call.clone(), "ann-600").await;
    let (text, lasted) = rest(&mut stream).await;
    assert_eq!(lasted, seconds(7200));
    assert!(text.contains("slow Some"), "{text}");

    // Neither is what a client comes back for.
    let mut stream = open(&client, call, "ann-600").await;
    let begin = next_chunk(&mut stream).await.unwrap();
    drop(stream);
    let id = begin
        .lines()
        .find_map(|line| line.strip_prefix("id: "))
        .unwrap();
    let resume = Request::get(&session, "2025-11-25").with("Last-Event-ID", id);
    let mut stream = open(&client, resume, "ann-600").await;
    let (text, lasted) = rest(&mut stream).await;
    assert_eq!(lasted, seconds(7200));
    assert!(text.contains("slow Some"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn streams_of_tokens_without_an_end_go_on() {
    let day = seconds(24 * 3600);
    let client = client(config().with_verifier(tokens()));
    let session = session(&client, "ann").await;
    for request in [Request::get(&session, "2025-11-25"), listen()] {
        let mut stream = open(&client, request, "ann").await;
        let began = Instant::now();
        while began.elapsed() < day {
            next_chunk(&mut stream).await.expect("the stream goes on");
        }
    }
}

/// A stream of the 2024-11-05 transport and the address of its messages.
async fn old_stream(client: &Direct, token: &str) -> (Pin<Box<ServerBody>>, String) {
    let get = Request::new("GET")
        .with_target("/sse")
        .with("Accept", "text/event-stream");
    let mut stream = open(client, get, token).await;
    let first = next_chunk(&mut stream).await.unwrap();
    let address = first.lines().find_map(|line| line.strip_prefix("data: "));
    (stream, address.unwrap().to_owned())
}

async fn post(client: &Direct, address: &str, message: &Value, token: &str) -> u16 {
    let request = Request::post(message).with_target(address);
    ask(client, request, token).await.status
}

fn old_client(server: &Server) -> Direct {
    let options = options(config().with_verifier(Lasting)).with_http_sse();
    client_of(server, options)
}

#[tokio::test(start_paused = true)]
async fn an_old_stream_ends_and_its_address_with_it() {
    let client = old_client(&server(1));
    let (mut stream, address) = old_stream(&client, "ann-600").await;
    let (_, lasted) = rest(&mut stream).await;
    about(lasted, seconds(660));
    let ping = legacy(1, "ping", json!({}));
    assert_eq!(post(&client, &address, &ping, "ann-600").await, 404);
}

#[tokio::test(start_paused = true)]
async fn an_old_stream_lasts_until_the_last_token_of_its_client_ends() {
    let client = old_client(&server(1));
    let (mut stream, address) = old_stream(&client, "ann-600").await;
    let ping = legacy(1, "ping", json!({}));
    assert_eq!(post(&client, &address, &ping, "bob-9999").await, 404);
    assert_eq!(post(&client, &address, &ping, "ann-1800").await, 202);
    assert_eq!(post(&client, &address, &ping, "ann-60").await, 202);
    let (text, lasted) = rest(&mut stream).await;
    about(lasted, seconds(1860));
    assert_eq!(text.matches("\"result\"").count(), 2, "{text}");
}

#[tokio::test(start_paused = true)]
async fn calls_on_an_old_stream_have_the_time_of_a_hang_up_to_finish() {
    let drain = HttpLimits::default().drain;
    for (longer, answered) in [(1, true), (drain.as_secs() + 60, false)] {
        let client = old_client(&server(660 + longer));
        let (mut stream, address) = old_stream(&client, "ann-600").await;
        let hello = json!({
            "protocolVersion": "2024-11-05", "capabilities": {},
            "clientInfo": {"name": "old", "version": "1"},
        });
        let hello = legacy(0, "initialize", hello);
        let call = tool_call(1, "slow", json!({}));
        for message in [&hello, &call] {
            assert_eq!(post(&client, &address, message, "ann-600").await, 202);
        }
        let (text, lasted) = rest(&mut stream).await;
        assert_eq!(text.contains("slow Some"), answered, "{text}");
        assert!(lasted <= seconds(660) + drain, "{lasted:?}");
    }
}
