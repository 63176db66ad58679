//! Responses to forms: validation, default values, and conversion to the type of the handler.

use serde::Deserialize;
use serde_json::{Value, json};
use toolwire::ask::{self, ElicitOutcome};
use toolwire::types::{BooleanSchema, ElicitSchema};
use toolwire::{Elicit, Error, RequestContext, Server, ToolHandler};
use toolwire_tests::peer::{Peer, legacy, plain, result_response};

use super::manual_call::{ManualCall, all_capabilities};
use super::{Recorder, accept};

#[derive(Debug, Deserialize, Elicit)]
#[expect(dead_code, reason = "read by printing it")]
struct Order {
    #[elicit(minimum = 1, maximum = 9)]
    count: u8,
    #[elicit(default = "Large")]
    size: Size,
    #[elicit(max_items = 2)]
    extras: Vec<Extra>,
    gift: Option<bool>,
    #[elicit(format = "email")]
    email: Option<String>,
    #[elicit(default = "none", max_length = 8)]
    note: String,
}

#[derive(Debug, Deserialize, Elicit)]
enum Size {
    #[elicit(title = "Small one")]
    Small,
    #[elicit(title = "Large one")]
    Large,
}

#[derive(Debug, Deserialize, Elicit)]
enum Extra {
    #[elicit(title = "Fresh milk")]
    Milk,
    #[elicit(title = "Brown sugar")]
    Sugar,
}

/// A form without required fields.
#[derive(Debug, Deserialize, Elicit)]
#[expect(dead_code, reason = "read by printing it")]
struct Optional {
    gift: Option<bool>,
    #[elicit(default = 3)]
    count: u8,
}

/// Returns a tool that records the value of the form.
fn form_tool<A: ask::FormOutput + std::fmt::Debug + 'static>(recorder: &Recorder) -> ToolHandler {
    let recorder = recorder.clone();
    plain("work", move |ctx: RequestContext| {
        let recorder = recorder.clone();
        async move {
            let response: A = ctx.ask("form", "Fill in").await?;
            recorder.record(format!("{response:?}"));
            Ok::<_, Error>(format!("{response:?}"))
        }
    })
}

const WITH_DEFAULTS: [&str; 2] = ["2026-07-28", "2025-11-25"];
const ALL: [&str; 3] = ["2026-07-28", "2025-11-25", "2025-06-18"];

/// Returns the text of a call whose form gets this response, or its error message.
async fn outcome(server: &Server, version: &str, input_response: &Value) -> Value {
    let response = match version {
        "2026-07-28" => {
            let mut call = ManualCall::call(server, "work");
            let round = call.start().await;
            assert_eq!(round.input_keys(), ["form"]);
            call.respond(&round, json!({"form": input_response}))
                .await
                .0
        }
        _ => {
            let mut peer = Peer::connect(server);
            peer.initialize_with(version, all_capabilities()).await;
            peer.send(legacy(1, "tools/call", json!({"name": "work"})))
                .await;
            let input_request = peer.receive().await;
            assert_eq!(
                input_request["method"], "elicitation/create",
                "{input_request}"
            );
            peer.send(result_response(
                input_request["id"].clone(),
                input_response.clone(),
            ))
            .await;
            peer.receive().await
        }
    };
    match response.get("error") {
        Some(error) => error["message"].clone(),
        None => response["result"]["content"][0]["text"].clone(),
    }
}

async fn check_outcome<A: ask::FormOutput + std::fmt::Debug + 'static>(
    versions: &[&str],
    input_response: Value,
    expected: &str,
) {
    let server = Server::new("test", "1").tool(form_tool::<A>(&Recorder::default()));
    for version in versions {
        let text = outcome(&server, version, &input_response).await;
        assert_eq!(text, expected, "{version} {input_response}");
    }
}

#[tokio::test]
async fn form_response_is_converted_to_the_type() {
    let full = json!({"count": 9, "size": "Small", "extras": ["Milk", "Sugar"], "gift": false,
        "email": "ada@example.com", "note": "soon"});
    let expected = "Order { count: 9, size: Small, extras: [Milk, Sugar], gift: Some(false), \
                    email: Some(\"ada@example.com\"), note: \"soon\" }";
    check_outcome::<Order>(&WITH_DEFAULTS, accept(full), expected).await;

    // An absent field has its default in every revision, even if the schema that the client got has no default.
    let short = json!({"count": 1, "extras": []});
    let expected =
        "Order { count: 1, size: Large, extras: [], gift: None, email: None, note: \"none\" }";
    check_outcome::<Order>(&WITH_DEFAULTS, accept(short), expected).await;
    let expected = "Optional { gift: None, count: 3 }";
    check_outcome::<Optional>(&ALL, accept(json!({})), expected).await;
    check_outcome::<Optional>(&ALL, json!({"action": "accept"}), expected).await;
    let expected = "Optional { gift: Some(true), count: 7 }";
    check_outcome::<Optional>(&ALL, accept(json!({"gift": true, "count": 7})), expected).await;
}

#[tokio::test]
async fn multiple_choice_is_a_single_choice_in_2025_06_18() {
    let one = json!({"count": 1, "size": "Small", "extras": "Sugar", "note": "x"});
    let expected =
        "Order { count: 1, size: Small, extras: [Sugar], gift: None, email: None, note: \"x\" }";
    check_outcome::<Order>(&["2025-06-18"], accept(one), expected).await;
    let server = Server::new("test", "1").tool(form_tool::<Order>(&Recorder::default()));
    let unknown = accept(json!({"count": 1, "extras": "Tea"}));
    let text = outcome(&server, "2025-06-18", &unknown).await;
    assert!(
        text.as_str().is_some_and(|text| text.contains("extras")),
        "{text}"
    );
}

