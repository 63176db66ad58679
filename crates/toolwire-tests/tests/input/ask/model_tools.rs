//! Sampling with tools: the model calls tools of the server while a handler waits for its response.

use serde_json::{Value, json};
use toolwire::ask::ElicitOutcome;
use toolwire::types::{
    CreateMessageRequestParams, CreateMessageResult, ElicitResult, SamplingContent,
    SamplingMessage, Tool, ToolUseContent,
};
use toolwire::{
    ClientBuilder, Error, ErrorObject, ProtocolVersion, RequestContext, Server, ToolError,
    ToolHandler,
};
use toolwire_tests::peer::plain;

use super::{BOTH, Name, Recorder, result_text};

/// Returns a client whose model sends these contents in order, and records the requests that it receives.
fn model(version: ProtocolVersion, contents: Vec<Value>, received: &Recorder) -> ClientBuilder {
    let (received, forms) = (received.clone(), received.clone());
    ClientBuilder::new("test", "1")
        .with_versions([version])
        .on_sampling_with_tools(move |input_request| {
            // Each turn adds two messages.
            let contents = contents.get(input_request.messages.len() / 2).cloned();
            let last =
                serde_json::to_value(input_request.messages.last()).expect("messages are JSON");
            let choice = serde_json::to_value(input_request.tool_choice).expect("a choice is JSON");
            received.record(format!("{} {choice}", last["content"]));
            async move {
                let content: SamplingContent = match contents {
                    Some(contents) => serde_json::from_value(contents).expect("content"),
                    None => SamplingContent::from("done"),
                };
                Ok(CreateMessageResult::new("model", content))
            }
        })
        .on_elicitation(move |input_request| {
            forms.record(input_request.message);
            async { Ok(ElicitResult::accept().with_content([("name", "Ada")])) }
        })
}

fn uses(id: &str, tool: &str, input: Value) -> Value {
    json!({"type": "tool_use", "id": id, "name": tool, "input": input})
}

fn sampling_request() -> CreateMessageRequestParams {
    let tool = |name| Tool::new(name, json!({"type": "object"}));
    CreateMessageRequestParams::new([SamplingMessage::user("Sum up")], 100).with_tools([
        tool("add"),
        tool("fail"),
        tool("whose"),
    ])
}

/// Returns a tool that lets the model use three tools. An input request follows, so that a modern handler runs again.
fn sampling_tool(turns: u32, recorder: &Recorder) -> ToolHandler {
    let recorder = recorder.clone();
    plain("work", move |ctx: RequestContext| {
        let recorder = recorder.clone();
        async move {
            let use_tool = |used: ToolUseContent| {
                let (recorder, ctx) = (recorder.clone(), ctx.clone());
                async move { use_one(&ctx, &recorder, used).await }
            };
            let message = ctx
                .ask_model_with_tools("sum", sampling_request(), turns, use_tool)
                .await?;
            let _: ElicitOutcome<Name> = ctx.ask("last", "Anything else?").await?;
            Ok::<_, Error>(message.content.text())
        }
    })
}

async fn use_one(
    ctx: &RequestContext,
    recorder: &Recorder,
    used: ToolUseContent,
) -> Result<String, ToolError> {
    let text = match used.name.as_str() {
        "add" => format!("added {}", used.input.get()),
        "whose" => {
            let name: Name = ctx.ask("whose", "Whose?").await?;
            format!("of {}", name.name)
        }
        _ => {
            recorder.record("failed");
            return Err(ToolError::failed("out of order"));
        }
    };
    recorder.record(&*text);
    Ok(text)
}

struct Outcome {
    text: String,
    done: Vec<String>,
    received: Vec<String>,
}

async fn run(version: ProtocolVersion, turns: u32, contents: Vec<Value>) -> Outcome {
    let (done, received) = (Recorder::default(), Recorder::default());
    let server = Server::new("test", "1").tool(sampling_tool(turns, &done));
    let client = model(version, contents, &received)
        .in_process(&server)
        .await
        .expect("the client connects");
    Outcome {
        text: result_text(client.call_tool("work", json!({})).await),
        done: done.take(),
        received: received.take(),
    }
}

