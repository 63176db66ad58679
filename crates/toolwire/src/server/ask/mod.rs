//! Input requests of handlers, in the same form for every client revision.
//!
//! Up to 2025-11-25, asking sends a request to the client, and the handler waits. On 2026-07-28, the first input
//! request without a response ends the handler with an error that `?` propagates. The client gathers the input and
//! retries, and the handler runs from the start with the responses available. Responses and results are stored by key:
//! see [`RequestContext::ask`] and [`RequestContext::once`].

mod all;
mod effects;
mod model_tools;
mod outcome;
mod requests;

use toolwire_proto::journal::{EntryDigest, JournalLookup};
use toolwire_proto::rounds;
use toolwire_types::{
    CreateMessageRequestParams, CreateMessageResult, ElicitSchema, ErrorObject, InputRequest,
    InputRequests, RawJson, Root,
};

pub use all::AskAll;
pub use outcome::{ElicitOutcome, FormOutput};
pub(crate) use requests::check_elicitation;
pub use requests::{
    Ask, AskDynamicForm, AskForm, AskModel, AskRoots, AskUrl, dynamic_form, form, url,
};
#[expect(deprecated, reason = "their users get the warning")]
pub use requests::{model, roots};

#[doc(hidden)]
pub use crate::server::elicit::{ElicitChoice, FieldKind};

use crate::engine::boxed_cold;
use crate::error::Error;
use crate::server::RequestContext;
use crate::server::access::check_declared;

/// An input request with its key.
#[derive(Debug)]
pub(crate) struct PendingAsk {
    pub(crate) key: String,
    pub(crate) digest: EntryDigest,
    pub(crate) request: InputRequest,
}

impl PendingAsk {
    fn new(ask: &impl Ask) -> Result<Self, Error> {
        let request = ask.request()?;
        Ok(Self {
            key: ask.key().to_owned(),
            digest: EntryDigest::of(&request),
            request,
        })
    }
}

impl RequestContext {
    /// Asks the user to fill in a form, in every revision.
    ///
    /// `A` is a type that derives [`Elicit`](crate::Elicit), or a single value: text, a number, a boolean, an enum that
    /// derives `Elicit`, or a `Vec` of such an enum. An outcome other than an accepted form is then an error, which
    /// informs the model. Or `A` is an [`ElicitOutcome`] of such a type, to distinguish the outcomes. For consent without
    /// a value, see [`confirm`](Self::confirm).
    ///
    /// ```
    /// use serde::Deserialize;
    /// use toolwire::ask::ElicitOutcome;
    /// use toolwire::{Elicit, Error, RequestContext, tool};
    ///
    /// #[derive(Deserialize, Elicit)]
    /// struct Target {
    ///     environment: String,
    /// }
    ///
    /// /// Deploys the service.
    /// #[tool]
    /// async fn deploy(ctx: &RequestContext) -> Result<String, Error> {
    ///     let target: Target = ctx.ask("target", "Where to?").await?;
    ///     let copies: u32 = ctx.ask("copies", "How many copies?").await?;
    ///     let note: ElicitOutcome<String> = ctx.ask("note", "A note for the log?").await?;
    ///     let note = note.accepted().unwrap_or_default();
    ///     Ok(format!("deployed {copies} copies to {}. {note}", target.environment))
    /// }
    /// ```
    ///
    /// # The rule for handlers that ask
    /// A handler that asks may run several times for one call. The code between two calls of `ask` must therefore have
    /// the same result each time. Use [`once`](Self::once) for values that change (a clock, a random number, a file)
    /// and for effects that must not happen twice (an order, a message). A response belongs to its key and to the exact
    /// request: if the request differs in the next run, the user is asked again.
    ///
    /// # Errors
    /// Returns an error with [`is_input_required`](Error::is_input_required) if the client has to be asked first:
    /// return it. Also returns an error
    /// - if the client does not support the request (−32021),
    /// - if the response violates the form (−32602, or −32603 for a legacy client, whose own request was valid),
    /// - if the user does not accept,
    /// - if the key is used for two different requests,
    /// - if a legacy client cannot be reached or does not respond.
    #[doc(alias = "elicit", alias = "elicitation", alias = "elicit_input")]
    pub async fn ask<A: FormOutput>(
        &self,
        key: impl Into<String>,
        message: impl Into<String>,
    ) -> Result<A, Error> {
        self.ask_with(form(key, message)).await
    }

