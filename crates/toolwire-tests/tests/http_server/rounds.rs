//! Calls of several rounds over HTTP: the request state is bound to its principal and request, and every rejection is
//! the same.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::time::Instant;
use toolwire::store::contract::{Fault, Faulty};
use toolwire::store::{MemoryNonceStore, NonceStore, StoreError};
use toolwire::transport::http::{HttpOptions, HttpService, LegacyMode};
use toolwire::types::InputRequest;
use toolwire::{
    BoxFuture, Error, KeyRing, Principal, PromptArguments, PromptHandler, RequestContext,
    ResourceHandler, Server, StateKey,
};
use toolwire_tests::http::direct::{CompleteResponse, InProcessClient};
use toolwire_tests::http::request::Request;
use toolwire_tests::http::session::initialize_request;
use toolwire_tests::peer::{legacy, modern_with, plain, within};

async fn count_roots(ctx: RequestContext) -> Result<String, Error> {
    let roots = ctx.ask_roots("roots").await?;
    Ok(format!("{} roots", roots.len()))
}

fn key(byte: u8) -> StateKey {
    StateKey::new([byte; 32])
}

fn named(name: &str) -> Server {
    let prompt = |ctx: RequestContext, _: PromptArguments| count_roots(ctx);
    let resource = |ctx: RequestContext, _: String| count_roots(ctx);
    Server::new(name, "1")
        .without_server_info()
        .tool(plain("count", count_roots))
        .tool(plain("other", count_roots))
        .prompt(PromptHandler::new("count", prompt))
        .resource(ResourceHandler::new("roots://count", "count", resource))
        .with_request_state_keys(KeyRing::new(key(1)))
}

fn server() -> Server {
    named("roots")
}

fn service(server: Server) -> HttpService {
    HttpService::new(server, HttpOptions::new())
}

fn ann(server: Server) -> InProcessClient {
    InProcessClient::with_token(&service(server), "https://issuer", "ann")
}

/// The method and parameters of a request with several rounds.
#[derive(Debug, Clone)]
struct MultiRoundRequest {
    method: &'static str,
    params: Value,
}

impl MultiRoundRequest {
    fn tool(name: &str, arguments: Value) -> Self {
        Self {
            method: "tools/call",
            params: json!({"name": name, "arguments": arguments}),
        }
    }

    /// Returns the first round, or with a state a later round that includes the input response.
    fn round(&self, state: Option<&str>) -> Request {
        let mut params = self.params.clone();
        if let Some(state) = state {
            params["inputResponses"] = json!({"roots": {"roots": [{"uri": "file:///a"}]}});
            params["requestState"] = json!(state);
        }
        Request::modern(&modern_with(1, self.method, params, json!({"roots": {}})))
    }
}

fn count_request() -> MultiRoundRequest {
    MultiRoundRequest::tool("count", json!({"a": 1, "b": [1.0, "x"]}))
}

async fn state_of(client: &InProcessClient, request: &MultiRoundRequest) -> String {
    let first = client.request(request.round(None)).await;
    assert_eq!(first.status, 200, "{}", first.body);
    let body: Value = serde_json::from_str(&first.body).unwrap();
    let result = &body["result"];
    let input_request = serde_json::to_value(InputRequest::roots()).unwrap();
    assert_eq!(result["inputRequests"]["roots"], input_request);
    result["requestState"].as_str().unwrap().to_owned()
}

fn is_complete(response: &CompleteResponse) -> bool {
    response.status == 200 && response.body.contains("1 roots")
}

