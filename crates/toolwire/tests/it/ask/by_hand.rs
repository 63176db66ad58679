//! A 2026-07-28 client that is moved by hand, one round at a time.

use serde_json::{Value, json};
use toolwire::Server;

use crate::peer::{Peer, modern_with};

/// Everything a client may declare.
pub(crate) fn able() -> Value {
    json!({"elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}}, "roots": {}})
}

/// One request, its rounds made by the test.
#[derive(Debug)]
pub(crate) struct ByHand {
    peer: Peer,
    method: &'static str,
    params: Value,
    capabilities: Value,
}

impl ByHand {
    /// Calls a tool.
    pub(crate) fn call(server: &Server, tool: &str) -> Self {
        Self::request(server, "tools/call", json!({"name": tool, "arguments": {}}))
    }

    pub(crate) fn request(server: &Server, method: &'static str, params: Value) -> Self {
        Self {
            peer: Peer::connect(server),
            method,
            params,
            capabilities: able(),
        }
    }

    pub(crate) fn with_capabilities(mut self, capabilities: Value) -> Self {
        self.capabilities = capabilities;
        self
    }

    /// The first round.
    pub(crate) async fn begin(&mut self) -> Round {
        self.send(None, None).await
    }

    /// The round after another one, with answers.
    pub(crate) async fn answer(&mut self, before: &Round, answers: Value) -> Round {
        self.send(Some(answers), before.state()).await
    }

    /// A round with whatever the client likes.
    pub(crate) async fn send(&mut self, answers: Option<Value>, state: Option<&str>) -> Round {
        let mut params = self.params.clone();
        if let Some(answers) = answers {
            params["inputResponses"] = answers;
        }
        if let Some(state) = state {
            params["requestState"] = json!(state);
        }
        let request = modern_with(1, self.method, params, self.capabilities.clone());
        Round(self.peer.call(request).await)
    }
}

/// The answer to one round.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Round(pub(crate) Value);

impl Round {
    /// The keys that are asked; none for a round that is the last.
    pub(crate) fn asks(&self) -> Vec<&str> {
        let questions = self.0["result"]["inputRequests"].as_object();
        questions
            .iter()
            .flat_map(|questions| questions.keys().map(String::as_str))
            .collect()
    }

    /// What is asked under a key.
    pub(crate) fn question(&self, key: &str) -> &Value {
        &self.0["result"]["inputRequests"][key]
    }

    pub(crate) fn state(&self) -> Option<&str> {
        self.0["result"]["requestState"].as_str()
    }

    /// Whether the client is to come back.
    pub(crate) fn is_open(&self) -> bool {
        self.0["result"]["resultType"] == "input_required"
    }

    /// The text of a tool that is done, or what went wrong.
    pub(crate) fn text(&self) -> String {
        if let Some(error) = self.0.get("error") {
            let message = error["message"].as_str().unwrap_or_default();
            return format!("{}: {message}", error["code"]);
        }
        let result = &self.0["result"];
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        match result["isError"] == true {
            true => format!("failed: {text}"),
            false => text.to_owned(),
        }
    }
}
