//! A client is asked what it declared, and nothing else.

use serde_json::{Value, json};
use toolwire::types::{CreateMessageRequestParams, SamplingMessage, Tool, ToolChoiceMode};
use toolwire::{Error, RequestContext, Server, ToolHandler, ask};

use super::by_hand::{ByHand, able};
use super::{Diary, Name};
use crate::peer::{Peer, legacy, plain};

fn say_hi() -> CreateMessageRequestParams {
    CreateMessageRequestParams::new([SamplingMessage::user("hi")], 10)
}

/// Asks for one thing, by its name.
async fn ask_for(ctx: &RequestContext, what: &str) -> Result<(), Error> {
    match what {
        "form" => drop(ctx.ask::<Name>("k", "Who?").await?),
        "url" => drop(ctx.ask_url("k", "Go", "https://example.com/").await?),
        "model" => drop(ctx.ask_model("k", say_hi()).await?),
        "tools" => {
            let tool = Tool::new("t", json!({"type": "object"}));
            drop(ctx.ask_model("k", say_hi().with_tools([tool])).await?);
        }
        "choice" => {
            let request = say_hi().with_tool_choice(ToolChoiceMode::None);
            drop(ctx.ask_model("k", request).await?);
        }
        "roots" => drop(ctx.ask_roots("k").await?),
        _ => {
            let questions = (
                ask::form::<Name>("form", "Who?"),
                ask::url("url", "Go", "https://example.com/"),
                ask::model("model", say_hi()),
                ask::roots("roots"),
            );
            drop(ctx.ask_all(questions).await?);
        }
    }
    Ok(())
}

const EVERYTHING: [&str; 7] = ["form", "url", "model", "tools", "choice", "roots", "all"];

fn server(diary: &Diary) -> Server {
    let asker = |what: &'static str| -> ToolHandler {
        let diary = diary.clone();
        plain(what, move |ctx: RequestContext| {
            let diary = diary.clone();
            async move {
                ctx.once("effect", async { diary.note("begun") }).await?;
                ask_for(&ctx, what).await?;
                Ok::<_, Error>("asked")
            }
        })
    };
    let server = Server::new("test", "1");
    EVERYTHING
        .into_iter()
        .fold(server, |server, what| server.tool(asker(what)))
}

/// What a client declares, what it is to be asked, and what is missing.
fn cases() -> Vec<(Value, &'static str, Value)> {
    let form = || json!({"elicitation": {"form": {}}});
    let url = || json!({"elicitation": {"url": {}}});
    let model = || json!({"sampling": {}});
    let tools = || json!({"sampling": {"tools": {}}});
    let roots = || json!({"roots": {}});
    let others = |without: &str| {
        let mut others = able();
        others.as_object_mut().expect("an object").remove(without);
        others
    };
    vec![
        (json!({}), "form", form()),
        (json!({}), "url", url()),
        (json!({}), "model", model()),
        (json!({}), "tools", tools()),
        (json!({}), "choice", tools()),
        (json!({}), "roots", roots()),
        (url(), "form", form()),
        (form(), "url", url()),
        (json!({"elicitation": {}}), "url", url()),
        (model(), "tools", tools()),
        (model(), "choice", tools()),
        (others("elicitation"), "form", form()),
        (others("elicitation"), "url", url()),
        (others("sampling"), "model", model()),
        (others("sampling"), "tools", tools()),
        (others("roots"), "roots", roots()),
        (
            json!({}),
            "all",
            json!({"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}),
        ),
        (
            json!({"elicitation": {}, "sampling": {}}),
            "all",
            json!({"elicitation": {"url": {}}, "roots": {}}),
        ),
        (others("roots"), "all", roots()),
    ]
}

#[tokio::test]
async fn a_modern_client_hears_exactly_what_is_missing() {
    let diary = Diary::default();
    let server = server(&diary);
    for (declared, what, missing) in cases() {
        let mut call = ByHand::call(&server, what).with_capabilities(declared.clone());
        let round = call.begin().await;
        let error = &round.0["error"];
        assert_eq!(error["code"], -32021, "{what} {declared}: {round:?}");
        let expected = json!({"requiredCapabilities": missing});
        assert_eq!(error["data"], expected, "{what} {declared}");
        assert_eq!(round.0.get("result"), None);
    }
    for what in EVERYTHING {
        let round = ByHand::call(&server, what).begin().await;
        assert!(round.is_open(), "{what}: {round:?}");
    }
}

#[tokio::test]
async fn a_legacy_client_hears_it_with_the_code_of_its_revision() {
    let server = server(&Diary::default());
    for (declared, what, missing) in cases() {
        let mut peer = Peer::connect(&server);
        peer.initialize_with("2025-11-25", declared.clone()).await;
        let request = legacy(1, "tools/call", json!({"name": what}));
        let error = peer.refusal_of(request, -32600).await;
        let expected = json!({"requiredCapabilities": missing});
        assert_eq!(error["data"], expected, "{what} {declared}");
        peer.expect_silence().await;
    }
}

#[tokio::test]
async fn older_revisions_are_asked_what_they_have() {
    let server = server(&Diary::default());
    for (version, what) in [
        ("2024-11-05", "form"),
        ("2024-11-05", "url"),
        ("2025-03-26", "form"),
        ("2025-03-26", "url"),
        ("2025-06-18", "url"),
    ] {
        let mut peer = Peer::connect(&server);
        peer.initialize_with(version, able()).await;
        let request = legacy(1, "tools/call", json!({"name": what}));
        peer.send(request).await;
        let answer = peer.receive().await;
        assert_eq!(answer["id"], 1, "{version} {what}: {answer}");
        assert!(answer.get("error").is_some(), "{version} {what}: {answer}");
        peer.expect_silence().await;
    }
}
