//! The transport of 2024-11-05: a stream at one node, and posts at the others.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;
use toolwire_tests::http::request::Request;
use toolwire_tests::http::session::tool_call;
use toolwire_tests::peer::{legacy, notification};

use crate::fleet::events::Events;
use crate::fleet::executions;
use crate::fleet::ledger::Failure;
use crate::fleet::node_client::{NodeClient, expect_equal, is_response, result_in, text_of};

/// How long a client waits for a response. A message whose delivery is unknown may have been lost, and only then the client
/// gives up.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(10);

/// Opens a stream, and calls a tool. A stream of a lost node cannot be resumed in this revision.
pub(crate) async fn call(client: &NodeClient) -> Result<(), Failure> {
    call_tool(client).await.map_err(|failure| match failure {
        Failure::Lost(reason) => Failure::Unavailable(reason),
        failure => failure,
    })
}

async fn call_tool(client: &NodeClient) -> Result<(), Failure> {
    let first = client.next_node();
    let get = Request::new("GET")
        .with("Accept", "text/event-stream")
        .with_target("/sse");
    let mut events = client.open(&first, &get).await?;
    let endpoint = events.next().await?;
    let endpoint = endpoint.ok_or_else(|| Failure::Unavailable("no endpoint".to_owned()))?;
    let post = |message: &Value| {
        let request = Request::post(message).with_target(&endpoint.data);
        let other = client.other_node(&first);
        async move { sent(client.send(&other, &request).await.map(drop)) }
    };

    let parameters = json!({
        "protocolVersion": "2024-11-05",
        "capabilities": {},
        "clientInfo": {"name": "desk", "version": "1"},
    });
    post(&legacy(0, "initialize", parameters)).await?;
    let result = next_result(&mut events).await?;
    expect_equal(&result["protocolVersion"], &json!("2024-11-05"))?;
    post(&notification("notifications/initialized", json!({}))).await?;

    let key = client.executions.next_key("2024-11-05 call");
    let call = tool_call(1, executions::TOOL, executions::arguments(&key));
    post(&call).await?;
    let result = next_result(&mut events).await?;
    expect_equal(text_of(&result), "printed")?;
    client.executions.record_success(key);
    Ok(())
}

/// Permits 504: the message may have been delivered, so the client waits for the response instead of sending it again. A busy
/// machine can delay the engine for longer than the nodes wait for it.
fn sent(outcome: Result<(), Failure>) -> Result<(), Failure> {
    match outcome {
        Err(Failure::Unavailable(reason)) if reason.starts_with("504") => Ok(()),
        outcome => outcome,
    }
}

/// Waits for a response on the stream.
async fn next_result(events: &mut Events) -> Result<Value, Failure> {
    let lost = || Failure::Unavailable(format!("no response within {RESPONSE_TIMEOUT:?}"));
    let received = timeout(RESPONSE_TIMEOUT, read_result(events)).await;
    received.unwrap_or_else(|_| Err(lost()))
}

async fn read_result(events: &mut Events) -> Result<Value, Failure> {
    while let Some(event) = events.next().await? {
        let message = event.message();
        if is_response(&message) {
            return result_in(message);
        }
    }
    Err(Failure::Unavailable("the stream has ended".to_owned()))
}
