//! Calls of several rounds over HTTP: whose they are, and what every refused state looks like.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use toolwire::store::MemoryNonceStore;
use toolwire::transport::http::{HttpOptions, HttpService, LegacyMode};
use toolwire::types::InputRequest;
use toolwire::{
    Error, KeyRing, PromptArguments, PromptHandler, RequestContext, ResourceHandler, Server,
    StateKey,
};

use crate::http::direct::{Direct, Whole};
use crate::http::request::Request;
use crate::http::session::initialize_request;
use crate::peer::{legacy, modern_with, plain, within};

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

fn ann(server: Server) -> Direct {
    Direct::of(&service(server), "https://issuer", "ann")
}

/// What a round is about.
#[derive(Debug, Clone)]
struct About {
    method: &'static str,
    params: Value,
}

impl About {
    fn tool(name: &str, arguments: Value) -> Self {
        Self {
            method: "tools/call",
            params: json!({"name": name, "arguments": arguments}),
        }
    }

    /// A round with a state, and with the answer to the question.
    fn round(&self, state: Option<&str>) -> Request {
        let mut params = self.params.clone();
        if let Some(state) = state {
            params["inputResponses"] = json!({"roots": {"roots": [{"uri": "file:///a"}]}});
            params["requestState"] = json!(state);
        }
        Request::modern(&modern_with(1, self.method, params, json!({"roots": {}})))
    }
}

fn about() -> About {
    About::tool("count", json!({"a": 1, "b": [1.0, "x"]}))
}

async fn state_of(client: &Direct, about: &About) -> String {
    let first = client.ask(about.round(None)).await;
    assert_eq!(first.status, 200, "{}", first.body);
    let body: Value = serde_json::from_str(&first.body).unwrap();
    let result = &body["result"];
    let question = serde_json::to_value(InputRequest::roots()).unwrap();
    assert_eq!(result["inputRequests"]["roots"], question);
    result["requestState"].as_str().unwrap().to_owned()
}

fn is_done(answer: &Whole) -> bool {
    answer.status == 200 && answer.body.contains("1 roots")
}