#[tokio::test]
async fn each_tool_use_runs_once_and_its_result_is_sent_to_the_model() {
    for version in BOTH {
        let contents = vec![
            json!([
                uses("1", "add", json!({"n": 1})),
                uses("2", "add", json!({"n": 2}))
            ]),
            uses("3", "add", json!({"n": 3})),
        ];
        let outcome = run(version, 5, contents).await;
        assert_eq!(outcome.text, "done", "{version}");
        let done = [r#"added {"n":1}"#, r#"added {"n":2}"#, r#"added {"n":3}"#];
        assert_eq!(outcome.done, done, "{version}");
        assert_eq!(
            outcome.received.len(),
            4,
            "{version}: {:?}",
            outcome.received
        );
        let second = &outcome.received[1];
        assert!(second.contains(r#""toolUseId":"1""#), "{second}");
        assert!(second.contains(r#""toolUseId":"2""#), "{second}");
        assert!(second.contains(r#"added {\"n\":2}"#), "{second}");
        assert_eq!(outcome.received[3], "Anything else?");
    }
}

#[tokio::test]
async fn failed_tool_use_is_sent_to_the_model() {
    for version in BOTH {
        let outcome = run(version, 5, vec![uses("1", "fail", json!({}))]).await;
        assert_eq!(outcome.text, "done", "{version}");
        assert_eq!(outcome.done, ["failed"], "{version}");
        let last = &outcome.received[1];
        assert!(last.contains("out of order"), "{last}");
        assert!(last.contains(r#""isError":true"#), "{last}");
    }
}

#[tokio::test]
async fn tool_use_may_send_an_input_request() {
    for version in BOTH {
        let contents = vec![json!([
            uses("1", "add", json!({})),
            uses("2", "whose", json!({})),
        ])];
        let outcome = run(version, 5, contents).await;
        assert_eq!(outcome.text, "done", "{version}");
        assert_eq!(outcome.done, ["added {}", "of Ada"], "{version}");
        assert_eq!(outcome.received[1], "Whose?");
        assert!(outcome.received[2].contains("of Ada"), "{version}");
        assert!(
            !outcome.received[2].contains("isError"),
            "{}",
            outcome.received[2]
        );
    }
}

#[tokio::test]
async fn input_request_of_a_tool_use_is_sent_even_if_its_error_is_converted() {
    for version in BOTH {
        let tool = plain("work", |ctx: RequestContext| async move {
            let use_tool = |_: ToolUseContent| {
                let ctx = ctx.clone();
                async move {
                    let outcome = ctx.ask::<Name>("whose", "Whose?").await;
                    outcome
                        .map(|name| name.name)
                        .map_err(|error| ToolError::failed(error.to_string()))
                }
            };
            let message = ctx
                .ask_model_with_tools("sum", sampling_request(), 5, use_tool)
                .await?;
            Ok::<_, Error>(message.content.text())
        });
        let received = Recorder::default();
        let contents = vec![uses("1", "whose", json!({}))];
        let server = Server::new("test", "1").tool(tool);
        let client = model(version, contents, &received)
            .in_process(&server)
            .await
            .expect("the client connects");
        let text = result_text(client.call_tool("work", json!({})).await);
        assert_eq!(text, "done", "{version}");
        let received = received.take();
        assert_eq!(received[1], "Whose?", "{version}: {received:?}");
        assert!(received[2].contains("Ada"), "{version}: {received:?}");
        assert_eq!(received.len(), 3, "{version}: {received:?}");
    }
}

#[tokio::test]
async fn last_turn_permits_no_tool_use() {
    for version in BOTH {
        let always = || vec![uses("1", "add", json!({})); 9];
        for turns in [1, 3] {
            let outcome = run(version, turns, always()).await;
            let text = format!("the model did not finish after {turns} turns with tools (-32603)");
            assert_eq!(outcome.text, text, "{version}");
            let turns = turns as usize;
            assert_eq!(outcome.received.len(), turns, "{version}");
            for (number, received) in outcome.received.iter().enumerate() {
                let last = number + 1 == turns;
                let expected = if last { r#" {"mode":"none"}"# } else { " null" };
                assert!(
                    received.ends_with(expected),
                    "{version} {number}: {received}"
                );
            }
            // A tool use in the last turn is not run, because the model would not get its result.
            assert_eq!(outcome.done.len(), turns - 1, "{version}");
        }
        let outcome = run(version, 0, always()).await;
        assert!(outcome.text.contains("after 0 turns"), "{}", outcome.text);
        assert_eq!(outcome.received, [""; 0]);
    }
}

#[tokio::test]
async fn tool_use_of_a_tool_that_was_not_offered_fails() {
    for version in BOTH {
        let outcome = run(version, 5, vec![uses("1", "rm", json!({}))]).await;
        assert!(
            outcome.text.contains("\"rm\", which it was not offered"),
            "{version}: {}",
            outcome.text
        );
        assert_eq!(outcome.done, [""; 0], "{version}");
        assert_eq!(outcome.received.len(), 1, "{version}");
    }
}

#[tokio::test]
async fn invalid_message_order_is_an_internal_error() {
    for version in BOTH {
        let tool = plain("work", |ctx: RequestContext| async move {
            let stray = serde_json::from_value(json!({
                "type": "tool_result", "toolUseId": "1", "content": [],
            }));
            let stray: SamplingContent = stray.map_err(ToolError::from)?;
            let request = CreateMessageRequestParams::new([SamplingMessage::user(stray)], 1);
            let message = ctx.ask_model("odd", request).await?;
            Ok::<_, ToolError>(message.content.text())
        });
        let received = Recorder::default();
        let server = Server::new("test", "1").tool(tool);
        let client = model(version, vec![], &received)
            .in_process(&server)
            .await
            .expect("the client connects");
        let error = client
            .call_tool("work", json!({}))
            .await
            .expect_err("the message order is invalid");
        let code = error.rpc().map(|error: &ErrorObject| error.code);
        assert_eq!(code, Some(-32603), "{version}: {error}");
        assert_eq!(received.take(), [""; 0], "{version}");
    }
}

#[tokio::test]
async fn sampling_with_tools_requires_the_capability() {
    let done = Recorder::default();
    let server = Server::new("test", "1").tool(sampling_tool(3, &done));
    for version in BOTH {
        let requested = Recorder::default();
        let client = super::client(&server, version, &[], &requested).await;
        let error = client
            .call_tool("work", json!({}))
            .await
            .expect_err("the capability is missing");
        let data = error.rpc().and_then(|error| error.data.clone());
        let data: Value = data.expect("data").parse().expect("JSON");
        let expected = json!({"requiredCapabilities": {"sampling": {"tools": {}}}});
        assert_eq!(data, expected, "{version}");
        assert_eq!(requested.take(), [""; 0], "{version}");
    }
    assert_eq!(done.take(), [""; 0]);
}
