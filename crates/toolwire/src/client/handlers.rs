//! The client's handlers for requests and notifications of the server.
//!
//! The same handlers serve requests of a legacy server and the input requests of an `input_required` result. The client
//! advertises exactly the capabilities that follow from the registered handlers and from what the user declares.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex};

use serde::Serialize;
use serde::de::DeserializeOwned;
use toolwire_proto::decode_message::decode_message;
use toolwire_proto::elicit_validation::{
    InvalidElicitResult, apply_defaults, check_elicit_result, check_mode, check_url_result,
    read_schema,
};
use toolwire_proto::request_meta::capabilities_for;
use toolwire_proto::sampling_rules::check_sampling;
use toolwire_proto::stamp::project_sampling_result;
use toolwire_proto::subscriptions::Change;
use toolwire_types::{
    ClientCapabilities, CreateMessageRequestParams, CreateMessageResult, ElicitRequestFormParams,
    ElicitRequestParams, ElicitRequestURLParams, ElicitResult,
    ElicitationCompleteNotificationParams, ErrorObject, InputRequest, ListRootsResult,
    LoggingMessageNotificationParams, Notification, ProtocolVersion, RawJson, Root,
    RootsCapability, SamplingCapability, code,
};

#[cfg(feature = "relay")]
use crate::client::relay_messages::RelayMessages;
use crate::client::wire_listeners::WireListeners;
use crate::engine::{BoxFuture, CatchPanic, warn_about_request};
use crate::sync::lock;

/// A registered handler of input requests. It returns one future per request.
type InputHandler<Q, A> =
    Arc<dyn Fn(Q) -> BoxFuture<'static, Result<A, ErrorObject>> + Send + Sync>;

/// A registered handler of a request that the protocol does not define.
pub(crate) type RequestHandler =
    Arc<dyn Fn(RawJson) -> BoxFuture<'static, Result<RawJson, ErrorObject>> + Send + Sync>;

/// A registered listener. It runs in the reading task, so it must not block.
type NotificationHandler<T> = Arc<dyn Fn(T) + Send + Sync>;

/// All handlers that the user registered.
#[derive(Clone, Default)]
pub(crate) struct ClientHandlers {
    pub(crate) form: Option<InputHandler<ElicitRequestFormParams, ElicitResult>>,
    pub(crate) url: Option<InputHandler<ElicitRequestURLParams, ElicitResult>>,
    pub(crate) sampling: Option<InputHandler<CreateMessageRequestParams, CreateMessageResult>>,
    /// Whether the `sampling` handler accepts tools.
    pub(crate) sampling_tools: bool,
    pub(crate) roots: Option<RootList>,
    pub(crate) log: Option<NotificationHandler<LoggingMessageNotificationParams>>,
    pub(crate) change: Option<NotificationHandler<Change>>,
    pub(crate) elicitation_complete:
        Option<NotificationHandler<ElicitationCompleteNotificationParams>>,
    pub(crate) notification: Option<NotificationHandler<Notification>>,
    /// The handlers of requests that the protocol does not define, by method.
    pub(crate) requests: HashMap<String, RequestHandler>,
    #[cfg(feature = "tasks")]
    pub(crate) task_status:
        Option<NotificationHandler<toolwire_types::tasks::extension::DetailedTask>>,
    /// Extensions and experimental capabilities that the user declares in addition.
    pub(crate) declared: ClientCapabilities,
    /// Receives the messages of the server instead of the other handlers.
    #[cfg(feature = "relay")]
    pub(crate) relay: Option<Arc<dyn RelayMessages>>,
    /// Gets every message of the connections, in addition to all other handlers.
    pub(crate) wire: WireListeners,
}

/// The roots that the server may list. They are replaced as a whole.
#[derive(Clone, Default)]
pub(crate) struct RootList(Arc<Mutex<Vec<Root>>>);

impl RootList {
    pub(crate) fn replace(&self, roots: Vec<Root>) {
        *lock(&self.0) = roots;
    }

    fn list(&self) -> ListRootsResult {
        let roots = lock(&self.0);
        ListRootsResult::new(roots.iter().cloned())
    }
}

/// Boxes the future of a user's closure.
pub(crate) fn boxed_handler<Q, A, F, R>(handler: F) -> InputHandler<Q, A>
where
    F: Fn(Q) -> R + Send + Sync + 'static,
    R: Future<Output = Result<A, ErrorObject>> + Send + 'static,
{
    Arc::new(move |request| Box::pin(handler(request)))
}

/// Adds the decoding of the parameters and the encoding of the result to a user's closure.
pub(crate) fn request_handler<P, R, F, Fut>(handler: F) -> RequestHandler
where
    P: DeserializeOwned,
    R: Serialize,
    F: Fn(P) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<R, ErrorObject>> + Send + 'static,
{
    let handler = move |params: RawJson| -> BoxFuture<'static, Result<RawJson, ErrorObject>> {
        match params.parse::<P>() {
            Ok(params) => {
                let running = handler(params);
                Box::pin(async move { encode(running.await?) })
            }
            Err(error) => {
                let message = format!("params: {}", decode_message(&error));
                Box::pin(std::future::ready(Err(ErrorObject::invalid_params(
                    message,
                ))))
            }
        }
    };
    Arc::new(handler)
}

impl ClientHandlers {
    /// Returns `true` if a relay receives the messages of the server.
    pub(crate) fn is_relay(&self) -> bool {
        #[cfg(feature = "relay")]
        let is_relay = self.relay.is_some();
        #[cfg(not(feature = "relay"))]
        let is_relay = false;
        is_relay
    }

