//! A model that uses tools of the server while a handler waits for its answer.

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

use super::{BOTH, Diary, Name, shown};
use crate::peer::plain;

/// A client whose model says what is next on the list, and notes what it was told.
fn model(version: ProtocolVersion, says: Vec<Value>, heard: &Diary) -> ClientBuilder {
    let (heard, forms) = (heard.clone(), heard.clone());
    ClientBuilder::new("test", "1")
        .with_versions([version])
        .on_sampling_with_tools(move |question| {
            // Two messages are added by each turn.
            let says = says.get(question.messages.len() / 2).cloned();
            let told = serde_json::to_value(question.messages.last()).expect("messages are JSON");
            let choice = serde_json::to_value(question.tool_choice).expect("a choice is JSON");
            heard.note(format!("{} {choice}", told["content"]));
            async move {
                let content: SamplingContent = match says {
                    Some(says) => serde_json::from_value(says).expect("content"),
                    None => SamplingContent::from("done"),
                };
                Ok(CreateMessageResult::new("model", content))
            }
        })
        .on_elicitation(move |question| {
            forms.note(question.message);
            async { Ok(ElicitResult::accept().with_content([("name", "Ada")])) }
        })
}

fn uses(id: &str, tool: &str, input: Value) -> Value {
    json!({"type": "tool_use", "id": id, "name": tool, "input": input})
}

fn question() -> CreateMessageRequestParams {
    let tool = |name| Tool::new(name, json!({"type": "object"}));
    CreateMessageRequestParams::new([SamplingMessage::user("Sum up")], 100).with_tools([
        tool("add"),
        tool("fail"),
        tool("whose"),
    ])
}

/// Lets the model use three tools; a question follows, so that a modern handler runs again after all of it.
fn helped(turns: u32, diary: &Diary) -> ToolHandler {
    let diary = diary.clone();
    plain("work", move |ctx: RequestContext| {
        let diary = diary.clone();
        async move {
            let use_tool = |used: ToolUseContent| {
                let (diary, ctx) = (diary.clone(), ctx.clone());
                async move { use_one(&ctx, &diary, used).await }
            };
            let message = ctx
                .ask_model_with_tools("sum", question(), turns, use_tool)
                .await?;
            let _: ElicitOutcome<Name> = ctx.ask("last", "Anything else?").await?;
            Ok::<_, Error>(message.content.text())
        }
    })
}

async fn use_one(
    ctx: &RequestContext,
    diary: &Diary,
    used: ToolUseContent,
) -> Result<String, ToolError> {
    let text = match used.name.as_str() {
        "add" => format!("added {}", used.input.get()),
        "whose" => {
            let name: Name = ctx.ask("whose", "Whose?").await?;
            format!("of {}", name.name)
        }
        _ => {
            diary.note("failed");
            return Err(ToolError::failed("out of order"));
        }
    };
    diary.note(&*text);
    Ok(text)
}

struct Ending {
    text: String,
    done: Vec<String>,
    heard: Vec<String>,
}

async fn run(version: ProtocolVersion, turns: u32, says: Vec<Value>) -> Ending {
    let (done, heard) = (Diary::default(), Diary::default());
    let server = Server::new("test", "1").tool(helped(turns, &done));
    let client = model(version, says, &heard)
        .in_process(&server)
        .await
        .expect("it connects");
    Ending {
        text: shown(client.call_tool("work", json!({})).await),
        done: done.take(),
        heard: heard.take(),
    }
}

