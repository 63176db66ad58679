//! Requests to the client while the handler waits, in all revisions up to 2025-11-25.

use serde::de::DeserializeOwned;
use toolwire_types::{
    CreateMessageRequestParams, CreateMessageResult, ElicitRequestFormParams,
    ElicitRequestURLParams, ElicitResult, ErrorObject, InputRequest, ListRootsResult, RawJson,
};

use crate::error::Error;
use crate::server::ask::check_elicitation;
use crate::server::context::RequestContext;
use crate::server::elicit::Elicit;
use crate::server::input_request::InputChannel;

impl RequestContext {
    /// Sends `sampling/createMessage` and returns the raw response. The client's capabilities are not checked.
    ///
    /// # Errors
    /// Returns an error on a stateless request, without a channel to the client, after a timeout, and if the client
    /// responds with an error.
    #[deprecated(
        note = "MCP deprecates sampling (SEP-2577), and a revision of 28 July 2027 or later may remove it. Call the API of a model provider instead"
    )]
    pub async fn sample_raw(&self, params: RawJson) -> Result<RawJson, Error> {
        self.scope.request("sampling/createMessage", params).await
    }

    /// Sends `elicitation/create` and returns the raw response. The client's capabilities are not checked.
    ///
    /// # Errors
    /// Returns an error on a stateless request, without a channel to the client, after a timeout, and if the client
    /// responds with an error.
    pub async fn elicit_raw(&self, params: RawJson) -> Result<RawJson, Error> {
        self.scope.request("elicitation/create", params).await
    }

    /// Sends `roots/list` and returns the raw response. The client's capabilities are not checked.
    ///
    /// # Errors
    /// Returns an error on a stateless request, without a channel to the client, after a timeout, and if the client
    /// responds with an error.
    #[deprecated(
        note = "MCP deprecates roots (SEP-2577), and a revision of 28 July 2027 or later may remove them. Pass paths as tool arguments, resource URIs or configuration instead"
    )]
    pub async fn list_roots_raw(&self) -> Result<RawJson, Error> {
        self.scope
            .request("roots/list", RawJson::empty_object())
            .await
    }

    /// Asks the client's model for a message.
    ///
    /// # Errors
    /// Returns an error on a stateless request, and if the client does not support sampling, or `sampling.tools` for a
    /// request with tools. Also returns an error if the client responds with one.
    #[deprecated(
        note = "MCP deprecates sampling (SEP-2577), and a revision of 28 July 2027 or later may remove it. Call the API of a model provider instead"
    )]
    pub async fn sample(
        &self,
        request: CreateMessageRequestParams,
    ) -> Result<CreateMessageResult, Error> {
        self.request_checked(request.into()).await
    }

    /// Like [`sample`](Self::sample), with raw parameters and a raw response. The same checks apply.
    ///
    /// # Errors
    /// Returns an error as [`sample`](Self::sample) does, and if the parameters are not those of
    /// `sampling/createMessage`.
    #[deprecated(
        note = "MCP deprecates sampling (SEP-2577), and a revision of 28 July 2027 or later may remove it. Call the API of a model provider instead"
    )]
    pub async fn sample_json(&self, params: impl Into<RawJson>) -> Result<RawJson, Error> {
        let params: CreateMessageRequestParams = params
            .into()
            .parse()
            .map_err(|error| Error::decode("parameters of `sampling/createMessage`", error))?;
        self.request_checked(params.into()).await
    }

    /// Asks the user to fill in a form. The schema is a flat JSON Schema object.
    ///
    /// # Errors
    /// Returns an error on a stateless request, if the client does not support elicitation, and if the client responds
    /// with an error.
    pub async fn elicit(
        &self,
        message: impl Into<String>,
        requested_schema: impl Into<RawJson>,
    ) -> Result<ElicitResult, Error> {
        let schema = requested_schema.into();
        if !schema.is_object() {
            return Err(ErrorObject::invalid_params(
                "`requestedSchema` must be a JSON Schema object",
            )
            .into());
        }
        self.request_checked(ElicitRequestFormParams::new(message, schema).into())
            .await
    }

    /// Asks the user for a `T`. Decode the result with [`ElicitResult::content_as`], or the content with
    /// [`Elicit::from_content`], which also decodes a single value.
    ///
    /// # Errors
    /// Returns an error as [`elicit`](Self::elicit) does.
    pub async fn elicit_as<T: Elicit>(
        &self,
        message: impl Into<String>,
    ) -> Result<ElicitResult, Error> {
        let schema = RawJson::from_serialize(&T::elicit_schema())
            .map_err(|error| Error::decode("the schema of the form", error))?;
        self.elicit(message, schema).await
    }

    /// Asks the user to open a URL (2025-11-25). `elicitation_id` identifies this elicitation for
    /// [`elicitation_complete`](Self::elicitation_complete).
    ///
    /// # Errors
    /// Returns an error on a stateless request, if the client does not support URL elicitation, if the URL is not absolute
    /// `http` or `https`, and if the id does not have 1 to 1024 bytes. Also returns an error if the client responds with
    /// one.
    pub async fn elicit_url(
        &self,
        message: impl Into<String>,
        url: impl Into<String>,
        elicitation_id: impl Into<String>,
    ) -> Result<ElicitResult, Error> {
        let elicitation =
            ElicitRequestURLParams::new(message, url).with_elicitation_id(elicitation_id);
        check_elicitation(&elicitation)?;
        self.remember_elicitation(&elicitation);
        self.request_checked(elicitation.into()).await
    }

    /// Notifies the client that the interaction at a URL is complete. Only 2025-11-25 has this notification; in other
    /// revisions nothing is sent.
    pub fn elicitation_complete(&self, elicitation_id: impl Into<String>) {
        self.scope.elicitation_complete(elicitation_id.into());
    }

    /// Asks the client for its roots.
    ///
    /// # Errors
    /// Returns an error on a stateless request, if the client does not support roots, and if the client responds with
    /// an error.
    #[deprecated(
        note = "MCP deprecates roots (SEP-2577), and a revision of 28 July 2027 or later may remove them. Pass paths as tool arguments, resource URIs or configuration instead"
    )]
    pub async fn list_roots(&self) -> Result<ListRootsResult, Error> {
        self.request_checked(InputRequest::roots()).await
    }

    /// Checks that the request is not stateless, sends it, and decodes the response.
    async fn request_checked<T: DeserializeOwned>(
        &self,
        request: InputRequest,
    ) -> Result<T, Error> {
        let method = request.method();
        self.scope.reject_if_stateless(method)?;
        let response = self.send_to_client(method, &request).await?;
        response
            .parse()
            .map_err(|error| Error::decode(format!("response to `{method}`"), error))
    }

    /// Checks the client's capabilities, sends the request, and checks the response. Errors name the request by `key`.
    pub(crate) async fn send_to_client(
        &self,
        key: &str,
        request: &InputRequest,
    ) -> Result<RawJson, Error> {
        self.scope.reject_if_stateless(request.method())?;
        let channel = InputChannel {
            transport: &*self.scope.transport,
            version: self.version(),
            capabilities: self.client_capabilities(),
            related_task: None,
        };
        channel.send(key, request).await
    }
}

#[cfg(test)]
mod tests {
    #![expect(deprecated, reason = "deprecated features are tested, too")]

    use toolwire_types::Tool;

    use super::*;
    use crate::server::{Server, ToolHandler};
    use crate::transport::InProcess;

    #[tokio::test]
    async fn stateless_request_sends_no_requests_to_the_client() {
        let ask = |ctx: RequestContext, _: RawJson| async move {
            let params = RawJson::empty_object();
            for outcome in [
                ctx.elicit_raw(params.clone()).await,
                ctx.sample_raw(params).await,
                ctx.list_roots_raw().await,
            ] {
                let error = outcome.expect_err("the request is stateless");
                assert!(error.to_string().contains("input_required"), "{error}");
            }
            "nothing was sent"
        };
        let tool = Tool::new("ask", serde_json::json!({"type": "object"}));
        let handler = ToolHandler::raw(tool, ask).without_argument_check();
        let server = Server::new("test", "1").tool(handler);
        let mut client = InProcess::connect(&server);
        let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"sampling":{},"roots":{}}}}}"#;
        client.send(call).await.unwrap();
        let response = client.receive().await.unwrap();
        assert!(response.contains("nothing was sent"), "{response}");
    }
}