    /// Returns `true` if a handler for input requests is registered.
    #[cfg(feature = "http-client")]
    pub(crate) fn handles_input(&self) -> bool {
        self.form.is_some() || self.url.is_some() || self.sampling.is_some() || self.roots.is_some()
    }

    /// Returns the capabilities that follow from the registered handlers.
    pub(crate) fn capabilities(&self) -> ClientCapabilities {
        let mut capabilities = self.declared.clone();
        if self.form.is_some() || self.url.is_some() {
            let mut elicitation = capabilities.elicitation.take().unwrap_or_default();
            if self.form.is_some() {
                elicitation = elicitation.with_form();
            }
            if self.url.is_some() {
                elicitation = elicitation.with_url();
            }
            capabilities.elicitation = Some(elicitation);
        }
        if self.sampling.is_some() {
            let mut sampling: SamplingCapability = capabilities.sampling.take().unwrap_or_default();
            if self.sampling_tools {
                sampling = sampling.with_tools();
            }
            capabilities.sampling = Some(sampling);
        }
        if self.roots.is_some() {
            let roots: RootsCapability = capabilities.roots.take().unwrap_or_default();
            capabilities.roots = Some(roots.with_list_changed());
        }
        capabilities
    }

    /// Responds to one input request of a server that uses this protocol version.
    pub(crate) async fn respond(
        &self,
        request: InputRequest,
        version: ProtocolVersion,
    ) -> Result<RawJson, ErrorObject> {
        warn_about_request(&request, version);
        let method = request.method().to_owned();
        let responding = CatchPanic::new(self.dispatch(request, version));
        responding.await.unwrap_or_else(|_| Err(panicked(&method)))
    }

    /// Responds to a request that the protocol does not define.
    pub(crate) async fn respond_to_custom(
        &self,
        method: &str,
        params: RawJson,
    ) -> Result<RawJson, ErrorObject> {
        let Some(handler) = self.requests.get(method) else {
            return Err(ErrorObject::method_not_found(method.to_owned()));
        };
        // The closure itself may panic, too, before it returns its future.
        let responding = CatchPanic::new(async { handler(params).await });
        responding.await.unwrap_or_else(|_| Err(panicked(method)))
    }

    async fn dispatch(
        &self,
        request: InputRequest,
        version: ProtocolVersion,
    ) -> Result<RawJson, ErrorObject> {
        match request {
            InputRequest::Elicitation(elicitation) => {
                check_mode(&elicitation, &self.capabilities())?;
                match (elicitation, &self.form, &self.url) {
                    (ElicitRequestParams::Form(form), Some(handler), _) => {
                        encode(run_form_handler(form, handler).await?)
                    }
                    (ElicitRequestParams::Url(page), _, Some(handler)) => {
                        let result = handler(page).await?;
                        check_url_result(&result).map_err(|invalid| invalid_result(&invalid))?;
                        encode(result)
                    }
                    _ => Err(not_offered("this kind of elicitation")),
                }
            }
            InputRequest::Sampling(request) => {
                let handler = self.sampling.as_ref();
                let handler = handler.ok_or_else(|| not_offered("sampling"))?;
                // The server does not know of capabilities that this revision does not have.
                check_sampling(&request, &capabilities_for(version, &self.capabilities()))?;
                let result = handler(*request).await?;
                encode(project_sampling_result(result, version)?)
            }
            InputRequest::Roots(_) => {
                let roots = self.roots.as_ref();
                encode(roots.ok_or_else(|| not_offered("roots"))?.list())
            }
            other => Err(ErrorObject::new(
                code::METHOD_NOT_FOUND,
                format!("this client has no handler for {:?}", other.method()),
            )),
        }
    }
}

/// Runs the form handler, adds the defaults, and validates the result before it is sent.
async fn run_form_handler(
    form: ElicitRequestFormParams,
    handler: &InputHandler<ElicitRequestFormParams, ElicitResult>,
) -> Result<ElicitResult, ErrorObject> {
    let schema = read_schema(&form)?;
    let mut result = handler(form).await?;
    apply_defaults(&schema, &mut result);
    // The handler made the error, so the server gets an internal error.
    check_elicit_result(&schema, &result).map_err(|invalid| invalid_result(&invalid))?;
    Ok(result)
}

fn panicked(method: &str) -> ErrorObject {
    ErrorObject::internal(format!("the handler of {method} panicked"))
}

fn invalid_result(invalid: &InvalidElicitResult) -> ErrorObject {
    tracing::error!(%invalid, "the result of the elicitation handler does not match the request");
    ErrorObject::internal(format!("the result does not match the request: {invalid}"))
}

fn not_offered(feature: &str) -> ErrorObject {
    ErrorObject::new(
        code::METHOD_NOT_FOUND,
        format!("this client does not offer {feature}"),
    )
}

fn encode(result: impl Serialize) -> Result<RawJson, ErrorObject> {
    RawJson::from_serialize(&result)
        .map_err(|error| ErrorObject::internal(format!("the result is not valid JSON: {error}")))
}

impl fmt::Debug for ClientHandlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientHandlers")
            .field("capabilities", &self.capabilities())
            .finish_non_exhaustive()
    }
}

impl ClientHandlers {
    /// Calls a listener. If the listener panics, only this message is lost.
    pub(crate) fn notify<T>(
        listener: Option<&NotificationHandler<T>>,
        message: impl FnOnce() -> T,
    ) {
        let Some(listener) = listener else { return };
        let calling = std::panic::AssertUnwindSafe(|| listener(message()));
        if std::panic::catch_unwind(calling).is_err() {
            tracing::error!("a listener of the client panicked");
        }
    }
}