#[tokio::test]
async fn every_invalid_state_gets_the_same_response() {
    let own = ann(server());
    let state = state_of(&own, &count_request()).await;
    assert!(is_complete(
        &own.request(count_request().round(Some(&state))).await
    ));

    let mut rejected: Vec<(String, CompleteResponse)> = Vec::new();
    let mut check_rejected =
        async |case: &str, client: &InProcessClient, request: MultiRoundRequest, state: &str| {
            let response = client.request(request.round(Some(state))).await;
            rejected.push((case.to_owned(), response));
        };
    // Another principal.
    let shared = service(server());
    for (case, other_principal) in [
        ("anonymous", InProcessClient::new(&shared)),
        (
            "bob",
            InProcessClient::with_token(&shared, "https://issuer", "bob"),
        ),
        (
            "another ann",
            InProcessClient::with_token(&shared, "https://other", "ann"),
        ),
        (
            "no subject",
            InProcessClient::with_token(&shared, "https://issuer", ""),
        ),
    ] {
        check_rejected(case, &other_principal, count_request(), &state).await;
    }
    // Another request.
    let prompt = MultiRoundRequest {
        method: "prompts/get",
        params: json!({"name": "count"}),
    };
    let resource = MultiRoundRequest {
        method: "resources/read",
        params: json!({"uri": "roots://count"}),
    };
    let bare = MultiRoundRequest::tool("count", json!({}));
    let of_bare = state_of(&own, &bare).await;
    let other = MultiRoundRequest::tool("other", count_request().params["arguments"].clone());
    check_rejected("other tool", &own, other, &state).await;
    for arguments in [
        json!({}),
        json!({"a": 2, "b": [1.0, "x"]}),
        json!({"a": 1, "b": ["x", 1.0]}),
        json!({"a": 1}),
        json!({"a": 1, "b": [1.0, "x"], "c": null}),
    ] {
        check_rejected(
            "arguments",
            &own,
            MultiRoundRequest::tool("count", arguments),
            &state,
        )
        .await;
    }
    check_rejected("a prompt", &own, prompt, &of_bare).await;
    check_rejected("a resource", &own, resource, &of_bare).await;
    // Another state.
    let middle = state.len() / 2;
    let tampered = format!(
        "{}{}{}",
        &state[..middle],
        flipped(&state, middle),
        &state[middle + 1..]
    );
    let again = state_of(&own, &count_request()).await;
    for (case, text) in [
        ("tampered", tampered.as_str()),
        ("shorter", &state[..state.len() - 1]),
        ("half", &state[..middle]),
        ("longer", &format!("{state}A")),
        ("padded", &format!("{state}=")),
        ("spaced", &format!("{state} ")),
        (
            "two halves",
            &format!("{}{}", &state[..middle], &again[middle..]),
        ),
        ("empty", ""),
        ("prefix", "tw1."),
        ("garbage", "tw1.AAAA"),
        ("unsigned JWT", "eyJhbGciOiJub25lIn0.e30."),
        ("unusual characters", "tw1.\u{0}é\u{202e}"),
        ("huge", &"A".repeat(200_000)),
    ] {
        check_rejected(case, &own, count_request(), text).await;
    }
    // Another server, other keys, and an expired state.
    check_rejected("renamed", &ann(named("other")), count_request(), &state).await;
    let rekeyed = server().with_request_state_keys(KeyRing::new(key(2)));
    check_rejected("rekeyed", &ann(rekeyed), count_request(), &state).await;
    let small = server().with_request_state_keys(KeyRing::new(key(1)).with_max_payload(8));
    check_rejected("larger than allowed", &ann(small), count_request(), &state).await;
    let brief = ann(server().with_request_state_ttl(Duration::ZERO));
    let expired = state_of(&brief, &count_request()).await;
    check_rejected("expired", &own, count_request(), &expired).await;
    check_rejected(
        "expired on its own server",
        &brief,
        count_request(),
        &expired,
    )
    .await;
    // The same state again.
    let once = ann(server().with_single_use_request_state(MemoryNonceStore::default()));
    assert!(is_complete(
        &once.request(count_request().round(Some(&state))).await
    ));
    check_rejected("replayed", &once, count_request(), &state).await;

    let expected = json!({"jsonrpc": "2.0", "id": 1, "error": {
        "code": -32602, "message": "requestState is invalid or has expired"}});
    let first = &rejected[0].1;
    assert_eq!((first.status, &first.session), (200, &None));
    assert_eq!(
        serde_json::from_str::<Value>(&first.body).unwrap(),
        expected
    );
    for (case, response) in &rejected {
        assert_eq!(response, first, "{case}");
    }
    // The state is still valid.
    assert!(is_complete(
        &own.request(count_request().round(Some(&state))).await
    ));
}

