//! Stands in for the rounds of a request when the feature `input` is off: no handler can ask for input, so the first round
//! is the last.

use toolwire_proto::admit::Admitted;
use toolwire_proto::methods::Method;
use toolwire_types::ErrorObject;

use crate::engine::{BoxFuture, Exchange, Reply, Round, TransportContext};
use crate::server::context::RequestContext;
use crate::server::snapshot::Snapshot;
use crate::server::tool_error::ToolError;

/// Answers to questions are not looked at, because none was asked. State is refused: it is not from here.
pub(crate) fn of_request(
    _: &Snapshot,
    admitted: &Admitted<'_>,
    _: &dyn TransportContext,
) -> Result<Round, ErrorObject> {
    match admitted.request_state() {
        None => Ok(Round),
        Some(_) => Err(ErrorObject::invalid_params(
            "requestState: this server never asks for input",
        )),
    }
}

/// What is to be done about a run of a handler that did not come to a result.
pub(crate) enum Settled {
    Failed(ToolError),
    #[expect(dead_code, reason = "no handler asks")]
    Asks(Reply),
    #[expect(dead_code, reason = "no handler asks")]
    Again,
}

/// The only round of one request.
pub(crate) struct Rounds<'a> {
    exchange: &'a Exchange,
}

/// What no handler can wish for.
pub(crate) enum NoWish {}

impl<'a> Rounds<'a> {
    pub(crate) fn new(_: &Method, exchange: &'a Exchange) -> Self {
        Self { exchange }
    }

    /// No state is ever spent.
    pub(crate) fn spending(&self) -> Option<BoxFuture<'a, Result<(), ErrorObject>>> {
        None
    }

    pub(crate) fn context(&self) -> &RequestContext {
        &self.exchange.context
    }

    pub(crate) fn is_unfinished(&self) -> bool {
        false
    }

    pub(crate) async fn settle(
        &mut self,
        unsettled: Result<NoWish, ToolError>,
    ) -> Result<Settled, ErrorObject> {
        match unsettled {
            Ok(wish) => match wish {},
            Err(error) => Ok(Settled::Failed(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::transport::InProcess;
    use crate::{RequestContext, Server, ToolHandler};

    async fn call(more: Value) -> Value {
        let echo = |_: RequestContext, _: serde_json::Map<String, Value>| async { "done" };
        let server = Server::new("minimal", "1").tool(ToolHandler::typed("echo", echo));
        let mut client = InProcess::connect(&server);
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
        });
        let mut params = json!({"name": "echo", "arguments": {}, "_meta": meta});
        for (name, value) in more.as_object().unwrap() {
            params[name] = value.clone();
        }
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        client.send(&request.to_string()).await.unwrap();
        serde_json::from_str(&client.receive().await.unwrap()).unwrap()
    }

    #[tokio::test]
    async fn a_call_is_answered_in_its_only_round() {
        let answer = call(json!({})).await;
        assert_eq!(answer["result"]["content"][0]["text"], "done", "{answer}");
        let answer = call(json!({"inputResponses": {"k": {"action": "accept"}}})).await;
        assert_eq!(answer["result"]["content"][0]["text"], "done", "{answer}");
    }

    #[tokio::test]
    async fn a_state_is_refused_because_nobody_here_made_it() {
        let answer = call(json!({"requestState": "made elsewhere"})).await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
}
