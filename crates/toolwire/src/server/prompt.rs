//! A prompt: its descriptor, its handler, and the completion of its arguments.

use std::fmt;
use std::future::Future;
use std::str::FromStr;
use std::sync::Arc;

use indexmap::IndexMap;
use toolwire_proto::decode_message::number_words;
use toolwire_proto::raw_object::json_string;
use toolwire_types::{
    ErrorObject, GetPromptResult, Prompt, PromptArgument, PromptMessage, RawJson,
};
#[cfg(feature = "input")]
use {
    serde::Serialize,
    toolwire_types::{InputRequests, InputRequiredResult},
};

use crate::engine::BoxFuture;
use crate::server::RequestContext;
use crate::server::access::{Access, access_options};
use crate::server::completion::{Completers, CompletionRequest, CompletionValues};
use crate::server::mount::{CatalogEntry, Origin};
use crate::server::raw_entry::{RawEntry, RawHandler};
use crate::server::registry::{RegistrationError, check_meta, descriptor_options, parse_raw};
use crate::server::response::conversion;
#[cfg(feature = "input")]
use crate::server::response::{input_required, state_text};
use crate::server::tool_error::{IntoToolError, ToolError};

type Outcome = Result<PromptResponse, ToolError>;
type Handler = dyn Fn(RequestContext, PromptArguments) -> BoxFuture<'static, Outcome> + Send + Sync;

/// A value that can be registered as a prompt. `#[prompt]` implements this.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a prompt",
    note = "put `#[prompt]` on the function, or build a `PromptHandler` from a closure"
)]
pub trait IntoPrompt {
    /// Converts the value into a prompt handler.
    fn into_prompt(self) -> PromptHandler;
}

impl IntoPrompt for PromptHandler {
    fn into_prompt(self) -> PromptHandler {
        self
    }
}

impl<F: FnOnce() -> PromptHandler> IntoPrompt for F {
    fn into_prompt(self) -> PromptHandler {
        self()
    }
}

/// The outcome of a prompt: its messages or an input request.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum PromptResponse {
    /// The messages.
    Complete(GetPromptResult),
    /// The client must gather input and retry.
    #[cfg(feature = "input")]
    InputRequired(InputRequiredResult),
}

#[cfg(feature = "input")]
impl PromptResponse {
    /// Asks the client for input, as [`ToolResponse::input_required`](crate::ToolResponse::input_required) does.
    #[must_use]
    pub fn input_required(requests: InputRequests, state: Option<String>) -> Self {
        Self::InputRequired(input_required(requests, state))
    }

    /// Like [`input_required`](Self::input_required), with a typed state.
    ///
    /// # Errors
    /// Returns an error if the state cannot be written as JSON.
    pub fn input_required_with<S: Serialize>(
        requests: InputRequests,
        state: &S,
    ) -> Result<Self, ToolError> {
        Ok(Self::input_required(requests, Some(state_text(state)?)))
    }
}

/// A return value of a prompt handler: text (one user message), messages, a result, or a `Result` of these.
#[diagnostic::on_unimplemented(
    message = "a prompt cannot return `{Self}`",
    note = "return text, a `PromptMessage` or a `Vec` of them, a `GetPromptResult`, a `PromptResponse`, or a `Result` \
            of one of these"
)]
pub trait IntoPromptResponse<M> {
    /// Converts the value into a response.
    ///
    /// # Errors
    /// Returns an error if the handler failed.
    fn into_prompt_response(self) -> Result<PromptResponse, ToolError>;
}

impl IntoPromptResponse<conversion::FromProtocol> for PromptResponse {
    fn into_prompt_response(self) -> Outcome {
        Ok(self)
    }
}

impl IntoPromptResponse<conversion::FromProtocol> for GetPromptResult {
    fn into_prompt_response(self) -> Outcome {
        Ok(PromptResponse::Complete(self))
    }
}

impl IntoPromptResponse<conversion::FromProtocol> for Vec<PromptMessage> {
    fn into_prompt_response(self) -> Outcome {
        GetPromptResult::new(self).into_prompt_response()
    }
}

impl IntoPromptResponse<conversion::FromProtocol> for PromptMessage {
    fn into_prompt_response(self) -> Outcome {
        vec![self].into_prompt_response()
    }
}