/// Returns a letter that differs from the one at this position.
fn flipped(text: &str, at: usize) -> char {
    match text.as_bytes()[at] {
        b'A' => 'B',
        _ => 'A',
    }
}

/// A nonce store that the test also has.
#[derive(Debug)]
struct SharedNonces(Arc<Faulty<MemoryNonceStore>>);

impl NonceStore for SharedNonces {
    fn mark_used<'a>(
        &'a self,
        owner: &'a Principal,
        fingerprint: &'a [u8; 32],
        lifetime: Duration,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.0.mark_used(owner, fingerprint, lifetime)
    }
}

#[tokio::test(start_paused = true)]
async fn single_use_state_is_rejected_for_now_if_its_store_fails() {
    let nonces = Arc::new(Faulty::new(Arc::<MemoryNonceStore>::default()));
    let shared = SharedNonces(Arc::clone(&nonces));
    let client = ann(server().with_single_use_request_state(shared));
    let state = state_of(&client, &count_request()).await;
    for fault in [Fault::Hang, Fault::Error] {
        nonces.inject("mark_used", fault, 1);
        let before = Instant::now();
        let response = client.send(count_request().round(Some(&state))).await;
        assert_eq!(response.status(), 503, "{fault:?}");
        assert!(response.headers().contains_key("retry-after"));
        let deadline = Duration::from_secs(2);
        let waited = before.elapsed();
        assert_eq!(waited >= deadline, fault == Fault::Hang, "{waited:?}");
    }
    assert!(is_complete(
        &client.request(count_request().round(Some(&state))).await
    ));
}

#[tokio::test]
async fn rejected_use_does_not_consume_a_single_use_state() {
    let service = service(server().with_single_use_request_state(MemoryNonceStore::default()));
    let ann = InProcessClient::with_token(&service, "https://issuer", "ann");
    let bob = InProcessClient::with_token(&service, "https://issuer", "bob");
    let state = state_of(&ann, &count_request()).await;
    assert!(!is_complete(
        &bob.request(count_request().round(Some(&state))).await
    ));
    let other = MultiRoundRequest::tool("other", json!({}));
    assert!(!is_complete(&ann.request(other.round(Some(&state))).await));
    assert!(is_complete(
        &ann.request(count_request().round(Some(&state))).await
    ));
    assert!(!is_complete(
        &ann.request(count_request().round(Some(&state))).await
    ));
}

#[tokio::test]
async fn concurrent_uses_of_a_single_use_state_succeed_once() {
    let client = ann(server().with_single_use_request_state(MemoryNonceStore::default()));
    let state = state_of(&client, &count_request()).await;
    let (one, other) = tokio::join!(
        client.request(count_request().round(Some(&state))),
        client.request(count_request().round(Some(&state)))
    );
    assert!(
        is_complete(&one) != is_complete(&other),
        "{one:?} {other:?}"
    );
}

#[tokio::test]
async fn call_continues_during_key_rotation() {
    // The key rings of a rotation: the new key opens states, then seals them, and at last the old key is removed.
    let rings = [
        KeyRing::new(key(1)),
        KeyRing::new(key(1)).with_older(key(2)),
        KeyRing::new(key(2)).with_older(key(1)),
        KeyRing::new(key(2)),
    ];
    let node = |ring: &KeyRing| ann(server().with_request_state_keys(ring.clone()));
    for pair in rings.windows(2) {
        for (first_node, second_node) in [(&pair[0], &pair[1]), (&pair[1], &pair[0])] {
            let state = state_of(&node(first_node), &count_request()).await;
            let response = node(second_node)
                .request(count_request().round(Some(&state)))
                .await;
            assert!(is_complete(&response), "{response:?}");
        }
    }
    let state = state_of(&node(&rings[0]), &count_request()).await;
    assert!(!is_complete(
        &node(&rings[3])
            .request(count_request().round(Some(&state)))
            .await
    ));
}

