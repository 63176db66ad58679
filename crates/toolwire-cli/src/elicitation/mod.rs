//! Responds to elicitations of the server, with the user's input or with values from the command line.

mod dialogue;
mod field;
mod form;

use std::sync::{Arc, Mutex, PoisonError};

use toolwire::ClientBuilder;
use toolwire::types::{
    ElicitRequestFormParams, ElicitRequestParams, ElicitRequestURLParams, ElicitResult, ErrorObject,
};

use crate::elicitation::dialogue::{Dialogue, NoUser, TerminalDialogue};
use crate::failure::Failure;
use crate::request_arguments::InputOptions;
use crate::screen::Screen;

/// The responder to elicitations.
#[derive(Debug)]
pub(crate) struct ElicitationHandler {
    /// The values from the command line, by field.
    given: Vec<(String, String)>,
    declines: bool,
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
        let can_respond = interactive || options.decline || !given.is_empty();
        Ok(can_respond.then(|| {
            Arc::new(Self {
                given,
                declines: options.decline,
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
                blocking(move || {
                    elicitation
                        .respond(|dialogue| form::fill_in(&form, &elicitation.given, dialogue))
                })
                .await
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

    fn respond(&self, run: impl FnOnce(&mut dyn Dialogue) -> ElicitResult) -> ElicitResult {
        if self.declines {
            return ElicitResult::decline();
        }
        let _one = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
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
