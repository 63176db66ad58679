//! The rounds of a request whose handler asks for input.
//!
//! On 2026-07-28 the response contains the input requests, and the client retries. Earlier revisions have no such
//! result, so the server sends the requests itself and runs the handler again with the responses.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::value::RawValue;
use toolwire_proto::admit::Admitted;
use toolwire_proto::decode_message::decode_message;
use toolwire_proto::methods::Method;
use toolwire_proto::rounds::{self, RoundCounter};
use toolwire_proto::sampling_rules::drop_undeclared_context;
use toolwire_types::{ErrorObject, InputRequest, InputRequiredResult, InputResponses};

use crate::engine::{
    BoxFuture, EncodedResult, Outcome, Principal, TransportContext, warn_about_request,
};
use crate::server::context::RequestContext;
use crate::server::request::{Exchange, RoundState};
use crate::server::response;
use crate::server::result_meta::remove_forbidden_meta;
use crate::server::snapshot::Snapshot;
use crate::server::state_seal::StatePurpose;
use crate::server::tool_error::ToolError;

/// Reads the client's input responses and request state.
///
/// # Errors
/// Returns an error if the input responses are malformed or the state cannot be opened.
pub(crate) fn of_request(
    snapshot: &Snapshot,
    admitted: &Admitted<'_>,
    transport: &dyn TransportContext,
) -> Result<RoundState, ErrorObject> {
    let (responses, token) = (admitted.input_responses(), admitted.request_state());
    match (responses, token) {
        (None, None) => Ok(RoundState::default()),
        (responses, token) => read_retry(snapshot, admitted, transport, responses, token),
    }
}

/// Returns the round of a request for a raw entry. Its source reads the input of the client.
#[cold]
pub(crate) fn of_raw_request(admitted: &Admitted<'_>) -> RoundState {
    if admitted.input_responses().is_none() && admitted.request_state().is_none() {
        return RoundState::default();
    }
    let sent_state = admitted.request_state().map(Cow::into_owned);
    RoundState::new(InputResponses::default(), None).with_sent_state(sent_state)
}

/// Reads the input of a retry. Not inlined: most requests are not retries.
#[inline(never)]
fn read_retry(
    snapshot: &Snapshot,
    admitted: &Admitted<'_>,
    transport: &dyn TransportContext,
    responses: Option<&RawValue>,
    token: Option<Cow<'_, str>>,
) -> Result<RoundState, ErrorObject> {
    let input_responses = match responses {
        Some(raw) => serde_json::from_str(raw.get()).map_err(|error| {
            let message = decode_message(&error);
            ErrorObject::invalid_params(format!("inputResponses: {message}"))
        })?,
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
        .with_sent_state(Some(token.into_owned()))
        .with_journal(opened.journal)
        .with_single_use(opened.single_use_state))
}

/// The outcome of a handler run without a result.
pub(crate) enum RoundOutcome {
    Failed(ToolError),
    /// The response contains input requests.
    InputRequired(EncodedResult),
    /// The handler runs again.
    RunAgain,
}

/// The rounds of one request.
pub(crate) struct RequestRounds<'a> {
    exchange: &'a Exchange,
    method: &'static Method,
    /// Data for rounds after the first. Most requests have one round.
    later: Option<Box<LaterRounds>>,
}

/// The data of the rounds after the first.
#[derive(Default)]
struct LaterRounds {
    context: Option<RequestContext>,
    counter: RoundCounter,
}

impl<'a> RequestRounds<'a> {
    /// Creates the rounds of a request, which may be the retry of a client.
    pub(crate) fn new(method: &'static Method, exchange: &'a Exchange) -> Self {
        Self {
            exchange,
            method,
            later: None,
        }
    }