#[tokio::test]
async fn input_request_on_a_stateless_legacy_request_fails() {
    let options = HttpOptions::new().with_legacy(LegacyMode::Stateless);
    let client = InProcessClient::new(&HttpService::new(server(), options));
    let opened = client.request(initialize_request("2025-11-25")).await;
    assert_eq!(opened.status, 200);
    let call = legacy(1, "tools/call", json!({"name": "count"}));
    let call = Request::post(&call).with("MCP-Protocol-Version", "2025-11-25");
    let response = within(client.request(call)).await;
    let response: Value = serde_json::from_str(&response.body).unwrap();
    assert_eq!(response["error"]["code"], -32600, "{response}");
    let missing = json!({"requiredCapabilities": {"roots": {}}});
    assert_eq!(response["error"]["data"], missing, "{response}");
}

#[tokio::test]
async fn round_may_report_progress_before_its_input_request() {
    let tool = plain("work", |ctx: RequestContext| async move {
        ctx.report_steps(1, 2, None);
        let roots = ctx.ask_roots("roots").await?;
        ctx.report_steps(2, 2, None);
        Ok::<_, Error>(format!("{} roots", roots.len()))
    });
    let client = ann(server().tool(tool));
    let mut request = MultiRoundRequest::tool("work", json!({}));
    request.params["_meta"] = json!({"progressToken": "t"});
    let messages = async |state: Option<&str>| {
        let response = client.request(request.round(state)).await;
        assert_eq!(response.status, 200);
        let data = response
            .body
            .lines()
            .filter_map(|line| line.strip_prefix("data: "));
        let messages: Vec<Value> = data
            .filter(|data| !data.is_empty())
            .map(|data| serde_json::from_str(data).unwrap())
            .collect();
        messages
    };
    let first = messages(None).await;
    let [progress, input_required] = &first[..] else {
        panic!("one progress notification and an input request: {first:?}");
    };
    assert_eq!(progress["params"]["progress"], 1.0);
    assert_eq!(input_required["result"]["resultType"], "input_required");
    // The handler runs from its start, and so does its progress.
    let second = messages(input_required["result"]["requestState"].as_str()).await;
    let [one, two, done] = &second[..] else {
        panic!("two steps and a result: {second:?}");
    };
    assert_eq!(one["params"]["progress"], 1.0);
    assert_eq!(two["params"]["progress"], 2.0);
    assert_eq!(done["result"]["content"][0]["text"], "1 roots");
}

/// A guard that notifies the test when it is dropped.
struct NotifyOnDrop(UnboundedSender<&'static str>);

impl Drop for NotifyOnDrop {
    fn drop(&mut self) {
        // Fails if the test has ended.
        let _ = self.0.send("dropped");
    }
}

#[tokio::test]
async fn effect_of_a_disconnected_client_is_not_recorded() {
    let (sender, mut events) = unbounded_channel();
    let tool = plain("pay", move |ctx: RequestContext| {
        let sender = sender.clone();
        async move {
            let roots = ctx.ask_roots("roots").await?;
            let work = async {
                let _guard = NotifyOnDrop(sender.clone());
                let _ = sender.send("started");
                std::future::pending::<()>().await;
            };
            ctx.once("pay", work).await?;
            Ok::<_, Error>(format!("{} roots", roots.len()))
        }
    });
    let client = ann(server().tool(tool));
    let request = MultiRoundRequest::tool("pay", json!({}));
    let state = state_of(&client, &request).await;
    for _ in 0..2 {
        let response = client.request(request.round(Some(&state)));
        tokio::select! {
            response = response => panic!("{response:?}"),
            event = events.recv() => assert_eq!(event, Some("started")),
        }
        assert_eq!(within(events.recv()).await, Some("dropped"));
    }
}