#[tokio::test]
async fn each_tool_is_used_once_and_its_result_told() {
    for version in BOTH {
        let says = vec![
            json!([
                uses("1", "add", json!({"n": 1})),
                uses("2", "add", json!({"n": 2}))
            ]),
            uses("3", "add", json!({"n": 3})),
        ];
        let ending = run(version, 5, says).await;
        assert_eq!(ending.text, "done", "{version}");
        let done = [r#"added {"n":1}"#, r#"added {"n":2}"#, r#"added {"n":3}"#];
        assert_eq!(ending.done, done, "{version}");
        assert_eq!(ending.heard.len(), 4, "{version}: {:?}", ending.heard);
        let second = &ending.heard[1];
        assert!(second.contains(r#""toolUseId":"1""#), "{second}");
        assert!(second.contains(r#""toolUseId":"2""#), "{second}");
        assert!(second.contains(r#"added {\"n\":2}"#), "{second}");
        assert_eq!(ending.heard[3], "Anything else?");
    }
}

#[tokio::test]
async fn the_model_is_told_what_did_not_work() {
    for version in BOTH {
        let ending = run(version, 5, vec![uses("1", "fail", json!({}))]).await;
        assert_eq!(ending.text, "done", "{version}");
        assert_eq!(ending.done, ["failed"], "{version}");
        let told = &ending.heard[1];
        assert!(told.contains("out of order"), "{told}");
        assert!(told.contains(r#""isError":true"#), "{told}");
    }
}

#[tokio::test]
async fn a_tool_of_the_model_may_ask_the_user() {
    for version in BOTH {
        let says = vec![json!([
            uses("1", "add", json!({})),
            uses("2", "whose", json!({})),
        ])];
        let ending = run(version, 5, says).await;
        assert_eq!(ending.text, "done", "{version}");
        assert_eq!(ending.done, ["added {}", "of Ada"], "{version}");
        assert_eq!(ending.heard[1], "Whose?");
        assert!(ending.heard[2].contains("of Ada"), "{version}");
        assert!(!ending.heard[2].contains("isError"), "{}", ending.heard[2]);
    }
}

#[tokio::test]
async fn a_question_of_a_tool_is_asked_whatever_the_tool_makes_of_the_error() {
    for version in BOTH {
        let tool = plain("work", |ctx: RequestContext| async move {
            let use_tool = |_: ToolUseContent| {
                let ctx = ctx.clone();
                async move {
                    let asked = ctx.ask::<Name>("whose", "Whose?").await;
                    asked
                        .map(|name| name.name)
                        .map_err(|error| ToolError::failed(error.to_string()))
                }
            };
            let message = ctx
                .ask_model_with_tools("sum", question(), 5, use_tool)
                .await?;
            Ok::<_, Error>(message.content.text())
        });
        let heard = Diary::default();
        let says = vec![uses("1", "whose", json!({}))];
        let server = Server::new("test", "1").tool(tool);
        let client = model(version, says, &heard)
            .in_process(&server)
            .await
            .expect("it connects");
        let text = shown(client.call_tool("work", json!({})).await);
        assert_eq!(text, "done", "{version}");
        let heard = heard.take();
        assert_eq!(heard[1], "Whose?", "{version}: {heard:?}");
        assert!(heard[2].contains("Ada"), "{version}: {heard:?}");
        assert_eq!(heard.len(), 3, "{version}: {heard:?}");
    }
}

#[tokio::test]
async fn the_last_turn_is_without_tools() {
    for version in BOTH {
        let always = || vec![uses("1", "add", json!({})); 9];
        for turns in [1, 3] {
            let ending = run(version, turns, always()).await;
            let text = format!("the model did not finish after {turns} turns with tools (-32603)");
            assert_eq!(ending.text, text, "{version}");
            let turns = turns as usize;
            assert_eq!(ending.heard.len(), turns, "{version}");
            for (number, heard) in ending.heard.iter().enumerate() {
                let last = number + 1 == turns;
                let expected = if last { r#" {"mode":"none"}"# } else { " null" };
                assert!(heard.ends_with(expected), "{version} {number}: {heard}");
            }
            // What nobody would be told is not done.
            assert_eq!(ending.done.len(), turns - 1, "{version}");
        }
        let ending = run(version, 0, always()).await;
        assert!(ending.text.contains("after 0 turns"), "{}", ending.text);
        assert_eq!(ending.heard, [""; 0]);
    }
}

#[tokio::test]
async fn a_tool_that_was_not_offered_is_not_used() {
    for version in BOTH {
        let ending = run(version, 5, vec![uses("1", "rm", json!({}))]).await;
        assert!(
            ending.text.contains("\"rm\", which it was not offered"),
            "{version}: {}",
            ending.text
        );
        assert_eq!(ending.done, [""; 0], "{version}");
        assert_eq!(ending.heard.len(), 1, "{version}");
    }
}

#[tokio::test]
async fn a_conversation_out_of_order_is_the_mistake_of_the_server() {
    for version in BOTH {
        let tool = plain("work", |ctx: RequestContext| async move {
            let stray = serde_json::from_value(json!({
                "type": "tool_result", "toolUseId": "1", "content": [],
            }));
            let stray: SamplingContent = stray.map_err(ToolError::from)?;
            let request = CreateMessageRequestParams::new([SamplingMessage::user(stray)], 1);
            let said = ctx.ask_model("odd", request).await?;
            Ok::<_, ToolError>(said.content.text())
        });
        let heard = Diary::default();
        let server = Server::new("test", "1").tool(tool);
        let client = model(version, vec![], &heard)
            .in_process(&server)
            .await
            .expect("it connects");
        let error = client.call_tool("work", json!({})).await.expect_err("odd");
        let code = error.rpc().map(|error: &ErrorObject| error.code);
        assert_eq!(code, Some(-32603), "{version}: {error}");
        assert_eq!(heard.take(), [""; 0], "{version}");
    }
}

#[tokio::test]
async fn a_model_that_takes_no_tools_is_not_asked() {
    let done = Diary::default();
    let server = Server::new("test", "1").tool(helped(3, &done));
    for version in BOTH {
        let asked = Diary::default();
        let client = super::client(&server, version, &[], &asked).await;
        let error = client.call_tool("work", json!({})).await.expect_err("none");
        let data = error.rpc().and_then(|error| error.data.clone());
        let data: Value = data.expect("data").parse().expect("JSON");
        let expected = json!({"requiredCapabilities": {"sampling": {"tools": {}}}});
        assert_eq!(data, expected, "{version}");
        assert_eq!(asked.take(), [""; 0], "{version}");
    }
    assert_eq!(done.take(), [""; 0]);
}
