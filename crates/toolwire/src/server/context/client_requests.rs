//! Requests to the client while the handler waits: all revisions up to 2025-11-25.

use serde::de::DeserializeOwned;
use toolwire_proto::methods;
use toolwire_proto::rounds;
use toolwire_proto::sampling_rules::drop_undeclared_context;
use toolwire_proto::stamp;
use toolwire_types::{
    ClientCapabilities, CreateMessageRequestParams, CreateMessageResult, ElicitRequestFormParams,
    ElicitRequestParams, ElicitRequestURLParams, ElicitResult, ErrorObject, InputRequest,
    ListRootsResult, ProtocolVersion, RawJson,
};

use crate::error::Error;
use crate::server::access::check_declared;
use crate::server::ask::check_url;
use crate::server::context::RequestContext;
use crate::server::elicit::Elicit;
use crate::server::state_seal::NO_RANDOMNESS;

impl RequestContext {
    /// Sends `sampling/createMessage` and returns the raw answer; the client's capabilities are not checked.
    ///
    /// # Errors
    /// On a stateless request, without a channel to the client, after a timeout, and whatever the client answers.
    pub async fn sample_raw(&self, params: RawJson) -> Result<RawJson, Error> {
        self.scope.request("sampling/createMessage", params).await
    }

    /// Sends `elicitation/create` and returns the raw answer; the client's capabilities are not checked.
    ///
    /// # Errors
    /// On a stateless request, without a channel to the client, after a timeout, and whatever the client answers.
    pub async fn elicit_raw(&self, params: RawJson) -> Result<RawJson, Error> {
        self.scope.request("elicitation/create", params).await
    }

    /// Sends `roots/list` and returns the raw answer; the client's capabilities are not checked.
    ///
    /// # Errors
    /// On a stateless request, without a channel to the client, after a timeout, and whatever the client answers.
    pub async fn list_roots_raw(&self) -> Result<RawJson, Error> {
        self.scope
            .request("roots/list", RawJson::empty_object())
            .await
    }

    /// Asks the client's model for a completion.
    ///
    /// The protocol deprecates sampling as of 2026-07-28: new servers should call a model of their own.
    ///
    /// # Errors
    /// On a stateless request, when the client cannot sample (or lacks `sampling.tools` for a request with tools), and
    /// whatever the client answers.
    pub async fn sample(
        &self,
        request: CreateMessageRequestParams,
    ) -> Result<CreateMessageResult, Error> {
        self.request_checked(request.into()).await
    }

    /// [`sample`](Self::sample) with raw parameters and a raw answer, behind the same gates.
    ///
    /// # Errors
    /// As [`sample`](Self::sample), and when the parameters are not those of `sampling/createMessage`.
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
    /// On a stateless request, when the client cannot elicit, and whatever the client answers.
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

    /// Asks the user for a `T`; decode the answer with [`ElicitResult::content_as`].
    ///
    /// # Errors
    /// As [`elicit`](Self::elicit).
    pub async fn elicit_as<T: Elicit>(
        &self,
        message: impl Into<String>,
    ) -> Result<ElicitResult, Error> {
        let schema = RawJson::from_serialize(&T::elicit_schema())
            .map_err(|error| Error::decode("the schema of the form", error))?;
        self.elicit(message, schema).await
    }

    /// Sends the user to a URL (2025-11-25). `elicitation_id` ties the outcome to this request.
    ///
    /// # Errors
    /// On a stateless request, when the client cannot open URLs, for a URL that is not absolute `http` or `https`, and
    /// whatever the client answers.
    pub async fn elicit_url(
        &self,
        message: impl Into<String>,
        url: impl Into<String>,
        elicitation_id: impl Into<String>,
    ) -> Result<ElicitResult, Error> {
        let (url, elicitation_id) = (url.into(), elicitation_id.into());
        check_url(&url)?;
        if elicitation_id.is_empty() {
            return Err(ErrorObject::invalid_params("`elicitationId` must not be empty").into());
        }
        self.request_checked(
            ElicitRequestURLParams::new(message, url)
                .with_elicitation_id(elicitation_id)
                .into(),
        )
        .await
    }

    /// Tells the client that what it sent the user to a URL for is done (2025-11-25 only; elsewhere nothing happens).
    pub fn elicitation_complete(&self, elicitation_id: impl Into<String>) {
        self.scope.elicitation_complete(elicitation_id.into());
    }

