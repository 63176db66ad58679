//! JSON-RPC messages between a host and a view.

use serde::Deserialize;
use serde_json::{Value, json};
use toolwire_types::{ErrorObject, RawJson, RequestId};

/// A message of a view.
#[derive(Debug)]
pub(super) enum Incoming {
    Request {
        id: RequestId,
        method: String,
        params: RawJson,
    },
    Notification {
        method: String,
        params: RawJson,
    },
    /// A response. The result does not matter.
    Response {
        id: RequestId,
    },
}

impl Incoming {
    /// Parses a message. Parameters that are absent become an empty object.
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        #[derive(Deserialize)]
        struct Members {
            jsonrpc: Option<String>,
            id: Option<RequestId>,
            method: Option<String>,
            params: Option<RawJson>,
        }

        let members = serde_json::from_str::<Members>(text);
        let members = members.map_err(|_| "the message is not a JSON-RPC message")?;
        if members.jsonrpc.as_deref() != Some("2.0") {
            return Err("the message is not a JSON-RPC 2.0 message");
        }
        let params = members.params.filter(|params| !params.is_null());
        let params = params.unwrap_or_else(RawJson::empty_object);
        if !params.is_object() {
            return Err("the parameters are not an object");
        }
        match (members.id, members.method) {
            (Some(id), Some(method)) => Ok(Self::Request { id, method, params }),
            (None, Some(method)) => Ok(Self::Notification { method, params }),
            (Some(id), None) => Ok(Self::Response { id }),
            (None, None) => Err("the message has neither a method nor an id"),
        }
    }
}

pub(super) fn response(id: &RequestId, outcome: Result<RawJson, ErrorObject>) -> RawJson {
    written(&match outcome {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": value(&result)}),
        Err(error) => json!({"jsonrpc": "2.0", "id": id, "error": error}),
    })
}

pub(super) fn request(id: &str, method: &str, params: Value) -> RawJson {
    written(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
}

pub(super) fn notification(method: &str, params: &RawJson) -> RawJson {
    written(&json!({"jsonrpc": "2.0", "method": method, "params": value(params)}))
}

/// Returns an object with one member.
pub(super) fn object(name: &str, member: &RawJson) -> RawJson {
    written(&json!({ name: value(member) }))
}

fn value(json: &RawJson) -> Value {
    json.to_value().unwrap_or_default()
}

fn written(message: &Value) -> RawJson {
    RawJson::from_value(message)
}

/// Returns the start of a name, which is text of the view.
pub(super) fn shortened(name: &str) -> String {
    name.chars().take(64).collect()
}
