//! An input request that a client has received.

use serde_json::{Map, Value, json};

use crate::process::{Demo, Era};

/// An input request that a client has received.
pub(super) enum InputRequest {
    /// A request of the server during a call.
    Request { call: i64, id: Value },
    /// The parameters of the call that continues one with the result `input_required`.
    Result { params: Value },
}

impl InputRequest {
    /// Starts a call, and waits until it requests input.
    pub(super) async fn start(client: &mut Demo) -> Self {
        let arguments = json!({"question": "Go?"});
        if client.era() == Era::Modern {
            let required = client.call("approve", arguments.clone()).await;
            return Self::of_result(arguments, &required);
        }
        let call = client.start_call("approve", arguments).await;
        let is_request = |message: &Value| message["method"] == "elicitation/create";
        let id = client.next_unsolicited(is_request).await["id"].take();
        Self::Request { call, id }
    }

    fn of_result(arguments: Value, required: &Value) -> Self {
        assert_eq!(required["resultType"], "input_required", "{required}");
        let requests = required["inputRequests"].as_object();
        let keys = requests.expect("it asks for input").keys();
        let responses: Map<_, _> = keys.map(|key| (key.clone(), accepted())).collect();
        let params = json!({
            "name": "approve",
            "arguments": arguments,
            "inputResponses": responses,
            "requestState": required["requestState"],
        });
        Self::Result { params }
    }

    /// Returns the call that has not ended.
    pub(super) fn open_call(&self) -> Option<i64> {
        match self {
            Self::Request { call, .. } => Some(*call),
            Self::Result { .. } => None,
        }
    }

    /// Sends the response of the user. Returns the call that continues.
    pub(super) async fn accept(self, client: &mut Demo) -> i64 {
        match self {
            Self::Request { call, id } => {
                let response = json!({"jsonrpc": "2.0", "id": id, "result": accepted()});
                client.send(&response).await;
                call
            }
            Self::Result { params } => client.request("tools/call", params).await,
        }
    }
}

fn accepted() -> Value {
    json!({"action": "accept", "content": {"confirmed": true}})
}