#[tokio::test]
async fn every_refused_state_is_refused_with_the_same_bytes() {
    let own = ann(server());
    let state = state_of(&own, &about()).await;
    assert!(is_done(&own.ask(about().round(Some(&state))).await));

    let mut refused: Vec<(String, Whole)> = Vec::new();
    let mut try_it = async |what: &str, client: &Direct, about: About, state: &str| {
        let answer = client.ask(about.round(Some(state))).await;
        refused.push((what.to_owned(), answer));
    };
    // Somebody else.
    let shared = service(server());
    for (what, stranger) in [
        ("anonymous", Direct::new(&shared)),
        ("bob", Direct::of(&shared, "https://issuer", "bob")),
        ("another ann", Direct::of(&shared, "https://other", "ann")),
        ("no subject", Direct::of(&shared, "https://issuer", "")),
    ] {
        try_it(what, &stranger, about(), &state).await;
    }
    // Something else.
    let prompt = About {
        method: "prompts/get",
        params: json!({"name": "count"}),
    };
    let resource = About {
        method: "resources/read",
        params: json!({"uri": "roots://count"}),
    };
    let bare = About::tool("count", json!({}));
    let of_bare = state_of(&own, &bare).await;
    let other = About::tool("other", about().params["arguments"].clone());
    try_it("other tool", &own, other, &state).await;
    for arguments in [
        json!({}),
        json!({"a": 2, "b": [1.0, "x"]}),
        json!({"a": 1, "b": ["x", 1.0]}),
        json!({"a": 1}),
        json!({"a": 1, "b": [1.0, "x"], "c": null}),
    ] {
        try_it("arguments", &own, About::tool("count", arguments), &state).await;
    }
    try_it("a prompt", &own, prompt, &of_bare).await;
    try_it("a resource", &own, resource, &of_bare).await;
    // Another text.
    let middle = state.len() / 2;
    let tampered = format!(
        "{}{}{}",
        &state[..middle],
        flipped(&state, middle),
        &state[middle + 1..]
    );
    let again = state_of(&own, &about()).await;
    for (what, text) in [
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
        ("not ours", "eyJhbGciOiJub25lIn0.e30."),
        ("strange", "tw1.\u{0}é\u{202e}"),
        ("huge", &"A".repeat(200_000)),
    ] {
        try_it(what, &own, about(), text).await;
    }
    // Another server, other keys, another time.
    try_it("renamed", &ann(named("other")), about(), &state).await;
    let rekeyed = server().with_request_state_keys(KeyRing::new(key(2)));
    try_it("rekeyed", &ann(rekeyed), about(), &state).await;
    let small = server().with_request_state_keys(KeyRing::new(key(1)).with_max_payload(8));
    try_it("larger than allowed", &ann(small), about(), &state).await;
    let brief = ann(server().with_request_state_ttl(Duration::ZERO));
    let expired = state_of(&brief, &about()).await;
    try_it("expired", &own, about(), &expired).await;
    try_it("expired at home", &brief, about(), &expired).await;
    // Once more.
    let once = ann(server().with_single_use_request_state(MemoryNonceStore::default()));
    assert!(is_done(&once.ask(about().round(Some(&state))).await));
    try_it("replayed", &once, about(), &state).await;

    let expected = json!({"jsonrpc": "2.0", "id": 1, "error": {
        "code": -32602, "message": "requestState is invalid or has expired"}});
    let first = &refused[0].1;
    assert_eq!((first.status, &first.session), (200, &None));
    assert_eq!(
        serde_json::from_str::<Value>(&first.body).unwrap(),
        expected
    );
    for (what, answer) in &refused {
        assert_eq!(answer, first, "{what}");
    }
    // Nothing of this has hurt the state itself.
    assert!(is_done(&own.ask(about().round(Some(&state))).await));
}

/// Another letter in the place of one.
fn flipped(text: &str, at: usize) -> char {
    match text.as_bytes()[at] {
        b'A' => 'B',
        _ => 'A',
    }
}

#[tokio::test]
async fn a_state_that_may_be_used_once_is_not_used_up_by_others() {
    let service = service(server().with_single_use_request_state(MemoryNonceStore::default()));
    let ann = Direct::of(&service, "https://issuer", "ann");
    let bob = Direct::of(&service, "https://issuer", "bob");
    let state = state_of(&ann, &about()).await;
    assert!(!is_done(&bob.ask(about().round(Some(&state))).await));
    let other = About::tool("other", json!({}));
    assert!(!is_done(&ann.ask(other.round(Some(&state))).await));
    assert!(is_done(&ann.ask(about().round(Some(&state))).await));
    assert!(!is_done(&ann.ask(about().round(Some(&state))).await));
}

#[tokio::test]
async fn of_two_at_the_same_time_one_uses_a_state() {
    let client = ann(server().with_single_use_request_state(MemoryNonceStore::default()));
    let state = state_of(&client, &about()).await;
    let (one, other) = tokio::join!(
        client.ask(about().round(Some(&state))),
        client.ask(about().round(Some(&state)))
    );
    assert!(is_done(&one) != is_done(&other), "{one:?} {other:?}");
}

