//! The three requests that may ask for input: `tools/call`, `prompts/get`, `resources/read`.
//!
//! On 2026-07-28 a wish for input is the answer, and the client calls again. On earlier revisions the client cannot be
//! told that, so the requests are sent to it from here and the handler runs again with the answers.

use std::sync::Arc;

use indexmap::IndexMap;
use toolwire_proto::methods::Method;
use toolwire_proto::rounds::{self, RoundCounter};
use toolwire_proto::sampling_rules::drop_undeclared_context;
use toolwire_proto::stamp;
use toolwire_types::json::checked_raw;
use toolwire_types::{
    CallToolResult, ErrorObject, GetPromptRequestParams, InputRequest, InputRequiredResult,
    InputResponses,
};

use crate::engine::{Exchange, Outcome, Principal, Reply, Round};
use crate::server::context::RequestContext;
use crate::server::failure::ToolError;
use crate::server::prompt::PromptResponse;
use crate::server::resource::ReadOutcome;
use crate::server::response::{self, ToolResponse};
use crate::server::sealing::Purpose;

pub(crate) async fn call_tool(method: &'static Method, exchange: &Exchange) -> Outcome {
    let snapshot = &*exchange.snapshot;
    let name = exchange.name().unwrap_or_default();
    let Some(tool) = snapshot.tools.get(name) else {
        return Err(ErrorObject::invalid_params(format!(
            "unknown tool `{name}`"
        )));
    };
    exchange.context.check_access(tool.access())?;
    let arguments = exchange.arguments().unwrap_or_else(|| checked_raw("{}"));
    if !arguments.get().starts_with('{') {
        return Err(ErrorObject::invalid_params(
            "params.arguments: expected an object",
        ));
    }
    let mut rounds = Rounds::begin(method, exchange).await?;
    loop {
        let unsettled = match tool.call(rounds.context.clone(), arguments).await {
            // A tool may tell the model of its failure in its own words; the failure to find something out is none.
            Ok(ToolResponse::Complete(result))
                if result.is_error == Some(true) && rounds.is_unfinished() =>
            {
                Err(ToolError::failed("a question is not answered yet"))
            }
            Ok(ToolResponse::Complete(result)) => {
                if snapshot.options.validate_output {
                    tool.check_output(&result)?;
                }
                return tool_reply(exchange, result);
            }
            Ok(ToolResponse::InputRequired(wish)) => Ok(wish),
            Err(error) => Err(error),
        };
        // Boxed, so that the future of a call that ends at once need not have room for it.
        match Box::pin(rounds.settle(unsettled)).await? {
            Settled::Failed(error) => {
                return tool_reply(exchange, CallToolResult::error(error.into_text()?));
            }
            Settled::Asks(answer) => return Ok(answer),
            Settled::Again => {}
        }
    }
}

fn tool_reply(exchange: &Exchange, result: CallToolResult) -> Outcome {
    let target = exchange.snapshot.target(exchange.context.version());
    let size_hint = stamp::tool_result_size(&result, &target);
    Reply::written(exchange.context.request_id(), size_hint, |message| {
        stamp::write_tool_result(message, result, &target)
    })
}

pub(crate) async fn get_prompt(method: &'static Method, exchange: &Exchange) -> Outcome {
    let snapshot = &*exchange.snapshot;
    let name = exchange.name().unwrap_or_default();
    let Some(prompt) = snapshot.prompts.get(name) else {
        return Err(ErrorObject::invalid_params(format!(
            "unknown prompt `{name}`"
        )));
    };
    exchange.context.check_access(prompt.access())?;
    let request: GetPromptRequestParams = exchange.decode_params()?;
    let values: IndexMap<String, String> = request.arguments.unwrap_or_default();
    let mut rounds = Rounds::begin(method, exchange).await?;
    loop {
        let unsettled = match prompt.get(rounds.context.clone(), values.clone()).await {
            Ok(PromptResponse::Complete(result)) => {
                return snapshot.finish(result, exchange.context.version());
            }
            Ok(PromptResponse::InputRequired(wish)) => Ok(wish),
            Err(error) => Err(error),
        };
        match rounds.settle(unsettled).await? {
            Settled::Failed(error) => return Err(error.into_error_object()),
            Settled::Asks(answer) => return Ok(answer),
            Settled::Again => {}
        }
    }
}