    /// Asks the client for its roots.
    ///
    /// The protocol deprecates roots as of 2026-07-28: take paths as tool arguments or configuration instead.
    ///
    /// # Errors
    /// On a stateless request, when the client has no roots, and whatever the client answers.
    pub async fn list_roots(&self) -> Result<ListRootsResult, Error> {
        self.request_checked(InputRequest::roots()).await
    }

    /// The gates in front of every question, then the question, then the typed answer.
    async fn request_checked<T: DeserializeOwned>(
        &self,
        request: InputRequest,
    ) -> Result<T, Error> {
        let method = request.method();
        self.scope.refuse_if_stateless(method)?;
        let answer = self.send_to_client(method, &request).await?;
        answer
            .parse()
            .map_err(|error| Error::decode(format!("answer to `{method}`"), error))
    }

    /// Checks that the client can answer, sends, and checks the answer. Errors name the question by `key`.
    pub(crate) async fn send_to_client(
        &self,
        key: &str,
        request: &InputRequest,
    ) -> Result<RawJson, Error> {
        let method = method_of(request)?;
        let required = rounds::required_capabilities([request]);
        check_declared(&required, self.client_capabilities())?;
        let params = client_params(request, self.version(), self.client_capabilities())?;
        let answer = self.scope.request(method, params).await?;
        let answer = match request {
            InputRequest::Elicitation(asked) => {
                stamp::restore_elicitation(asked, answer, self.version())
            }
            _ => answer,
        };
        rounds::accept_answer(request, answer)
            .map_err(|unusable| Error::protocol(unusable.message(key)))
    }
}

/// The method that carries a question to the client.
fn method_of(request: &InputRequest) -> Result<&'static str, Error> {
    methods::find(request.method())
        .map(|method| method.name)
        .ok_or_else(|| {
            ErrorObject::internal(format!("a client cannot be asked `{}`", request.method())).into()
        })
}

/// The parameters of a question, as the client's revision has them.
fn client_params(
    request: &InputRequest,
    version: ProtocolVersion,
    declared: &ClientCapabilities,
) -> Result<RawJson, Error> {
    let written = match request {
        InputRequest::Elicitation(params) => {
            let mut params = params.clone();
            if let ElicitRequestParams::Url(url) = &mut params
                && url.elicitation_id.is_none()
            {
                url.elicitation_id = Some(random_id()?);
            }
            RawJson::from_serialize(&stamp::project_elicitation(params, version)?)
        }
        InputRequest::Sampling(params) => {
            let mut params = CreateMessageRequestParams::clone(params);
            drop_undeclared_context(&mut params, version, declared);
            RawJson::from_serialize(&stamp::project_sampling(params, version)?)
        }
        InputRequest::Roots(params) => RawJson::from_serialize(&params.clone().unwrap_or_default()),
        other => {
            return Err(ErrorObject::internal(format!(
                "a client cannot be asked `{}`",
                other.method()
            ))
            .into());
        }
    };
    written.map_err(|error| Error::decode("question to the client", error))
}

/// An id nobody can guess, for revisions that want every elicitation by URL to have one.
fn random_id() -> Result<String, Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|_| ErrorObject::internal(NO_RANDOMNESS))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use toolwire_types::Tool;

    use super::*;
    use crate::server::{Server, ToolHandler};
    use crate::transport::InProcess;

    #[tokio::test]
    async fn nothing_is_asked_of_the_client_during_a_stateless_request() {
        let ask = |ctx: RequestContext, _: RawJson| async move {
            let params = RawJson::empty_object();
            for outcome in [
                ctx.elicit_raw(params.clone()).await,
                ctx.sample_raw(params).await,
                ctx.list_roots_raw().await,
            ] {
                let error = outcome.expect_err("there is nobody to ask");
                assert!(error.to_string().contains("input_required"), "{error}");
            }
            "nobody was asked"
        };
        let tool = Tool::new("ask", serde_json::json!({"type": "object"}));
        let server = Server::new("test", "1").tool(ToolHandler::raw(tool, ask));
        let mut client = InProcess::connect(&server);
        let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"sampling":{},"roots":{}}}}}"#;
        client.send(call).await.unwrap();
        let answer = client.receive().await.unwrap();
        assert!(answer.contains("nobody was asked"), "{answer}");
    }
}