#[tokio::test]
async fn a_call_goes_on_while_the_keys_of_a_fleet_are_changed() {
    // Each node as it is restarted: the new key opens before it seals, the old one opens after it sealed.
    let rings = [
        KeyRing::new(key(1)),
        KeyRing::new(key(1)).with_older(key(2)),
        KeyRing::new(key(2)).with_older(key(1)),
        KeyRing::new(key(2)),
    ];
    let node = |ring: &KeyRing| ann(server().with_request_state_keys(ring.clone()));
    for pair in rings.windows(2) {
        for (asks, goes_on) in [(&pair[0], &pair[1]), (&pair[1], &pair[0])] {
            let state = state_of(&node(asks), &about()).await;
            let answer = node(goes_on).ask(about().round(Some(&state))).await;
            assert!(is_done(&answer), "{answer:?}");
        }
    }
    let state = state_of(&node(&rings[0]), &about()).await;
    assert!(!is_done(
        &node(&rings[3]).ask(about().round(Some(&state))).await
    ));
}

#[tokio::test]
async fn nobody_can_be_asked_over_a_legacy_request_that_stands_alone() {
    let options = HttpOptions::new().with_legacy(LegacyMode::Stateless);
    let client = Direct::new(&HttpService::new(server(), options));
    let opened = client.ask(initialize_request("2025-11-25")).await;
    assert_eq!(opened.status, 200);
    let call = legacy(1, "tools/call", json!({"name": "count"}));
    let call = Request::post(&call).with("MCP-Protocol-Version", "2025-11-25");
    let answer = within(client.ask(call)).await;
    let answer: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(answer["error"]["code"], -32600, "{answer}");
    let missing = json!({"requiredCapabilities": {"roots": {}}});
    assert_eq!(answer["error"]["data"], missing, "{answer}");
}

#[tokio::test]
async fn a_round_may_tell_how_far_it_is_before_it_asks() {
    let tool = plain("work", |ctx: RequestContext| async move {
        ctx.report_steps(1, 2, None);
        let roots = ctx.ask_roots("roots").await?;
        ctx.report_steps(2, 2, None);
        Ok::<_, Error>(format!("{} roots", roots.len()))
    });
    let client = ann(server().tool(tool));
    let mut about = About::tool("work", json!({}));
    about.params["_meta"] = json!({"progressToken": "t"});
    let messages = async |state: Option<&str>| {
        let answer = client.ask(about.round(state)).await;
        assert_eq!(answer.status, 200);
        let data = answer
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
    let [told, asked] = &first[..] else {
        panic!("one step and a question: {first:?}");
    };
    assert_eq!(told["params"]["progress"], 1.0);
    assert_eq!(asked["result"]["resultType"], "input_required");
    // The handler begins anew, and so do its steps.
    let second = messages(asked["result"]["requestState"].as_str()).await;
    let [one, two, done] = &second[..] else {
        panic!("two steps and a result: {second:?}");
    };
    assert_eq!(one["params"]["progress"], 1.0);
    assert_eq!(two["params"]["progress"], 2.0);
    assert_eq!(done["result"]["content"][0]["text"], "1 roots");
}

/// Tells when it is gone.
struct Gone(UnboundedSender<&'static str>);

impl Drop for Gone {
    fn drop(&mut self) {
        // A test that is over does not listen.
        let _ = self.0.send("gone");
    }
}

#[tokio::test]
async fn an_effect_whose_client_vanishes_has_not_taken_place() {
    let (tell, mut told) = unbounded_channel();
    let tool = plain("pay", move |ctx: RequestContext| {
        let tell = tell.clone();
        async move {
            let roots = ctx.ask_roots("roots").await?;
            let work = async {
                let _gone = Gone(tell.clone());
                let _ = tell.send("begun");
                std::future::pending::<()>().await;
            };
            ctx.once("pay", work).await?;
            Ok::<_, Error>(format!("{} roots", roots.len()))
        }
    });
    let client = ann(server().tool(tool));
    let about = About::tool("pay", json!({}));
    let state = state_of(&client, &about).await;
    for _ in 0..2 {
        let answer = client.ask(about.round(Some(&state)));
        tokio::select! {
            answer = answer => panic!("{answer:?}"),
            begun = told.recv() => assert_eq!(begun, Some("begun")),
        }
        assert_eq!(within(told.recv()).await, Some("gone"));
    }
}
