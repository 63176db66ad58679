//! What the client does when the server asks or tells it something.
//!
//! The same handlers serve requests of a legacy server and the questions inside an `input_required` result. What is
//! registered here is what the client says it can do; nothing else is ever advertised.

use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
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

use crate::engine::{BoxFuture, CatchPanic};

/// A registered answer: a future per question.
type InputHandler<Q, A> =
    Arc<dyn Fn(Q) -> BoxFuture<'static, Result<A, ErrorObject>> + Send + Sync>;

/// A registered listener; it runs where messages are read, so it must be quick.
type NotificationHandler<T> = Arc<dyn Fn(T) + Send + Sync>;

/// Everything the user registered.
#[derive(Clone, Default)]
pub(crate) struct ClientHandlers {
    pub(crate) form: Option<InputHandler<ElicitRequestFormParams, ElicitResult>>,
    pub(crate) url: Option<InputHandler<ElicitRequestURLParams, ElicitResult>>,
    pub(crate) sampling: Option<InputHandler<CreateMessageRequestParams, CreateMessageResult>>,
    /// Whether the model behind `sampling` may be given tools.
    pub(crate) sampling_tools: bool,
    pub(crate) roots: Option<RootList>,
    pub(crate) log: Option<NotificationHandler<LoggingMessageNotificationParams>>,
    pub(crate) change: Option<NotificationHandler<Change>>,
    pub(crate) elicitation_complete:
        Option<NotificationHandler<ElicitationCompleteNotificationParams>>,
    pub(crate) notification: Option<NotificationHandler<Notification>>,
    /// Extensions and experiments the user declares beside what is registered.
    pub(crate) declared: ClientCapabilities,
}

/// The roots the server may ask for; replaced as a whole.
#[derive(Clone, Default)]
pub(crate) struct RootList(Arc<Mutex<Vec<Root>>>);

impl RootList {
    pub(crate) fn replace(&self, roots: Vec<Root>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = roots;
    }

    fn list(&self) -> ListRootsResult {
        let roots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        ListRootsResult::new(roots.iter().cloned())
    }
}

/// Boxes what a user's closure returns.
pub(crate) fn asked<Q, A, F, R>(handler: F) -> InputHandler<Q, A>
where
    F: Fn(Q) -> R + Send + Sync + 'static,
    R: Future<Output = Result<A, ErrorObject>> + Send + 'static,
{
    Arc::new(move |question| Box::pin(handler(question)))
}

impl ClientHandlers {
    /// Whether a server may have something to ask.
    #[cfg(feature = "http-client")]
    pub(crate) fn answers_questions(&self) -> bool {
        self.form.is_some() || self.url.is_some() || self.sampling.is_some() || self.roots.is_some()
    }

    /// What this client can do, from what is registered.
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

    /// Answers one question of a server that speaks this revision.
    pub(crate) async fn respond(
        &self,
        question: InputRequest,
        version: ProtocolVersion,
    ) -> Result<RawJson, ErrorObject> {
        let method = question.method().to_owned();
        let answering = CatchPanic::new(self.answer_kind(question, version));
        answering.await.unwrap_or_else(|_| {
            Err(ErrorObject::internal(format!(
                "the handler of {method} panicked"
            )))
        })
    }

    async fn answer_kind(
        &self,
        question: InputRequest,
        version: ProtocolVersion,
    ) -> Result<RawJson, ErrorObject> {
        match question {
            InputRequest::Elicitation(question) => {
                check_mode(&question, &self.capabilities())?;
                match (question, &self.form, &self.url) {
                    (ElicitRequestParams::Form(form), Some(handler), _) => {
                        encode(fill_in(form, handler).await?)
                    }
                    (ElicitRequestParams::Url(page), _, Some(handler)) => {
                        let answer = handler(page).await?;
                        check_url_result(&answer).map_err(|invalid| wrong_answer(&invalid))?;
                        encode(answer)
                    }
                    _ => Err(not_offered("this kind of elicitation")),
                }
            }
            InputRequest::Sampling(request) => {
                let handler = self.sampling.as_ref();
                let handler = handler.ok_or_else(|| not_offered("sampling"))?;
                // What this revision does not have the server was not told of, either.
                check_sampling(&request, &capabilities_for(version, &self.capabilities()))?;
                let answer = handler(*request).await?;
                encode(project_sampling_result(answer, version)?)
            }
            InputRequest::Roots(_) => {
                let roots = self.roots.as_ref();
                encode(roots.ok_or_else(|| not_offered("roots"))?.list())
            }
            other => Err(ErrorObject::new(
                code::METHOD_NOT_FOUND,
                format!("this client has no answer to {:?}", other.method()),
            )),
        }
    }
}

/// Lets the handler fill in a form, adds the defaults, and checks the answer before anybody sees it.
async fn fill_in(
    form: ElicitRequestFormParams,
    handler: &InputHandler<ElicitRequestFormParams, ElicitResult>,
) -> Result<ElicitResult, ErrorObject> {
    let schema = read_schema(&form)?;
    let mut answer = handler(form).await?;
    apply_defaults(&schema, &mut answer);
    // The mistake is the handler's, so the server only hears that there is no answer.
    check_elicit_result(&schema, &answer).map_err(|invalid| wrong_answer(&invalid))?;
    Ok(answer)
}

fn wrong_answer(invalid: &InvalidElicitResult) -> ErrorObject {
    tracing::error!(%invalid, "the elicitation handler's answer does not fit the question");
    ErrorObject::internal(format!("the answer does not fit the question: {invalid}"))
}

fn not_offered(what: &str) -> ErrorObject {
    ErrorObject::new(
        code::METHOD_NOT_FOUND,
        format!("this client does not offer {what}"),
    )
}

fn encode(answer: impl Serialize) -> Result<RawJson, ErrorObject> {
    RawJson::from_serialize(&answer)
        .map_err(|error| ErrorObject::internal(format!("the answer is no JSON: {error}")))
}

impl fmt::Debug for ClientHandlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handlers")
            .field("capabilities", &self.capabilities())
            .finish_non_exhaustive()
    }
}

impl ClientHandlers {
    /// Runs a listener; a panic in it costs nothing but that one message.
    pub(crate) fn tell<T>(listener: Option<&NotificationHandler<T>>, what: impl FnOnce() -> T) {
        let Some(listener) = listener else { return };
        let listening = std::panic::AssertUnwindSafe(|| listener(what()));
        if std::panic::catch_unwind(listening).is_err() {
            tracing::error!("a listener of the client panicked");
        }
    }
}
