//! Answers to forms: checked, completed, and read as what the author asked for.

use serde::Deserialize;
use serde_json::{Value, json};
use toolwire::ask::{self, ElicitOutcome};
use toolwire::types::{BooleanSchema, ElicitSchema};
use toolwire::{Elicit, Error, RequestContext, Server, ToolHandler};

use super::by_hand::{ByHand, able};
use super::{Diary, accept};
use crate::peer::{Peer, answer, legacy, plain};

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
    wish: String,
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

/// A form that may be left empty.
#[derive(Debug, Deserialize, Elicit)]
#[expect(dead_code, reason = "read by printing it")]
struct Loose {
    gift: Option<bool>,
    #[elicit(default = 3)]
    count: u8,
}

/// Notes what the author sees.
fn asking<A: ask::FormOutput + std::fmt::Debug + 'static>(diary: &Diary) -> ToolHandler {
    let diary = diary.clone();
    plain("work", move |ctx: RequestContext| {
        let diary = diary.clone();
        async move {
            let answer: A = ctx.ask("form", "Fill in").await?;
            diary.note(format!("{answer:?}"));
            Ok::<_, Error>(format!("{answer:?}"))
        }
    })
}

const RICH: [&str; 2] = ["2026-07-28", "2025-11-25"];
const ALL: [&str; 3] = ["2026-07-28", "2025-11-25", "2025-06-18"];

/// What a call comes to when the client answers the form with this: a text, or a code and a message.
async fn outcome(server: &Server, version: &str, reply: &Value) -> Value {
    let answer = match version {
        "2026-07-28" => {
            let mut call = ByHand::call(server, "work");
            let round = call.begin().await;
            assert_eq!(round.asks(), ["form"]);
            call.answer(&round, json!({"form": reply})).await.0
        }
        _ => {
            let mut peer = Peer::connect(server);
            peer.initialize_with(version, able()).await;
            peer.send(legacy(1, "tools/call", json!({"name": "work"})))
                .await;
            let question = peer.receive().await;
            assert_eq!(question["method"], "elicitation/create", "{question}");
            peer.send(answer(question["id"].clone(), reply.clone()))
                .await;
            peer.receive().await
        }
    };
    match answer.get("error") {
        Some(error) => error["message"].clone(),
        None => answer["result"]["content"][0]["text"].clone(),
    }
}

async fn reads<A: ask::FormOutput + std::fmt::Debug + 'static>(
    versions: &[&str],
    reply: Value,
    expected: &str,
) {
    let server = Server::new("test", "1").tool(asking::<A>(&Diary::default()));
    for version in versions {
        let text = outcome(&server, version, &reply).await;
        assert_eq!(text, expected, "{version} {reply}");
    }
}

#[tokio::test]
async fn answers_are_read_as_what_was_asked_for() {
    let full = json!({"count": 9, "size": "Small", "extras": ["Milk", "Sugar"], "gift": false,
        "email": "ada@example.com", "wish": "soon"});
    let expected = "Order { count: 9, size: Small, extras: [Milk, Sugar], gift: Some(false), \
                    email: Some(\"ada@example.com\"), wish: \"soon\" }";
    reads::<Order>(&RICH, accept(full), expected).await;

    // What is left out has its default, in every revision: also where the client was not told of it.
    let short = json!({"count": 1, "extras": []});
    let expected =
        "Order { count: 1, size: Large, extras: [], gift: None, email: None, wish: \"none\" }";
    reads::<Order>(&RICH, accept(short), expected).await;
    let expected = "Loose { gift: None, count: 3 }";
    reads::<Loose>(&ALL, accept(json!({})), expected).await;
    reads::<Loose>(&ALL, json!({"action": "accept"}), expected).await;
    let expected = "Loose { gift: Some(true), count: 7 }";
    reads::<Loose>(&ALL, accept(json!({"gift": true, "count": 7})), expected).await;
}

#[tokio::test]
async fn a_choice_of_several_is_a_choice_of_one_in_2025_06_18() {
    let one = json!({"count": 1, "size": "Small", "extras": "Sugar", "wish": "x"});
    let expected =
        "Order { count: 1, size: Small, extras: [Sugar], gift: None, email: None, wish: \"x\" }";
    reads::<Order>(&["2025-06-18"], accept(one), expected).await;
    let server = Server::new("test", "1").tool(asking::<Order>(&Diary::default()));
    let stranger = accept(json!({"count": 1, "extras": "Tea"}));
    let text = outcome(&server, "2025-06-18", &stranger).await;
    assert!(
        text.as_str().is_some_and(|text| text.contains("extras")),
        "{text}"
    );
}