impl IntoPromptResponse<conversion::FromProtocol> for String {
    fn into_prompt_response(self) -> Outcome {
        PromptMessage::user(self).into_prompt_response()
    }
}

impl IntoPromptResponse<conversion::FromProtocol> for &str {
    fn into_prompt_response(self) -> Outcome {
        PromptMessage::user(self).into_prompt_response()
    }
}

impl<T, E, M> IntoPromptResponse<conversion::FromResult<M>> for Result<T, E>
where
    T: IntoPromptResponse<M>,
    E: IntoToolError,
{
    fn into_prompt_response(self) -> Outcome {
        match self {
            Ok(value) => value.into_prompt_response(),
            Err(error) => Err(error.into_tool_error()),
        }
    }
}

/// The arguments of a prompt: text by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PromptArguments {
    values: IndexMap<String, String>,
}

impl PromptArguments {
    pub(crate) fn new(values: IndexMap<String, String>) -> Self {
        Self { values }
    }

    /// Returns the text of an argument.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// Returns all arguments.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.values
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Removes and parses a required argument.
    ///
    /// # Errors
    /// Returns error −32602, which names the argument, if it is missing or cannot be parsed.
    pub fn required<T: FromStr>(&mut self, name: &str) -> Result<T, ToolError> {
        self.optional(name)?.ok_or_else(|| missing(name))
    }

    /// Removes and parses an optional argument.
    ///
    /// # Errors
    /// Returns error −32602, which names the argument, if it cannot be parsed.
    pub fn optional<T: FromStr>(&mut self, name: &str) -> Result<Option<T>, ToolError> {
        self.values
            .shift_remove(name)
            .map(|text| parse_argument(name, &text))
            .transpose()
    }
}

fn missing(name: &str) -> ToolError {
    ToolError::rpc(ErrorObject::invalid_params(format!(
        "missing argument `{name}`"
    )))
}

/// Parses an argument of a prompt or a resource template.
pub(crate) fn parse_argument<T: FromStr>(name: &str, text: &str) -> Result<T, ToolError> {
    text.parse()
        .map_err(|_| unreadable(name, std::any::type_name::<T>()))
}

/// Returns the error of an argument that does not parse. Clients do not know the names of Rust types.
fn unreadable(name: &str, rust_type: &str) -> ToolError {
    let problem = match (number_words(rust_type), rust_type) {
        (Some(words), _) => format!("argument `{name}` must be {words}"),
        (None, "bool") => format!("argument `{name}` must be true or false"),
        (None, "char") => format!("argument `{name}` must be one character"),
        _ => format!("argument `{name}` is invalid"),
    };
    ToolError::rpc(ErrorObject::invalid_params(problem))
}

/// A prompt and its handler.
#[derive(Clone)]
pub struct PromptHandler {
    descriptor: Prompt,
    access: Access,
    completers: Completers,
    handler: Arc<Handler>,
}

impl PromptHandler {
    /// Creates a prompt whose handler receives the arguments as text.
    pub fn new<M, F, Fut>(name: impl Into<String>, handler: F) -> Self
    where
        F: Fn(RequestContext, PromptArguments) -> Fut + Send + Sync + 'static,
        Fut: Future + Send + 'static,
        Fut::Output: IntoPromptResponse<M>,
    {
        let handler =
            move |ctx: RequestContext, arguments: PromptArguments| -> BoxFuture<'static, Outcome> {
                let running = handler(ctx, arguments);
                Box::pin(async move { running.await.into_prompt_response() })
            };
        Self {
            descriptor: Prompt::new(name),
            access: Access::default(),
            completers: Completers::default(),
            handler: Arc::new(handler),
        }
    }

    descriptor_options!();

    /// Declares an argument. A request without a required argument is rejected before the handler runs.
    #[must_use]
    pub fn with_argument(mut self, argument: PromptArgument) -> Self {
        self.descriptor
            .arguments
            .get_or_insert_default()
            .push(argument);
        self
    }

    /// Sets the completer of an argument, which runs while the user types.
    #[must_use]
    pub fn with_completion<F, Fut>(mut self, argument: impl Into<String>, completer: F) -> Self
    where
        F: Fn(RequestContext, CompletionRequest) -> Fut + Send + Sync + 'static,
        Fut: Future + Send + 'static,
        Fut::Output: Into<CompletionValues>,
    {
        self.completers.add(argument.into(), completer);
        self
    }

    access_options!(access);

    /// Returns the descriptor that clients see.
    #[must_use]
    pub fn descriptor(&self) -> &Prompt {
        &self.descriptor
    }

    pub(crate) fn prepare(self) -> Result<PromptEntry, RegistrationError> {
        let name = &self.descriptor.name;
        if name.is_empty() {
            return Err(RegistrationError::new("a prompt needs a name"));
        }
        let what = format!("prompt `{name}`");
        self.access.check(&what)?;
        check_meta(&what, self.descriptor.meta.as_ref())?;
        let arguments = self.descriptor.arguments.as_deref().unwrap_or_default();
        if let Some(unknown) = self
            .completers
            .names()
            .find(|name| !arguments.iter().any(|known| known.name == **name))
        {
            return Err(RegistrationError::new(format!(
                "prompt `{name}`: a completion is given for `{unknown}`, which is not an argument"
            )));
        }
        Ok(PromptEntry {
            descriptor: self.descriptor,
            access: self.access,
            completers: self.completers,
            origin: None,
            raw: None,
            handler: self.handler,
        })
    }
}

