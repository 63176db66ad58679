//! The rounds of a request whose handler asks for input.
//!
//! On 2026-07-28 a wish for input is the answer, and the client calls again. On earlier revisions the client cannot be
//! told that, so the requests are sent to it from here and the handler runs again with the answers.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::value::RawValue;
use toolwire_proto::admit::Admitted;
use toolwire_proto::methods::Method;
use toolwire_proto::rounds::{self, RoundCounter};
use toolwire_proto::sampling_rules::drop_undeclared_context;
use toolwire_types::{ErrorObject, InputRequest, InputRequiredResult, InputResponses};

use crate::engine::{
    BoxFuture, EncodedResult, Exchange, Outcome, Principal, RoundState, TransportContext,
};
use crate::server::context::RequestContext;
use crate::server::response;
use crate::server::snapshot::Snapshot;
use crate::server::state_seal::StatePurpose;
use crate::server::tool_error::ToolError;

/// The answers and the state the client sent back. State that does not open is refused.
pub(crate) fn of_request(
    snapshot: &Snapshot,
    admitted: &Admitted<'_>,
    transport: &dyn TransportContext,
) -> Result<RoundState, ErrorObject> {
    let (responses, token) = (admitted.input_responses(), admitted.request_state());
    match (responses, token) {
        (None, None) => Ok(RoundState::default()),
        (responses, token) => repeated(snapshot, admitted, transport, responses, token),
    }
}

/// Never inlined: most requests come for the first time.
#[inline(never)]
fn repeated(
    snapshot: &Snapshot,
    admitted: &Admitted<'_>,
    transport: &dyn TransportContext,
    responses: Option<&RawValue>,
    token: Option<Cow<'_, str>>,
) -> Result<RoundState, ErrorObject> {
    let input_responses = match responses {
        Some(raw) => serde_json::from_str(raw.get())
            .map_err(|error| ErrorObject::invalid_params(format!("inputResponses: {error}")))?,
        None => InputResponses::default(),
    };
    let Some(token) = token else {
        return Ok(RoundState::new(input_responses, None));
    };
    let purpose = StatePurpose {
        principal: &Principal::of(transport.auth()),
        method: admitted.method.name(),
        name: admitted.name.as_deref().unwrap_or_default(),
        arguments: admitted.arguments(),
    };
    let opened = snapshot.options.seal.open(&purpose, &token)?;
    Ok(RoundState::new(input_responses, opened.author_state)
        .with_journal(opened.journal)
        .with_spending(opened.to_be_spent))
}

/// What is to be done about a run of a handler that did not come to a result.
pub(crate) enum RoundOutcome {
    Failed(ToolError),
    /// The request is answered with questions.
    Asks(EncodedResult),
    /// The handler runs again.
    Again,
}

/// The rounds of one request.
pub(crate) struct RequestRounds<'a> {
    exchange: &'a Exchange,
    method: &'static Method,
    /// Whatever is not needed for the first round, which is the last of most requests.
    later: Option<Box<LaterRounds>>,
}

/// The rounds after the first.
#[derive(Default)]
struct LaterRounds {
    context: Option<RequestContext>,
    counter: RoundCounter,
}

impl<'a> RequestRounds<'a> {
    /// The first round of a request, or the next one of a client that comes back.
    pub(crate) fn new(method: &'static Method, exchange: &'a Exchange) -> Self {
        Self {
            exchange,
            method,
            later: None,
        }
    }

    /// What has to be done before the first round, if anything: a state that may be used once is spent.
    pub(crate) fn spending(&self) -> Option<BoxFuture<'a, Result<(), ErrorObject>>> {
        let exchange = self.exchange;
        let spending = exchange.context.scope().round.single_use_state()?;
        Some(Box::pin(exchange.snapshot().options.seal.spend(spending)))
    }

    /// The context of the round that is on.
    pub(crate) fn context(&self) -> &RequestContext {
        let later = self.later.as_ref();
        let later = later.and_then(|later| later.context.as_ref());
        later.unwrap_or(&self.exchange.context)
    }

    pub(crate) fn is_unfinished(&self) -> bool {
        self.context().scope().round.is_unfinished()
    }

    /// Decides how to go on after a run of the handler that did not come to a result.
    pub(crate) async fn settle(
        &mut self,
        unsettled: Result<InputRequiredResult, ToolError>,
    ) -> Result<RoundOutcome, ErrorObject> {
        let round = &self.context().scope().round;
        let wish = match unsettled {
            Ok(wish) => {
                round.set_aside();
                wish
            }
            // How it failed does not matter: a handler that could not find something out cannot go on, whatever it made
            // of the error.
            Err(error) => match round.suspend()? {
                Some(questions) => {
                    let state = round.request_state().map(str::to_owned);
                    response::input_required(questions, state)
                }
                None => return Ok(RoundOutcome::Failed(error)),
            },
        };
        Ok(match self.next(wish).await? {
            Some(answer) => RoundOutcome::Asks(answer),
            None => RoundOutcome::Again,
        })
    }

    /// Answers the request with the wish, or gathers the input and prepares the next run of the handler.
    async fn next(
        &mut self,
        wish: InputRequiredResult,
    ) -> Result<Option<EncodedResult>, ErrorObject> {
        if self.context().is_stateless() {
            return self.to_input_required(wish).map(Some);
        }
        let later = self.later.get_or_insert_default();
        let pause = later
            .counter
            .next_round(&wish)
            .map_err(|error| ErrorObject::internal(error.to_string()))?;
        // A state without questions means "not yet": the handler is not run again in the same moment.
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
        let mut input_responses = InputResponses::default();
        for (key, request) in wish
            .input_requests
            .iter()
            .flat_map(|requests| requests.iter())
        {
            let answer = self
                .context()
                .send_to_client(key, request)
                .await
                .map_err(|error| error.into_error_object())?;
            input_responses.insert(key, answer);
        }
        let mut round = RoundState::new(input_responses, wish.request_state);
        if let Some(journal) = self.context().scope().round.take_journal() {
            round = round.with_journal(journal);
        }
        let scope = self.context().scope().next_round(round);
        self.later.get_or_insert_default().context = Some(RequestContext::new(Arc::new(scope)));
        Ok(None)
    }

    /// The wish as the answer, its state sealed.
    fn to_input_required(&self, mut wish: InputRequiredResult) -> Outcome {
        let purpose = StatePurpose {
            principal: &Principal::of(self.context().auth()),
            method: self.method.name,
            name: self.exchange.name().unwrap_or_default(),
            arguments: self.exchange.arguments(),
        };
        for request in wish
            .input_requests
            .iter_mut()
            .flat_map(|all| all.values_mut())
        {
            if let InputRequest::Sampling(params) = request {
                let declared = self.context().client_capabilities();
                drop_undeclared_context(params, self.context().version(), declared);
            }
        }
        let journal = self.context().scope().round.take_journal();
        let seal = &self.exchange.snapshot().options.seal;
        wish.request_state = seal.write(&purpose, journal.as_ref(), wish.request_state.take())?;
        rounds::check_input_required(
            self.method,
            self.context().version(),
            &wish,
            self.context().client_capabilities(),
        )?;
        self.exchange
            .snapshot()
            .finish(wish, self.context().version())
    }
}
