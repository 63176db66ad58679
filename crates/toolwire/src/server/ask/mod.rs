//! Asking for input in the same words whatever the client's revision.
//!
//! Up to 2025-11-25 a question is a request to the client, and the handler waits. On 2026-07-28 the first question
//! without an answer ends the handler with an error that `?` passes on; the client is asked, calls again, and the handler
//! runs from the top with the answers in place. What a handler found out and did is kept by key: see
//! [`RequestContext::ask`] and [`RequestContext::once`].

mod all;
mod effects;
mod model_tools;
mod outcome;
mod requests;

use toolwire_proto::journal::{EntryDigest, JournalLookup};
use toolwire_proto::rounds;
use toolwire_types::{
    CreateMessageRequestParams, CreateMessageResult, ErrorObject, InputRequest, InputRequests,
    RawJson, Root,
};

pub use all::AskAll;
pub use outcome::{ElicitOutcome, FormOutput};
pub(crate) use requests::check_url;
pub use requests::{
    Ask, AskDynamicForm, AskForm, AskModel, AskRoots, AskUrl, dynamic_form, form, model, roots, url,
};

use crate::error::Error;
use crate::server::RequestContext;
use crate::server::access::check_declared;
pub use crate::server::elicit::{ElicitChoice, FieldKind};

/// A question on its way to the client.
#[derive(Debug)]
struct PendingAsk {
    key: String,
    mark: EntryDigest,
    request: InputRequest,
}

impl PendingAsk {
    fn new(question: &impl Ask) -> Result<Self, Error> {
        let request = question.request()?;
        Ok(Self {
            key: question.key().to_owned(),
            mark: EntryDigest::of(&request),
            request,
        })
    }
}

impl RequestContext {
    /// Asks the user to fill in a form, in every revision.
    ///
    /// `A` is a type that derives [`Elicit`](crate::Elicit): then anything but an accepted form is an error, which tells
    /// the model what the user did. Or it is an [`Answer`] of such a type, to tell the cases apart.
    ///
    /// ```
    /// use serde::Deserialize;
    /// use toolwire::ask::Answer;
    /// use toolwire::{Elicit, Error, RequestContext, tool};
    ///
    /// #[derive(Deserialize, Elicit)]
    /// struct Target {
    ///     environment: String,
    /// }
    ///
    /// #[derive(Deserialize, Elicit)]
    /// struct Confirm {
    ///     sure: bool,
    /// }
    ///
    /// /// Deploys the service.
    /// #[tool]
    /// async fn deploy(ctx: &RequestContext) -> Result<String, Error> {
    ///     let target: Target = ctx.ask("target", "Where to?").await?;
    ///     let text = format!("Deploy to {}?", target.environment);
    ///     match ctx.ask("confirm", text).await? {
    ///         Answer::Accepted(Confirm { sure: true }) => Ok("deployed".to_owned()),
    ///         _ => Ok("nothing was done".to_owned()),
    ///     }
    /// }
    /// ```
    ///
    /// # The rule for handlers that ask
    /// Such a handler may run several times for one call, so everything between two questions has to come out the same
    /// each time. What does not (a clock, a random number, a file that changes) and what must not happen twice (an
    /// order, a message) goes into [`once`](Self::once). An answer belongs to the key and to the very question: a
    /// question that reads differently in the next run is asked again.
    ///
    /// # Errors
    /// [`is_input_required`](Error::is_input_required) when the client has to be asked first: return it. When the client
    /// cannot be asked (−32021), sends an answer that breaks the rules of the form (−32602, or −32603 for a legacy client,
    /// whose request was fine), or the user did not accept; when the key is used for two questions; and where a legacy client cannot be reached or does not answer.
    pub async fn ask<A: FormOutput>(
        &self,
        key: impl Into<String>,
        message: impl Into<String>,
    ) -> Result<A, Error> {
        self.ask_with(form(key, message)).await
    }

    /// Sends the user to a URL, in every revision that has this (2025-11-25 and later).
    ///
    /// An accepted answer means that the user agreed to go there, not that what happens there is done: find that out
    /// yourself, and return [`retry_later`](Self::retry_later) while it is not.
    ///
    /// # Errors
    /// As [`ask`](Self::ask), except that the user's choice is a value; and for a URL that is not absolute `http` or
    /// `https`.
    pub async fn ask_url(
        &self,
        key: impl Into<String>,
        message: impl Into<String>,
        address: impl Into<String>,
    ) -> Result<ElicitOutcome<()>, Error> {
        self.ask_with(url(key, message, address)).await
    }

    /// Asks the client's model for a message, in every revision.
    ///
    /// The protocol deprecates sampling as of 2026-07-28: new servers should call a model of their own.
    ///
    /// # Errors
    /// As [`ask`](Self::ask), and for a conversation in which tool uses and tool results do not follow each other.
    pub async fn ask_model(
        &self,
        key: impl Into<String>,
        request: CreateMessageRequestParams,
    ) -> Result<CreateMessageResult, Error> {
        self.ask_with(model(key, request)).await
    }

    /// Asks the client for its roots, in every revision.
    ///
    /// The protocol deprecates roots as of 2026-07-28: take paths as tool arguments or configuration instead.
    ///
    /// # Errors
    /// As [`ask`](Self::ask).
    pub async fn ask_roots(&self, key: impl Into<String>) -> Result<Vec<Root>, Error> {
        self.ask_with(roots(key)).await
    }