impl fmt::Debug for PromptHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PromptHandler")
            .field("descriptor", &self.descriptor)
            .finish_non_exhaustive()
    }
}

/// A registered prompt.
pub(crate) struct PromptEntry {
    pub(crate) descriptor: Prompt,
    access: Access,
    pub(crate) completers: Completers,
    /// The mount that the prompt comes from, if any.
    pub(crate) origin: Option<Arc<Origin>>,
    /// Set if the prompt is raw. Then the handler is not used.
    pub(crate) raw: Option<Arc<RawEntry>>,
    handler: Arc<Handler>,
}

impl CatalogEntry for PromptEntry {
    fn origin(&self) -> Option<&Arc<Origin>> {
        self.origin.as_ref()
    }

    fn is_listed_as(&self, other: &Self) -> bool {
        self.descriptor == other.descriptor
    }
}

impl PromptEntry {
    /// Creates a raw prompt.
    pub(crate) fn raw(descriptor: RawJson, handler: RawHandler) -> Result<Self, RegistrationError> {
        let prompt: Prompt = parse_raw("prompt", &descriptor)?;
        let local_name = Some(prompt.name.clone());
        let unused = PromptHandler::new(prompt.name.clone(), |_, _| async { String::new() });
        Ok(Self {
            descriptor: prompt,
            access: Access::default(),
            completers: Completers::default(),
            origin: None,
            raw: Some(Arc::new(RawEntry {
                descriptor,
                local_name,
                handler,
                hidden: None,
                exposures: Vec::new(),
            })),
            handler: unused.handler,
        })
    }

    /// Returns the prompt as a server offers it that mounted it.
    pub(crate) fn mounted(&self, descriptor: Prompt, access: &Access, origin: Arc<Origin>) -> Self {
        let raw = self.raw.as_ref().map(|raw| {
            let name = json_string(&descriptor.name);
            let raw = raw.with_members([("name", name.as_raw_value())]);
            Arc::new(raw.with_full_name(descriptor.meta.as_ref()))
        });
        Self {
            descriptor,
            access: self.access.with_scopes_of(access),
            completers: self.completers.clone(),
            origin: Some(origin),
            raw,
            handler: Arc::clone(&self.handler),
        }
    }

    pub(crate) fn access(&self) -> &Access {
        &self.access
    }

    /// Starts the handler, or rejects the request if a required argument is missing.
    pub(crate) fn get(
        &self,
        ctx: RequestContext,
        values: IndexMap<String, String>,
    ) -> BoxFuture<'static, Outcome> {
        let arguments = self.descriptor.arguments.as_deref().unwrap_or_default();
        let absent = arguments.iter().find(|argument| {
            argument.required == Some(true) && !values.contains_key(&argument.name)
        });
        match absent {
            Some(argument) => Box::pin(std::future::ready(Err(missing(&argument.name)))),
            None => (self.handler)(ctx, PromptArguments::new(values)),
        }
    }
}

impl fmt::Debug for PromptEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PromptEntry")
            .field("name", &self.descriptor.name)
            .finish_non_exhaustive()
    }
}
