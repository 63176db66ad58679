//! Questions of the server: forms and addresses, answered by whoever sits at the terminal or by `--answer`.

mod dialogue;
mod field;
mod form;

use std::sync::{Arc, Mutex, PoisonError};

use toolwire::ClientBuilder;
use toolwire::types::{ElicitRequestFormParams, ElicitRequestURLParams, ElicitResult, ErrorObject};

use crate::arguments::Answers;
use crate::asking::dialogue::{Dialogue, Silence, Terminal};
use crate::failure::Failure;
use crate::screen::Screen;

/// Who answers.
#[derive(Debug)]
pub(crate) struct Asking {
    /// Answers from the command line, by field.
    given: Vec<(String, String)>,
    declines: bool,
    interactive: bool,
    screen: Arc<Screen>,
    /// One question at a time.
    turn: Mutex<()>,
}

impl Asking {
    /// Whoever can answer; `None` when nobody can, so that nothing is offered to the server.
    pub(crate) fn new(
        answers: &Answers,
        screen: &Arc<Screen>,
    ) -> Result<Option<Arc<Self>>, Failure> {
        let mut given = Vec::new();
        for answer in &answers.answers {
            let Some((field, value)) = answer.split_once('=') else {
                return Err(Failure::usage(format!("`--answer {answer}` has no value"))
                    .with_advice(format!("write --answer {answer}=value")));
            };
            given.push((field.to_owned(), value.to_owned()));
        }
        let interactive = Screen::is_interactive();
        let can_answer = interactive || answers.decline || !given.is_empty();
        Ok(can_answer.then(|| {
            Arc::new(Self {
                given,
                declines: answers.decline,
                interactive,
                screen: Arc::clone(screen),
                turn: Mutex::default(),
            })
        }))
    }

    /// Lets the client answer forms, and addresses where somebody can be shown one.
    pub(crate) fn register(self: &Arc<Self>, builder: ClientBuilder) -> ClientBuilder {
        let asking = Arc::clone(self);
        let builder = builder.on_elicitation(move |form: ElicitRequestFormParams| {
            let asking = Arc::clone(&asking);
            async move {
                blocking(move || {
                    asking.in_turn(|dialogue| form::fill_in(&form, &asking.given, dialogue))
                })
                .await
            }
        });
        if !self.interactive && !self.declines {
            return builder;
        }
        let asking = Arc::clone(self);
        builder.on_url_elicitation(move |address: ElicitRequestURLParams| {
            let asking = Arc::clone(&asking);
            async move {
                blocking(move || asking.in_turn(|dialogue| form::visit(&address, dialogue))).await
            }
        })
    }

    fn in_turn(&self, answer: impl FnOnce(&mut dyn Dialogue) -> ElicitResult) -> ElicitResult {
        if self.declines {
            return ElicitResult::decline();
        }
        let _one = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.screen.hide_bar(true);
        let answer = if self.interactive {
            answer(&mut Terminal)
        } else {
            answer(&mut Silence(&self.screen))
        };
        self.screen.hide_bar(false);
        answer
    }
}

/// Asks on a thread of its own: people take their time.
async fn blocking(
    ask: impl FnOnce() -> ElicitResult + Send + 'static,
) -> Result<ElicitResult, ErrorObject> {
    let answer = tokio::task::spawn_blocking(ask).await;
    answer.map_err(|_| ErrorObject::internal("the question could not be asked"))
}