    /// Returns the work before the first round, if any: rejecting its input, or marking a single-use state as used.
    pub(crate) fn mark_state_used(&self) -> Option<BoxFuture<'a, Result<(), ErrorObject>>> {
        let exchange = self.exchange;
        let round = &exchange.context.scope().round;
        if let Some(rejection) = round.rejection() {
            return Some(Box::pin(std::future::ready(Err(rejection.clone()))));
        }
        let state = round.single_use_state()?;
        Some(Box::pin(exchange.snapshot().options.seal.mark_used(state)))
    }

    /// Returns the context of the current round.
    pub(crate) fn context(&self) -> &RequestContext {
        let later = self.later.as_ref();
        let later = later.and_then(|later| later.context.as_ref());
        later.unwrap_or(&self.exchange.context)
    }

    pub(crate) fn is_unfinished(&self) -> bool {
        self.context().scope().round.is_unfinished()
    }

    /// Decides how the request continues after a handler run without a result.
    pub(crate) async fn finish_run(
        &mut self,
        incomplete: Result<InputRequiredResult, ToolError>,
    ) -> Result<RoundOutcome, ErrorObject> {
        let round = &self.context().scope().round;
        let input_required = match incomplete {
            Ok(input_required) => {
                round.discard_requests();
                input_required
            }
            // The error itself is irrelevant: a handler without its input cannot continue, whatever error it returned.
            Err(error) => match round.suspend()? {
                Some(requests) => {
                    let state = round.request_state().map(str::to_owned);
                    response::input_required(requests, state)
                }
                None => return Ok(RoundOutcome::Failed(error)),
            },
        };
        Ok(match self.next(input_required).await? {
            Some(response) => RoundOutcome::InputRequired(response),
            None => RoundOutcome::RunAgain,
        })
    }

    /// Returns an `input_required` result, or gathers the input and prepares the next run of the handler.
    async fn next(
        &mut self,
        input_required: InputRequiredResult,
    ) -> Result<Option<EncodedResult>, ErrorObject> {
        if self.context().is_stateless() {
            return self.to_input_required(input_required).map(Some);
        }
        let later = self.later.get_or_insert_default();
        let pause = later
            .counter
            .next_round(&input_required)
            .map_err(|error| ErrorObject::internal(error.to_string()))?;
        // A state without input requests means "retry later", so the handler does not run again immediately.
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
        let mut input_responses = InputResponses::default();
        for (key, request) in input_required
            .input_requests
            .iter()
            .flat_map(|requests| requests.iter())
        {
            let response = self
                .context()
                .send_to_client(key, request)
                .await
                .map_err(|error| error.into_error_object())?;
            input_responses.insert(key, response);
        }
        let mut round = RoundState::new(input_responses, input_required.request_state);
        if let Some(journal) = self.context().scope().round.take_journal() {
            round = round.with_journal(journal);
        }
        let scope = self.context().scope().next_round(round);
        self.later.get_or_insert_default().context = Some(RequestContext::new(Arc::new(scope)));
        Ok(None)
    }

    /// Encodes the input requests as the result and seals the state.
    fn to_input_required(&self, mut input_required: InputRequiredResult) -> Outcome {
        remove_forbidden_meta(&mut input_required, self.method.name, self.exchange.name());
        let sent = self.context().scope().sent_params();
        let purpose = StatePurpose {
            principal: &Principal::of(self.context().auth()),
            method: self.method.name,
            name: sent.name().unwrap_or_default(),
            arguments: sent.arguments(),
        };
        for request in input_required
            .input_requests
            .iter_mut()
            .flat_map(|all| all.values_mut())
        {
            warn_about_request(request, self.context().version());
            if let InputRequest::Sampling(params) = request {
                let declared = self.context().client_capabilities();
                drop_undeclared_context(params, self.context().version(), declared);
            }
        }
        let journal = self.context().scope().round.take_journal();
        let seal = &self.exchange.snapshot().options.seal;
        input_required.request_state = seal.write(
            &purpose,
            journal.as_ref(),
            input_required.request_state.take(),
        )?;
        rounds::check_input_required(
            self.method,
            self.context().version(),
            &input_required,
            self.context().client_capabilities(),
        )?;
        self.exchange
            .snapshot()
            .finish(input_required, self.context().version())
    }
}
