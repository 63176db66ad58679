//! What the client does, seen by scripted servers and by real ones in the same process.

mod calls;
mod cancelling;
mod crowd;
mod deadlines;
#[cfg(feature = "http-client")]
mod http_crowd;
mod kit;
mod listening;
mod meta;
mod opening;
mod pages;
mod progress;
mod questions;
mod rounds;
mod sloppy;

use serde_json::{Value, json};
use tokio::task::JoinHandle;
use toolwire::testing::{ReceivedMessage, ScriptedServer};
use toolwire::{Call, Client, ClientBuilder, Error, ProtocolVersion};

pub(crate) const MODERN: ProtocolVersion = ProtocolVersion::V2026_07_28;
pub(crate) const LEGACY: ProtocolVersion = ProtocolVersion::V2025_11_25;

pub(crate) fn builder() -> ClientBuilder {
    Client::builder("client", "1.0.0")
}

/// A plain client of a scripted server that speaks 2026-07-28.
pub(crate) async fn modern() -> (Client, ScriptedServer) {
    ScriptedServer::connect(builder(), MODERN).await
}

/// A plain client of a scripted server that speaks 2025-11-25.
pub(crate) async fn legacy() -> (Client, ScriptedServer) {
    ScriptedServer::connect(builder(), LEGACY).await
}

/// Lets a call run beside the script.
pub(crate) fn started<T: Send + 'static>(call: Call<T>) -> JoinHandle<Result<T, Error>> {
    tokio::spawn(call.into_future())
}

/// A call of a tool without arguments, running beside the script.
pub(crate) fn calling(
    client: &Client,
    tool: &str,
) -> JoinHandle<Result<toolwire::CallToolResult, Error>> {
    started(client.call_tool(tool, json!({})))
}

/// What a call that was started came to.
pub(crate) async fn ended<T>(call: JoinHandle<Result<T, Error>>) -> Result<T, Error> {
    call.await.expect("the call does not panic")
}

/// A result of a tool that says one thing.
pub(crate) fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

/// An `input_required` result that asks one question of each given kind, under the keys `q0`, `q1`, …
pub(crate) fn asks(questions: &[Value], state: Option<&str>) -> Value {
    let requests: serde_json::Map<String, Value> = questions
        .iter()
        .enumerate()
        .map(|(number, question)| (format!("q{number}"), question.clone()))
        .collect();
    let mut result = json!({"resultType": "input_required"});
    if !requests.is_empty() {
        result["inputRequests"] = Value::Object(requests);
    }
    if let Some(state) = state {
        result["requestState"] = json!(state);
    }
    result
}

/// A form with one question.
pub(crate) fn form() -> Value {
    let schema =
        json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
    json!({"message": "Who are you?", "requestedSchema": schema})
}

pub(crate) fn elicitation() -> Value {
    json!({"method": "elicitation/create", "params": form()})
}

pub(crate) fn sampling() -> Value {
    let message = json!({"role": "user", "content": {"type": "text", "text": "hi"}});
    json!({"method": "sampling/createMessage", "params": {"messages": [message], "maxTokens": 10}})
}

pub(crate) fn roots() -> Value {
    json!({"method": "roots/list"})
}

/// The next request calls this tool.
pub(crate) async fn expect_call(server: &mut ScriptedServer, tool: &str) -> ReceivedMessage {
    let request = server.expect("tools/call").await;
    assert_eq!(request.params["name"], tool, "{request}");
    request
}