pub(crate) async fn read_resource(method: &'static Method, exchange: &Exchange) -> Outcome {
    let snapshot = &*exchange.snapshot;
    let Some(uri) = exchange.name() else {
        return Err(ErrorObject::invalid_params("params.uri: expected a string"));
    };
    let version = exchange.context.version();
    let Some(resource) = snapshot.find_resource(uri) else {
        return Err(stamp::resource_not_found(uri, version));
    };
    exchange.context.check_access(resource.access())?;
    let mut rounds = Rounds::begin(method, exchange).await?;
    loop {
        let unsettled = match resource.clone().read(rounds.context.clone()).await {
            Ok(ReadOutcome::Complete(result)) => return snapshot.finish(result, version),
            Ok(ReadOutcome::InputRequired(wish)) => Ok(wish),
            Err(error) => Err(error),
        };
        match rounds.settle(unsettled).await? {
            Settled::Failed(error) => return Err(error.into_error_object()),
            Settled::Asks(answer) => return Ok(answer),
            Settled::Again => {}
        }
    }
}

/// What is to be done about a run of a handler that did not come to a result.
enum Settled {
    Failed(ToolError),
    /// The request is answered with questions.
    Asks(Reply),
    /// The handler runs again.
    Again,
}

/// The rounds of one request.
struct Rounds<'a> {
    exchange: &'a Exchange,
    method: &'static Method,
    context: RequestContext,
    counter: RoundCounter,
}

impl<'a> Rounds<'a> {
    /// The first round of a request, or the next one of a client that comes back.
    async fn begin(method: &'static Method, exchange: &'a Exchange) -> Result<Self, ErrorObject> {
        let context = exchange.context.clone();
        if let Some(spending) = &context.scope().round.to_be_spent {
            Box::pin(exchange.snapshot.options.seal.spend(spending)).await?;
        }
        Ok(Self {
            exchange,
            method,
            context,
            counter: RoundCounter::default(),
        })
    }

    fn is_unfinished(&self) -> bool {
        self.context.scope().round.is_unfinished()
    }

    /// Decides how to go on after a run of the handler that did not come to a result.
    async fn settle(
        &mut self,
        unsettled: Result<InputRequiredResult, ToolError>,
    ) -> Result<Settled, ErrorObject> {
        let round = &self.context.scope().round;
        let wish = match unsettled {
            Ok(wish) => {
                round.set_aside();
                wish
            }
            // How it failed does not matter: a handler that could not find something out cannot go on, whatever it made
            // of the error.
            Err(error) => match round.suspend()? {
                Some(questions) => response::input_required(questions, round.request_state.clone()),
                None => return Ok(Settled::Failed(error)),
            },
        };
        Ok(match self.next(wish).await? {
            Some(answer) => Settled::Asks(answer),
            None => Settled::Again,
        })
    }

    /// Answers the request with the wish, or gathers the input and prepares the next run of the handler.
    async fn next(&mut self, wish: InputRequiredResult) -> Result<Option<Reply>, ErrorObject> {
        if self.context.is_stateless() {
            return self.hand_out(wish).map(Some);
        }
        let pause = self
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
                .context
                .send_to_client(key, request)
                .await
                .map_err(|error| error.into_error_object())?;
            input_responses.insert(key, answer);
        }
        let mut round = Round::new(input_responses, wish.request_state);
        if let Some(journal) = self.context.scope().round.take_journal() {
            round = round.with_journal(journal);
        }
        let scope = self.context.scope().next_round(round);
        self.context = RequestContext::new(Arc::new(scope), self.context.server().clone());
        Ok(None)
    }

    /// The wish as the answer, its state sealed.
    fn hand_out(&self, mut wish: InputRequiredResult) -> Outcome {
        let purpose = Purpose {
            principal: &Principal::of(self.context.auth()),
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
                let declared = self.context.client_capabilities();
                drop_undeclared_context(params, self.context.version(), declared);
            }
        }
        let journal = self.context.scope().round.take_journal();
        let seal = &self.exchange.snapshot.options.seal;
        wish.request_state = seal.write(&purpose, journal.as_ref(), wish.request_state.take())?;
        rounds::check_input_required(
            self.method,
            self.context.version(),
            &wish,
            self.context.client_capabilities(),
        )?;
        self.exchange.snapshot.finish(wish, self.context.version())
    }
}