#[tokio::test]
async fn declined_and_cancelled_are_values_of_elicit_outcome() {
    let declined = || json!({"action": "decline"});
    let cancelled = || json!({"action": "cancel"});
    check_outcome::<ElicitOutcome<Optional>>(&ALL, declined(), "Declined").await;
    check_outcome::<ElicitOutcome<Optional>>(&ALL, cancelled(), "Cancelled").await;
    let accepted = "Accepted(Optional { gift: None, count: 3 })";
    check_outcome::<ElicitOutcome<Optional>>(&ALL, accept(json!({})), accepted).await;
    check_outcome::<Optional>(&ALL, declined(), "the user declined \"form\"").await;
    check_outcome::<Optional>(&ALL, cancelled(), "the user cancelled \"form\"").await;
    // The content of a declined form is ignored.
    for content in [
        json!(null),
        json!({}),
        json!({"count": 4}),
        json!({"x": []}),
    ] {
        let declined = json!({"action": "decline", "content": content});
        check_outcome::<ElicitOutcome<Optional>>(&ALL, declined, "Declined").await;
    }
}

#[tokio::test]
async fn invalid_form_response_does_not_reach_the_handler() {
    let recorder = Recorder::default();
    let server = Server::new("test", "1").tool(form_tool::<ElicitOutcome<Order>>(&recorder));
    let with = |name: &str, value: Value| {
        let mut content = json!({"count": 1, "extras": []});
        content[name] = value;
        accept(content)
    };
    for (input_response, named) in [
        (with("count", json!(0)), "count"),
        (with("count", json!(10)), "count"),
        (with("count", json!(1.5)), "count"),
        (with("count", json!("1")), "count"),
        (with("count", json!(null)), "count"),
        (with("size", json!("Huge")), "size"),
        (with("size", json!("Large one")), "size"),
        (with("extras", json!(["Tea"])), "extras"),
        (with("extras", json!(["Milk", "Sugar", "Milk"])), "extras"),
        (with("extras", json!({})), "extras"),
        (with("gift", json!("yes")), "gift"),
        (with("email", json!("no address")), "email"),
        (with("note", json!("123456789")), "note"),
        (with("admin", json!(true)), "admin"),
        (accept(json!({"extras": []})), "count"),
        (accept(json!({"count": 1})), "extras"),
        (json!({"action": "accept"}), "count"),
        (json!({"action": "Accept"}), "action"),
        (json!({"action": "reject"}), "action"),
        (json!({"action": true}), "action"),
        (json!({"action": null}), "action"),
        (json!({}), "action"),
        (accept(json!([])), ""),
        (json!([]), ""),
        (json!("accept"), ""),
        (json!(null), ""),
    ] {
        let mut texts = Vec::new();
        for version in WITH_DEFAULTS {
            let text = outcome(&server, version, &input_response).await;
            let text = text.as_str().unwrap_or_default().to_owned();
            let beginning = "the response to \"form\" is invalid";
            assert!(
                text.starts_with(beginning),
                "{version} {input_response}: {text}"
            );
            assert!(text.contains(named), "{version} {input_response}: {text}");
            texts.push(text);
        }
        texts.dedup();
        assert_eq!(texts.len(), 1, "both eras have the same text: {texts:?}");
        assert_eq!(recorder.take(), [""; 0], "{input_response}");
    }
}

#[tokio::test]
async fn client_may_send_a_corrected_response() {
    let server = Server::new("test", "1").tool(form_tool::<Optional>(&Recorder::default()));
    let mut call = ManualCall::call(&server, "work");
    let round = call.start().await;
    for wrong in [accept(json!({"gift": 1})), json!({"action": "maybe"})] {
        let rejected = call.respond(&round, json!({"form": wrong})).await;
        assert_eq!(rejected.0["error"]["code"], -32602, "{rejected:?}");
    }
    let right = json!({"form": accept(json!({"gift": true}))});
    let done = call.respond(&round, right).await;
    assert_eq!(done.text(), "Optional { gift: Some(true), count: 3 }");
}

#[tokio::test]
async fn form_schema_may_be_built_at_run_time() {
    let tool = plain("work", |ctx: RequestContext| async move {
        let schema = ElicitSchema::new().with_required("sure", BooleanSchema::new());
        let response = ctx
            .ask_with(ask::dynamic_form("form", "Sure?", schema))
            .await?;
        let sure = response
            .accepted()
            .and_then(|mut form| form.shift_remove("sure"));
        Ok::<_, Error>(format!("{sure:?}"))
    });
    let server = Server::new("test", "1").tool(tool);
    for version in ALL {
        for (input_response, expected) in [
            (accept(json!({"sure": true})), "Some(Bool(true))"),
            (json!({"action": "decline"}), "None"),
        ] {
            let text = outcome(&server, version, &input_response).await;
            assert_eq!(text, expected, "{version}");
        }
        let text = outcome(&server, version, &accept(json!({"sure": 1}))).await;
        let text = text.as_str().unwrap_or_default();
        assert!(text.contains("sure"), "{version}: {text}");
    }
}
