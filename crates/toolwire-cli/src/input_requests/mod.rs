//! Responds to input requests of the server, with the user's input or with values from the command line.

mod dialogue;
mod field;
mod form;
mod sampling;

use std::sync::{Arc, Mutex};

use serde::Serialize;
use toolwire::types::{
    CreateMessageRequestParams, CreateMessageResult, ElicitRequestFormParams, ElicitRequestParams,
    ElicitRequestURLParams, ElicitResult, ErrorObject,
};
use toolwire::{ClientBuilder, RawJson};
use toolwire_proto::elicit_validation::{apply_defaults, check_elicit_result, read_schema};

use crate::failure::Failure;
use crate::input_kind::InputCapabilities;
use crate::input_requests::dialogue::{Dialogue, NoUser, TerminalDialogue};
use crate::request_arguments::InputOptions;
use crate::saved_calls::SavedResponse;
use crate::screen::Screen;
use crate::sync::lock;

pub(crate) use sampling::SamplingResponse;

/// The names of the kinds of saved responses.
const FORM: &str = "form";
const SAMPLING: &str = "sampling";

/// The message of a saved response to a sampling request, which has a conversation instead.
const NO_MESSAGE: &str = "";

/// The responder to input requests.
#[derive(Debug)]
pub(crate) struct InputHandler {
    /// The values from the command line, by field.
    given: Vec<(String, String)>,
    /// The texts for sampling requests from the command line. The last one stays.
    model_texts: Mutex<Vec<String>>,
    declines: bool,
    /// The responses of a saved call that are not used yet.
    saved: Mutex<Vec<SavedResponse>>,
    /// The responses so far, except for those to URLs.
    sent: Arc<Mutex<Vec<SavedResponse>>>,
    interactive: bool,
    screen: Arc<Screen>,
    /// Only one input request is shown at a time.
    lock: Mutex<()>,
}

impl InputHandler {
    /// Returns `None` if there is neither a user nor a value. The client then declares no capability for input requests.
    pub(crate) fn new(
        options: &InputOptions,
        screen: &Arc<Screen>,
    ) -> Result<Option<Arc<Self>>, Failure> {
        let mut given = Vec::new();
        for input in &options.fields {
            let Some((field, value)) = input.split_once('=') else {
                return Err(
                    Failure::usage(format!("`--answer {input}` has no value")) // tidy: allow(answer) name of the option
                        .with_advice(format!("write --answer {input}=value")), // tidy: allow(answer) name of the option
                );
            };
            given.push((field.to_owned(), value.to_owned()));
        }
        let handler = Self {
            given,
            model_texts: Mutex::new(options.model_texts.clone()),
            declines: options.decline,
            saved: Mutex::new(options.saved.clone()),
            sent: Arc::clone(&options.sent),
            interactive: Screen::is_interactive(),
            screen: Arc::clone(screen),
            lock: Mutex::default(),
        };
        let capabilities = handler.capabilities();
        let can_respond = capabilities.form || capabilities.url || capabilities.sampling;
        Ok(can_respond.then(|| Arc::new(handler)))
    }

    /// Returns the kinds of requests that get a response. A URL is accepted only if a user can see it.
    pub(crate) fn capabilities(&self) -> InputCapabilities {
        let always = self.interactive || self.declines;
        let saved = lock(&self.saved);
        let is_saved = |kind: &str| saved.iter().any(|response| response.kind == kind);
        InputCapabilities {
            form: always || !self.given.is_empty() || is_saved(FORM),
            url: always,
            sampling: always || !lock(&self.model_texts).is_empty() || is_saved(SAMPLING),
        }
    }

    /// Registers the handlers of the kinds of requests that get a response.
    pub(crate) fn register(self: &Arc<Self>, mut builder: ClientBuilder) -> ClientBuilder {
        let capabilities = self.capabilities();
        if capabilities.form {
            let handler = Arc::clone(self);
            builder = builder.on_elicitation(move |form: ElicitRequestFormParams| {
                let handler = Arc::clone(&handler);
                async move { handler.fill_in(form).await }
            });
        }
        if capabilities.url {
            let handler = Arc::clone(self);
            builder = builder.on_url_elicitation(move |address: ElicitRequestURLParams| {
                let handler = Arc::clone(&handler);
                async move { blocking(move || handler.visit(&address)).await }
            });
        }
        if capabilities.sampling {
            let handler = Arc::clone(self);
            builder = builder.on_sampling(move |request: CreateMessageRequestParams| {
                let handler = Arc::clone(&handler);
                async move { handler.sample(request).await }
            });
        }
        builder
    }

