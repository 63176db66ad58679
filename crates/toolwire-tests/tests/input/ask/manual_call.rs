//! A 2026-07-28 client whose rounds are sent by the test.

use serde_json::{Value, json};
use toolwire::Server;
use toolwire_tests::peer::{Peer, modern_with};

/// Returns every capability that a client can declare.
pub(crate) fn all_capabilities() -> Value {
    json!({"elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}}, "roots": {}})
}

/// A request whose rounds the test sends one by one.
#[derive(Debug)]
pub(crate) struct ManualCall {
    peer: Peer,
    method: &'static str,
    params: Value,
    capabilities: Value,
}

impl ManualCall {
    /// Creates a tool call.
    pub(crate) fn call(server: &Server, tool: &str) -> Self {
        Self::request(server, "tools/call", json!({"name": tool, "arguments": {}}))
    }

    pub(crate) fn request(server: &Server, method: &'static str, params: Value) -> Self {
        Self {
            peer: Peer::connect(server),
            method,
            params,
            capabilities: all_capabilities(),
        }
    }

    pub(crate) fn with_capabilities(mut self, capabilities: Value) -> Self {
        self.capabilities = capabilities;
        self
    }

    /// Sends the first round.
    pub(crate) async fn start(&mut self) -> Round {
        self.send(None, None).await
    }

    /// Sends the round after `before` with input responses.
    pub(crate) async fn respond(&mut self, before: &Round, responses: Value) -> Round {
        self.send(Some(responses), before.state()).await
    }

    /// Sends a round with any input responses and state.
    pub(crate) async fn send(&mut self, responses: Option<Value>, state: Option<&str>) -> Round {
        let mut params = self.params.clone();
        if let Some(responses) = responses {
            params["inputResponses"] = responses;
        }
        if let Some(state) = state {
            params["requestState"] = json!(state);
        }
        let request = modern_with(1, self.method, params, self.capabilities.clone());
        Round(self.peer.call(request).await)
    }
}

/// The response to one round.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Round(pub(crate) Value);

impl Round {
    /// Returns the keys of the input requests, or no keys for the last round.
    pub(crate) fn input_keys(&self) -> Vec<&str> {
        let input_requests = self.0["result"]["inputRequests"].as_object();
        input_requests
            .iter()
            .flat_map(|input_requests| input_requests.keys().map(String::as_str))
            .collect()
    }

    /// Returns the input request with this key.
    pub(crate) fn input_request(&self, key: &str) -> &Value {
        &self.0["result"]["inputRequests"][key]
    }

    pub(crate) fn state(&self) -> Option<&str> {
        self.0["result"]["requestState"].as_str()
    }

    /// Returns `true` if the result is `input_required`.
    pub(crate) fn is_open(&self) -> bool {
        self.0["result"]["resultType"] == "input_required"
    }

    /// Returns the text of the tool result or of the error.
    pub(crate) fn text(&self) -> String {
        if let Some(error) = self.0.get("error") {
            let message = error["message"].as_str().unwrap_or_default();
            return format!("{}: {message}", error["code"]);
        }
        let result = &self.0["result"];
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        if result["isError"] == true {
            format!("failed: {text}")
        } else {
            text.to_owned()
        }
    }
}
