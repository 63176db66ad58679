//! Input requests of a call at one node, answered at another.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;
use toolwire_tests::http::request::Request;
use toolwire_tests::http::session::tool_call;
use toolwire_tests::peer::{modern_with, result_response};

use crate::fleet::ledger::Failure;
use crate::fleet::node_client::{
    NodeClient, expect_equal, in_session, is_response, result_in, text_of,
};

fn accepted() -> Value {
    json!({"action": "accept", "content": {"confirmed": true}})
}

/// How long a client waits for the end of a call to whose input request it has responded: longer than any fault. A failover
/// can lose the response, and only then the client gives up.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(25);

/// The server asks on the stream of a call, and the client responds to another node.
pub(crate) async fn ask_in_session(client: &NodeClient) -> Result<(), Failure> {
    let lost = || {
        Failure::Lost(format!(
            "no effect of a response within {RESPONSE_TIMEOUT:?}"
        ))
    };
    let ended = timeout(RESPONSE_TIMEOUT, ask_and_respond(client)).await;
    ended.unwrap_or_else(|_| Err(lost()))
}

async fn ask_and_respond(client: &NodeClient) -> Result<(), Failure> {
    let session = client.open_session().await?;
    let first = client.next_node();
    let call = tool_call(1, "approve", json!({"question": "Really?"}));
    let mut events = client.open(&first, &in_session(&session, &call)).await?;
    while let Some(event) = events.next().await? {
        let message = event.message();
        if is_response(&message) {
            return expect_equal(text_of(&result_in(message)?), "approved");
        }
        if message["method"] == "elicitation/create" {
            let response = result_response(message["id"].clone(), accepted());
            let second = client.other_node(&first);
            client
                .send(&second, &in_session(&session, &response))
                .await?;
        }
    }
    Err(Failure::Unavailable(
        "the stream ended without a result".to_owned(),
    ))
}

/// The server asks in a result, and the client calls again at another node. The state of the call can be used once.
pub(crate) async fn ask_in_result(client: &NodeClient) -> Result<(), Failure> {
    let first = client.next_node();
    let call = |more: Value| {
        let mut params = json!({"name": "approve", "arguments": {"question": "Really?"}});
        if let (Some(params), Value::Object(more)) = (params.as_object_mut(), more) {
            params.extend(more);
        }
        let message = modern_with(1, "tools/call", params, json!({"elicitation": {}}));
        Request::modern(&message)
    };
    let asked = client.result_of(&first, &call(json!({}))).await?;
    expect_equal(&asked["resultType"], &json!("input_required"))?;
    expect_equal(asked["requestState"].is_string(), true)?;
    let again = json!({
        "requestState": asked["requestState"],
        "inputResponses": {"approval": accepted()},
    });
    let second = client.other_node(&first);
    let result = client.result_of(&second, &call(again)).await?;
    expect_equal(text_of(&result), "approved")
}