#[tokio::test]
async fn what_the_user_did_is_a_value_for_those_who_want_it() {
    let declined = || json!({"action": "decline"});
    let cancelled = || json!({"action": "cancel"});
    reads::<ElicitOutcome<Loose>>(&ALL, declined(), "Declined").await;
    reads::<ElicitOutcome<Loose>>(&ALL, cancelled(), "Cancelled").await;
    let accepted = "Accepted(Loose { gift: None, count: 3 })";
    reads::<ElicitOutcome<Loose>>(&ALL, accept(json!({})), accepted).await;
    reads::<Loose>(&ALL, declined(), "the user declined \"form\"").await;
    reads::<Loose>(&ALL, cancelled(), "the user cancelled \"form\"").await;
    // What was filled in and not sent counts for nothing.
    for content in [
        json!(null),
        json!({}),
        json!({"count": 4}),
        json!({"x": []}),
    ] {
        let declined = json!({"action": "decline", "content": content});
        reads::<ElicitOutcome<Loose>>(&ALL, declined, "Declined").await;
    }
    // Only a clear yes is a yes.
    for unclear in [
        json!({"action": "Accept"}),
        json!({"action": true}),
        json!({}),
    ] {
        reads::<ElicitOutcome<Loose>>(&ALL, unclear, "Cancelled").await;
    }
}

#[tokio::test]
async fn the_author_never_sees_an_answer_that_breaks_the_form() {
    let diary = Diary::default();
    let server = Server::new("test", "1").tool(asking::<ElicitOutcome<Order>>(&diary));
    let with = |name: &str, value: Value| {
        let mut content = json!({"count": 1, "extras": []});
        content[name] = value;
        accept(content)
    };
    for (reply, named) in [
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
        (with("email", json!("nobody")), "email"),
        (with("wish", json!("123456789")), "wish"),
        (with("admin", json!(true)), "admin"),
        (accept(json!({"extras": []})), "count"),
        (accept(json!({"count": 1})), "extras"),
        (json!({"action": "accept"}), "count"),
        (accept(json!([])), ""),
        (json!([]), ""),
        (json!("accept"), ""),
        (json!(null), ""),
    ] {
        let mut told = Vec::new();
        for version in RICH {
            let text = outcome(&server, version, &reply).await;
            let text = text.as_str().unwrap_or_default().to_owned();
            let beginning = "the response to \"form\" is invalid";
            assert!(text.starts_with(beginning), "{version} {reply}: {text}");
            assert!(text.contains(named), "{version} {reply}: {text}");
            told.push(text);
        }
        told.dedup();
        assert_eq!(told.len(), 1, "both eras say the same: {told:?}");
        assert_eq!(diary.take(), [""; 0], "{reply}");
    }
}

#[tokio::test]
async fn a_client_may_correct_its_answer() {
    let server = Server::new("test", "1").tool(asking::<Loose>(&Diary::default()));
    let mut call = ByHand::call(&server, "work");
    let round = call.begin().await;
    let wrong = json!({"form": accept(json!({"gift": 1}))});
    let refused = call.answer(&round, wrong).await;
    assert_eq!(refused.0["error"]["code"], -32602, "{refused:?}");
    let right = json!({"form": accept(json!({"gift": true}))});
    let done = call.answer(&round, right).await;
    assert_eq!(done.text(), "Loose { gift: Some(true), count: 3 }");
}

#[tokio::test]
async fn a_form_may_be_made_when_the_program_runs() {
    let tool = plain("work", |ctx: RequestContext| async move {
        let schema = ElicitSchema::new().with_required("sure", BooleanSchema::new());
        let answer = ctx
            .ask_with(ask::dynamic_form("form", "Sure?", schema))
            .await?;
        let sure = answer
            .accepted()
            .and_then(|mut form| form.shift_remove("sure"));
        Ok::<_, Error>(format!("{sure:?}"))
    });
    let server = Server::new("test", "1").tool(tool);
    for version in ALL {
        for (reply, expected) in [
            (accept(json!({"sure": true})), "Some(Bool(true))"),
            (json!({"action": "decline"}), "None"),
        ] {
            let text = outcome(&server, version, &reply).await;
            assert_eq!(text, expected, "{version}");
        }
        let text = outcome(&server, version, &accept(json!({"sure": 1}))).await;
        let text = text.as_str().unwrap_or_default();
        assert!(text.contains("sure"), "{version}: {text}");
    }
}