    /// Asks one question, given as a value of [`toolwire::ask`](crate::ask).
    ///
    /// # Errors
    /// As [`ask`](Self::ask).
    pub async fn ask_with<Q: Ask>(&self, question: Q) -> Result<Q::Output, Error> {
        let (answer,) = self.ask_all((question,)).await?;
        Ok(answer)
    }

    /// Asks several questions in one round: a tuple of up to eight of them, or a `Vec` of alike ones. A legacy client is
    /// asked one after the other.
    ///
    /// ```
    /// use serde::Deserialize;
    /// use toolwire::{Elicit, Error, RequestContext, ask, tool};
    ///
    /// #[derive(Deserialize, Elicit)]
    /// struct Name {
    ///     name: String,
    /// }
    ///
    /// /// Greets the user in a project.
    /// #[tool]
    /// async fn greet(ctx: &RequestContext) -> Result<String, Error> {
    ///     let questions = (ask::form::<Name>("name", "Who are you?"), ask::roots("roots"));
    ///     let (name, roots) = ctx.ask_all(questions).await?;
    ///     Ok(format!("{} works in {} places", name.name, roots.len()))
    /// }
    /// ```
    ///
    /// # Errors
    /// As [`ask`](Self::ask), of the first question that has one.
    pub async fn ask_all<Q: AskAll>(&self, questions: Q) -> Result<Q::Outputs, Error> {
        let asked = questions.asked()?;
        let mut answers = Vec::with_capacity(asked.len());
        for question in &asked {
            answers.push(self.known_response(question)?);
        }
        let unanswered = || {
            let pairs = asked.iter().zip(&answers);
            pairs.filter_map(|(question, answer)| answer.is_none().then_some(question))
        };
        if self.is_stateless() {
            if let Some(first) = unanswered().next() {
                let first = Error::input_required(&first.key);
                self.request_input(unanswered())?;
                return Err(first);
            }
        } else {
            // All or nothing: no user fills in a form in vain because the next question cannot be put.
            let missing = unanswered().map(|question| &question.request);
            let required = rounds::required_capabilities(missing);
            check_declared(&required, self.client_capabilities())?;
            for (question, answer) in asked.iter().zip(&mut answers) {
                if answer.is_none() {
                    // The same question may stand here twice.
                    *answer = self.known_response(question)?;
                }
                if answer.is_none() {
                    let arrived = self
                        .send_to_client(&question.key, &question.request)
                        .await?;
                    self.keep(question, arrived.clone());
                    *answer = Some(arrived);
                }
            }
        }
        questions.read(&mut answers.into_iter().flatten())
    }

    /// Ends the handler so that it runs again in a while, though there is nothing to ask: something it needs is not there
    /// yet. Return the error.
    ///
    /// A 2026-07-28 client comes back by itself, others are kept waiting; both give up after some rounds.
    #[must_use = "the handler goes on unless it returns this"]
    pub fn retry_later(&self) -> Error {
        if !self.scope().may_ask_input {
            return cannot_ask_here();
        }
        self.scope().round.in_journal(|journal| journal.wait());
        effects::record_ask();
        Error::input_required("not_yet")
    }

    /// The answer to a question, when it is known: from this run, from an earlier round, or just arrived.
    fn known_response(&self, question: &PendingAsk) -> Result<Option<RawJson>, Error> {
        let round = &self.scope().round;
        let found = round.in_journal(|journal| {
            journal.look_up(&question.key, question.mark, round.input_responses())
        });
        match found.map_err(ErrorObject::from)? {
            JournalLookup::Remembered(answer) => Ok(Some(answer)),
            JournalLookup::Nothing => Ok(None),
            JournalLookup::Arrived(answer) => {
                let answer = rounds::accept_answer(&question.request, answer)
                    .map_err(|unusable| unusable.into_error(&question.key))?;
                self.keep(question, answer.clone());
                Ok(Some(answer))
            }
        }
    }

    fn keep(&self, question: &PendingAsk, answer: RawJson) {
        let round = &self.scope().round;
        round.in_journal(|journal| journal.remember(&question.key, question.mark, answer));
    }

    /// Notes what the client is to be asked when the handler ends.
    fn request_input<'a>(
        &self,
        questions: impl Iterator<Item = &'a PendingAsk> + Clone,
    ) -> Result<(), Error> {
        if !self.scope().may_ask_input {
            return Err(cannot_ask_here());
        }
        let requests: InputRequests = questions
            .map(|question| (question.key.clone(), question.request.clone()))
            .collect();
        rounds::check_requests(&requests, self.client_capabilities()).map_err(ErrorObject::from)?;
        self.scope().round.in_journal(|journal| {
            for (key, request) in requests {
                journal.want(key, request);
            }
        });
        effects::record_ask();
        Ok(())
    }
}

/// Spec 2026-07-28, basic/patterns/mrtr: three methods may be answered with questions.
fn cannot_ask_here() -> Error {
    ErrorObject::internal(
        "only tools, prompts and resources run again for input: this request cannot be answered with `input_required`",
    )
    .into()
}
