//! Input requests are sent only to clients that declared the capability.

use serde_json::{Value, json};
use toolwire::types::{CreateMessageRequestParams, SamplingMessage, Tool, ToolChoiceMode};
use toolwire::{Error, RequestContext, Server, ToolHandler, ask};
use toolwire_tests::peer::{Peer, legacy, plain};

use super::manual_call::{ManualCall, all_capabilities};
use super::{Name, Recorder};

fn say_hi() -> CreateMessageRequestParams {
    CreateMessageRequestParams::new([SamplingMessage::user("hi")], 10)
}

/// Sends the input request with this name.
async fn ask_for(ctx: &RequestContext, kind: &str) -> Result<(), Error> {
    match kind {
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
            let input_requests = (
                ask::form::<Name>("form", "Who?"),
                ask::url("url", "Go", "https://example.com/"),
                ask::model("model", say_hi()),
                ask::roots("roots"),
            );
            drop(ctx.ask_all(input_requests).await?);
        }
    }
    Ok(())
}

const ALL_KINDS: [&str; 7] = ["form", "url", "model", "tools", "choice", "roots", "all"];

fn server(recorder: &Recorder) -> Server {
    let asking_tool = |kind: &'static str| -> ToolHandler {
        let recorder = recorder.clone();
        plain(kind, move |ctx: RequestContext| {
            let recorder = recorder.clone();
            async move {
                ctx.once("effect", async { recorder.record("started") })
                    .await?;
                ask_for(&ctx, kind).await?;
                Ok::<_, Error>("requested")
            }
        })
    };
    let server = Server::new("test", "1");
    ALL_KINDS
        .into_iter()
        .fold(server, |server, kind| server.tool(asking_tool(kind)))
}

/// Returns the declared capabilities, the kind of input request, and the missing capabilities.
fn cases() -> Vec<(Value, &'static str, Value)> {
    let form = || json!({"elicitation": {"form": {}}});
    let url = || json!({"elicitation": {"url": {}}});
    let model = || json!({"sampling": {}});
    let tools = || json!({"sampling": {"tools": {}}});
    let roots = || json!({"roots": {}});
    let others = |without: &str| {
        let mut others = all_capabilities();
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
async fn modern_error_lists_the_missing_capabilities() {
    let recorder = Recorder::default();
    let server = server(&recorder);
    for (declared, kind, missing) in cases() {
        let mut call = ManualCall::call(&server, kind).with_capabilities(declared.clone());
        let round = call.start().await;
        let error = &round.0["error"];
        assert_eq!(error["code"], -32021, "{kind} {declared}: {round:?}");
        let expected = json!({"requiredCapabilities": missing});
        assert_eq!(error["data"], expected, "{kind} {declared}");
        assert_eq!(round.0.get("result"), None);
    }
    for kind in ALL_KINDS {
        let round = ManualCall::call(&server, kind).start().await;
        assert!(round.is_open(), "{kind}: {round:?}");
    }
}

#[tokio::test]
async fn legacy_error_lists_the_missing_capabilities() {
    let server = server(&Recorder::default());
    for (declared, kind, missing) in cases() {
        let mut peer = Peer::connect(&server);
        peer.initialize_with("2025-11-25", declared.clone()).await;
        let request = legacy(1, "tools/call", json!({"name": kind}));
        let error = peer.error_of(request, -32600).await;
        let expected = json!({"requiredCapabilities": missing});
        assert_eq!(error["data"], expected, "{kind} {declared}");
        peer.expect_silence().await;
    }
}

#[tokio::test]
async fn input_request_that_the_revision_does_not_define_fails() {
    let server = server(&Recorder::default());
    for (version, kind) in [
        ("2024-11-05", "form"),
        ("2024-11-05", "url"),
        ("2025-03-26", "form"),
        ("2025-03-26", "url"),
        ("2025-06-18", "url"),
    ] {
        let mut peer = Peer::connect(&server);
        peer.initialize_with(version, all_capabilities()).await;
        let request = legacy(1, "tools/call", json!({"name": kind}));
        peer.send(request).await;
        let response = peer.receive().await;
        assert_eq!(response["id"], 1, "{version} {kind}: {response}");
        assert!(
            response.get("error").is_some(),
            "{version} {kind}: {response}"
        );
        peer.expect_silence().await;
    }
}
