//! What a handler can see and do while it serves a request.

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use toolwire_proto::methods;
use toolwire_proto::rounds::{self, MissingCapability};
use toolwire_proto::stamp::{self, Stamp, Target};
use toolwire_types::{
    ClientCapabilities, CreateMessageRequestParams, CreateMessageResult, ElicitRequestFormParams,
    ElicitRequestURLParams, ElicitResult, ErrorObject, Implementation, InputRequest,
    InputResponses, ListRootsResult, LoggingLevel, Meta, ProtocolVersion, RawJson, RequestId,
};

use crate::engine::{Cancellation, ConnectionState, RequestScope, TokenInfo};
use crate::error::Error;
use crate::server::Server;
use crate::server::elicit::Elicit;

/// A handle to the request that is being served; cloning it is cheap.
///
/// Take it as `&RequestContext` anywhere among a handler's parameters.
///
/// ```
/// use toolwire::{LoggingLevel, RequestContext, tool};
///
/// /// Copies files.
/// #[tool]
/// async fn copy(ctx: &RequestContext, files: Vec<String>) -> String {
///     for (done, file) in files.iter().enumerate() {
///         ctx.report_steps(done as i64, files.len() as i64, Some(file));
///     }
///     ctx.log(LoggingLevel::Info, "all copied");
///     format!("{} files", files.len())
/// }
/// ```
#[derive(Debug, Clone)]
pub struct RequestContext {
    scope: Arc<RequestScope>,
    server: Server,
}

impl RequestContext {
    pub(crate) fn new(scope: Arc<RequestScope>, server: Server) -> Self {
        Self { scope, server }
    }

    pub(crate) fn scope(&self) -> &Arc<RequestScope> {
        &self.scope
    }

    /// The server that serves the request: to add tools, or to tell clients that something changed.
    #[must_use]
    pub fn server(&self) -> &Server {
        &self.server
    }

    // ---- the request ----

    /// The id of the request.
    #[must_use]
    pub fn request_id(&self) -> &RequestId {
        &self.scope.id
    }

    /// The protocol version in effect for this request.
    #[must_use]
    pub fn version(&self) -> ProtocolVersion {
        self.scope.version()
    }

    /// The `_meta` of the request, for extensions and tracing.
    #[must_use]
    pub fn meta(&self) -> &Meta {
        self.scope.meta()
    }

    /// What the client says it is. Never decide anything by it.
    #[must_use]
    pub fn client_info(&self) -> Option<&Implementation> {
        self.scope.client_info()
    }

    /// What the client declared that it can do.
    #[must_use]
    pub fn client_capabilities(&self) -> &ClientCapabilities {
        &self.scope.client_capabilities
    }

    /// Whether the client declared everything in `needed`.
    #[must_use]
    pub fn client_supports(&self, needed: &ClientCapabilities) -> bool {
        rounds::missing_capabilities(needed, &self.scope.client_capabilities).is_none()
    }

    /// Refuses with −32021 when the client did not declare everything that is required.
    pub(crate) fn check_required(
        &self,
        required: Option<&ClientCapabilities>,
    ) -> Result<(), ErrorObject> {
        let missing = required.and_then(|required| {
            rounds::missing_capabilities(required, self.client_capabilities())
        });
        match missing {
            Some(missing) => Err(MissingCapability::new(missing).into()),
            None => Ok(()),
        }
    }

    /// Lets the client hang up and come back for the rest of the answer, so that a long call holds no connection
    /// (2025-11-25 over HTTP with sessions). False where clients cannot do that; then nothing happens.
    ///
    /// The handler runs on. What it says meanwhile waits for the client.
    pub fn release_stream(&self) -> bool {
        self.scope.transport.release_stream()
    }

    /// Who is calling, as verified by the transport. On stdio and in process `valid` is false.
    #[must_use]
    pub fn auth(&self) -> &TokenInfo {
        self.scope.auth()
    }

    /// The state of the connection the request came on, where the transport keeps one.
    #[must_use]
    pub fn connection_state(&self) -> Option<&Arc<ConnectionState>> {
        self.scope.connection_state()
    }

    /// A stable name of the connection or session, where there is one.
    #[must_use]
    pub fn connection_token(&self) -> Option<&str> {
        self.scope.connection_token()
    }

    // ---- cancellation ----

