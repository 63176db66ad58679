//! Forms for a single value, and requests for consent, in every revision with forms.

use std::collections::BTreeSet;
use std::fmt::Debug;

use serde::Deserialize;
use serde_json::{Value, json};
use toolwire::ask::{self, ElicitOutcome, FormOutput};
use toolwire::{Elicit, Error, ProtocolVersion, RequestContext, Server};
use toolwire_tests::peer::plain;

use super::{Recorder, accept, client, result_text};

const WITH_FORMS: [ProtocolVersion; 3] = [
    ProtocolVersion::V2025_06_18,
    ProtocolVersion::V2025_11_25,
    ProtocolVersion::V2026_07_28,
];

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Elicit)]
#[serde(rename_all = "lowercase")]
enum Size {
    Small,
    #[elicit(title = "Very large")]
    Large,
}

/// Asks for an `A` in each revision and checks the result of the tool.
async fn check<A: FormOutput + Debug + 'static>(response: Value, expected: &str) {
    let tool = plain("ask", |ctx: RequestContext| async move {
        let value: A = ctx.ask("value", "Which one?").await?;
        Ok::<_, Error>(format!("{value:?}"))
    });
    let server = Server::new("test", "1").tool(tool);
    for version in WITH_FORMS {
        let requested = Recorder::default();
        let client = client(&server, version, &[("Which", response.clone())], &requested).await;
        let outcome = client.call_tool("ask", json!({})).await;
        let text = result_text(outcome);
        assert!(text.contains(expected), "{version}: {text}");
        assert_eq!(requested.take(), ["Which one?"], "{version}");
    }
}

fn value(value: impl Into<Value>) -> Value {
    accept(json!({"value": value.into()}))
}

#[tokio::test]
async fn single_values_are_asked_for_by_their_type() {
    check::<bool>(value(true), "true").await;
    check::<bool>(value(false), "false").await;
    check::<String>(value("Ada"), "\"Ada\"").await;
    check::<char>(value("é"), "'é'").await;
    check::<i64>(value(-42), "-42").await;
    check::<u8>(value(255), "255").await;
    check::<u32>(value(3.0), "3").await;
    check::<f64>(value(0.5), "0.5").await;
    check::<Size>(value("large"), "Large").await;
    check::<ElicitOutcome<i64>>(value(7), "Accepted(7)").await;
    check::<ElicitOutcome<Size>>(value("small"), "Accepted(Small)").await;
}

#[tokio::test]
async fn several_choices_are_asked_for_at_once() {
    // 2025-06-18 has no list of choices: its client selects one.
    for version in [ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28] {
        let tool = plain("ask", |ctx: RequestContext| async move {
            let list: Vec<Size> = ctx.ask("list", "Which list?").await?;
            let set: BTreeSet<Size> = ctx.ask("set", "Which set?").await?;
            Ok::<_, Error>(format!("{list:?} {set:?}"))
        });
        let server = Server::new("test", "1").tool(tool);
        let responses = [("Which", value(json!(["large", "small"])))];
        let client = client(&server, version, &responses, &Recorder::default()).await;
        let outcome = client.call_tool("ask", json!({})).await;
        let text = result_text(outcome);
        assert_eq!(text, "[Large, Small] {Small, Large}", "{version}");
    }
}

#[tokio::test]
async fn invalid_single_value_never_reaches_the_handler() {
    check::<u8>(value(256), "\"value\"").await;
    check::<i64>(value("many"), "\"value\"").await;
    check::<Size>(value("huge"), "\"value\"").await;
    check::<bool>(accept(json!({})), "\"value\"").await;
}

#[tokio::test]
async fn declined_single_value_is_an_error_or_an_outcome() {
    let decline = json!({"action": "decline"});
    check::<i64>(decline.clone(), "failed: the user declined \"value\"").await;
    check::<ElicitOutcome<i64>>(decline, "Declined").await;
    check::<ElicitOutcome<bool>>(json!({"action": "cancel"}), "Cancelled").await;
}

#[tokio::test]
async fn single_values_and_forms_are_asked_for_in_one_round() {
    let tool = plain("ask", |ctx: RequestContext| async move {
        let (count, name) = ctx
            .ask_all((
                ask::form::<u32>("count", "How many?"),
                ask::form::<String>("name", "Which name?"),
            ))
            .await?;
        Ok::<_, Error>(format!("{count} {name}"))
    });
    let server = Server::new("test", "1").tool(tool);
    for version in WITH_FORMS {
        let responses = [("many", value(2)), ("name", value("Ada"))];
        let client = client(&server, version, &responses, &Recorder::default()).await;
        let outcome = client.call_tool("ask", json!({})).await;
        assert_eq!(result_text(outcome), "2 Ada", "{version}");
    }
}

#[tokio::test]
async fn only_an_accepted_form_is_consent() {
    let tool = plain("delete", |ctx: RequestContext| async move {
        let consents = ctx.confirm("delete", "Delete it?").await?;
        Ok::<_, Error>(consents.to_string())
    });
    let server = Server::new("test", "1").tool(tool);
    for version in WITH_FORMS {
        for (response, expected) in [
            (json!({"action": "accept"}), "true"),
            (accept(json!({})), "true"),
            (json!({"action": "decline"}), "false"),
            (json!({"action": "cancel"}), "false"),
        ] {
            let responses = [("Delete", response)];
            let client = client(&server, version, &responses, &Recorder::default()).await;
            let outcome = client.call_tool("delete", json!({})).await;
            assert_eq!(result_text(outcome), expected, "{version}");
        }
    }
}

#[test]
fn form_of_a_single_value_has_one_field() {
    let form = |schema| serde_json::to_value(schema).expect("a schema");
    let mut count = form(<u8 as Elicit>::elicit_schema());
    // The wire type decides whether limits are written as integers.
    let field = count["properties"]["value"].take();
    assert_eq!(count["required"], json!(["value"]));
    assert_eq!(field["type"], "integer");
    assert_eq!(field["maximum"].as_f64(), Some(255.0));
    let size = form(Size::elicit_schema());
    assert_eq!(
        size["properties"]["value"]["oneOf"][1]["title"],
        "Very large"
    );
}
