//! The three requests that may ask for input: `tools/call`, `prompts/get`, `resources/read`.
//!
//! On 2026-07-28 a wish for input is the answer, and the client calls again. On earlier revisions the client cannot be
//! told that, so the requests are sent to it from here and the handler runs again with the answers.

use std::borrow::Cow;
use std::sync::Arc;

use indexmap::IndexMap;
use toolwire_proto::methods::Method;
use toolwire_proto::rounds::{self, RoundCounter};
use toolwire_proto::stamp::{self, Stamp};
use toolwire_types::{
    CallToolResult, ErrorObject, GetPromptRequestParams, InputRequiredResult, InputResponses,
    RawJson,
};

use crate::engine::{Exchange, Outcome, Principal, Reply, Round};
use crate::server::context::RequestContext;
use crate::server::prompt::PromptResponse;
use crate::server::resource::ReadOutcome;
use crate::server::response::ToolResponse;
use crate::server::sealing::Purpose;

pub(crate) async fn call_tool(method: &'static Method, exchange: Exchange) -> Outcome {
    let snapshot = &*exchange.snapshot;
    let name = exchange.name.as_deref().unwrap_or_default();
    let Some(tool) = snapshot.tools.get(name) else {
        return Err(ErrorObject::invalid_params(format!(
            "unknown tool `{name}`"
        )));
    };
    exchange.context.check_required(tool.requires.as_ref())?;
    let arguments = match &exchange.arguments {
        Some(arguments) => Cow::Borrowed(arguments),
        None => Cow::Owned(RawJson::empty_object()),
    };
    if !arguments.is_object() {
        return Err(ErrorObject::invalid_params(
            "params.arguments: expected an object",
        ));
    }
    let version = exchange.context.version();
    let mut rounds = Rounds::new(method, &exchange);
    loop {
        let outcome = tool.call(rounds.context.clone(), &arguments).await;
        let mut result = match outcome {
            Ok(ToolResponse::Complete(result)) => {
                if snapshot.options.validate_output {
                    tool.check_output(&result)?;
                }
                result
            }
            Ok(ToolResponse::InputRequired(wish)) => match rounds.next(wish).await? {
                Some(answer) => return Ok(answer),
                None => continue,
            },
            Err(error) => CallToolResult::error(error.into_text()?),
        };
        result.stamp(&snapshot.target(version));
        return Ok(Reply::Tool(Box::new(result)));
    }
}

pub(crate) async fn get_prompt(method: &'static Method, exchange: Exchange) -> Outcome {
    let snapshot = &*exchange.snapshot;
    let name = exchange.name.as_deref().unwrap_or_default();
    let Some(prompt) = snapshot.prompts.get(name) else {
        return Err(ErrorObject::invalid_params(format!(
            "unknown prompt `{name}`"
        )));
    };
    exchange.context.check_required(prompt.requires.as_ref())?;
    let request: GetPromptRequestParams = exchange.decode_params()?;
    let values: IndexMap<String, String> = request.arguments.unwrap_or_default();
    let mut rounds = Rounds::new(method, &exchange);
    loop {
        let outcome = prompt.get(rounds.context.clone(), values.clone()).await;
        match outcome.map_err(|error| error.into_error_object())? {
            PromptResponse::Complete(result) => {
                return snapshot.finish(result, exchange.context.version());
            }
            PromptResponse::InputRequired(wish) => {
                if let Some(answer) = rounds.next(wish).await? {
                    return Ok(answer);
                }
            }
        }
    }
}

pub(crate) async fn read_resource(method: &'static Method, exchange: Exchange) -> Outcome {
    let snapshot = &*exchange.snapshot;
    let Some(uri) = exchange.name.as_deref() else {
        return Err(ErrorObject::invalid_params("params.uri: expected a string"));
    };
    let version = exchange.context.version();
    let Some(resource) = snapshot.find_resource(uri) else {
        return Err(stamp::resource_not_found(uri, version));
    };
    exchange.context.check_required(resource.requires())?;
    let mut rounds = Rounds::new(method, &exchange);
    loop {
        let outcome = resource.clone().read(rounds.context.clone()).await;
        match outcome.map_err(|error| error.into_error_object())? {
            ReadOutcome::Complete(result) => return snapshot.finish(result, version),
            ReadOutcome::InputRequired(wish) => {
                if let Some(answer) = rounds.next(wish).await? {
                    return Ok(answer);
                }
            }
        }
    }
}

/// The rounds of one request.
struct Rounds<'a> {
    exchange: &'a Exchange,
    method: &'static Method,
    context: RequestContext,
    counter: RoundCounter,
}

impl<'a> Rounds<'a> {
    fn new(method: &'static Method, exchange: &'a Exchange) -> Self {
        Self {
            exchange,
            method,
            context: exchange.context.clone(),
            counter: RoundCounter::default(),
        }
    }

    /// Answers the request with the wish, or gathers the input and prepares the next run of the handler.
    async fn next(&mut self, wish: InputRequiredResult) -> Result<Option<Reply>, ErrorObject> {
        if self.context.is_stateless() {
            rounds::check_input_required(
                self.method,
                self.context.version(),
                &wish,
                self.context.client_capabilities(),
            )?;
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
                .send_to_client(request)
                .await
                .map_err(|error| error.into_error_object())?;
            input_responses.insert(key, answer);
        }
        let round = Round {
            input_responses,
            request_state: wish.request_state,
        };
        let scope = self.context.scope().next_round(round);
        self.context = RequestContext::new(Arc::new(scope), self.context.server().clone());
        Ok(None)
    }

    /// The wish as the answer, its state sealed.
    fn hand_out(&self, mut wish: InputRequiredResult) -> Outcome {
        if let Some(state) = wish.request_state.take() {
            let purpose = Purpose {
                principal: &Principal::of(self.context.auth()),
                method: self.method.name,
                name: self.exchange.name.as_deref().unwrap_or_default(),
                arguments: self
                    .exchange
                    .arguments
                    .as_ref()
                    .map(|arguments| arguments.as_raw_value()),
            };
            wish.request_state = Some(self.exchange.snapshot.options.seal.seal(&purpose, state)?);
        }
        self.exchange.snapshot.finish(wish, self.context.version())
    }
}