    /// Whether the client cancelled this request; one atomic load.
    ///
    /// An asynchronous handler is simply dropped when that happens. A `blocking` one polls this and returns early.
    /// Whatever it returns, nothing more is sent for the request.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.scope.is_cancelled()
    }

    /// The flag behind [`is_cancelled`](Self::is_cancelled), to pass on to work that outlives the handler's future.
    #[must_use]
    pub fn cancellation(&self) -> Option<Cancellation> {
        self.scope.cancellation.clone()
    }

    // ---- progress and logging ----

    /// Sends `notifications/progress`. Does nothing when the request carried no progress token, or when the value did
    /// not grow. `message` reaches clients from 2025-03-26 on.
    pub fn report_progress(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        self.scope
            .report_progress(progress, total, message.map(str::to_owned));
    }

    /// [`report_progress`](Self::report_progress) for a counter of steps.
    #[expect(
        clippy::cast_precision_loss,
        reason = "a step counter beyond 2^53 is not a step counter"
    )]
    pub fn report_steps(&self, done: i64, total: i64, message: Option<&str>) {
        self.report_progress(done as f64, Some(total as f64), message);
    }

    /// Sends `notifications/message` with any JSON value (a plain string included).
    ///
    /// It is dropped when it is below the level the client asked for, when a 2026-07-28 request asked for none, and when
    /// the server did not enable logging. The protocol deprecates logging as of 2026-07-28: prefer `tracing` to stderr or
    /// OpenTelemetry.
    pub fn log(&self, level: LoggingLevel, data: impl Serialize) {
        self.send_log(level, &data, None);
    }

    /// [`log`](Self::log) under the name of a logger.
    pub fn log_as(&self, logger: &str, level: LoggingLevel, data: impl Serialize) {
        self.send_log(level, &data, Some(logger));
    }

    fn send_log(&self, level: LoggingLevel, data: &impl Serialize, logger: Option<&str>) {
        match RawJson::from_serialize(data) {
            Ok(data) => self.scope.log(level, data, logger),
            Err(error) => tracing::warn!(%error, "a log message could not be written as JSON"),
        }
    }

    // ---- input that came with the request (2026-07-28) ----

    /// Whether the request describes itself and the client cannot be asked anything while it runs.
    ///
    /// On such a request [`elicit`](Self::elicit), [`sample`](Self::sample) and [`list_roots`](Self::list_roots) fail:
    /// return [`ToolResponse::input_required`](crate::ToolResponse::input_required) instead and read the answers with
    /// [`input_responses`](Self::input_responses) when the client calls again.
    #[must_use]
    pub fn is_stateless(&self) -> bool {
        self.scope.is_stateless()
    }

    /// The answers the client attached, by the keys the previous round asked for. Empty on the first call.
    ///
    /// On a legacy connection they are filled only when toolwire itself gathered them for a handler that returned
    /// `input_required`.
    #[must_use]
    pub fn input_responses(&self) -> &InputResponses {
        &self.scope.round.input_responses
    }

    /// Whether there is an answer for `key`.
    #[must_use]
    pub fn has_input_response(&self, key: &str) -> bool {
        self.input_responses().get(key).is_some()
    }

    /// The answer for `key`, decoded: an `ElicitResult`, `CreateMessageResult` or `ListRootsResult`, whatever was asked.
    ///
    /// # Errors
    /// −32602 when the client's answer does not have that shape.
    pub fn input_response_as<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, Error> {
        let Some(answer) = self.input_responses().get(key) else {
            return Ok(None);
        };
        answer.parse().map(Some).map_err(|error| {
            ErrorObject::invalid_params(format!("inputResponses.{key}: {error}")).into()
        })
    }

    /// [`input_response_as`](Self::input_response_as), with `T` read from an empty object when there is no answer.
    ///
    /// # Errors
    /// −32602 when the answer, or the empty object, does not have that shape.
    pub fn input_response_or_empty<T: DeserializeOwned>(&self, key: &str) -> Result<T, Error> {
        match self.input_response_as(key)? {
            Some(answer) => Ok(answer),
            None => RawJson::empty_object().parse().map_err(|error| {
                ErrorObject::invalid_params(format!("inputResponses.{key}: {error}")).into()
            }),
        }
    }

    /// Whether the client called again with answers. A round that only carries state is not one; see
    /// [`has_request_state`](Self::has_request_state).
    #[must_use]
    pub fn is_resubmit(&self) -> bool {
        !self.input_responses().is_empty()
    }

    /// The state the previous round handed out; empty on the first call.
    ///
    /// It was sealed on its way to the client and is the very text the server wrote, for this principal, method and
    /// parameters.
    #[must_use]
    pub fn request_state(&self) -> &str {
        self.scope
            .round
            .request_state
            .as_deref()
            .unwrap_or_default()
    }

    /// Whether the client sent state back; the empty text is a state, too.
    #[must_use]
    pub fn has_request_state(&self) -> bool {
        self.scope.round.request_state.is_some()
    }

    /// The state as a type; the default of that type when there is none.
    ///
    /// # Errors
    /// −32602 when the state is not JSON of that shape.
    pub fn request_state_as<T: DeserializeOwned + Default>(&self) -> Result<T, Error> {
        if self.request_state().is_empty() {
            return Ok(T::default());
        }
        serde_json::from_str(self.request_state())
            .map_err(|error| ErrorObject::invalid_params(format!("requestState: {error}")).into())
    }

    // ---- asking the client (up to 2025-11-25) ----

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
        self.ask(request.into()).await
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
        self.ask(params.into()).await
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
        self.ask(ElicitRequestFormParams::new(message, schema).into())
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
        if !is_web_url(&url) {
            return Err(ErrorObject::invalid_params(format!(
                "{url:?} is not an absolute http or https URL"
            ))
            .into());
        }
        if elicitation_id.is_empty() {
            return Err(ErrorObject::invalid_params("`elicitationId` must not be empty").into());
        }
        self.ask(
            ElicitRequestURLParams::new(message, url)
                .with_elicitation_id(elicitation_id)
                .into(),
        )
        .await
    }

    /// Asks the client for its roots.
    ///
    /// The protocol deprecates roots as of 2026-07-28: take paths as tool arguments or configuration instead.
    ///
    /// # Errors
    /// On a stateless request, when the client has no roots, and whatever the client answers.
    pub async fn list_roots(&self) -> Result<ListRootsResult, Error> {
        self.ask(InputRequest::roots()).await
    }

    /// The gates in front of every question, then the question, then the typed answer.
    async fn ask<T: DeserializeOwned>(&self, request: InputRequest) -> Result<T, Error> {
        let method = request.method();
        self.scope.refuse_if_stateless(method)?;
        let answer = self.send_to_client(&request).await?;
        answer
            .parse()
            .map_err(|error| Error::decode(format!("answer to `{method}`"), error))
    }

    /// Checks that the client can answer, and sends.
    pub(crate) async fn send_to_client(&self, request: &InputRequest) -> Result<RawJson, Error> {
        let method = method_of(request)?;
        self.check_required(Some(&rounds::required_capabilities([request])))?;
        let params = client_params(request, self.version())?;
        let answer = self.scope.request(method, params).await?;
        Ok(match request {
            InputRequest::Elicitation(asked) => {
                stamp::restore_elicitation(asked, answer, self.version())
            }
            _ => answer,
        })
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
fn client_params(request: &InputRequest, version: ProtocolVersion) -> Result<RawJson, Error> {
    let written = match request {
        InputRequest::Elicitation(params) => {
            RawJson::from_serialize(&stamp::project_elicitation(params.clone(), version)?)
        }
        InputRequest::Sampling(params) => {
            let mut params = params.clone();
            params.stamp(&Target::new(version));
            RawJson::from_serialize(&params)
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

/// An absolute `http` or `https` URL with a host.
fn is_web_url(url: &str) -> bool {
    let rest = url
        .strip_prefix("https://")
        .or_else(|| url.strip_prefix("http://"));
    let Some(rest) = rest else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host =
        host.rsplit_once(':').map_or(
            host,
            |(host, port)| if port.contains(']') { authority } else { host },
        );
    !host.is_empty() && !url.chars().any(|c| c.is_control() || c.is_whitespace())
}

#[cfg(test)]
mod tests {
    use toolwire_types::Tool;

    use super::*;
    use crate::server::ServedTool;
    use crate::transport::InProcess;

    #[test]
    fn only_absolute_web_urls_may_be_shown() {
        let check = |url: &str, expected: bool| assert_eq!(is_web_url(url), expected, "{url}");
        check("https://example.test/consent?x=1", true);
        check("http://[::1]:8080/", true);
        check("https://user@example.test", true);
        check("https://", false);
        check("https://:80/", false);
        check("/relative", false);
        check("javascript:alert(1)", false);
        check("https://exa mple.test", false);
        check("file:///etc/passwd", false);
    }

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
        let server = Server::new("test", "1").tool(ServedTool::raw(tool, ask));
        let mut client = InProcess::connect(&server);
        let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"sampling":{},"roots":{}}}}}"#;
        client.send(call).await.unwrap();
        let answer = client.receive().await.unwrap();
        assert!(answer.contains("nobody was asked"), "{answer}");
    }
}