    /// Asks the user for consent, in every revision. Returns `true` only if the user accepts: a user who declines, or who
    /// closes the form, does not consent.
    ///
    /// The form has no fields. To distinguish declining and closing, [`ask`](Self::ask) for an `ElicitOutcome<bool>`.
    ///
    /// ```
    /// use toolwire::{Error, RequestContext, tool};
    ///
    /// /// Deletes a note.
    /// #[tool(destructive)]
    /// async fn delete(ctx: &RequestContext, name: String) -> Result<String, Error> {
    ///     if !ctx.confirm("delete", format!("Delete {name}?")).await? {
    ///         return Ok("nothing was deleted".to_owned());
    ///     }
    ///     Ok(format!("deleted {name}"))
    /// }
    /// ```
    ///
    /// # Errors
    /// Returns an error as [`ask`](Self::ask) does, except that declining is `false`.
    pub async fn confirm(
        &self,
        key: impl Into<String>,
        message: impl Into<String>,
    ) -> Result<bool, Error> {
        let form = dynamic_form(key, message, ElicitSchema::new());
        Ok(self.ask_with(form).await?.is_accepted())
    }

    /// Asks the user to open a URL, in every revision that supports it (2025-11-25 and later).
    ///
    /// An accepted outcome means that the user agreed to open the URL, not that the interaction there is complete.
    /// Check that separately, and return [`retry_later`](Self::retry_later) until it is.
    ///
    /// # Errors
    /// Returns an error as [`ask`](Self::ask) does, except that declining is an outcome. Also returns an error if the
    /// URL is not absolute `http` or `https`.
    #[doc(alias = "elicit_url")]
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
    /// # Errors
    /// Returns an error as [`ask`](Self::ask) does, and if the tool uses and tool results of the conversation do not
    /// match.
    #[doc(alias = "create_message", alias = "sample", alias = "sampling")]
    #[deprecated(
        note = "MCP deprecates sampling (SEP-2577), and a revision of 28 July 2027 or later may remove it. Call the API of a model provider instead"
    )]
    #[expect(deprecated, reason = "it is deprecated itself")]
    pub async fn ask_model(
        &self,
        key: impl Into<String>,
        request: CreateMessageRequestParams,
    ) -> Result<CreateMessageResult, Error> {
        self.ask_with(model(key, request)).await
    }

    /// Asks the client for its roots, in every revision.
    ///
    /// # Errors
    /// Returns an error as [`ask`](Self::ask) does.
    #[doc(alias = "list_roots")]
    #[deprecated(
        note = "MCP deprecates roots (SEP-2577), and a revision of 28 July 2027 or later may remove them. Pass paths as tool arguments, resource URIs or configuration instead"
    )]
    #[expect(deprecated, reason = "it is deprecated itself")]
    pub async fn ask_roots(&self, key: impl Into<String>) -> Result<Vec<Root>, Error> {
        self.ask_with(roots(key)).await
    }

    /// Sends one input request, given as a value of [`toolwire::ask`](crate::ask).
    ///
    /// # Errors
    /// Returns an error as [`ask`](Self::ask) does.
    pub async fn ask_with<Q: Ask>(&self, request: Q) -> Result<Q::Output, Error> {
        let (response,) = self.ask_all((request,)).await?;
        Ok(response)
    }

    /// Sends several input requests in one round: a tuple of up to eight, or a `Vec` of one type. A legacy client
    /// receives them one after the other.
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
    ///     let requests = (ask::form::<Name>("name", "Who are you?"), ask::roots("roots"));
    ///     let (name, roots) = ctx.ask_all(requests).await?;
    ///     Ok(format!("{} works in {} places", name.name, roots.len()))
    /// }
    /// ```
    ///
    /// # Errors
    /// Returns the first error of the requests, as [`ask`](Self::ask) does.
    pub async fn ask_all<Q: AskAll>(&self, requests: Q) -> Result<Q::Outputs, Error> {
        let asks = requests.pending_asks()?;
        let mut responses = Vec::with_capacity(asks.len());
        for ask in &asks {
            responses.push(self.known_response(ask)?);
        }
        let missing = || {
            let pairs = asks.iter().zip(&responses);
            pairs.filter_map(|(ask, response)| response.is_none().then_some(ask))
        };
        if let Some(task) = self.scope().task.get() {
            let missing: Vec<_> = missing().collect();
            if !missing.is_empty() {
                task.ask(self, missing).await?;
            }
            for (ask, response) in asks.iter().zip(&mut responses) {
                *response = self.known_response(ask)?;
            }
        } else if self.is_stateless() {
            if let Some(first) = missing().next() {
                let first = Error::input_required(&first.key);
                self.request_input(missing())?;
                return Err(first);
            }
        } else {
            // All capabilities are checked first, so that no user fills in a form before a later request fails.
            let missing = missing().map(|ask| &ask.request);
            let required = rounds::required_capabilities(missing);
            check_declared(&required, self.client_capabilities())?;
            for (ask, response) in asks.iter().zip(&mut responses) {
                if response.is_none() {
                    // The same request may occur twice.
                    *response = self.known_response(ask)?;
                }
                if response.is_none() {
                    // Boxed, because the handler of a task, which may wait long, contains this future, too.
                    let sending = boxed_cold(|| self.send_to_client(&ask.key, &ask.request));
                    let received = sending.await?;
                    self.store_response(ask, received.clone());
                    *response = Some(received);
                }
            }
        }
        requests.read(&mut responses.into_iter().flatten())
    }

    /// Returns an error that ends the handler and makes it run again later, without an input request. Use it while
    /// something that the handler needs is not yet available.
    ///
    /// A 2026-07-28 client retries by itself. Other clients wait. Both stop after a limited number of rounds.
    #[must_use = "the handler continues unless it returns this error"]
    pub fn retry_later(&self) -> Error {
        if !self.scope().may_ask_input {
            return input_not_supported();
        }
        self.scope()
            .round
            .in_journal(|journal| journal.request_rerun());
        effects::record_ask();
        Error::input_required("retry_later")
    }

    /// Returns the response to an input request if it is known: from this run, from an earlier round, or just received.
    fn known_response(&self, ask: &PendingAsk) -> Result<Option<RawJson>, Error> {
        let round = &self.scope().round;
        let lookup = round
            .in_journal(|journal| journal.look_up(&ask.key, ask.digest, round.input_responses()));
        match lookup.map_err(ErrorObject::from)? {
            JournalLookup::Stored(response) => Ok(Some(response)),
            JournalLookup::Absent => Ok(None),
            JournalLookup::Received(response) => {
                let response = rounds::accept_response(&ask.request, response)
                    .map_err(|unusable| unusable.into_error(&ask.key))?;
                self.store_response(ask, response.clone());
                Ok(Some(response))
            }
        }
    }

    fn store_response(&self, ask: &PendingAsk, response: RawJson) {
        let round = &self.scope().round;
        round.in_journal(|journal| journal.store(&ask.key, ask.digest, response));
    }

    /// Records the input requests to send when the handler ends.
    fn request_input<'a>(
        &self,
        pending: impl Iterator<Item = &'a PendingAsk> + Clone,
    ) -> Result<(), Error> {
        if !self.scope().may_ask_input {
            return Err(input_not_supported());
        }
        let requests: InputRequests = pending
            .map(|ask| (ask.key.clone(), ask.request.clone()))
            .collect();
        rounds::check_requests(&requests, self.client_capabilities()).map_err(ErrorObject::from)?;
        self.scope().round.in_journal(|journal| {
            for (key, request) in requests {
                journal.request_input(key, request);
            }
        });
        effects::record_ask();
        Ok(())
    }
}

/// Returns the error of a method without `input_required`.
///
/// Spec 2026-07-28, basic/patterns/mrtr: three methods may return input requests.
fn input_not_supported() -> Error {
    ErrorObject::internal(
        "this method cannot return `input_required`; ask for input in tools, prompts and resources",
    )
    .into()
}
