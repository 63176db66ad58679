//! The rounds of a request without the feature `input`: no handler can ask for input, so the first round is the last.

use toolwire_proto::admit::Admitted;
use toolwire_proto::methods::Method;
use toolwire_types::ErrorObject;

use crate::engine::{BoxFuture, EncodedResult, TransportContext};
use crate::server::context::RequestContext;
use crate::server::request::{Exchange, RoundState};
use crate::server::snapshot::Snapshot;
use crate::server::tool_error::ToolError;

/// Returns the only round. Input responses are ignored, because the server sent no input requests. Request state is
/// rejected, because this server does not create any.
pub(crate) fn of_request(
    _: &Snapshot,
    admitted: &Admitted<'_>,
    _: &dyn TransportContext,
) -> Result<RoundState, ErrorObject> {
    match admitted.request_state() {
        None => Ok(RoundState::default()),
        Some(_) => Err(ErrorObject::invalid_params(
            "requestState: this server never asks for input",
        )),
    }
}

/// Returns the only round of a request for a raw entry.
pub(crate) fn of_raw_request(_: &Admitted<'_>) -> RoundState {
    RoundState::default()
}

/// The outcome of a handler run without a result.
pub(crate) enum RoundOutcome {
    Failed(ToolError),
    #[expect(dead_code, reason = "no handler asks for input")]
    InputRequired(EncodedResult),
    #[expect(dead_code, reason = "no handler asks for input")]
    RunAgain,
}

/// The only round of one request.
pub(crate) struct RequestRounds<'a> {
    exchange: &'a Exchange,
}

/// An input request, which no handler can create without the feature `input`.
pub(crate) enum NoInputRequest {}

impl<'a> RequestRounds<'a> {
    pub(crate) fn new(_: &Method, exchange: &'a Exchange) -> Self {
        Self { exchange }
    }

    /// Returns the work before the round, if any: the rejection of its input. No state is single-use.
    #[inline]
    pub(crate) fn mark_state_used(&self) -> Option<BoxFuture<'a, Result<(), ErrorObject>>> {
        let rejection = self.exchange.context.scope().round.rejection()?;
        Some(Box::pin(std::future::ready(Err(rejection.clone()))))
    }

    pub(crate) fn context(&self) -> &RequestContext {
        &self.exchange.context
    }

    pub(crate) fn is_unfinished(&self) -> bool {
        false
    }

    pub(crate) async fn finish_run(
        &mut self,
        incomplete: Result<NoInputRequest, ToolError>,
    ) -> Result<RoundOutcome, ErrorObject> {
        match incomplete {
            Ok(request) => match request {},
            Err(error) => Ok(RoundOutcome::Failed(error)),
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
    async fn call_completes_in_its_only_round() {
        let response = call(json!({})).await;
        assert_eq!(
            response["result"]["content"][0]["text"], "done",
            "{response}"
        );
        let response = call(json!({"inputResponses": {"k": {"action": "accept"}}})).await;
        assert_eq!(
            response["result"]["content"][0]["text"], "done",
            "{response}"
        );
    }

    #[tokio::test]
    async fn request_state_is_rejected() {
        let response = call(json!({"requestState": "of another server"})).await;
        assert_eq!(response["error"]["code"], -32602, "{response}");
    }
}
