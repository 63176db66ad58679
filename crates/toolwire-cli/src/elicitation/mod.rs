//! Responds to elicitations of the server, with the user's input or with values from the command line.

mod dialogue;
mod field;
mod form;

use std::sync::{Arc, Mutex};

use toolwire::types::{
    ElicitRequestFormParams, ElicitRequestParams, ElicitRequestURLParams, ElicitResult, ErrorObject,
};
use toolwire::{ClientBuilder, RawJson};
use toolwire_proto::elicit_validation::{apply_defaults, check_elicit_result, read_schema};

use crate::elicitation::dialogue::{Dialogue, NoUser, TerminalDialogue};
use crate::failure::Failure;
use crate::request_arguments::InputOptions;
use crate::saved_calls::SavedResponse;
use crate::screen::Screen;
use crate::sync::lock;

/// The responder to elicitations.
#[derive(Debug)]
pub(crate) struct ElicitationHandler {
    /// The values from the command line, by field.
    given: Vec<(String, String)>,
    declines: bool,
    /// The responses of a saved call that are not used yet.
    saved: Mutex<Vec<SavedResponse>>,
    /// The responses to forms so far.
    sent: Arc<Mutex<Vec<SavedResponse>>>,
    interactive: bool,
    screen: Arc<Screen>,
    /// Only one elicitation is shown at a time.
    lock: Mutex<()>,
}

impl ElicitationHandler {
    /// Returns `None` if there is neither a user nor a value. The client then declares no elicitation capability.
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
        let interactive = Screen::is_interactive();
        let is_given = !given.is_empty() || !options.saved.is_empty();
        let can_respond = interactive || options.decline || is_given;
        Ok(can_respond.then(|| {
            Arc::new(Self {
                given,
                declines: options.decline,
                saved: Mutex::new(options.saved.clone()),
                sent: Arc::clone(&options.sent),
                interactive,
                screen: Arc::clone(screen),
                lock: Mutex::default(),
            })
        }))
    }

    /// Registers the handlers for elicitations. A URL is accepted only if a user can see it, or to decline it.
    pub(crate) fn register(self: &Arc<Self>, builder: ClientBuilder) -> ClientBuilder {
        let elicitation = Arc::clone(self);
        let builder = builder.on_elicitation(move |form: ElicitRequestFormParams| {
            let elicitation = Arc::clone(&elicitation);
            async move {
                let message = form.message.clone();
                let handler = Arc::clone(&elicitation);
                let result = match elicitation.saved(&form) {
                    Some(result) => result,
                    None => {
                        blocking(move || {
                            let given = &handler.given;
                            handler.respond(|dialogue| form::fill_in(&form, given, dialogue))
                        })
                        .await?
                    }
                };
                elicitation.store(message, &result);
                Ok(result)
            }
        });
        if !self.interactive && !self.declines {
            return builder;
        }
        let elicitation = Arc::clone(self);
        builder.on_url_elicitation(move |address: ElicitRequestURLParams| {
            let elicitation = Arc::clone(&elicitation);
            async move {
                blocking(move || elicitation.respond(|dialogue| form::visit(&address, dialogue)))
                    .await
            }
        })
    }

    /// Returns the saved response to a form with this message, once.
    fn saved(&self, form: &ElicitRequestFormParams) -> Option<ElicitResult> {
        if self.declines {
            return None;
        }
        let mut saved = lock(&self.saved);
        let saved = SavedResponse::take(&mut saved, "form", &form.message)?;
        let mut result: ElicitResult = saved.response.parse().ok()?;
        let schema = read_schema(form).ok()?;
        apply_defaults(&schema, &mut result);
        check_elicit_result(&schema, &result)
            .is_ok()
            .then_some(result)
    }

    /// Stores a response, so that the call can be saved with it.
    fn store(&self, message: String, result: &ElicitResult) {
        if let Ok(response) = RawJson::from_serialize(result) {
            lock(&self.sent).push(SavedResponse {
                kind: "form".to_owned(),
                message,
                response,
            });
        }
    }

    fn respond(&self, run: impl FnOnce(&mut dyn Dialogue) -> ElicitResult) -> ElicitResult {
        if self.declines {
            return ElicitResult::decline();
        }
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
async fn blocking(
    ask: impl FnOnce() -> ElicitResult + Send + 'static,
) -> Result<ElicitResult, ErrorObject> {
    let result = tokio::task::spawn_blocking(ask).await;
    result.map_err(|_| ErrorObject::internal("the elicitation could not be shown"))
}
