//! The client with scripted servers and with servers of this crate in the same process.

mod calls;
mod cancelling;
mod deadlines;
mod extensions;
mod http_stress;
mod listening;
mod meta;
mod opening;
mod pages;
mod progress;
mod protocol_violations;
mod rounds;
mod server_requests;
mod skills;
mod stress;
mod tasks;
mod testing;
mod url_elicitations;

use serde_json::{Value, json};
use tokio::task::JoinHandle;
use toolwire::testing::{ReceivedMessage, ScriptedServer};
use toolwire::{Call, Client, ClientBuilder, Error, ProtocolVersion};

pub(crate) const MODERN: ProtocolVersion = ProtocolVersion::V2026_07_28;
pub(crate) const LEGACY: ProtocolVersion = ProtocolVersion::V2025_11_25;

pub(crate) fn builder() -> ClientBuilder {
    Client::builder("client", "1.0.0")
}

/// Connects a client with default settings to a scripted server of version 2026-07-28.
pub(crate) async fn modern() -> (Client, ScriptedServer) {
    ScriptedServer::connect(builder(), MODERN).await
}

/// Connects a client with default settings to a scripted server of version 2025-11-25.
pub(crate) async fn legacy() -> (Client, ScriptedServer) {
    ScriptedServer::connect(builder(), LEGACY).await
}

/// Runs a call in a separate task.
pub(crate) fn spawn_call<T: Send + 'static>(call: Call<T>) -> JoinHandle<Result<T, Error>> {
    tokio::spawn(call.into_future())
}

/// Calls a tool without arguments in a separate task.
pub(crate) fn spawn_tool_call(
    client: &Client,
    tool: &str,
) -> JoinHandle<Result<toolwire::CallToolResult, Error>> {
    spawn_call(client.call_tool(tool, json!({})))
}

/// Returns the outcome of a spawned call.
pub(crate) async fn outcome_of<T>(call: JoinHandle<Result<T, Error>>) -> Result<T, Error> {
    call.await.expect("no panic")
}

/// Returns a tool result with one text.
pub(crate) fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

/// Returns an `input_required` result with these input requests, under the keys `q0`, `q1`, …
pub(crate) fn input_required(requests: &[Value], state: Option<&str>) -> Value {
    let requests: serde_json::Map<String, Value> = requests
        .iter()
        .enumerate()
        .map(|(number, request)| (format!("q{number}"), request.clone()))
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

/// Returns the parameters of a form with one field.
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

/// Expects a call of this tool as the next request.
pub(crate) async fn expect_call(server: &mut ScriptedServer, tool: &str) -> ReceivedMessage {
    let request = server.expect("tools/call").await;
    assert_eq!(request.params["name"], tool, "{request}");
    request
}