    async fn fill_in(
        self: Arc<Self>,
        form: ElicitRequestFormParams,
    ) -> Result<ElicitResult, ErrorObject> {
        let message = form.message.clone();
        let result = match self.saved_form(&form) {
            Some(result) => result,
            None => {
                let handler = Arc::clone(&self);
                blocking(move || {
                    if handler.declines {
                        return ElicitResult::decline();
                    }
                    handler.show(|dialogue| form::fill_in(&form, &handler.given, dialogue))
                })
                .await?
            }
        };
        self.store(FORM, &message, &result);
        Ok(result)
    }

    fn visit(&self, address: &ElicitRequestURLParams) -> ElicitResult {
        if self.declines {
            return ElicitResult::decline();
        }
        self.show(|dialogue| form::visit(address, dialogue))
    }

    async fn sample(
        self: Arc<Self>,
        request: CreateMessageRequestParams,
    ) -> Result<CreateMessageResult, ErrorObject> {
        let handler = Arc::clone(&self);
        let result = match self.saved_message() {
            Some(result) => result,
            None => blocking(move || handler.write_message(&request)).await?,
        };
        self.store(SAMPLING, NO_MESSAGE, &SamplingResponse::new(&result));
        result
    }

    fn write_message(
        &self,
        request: &CreateMessageRequestParams,
    ) -> Result<CreateMessageResult, ErrorObject> {
        if self.declines {
            return Err(sampling::rejection());
        }
        match self.next_model_text() {
            Some(text) => Ok(sampling::message(&text)),
            None => self.show(|dialogue| sampling::ask(request, dialogue)),
        }
    }

    fn next_model_text(&self) -> Option<String> {
        let mut texts = lock(&self.model_texts);
        match texts.len() {
            0 | 1 => texts.first().cloned(),
            _ => Some(texts.remove(0)),
        }
    }

    /// Returns the saved response to a form with this message, once.
    fn saved_form(&self, form: &ElicitRequestFormParams) -> Option<ElicitResult> {
        let saved = self.take_saved(FORM, &form.message)?;
        let mut result: ElicitResult = saved.parse().ok()?;
        let schema = read_schema(form).ok()?;
        apply_defaults(&schema, &mut result);
        check_elicit_result(&schema, &result)
            .is_ok()
            .then_some(result)
    }

    /// Returns the next saved response to a sampling request.
    fn saved_message(&self) -> Option<Result<CreateMessageResult, ErrorObject>> {
        let saved = self.take_saved(SAMPLING, NO_MESSAGE)?;
        saved.parse::<SamplingResponse>().ok()?.into_result()
    }

    fn take_saved(&self, kind: &str, message: &str) -> Option<RawJson> {
        if self.declines {
            return None;
        }
        let saved = SavedResponse::take(&mut lock(&self.saved), kind, message)?;
        Some(saved.response)
    }

    /// Stores a response, so that the call can be saved with it.
    fn store(&self, kind: &str, message: &str, response: &impl Serialize) {
        if let Ok(response) = RawJson::from_serialize(response) {
            lock(&self.sent).push(SavedResponse {
                kind: kind.to_owned(),
                message: message.to_owned(),
                response,
            });
        }
    }

    /// Shows a request to the user, if there is one.
    fn show<R>(&self, run: impl FnOnce(&mut dyn Dialogue) -> R) -> R {
        let _one = lock(&self.lock);
        self.screen.hide_bar(true);
        let result = if self.interactive {
            run(&mut TerminalDialogue)
        } else {
            run(&mut NoUser(&self.screen))
        };
        self.screen.hide_bar(false);
        result
    }
}

/// Shows one elicitation to the user in the terminal, and returns the response.
pub(crate) async fn ask_in_terminal(
    request: ElicitRequestParams,
) -> Result<ElicitResult, ErrorObject> {
    blocking(move || match request {
        ElicitRequestParams::Form(form) => form::fill_in(&form, &[], &mut TerminalDialogue),
        ElicitRequestParams::Url(address) => form::visit(&address, &mut TerminalDialogue),
        _ => ElicitResult::cancel(),
    })
    .await
}

/// Runs the dialogue on a blocking thread, because the user may take long.
async fn blocking<R: Send + 'static>(
    ask: impl FnOnce() -> R + Send + 'static,
) -> Result<R, ErrorObject> {
    let result = tokio::task::spawn_blocking(ask).await;
    result.map_err(|_| ErrorObject::internal("the input request could not be shown"))
}
