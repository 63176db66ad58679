//! The three requests that may ask for input: `tools/call`, `prompts/get`, `resources/read`.

use indexmap::IndexMap;
use toolwire_proto::methods::Method;
use toolwire_proto::stamp;
use toolwire_types::json::checked_raw;
use toolwire_types::{CallToolResult, ErrorObject, GetPromptRequestParams};

use crate::engine::{Exchange, Outcome, Reply};
use crate::server::failure::ToolError;
use crate::server::prompt::PromptResponse;
use crate::server::resource::ReadOutcome;
use crate::server::response::ToolResponse;
use crate::server::rounds::{Rounds, Settled};

pub(crate) async fn call_tool(method: &'static Method, exchange: &Exchange) -> Outcome {
    let snapshot = exchange.snapshot();
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
        let unsettled = match tool.call(rounds.context().clone(), arguments).await {
            Ok(ToolResponse::Text(text)) => {
                if snapshot.options.validate_output {
                    tool.check_output(&CallToolResult::default())?;
                }
                return text_reply(exchange, &text);
            }
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
            #[cfg(feature = "input")]
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
    let target = exchange.snapshot().target(exchange.context.version());
    let size_hint = stamp::tool_result_size(&result, &target);
    Reply::written(exchange.context.request_id(), size_hint, |message| {
        stamp::write_tool_result(message, result, &target)
    })
}

fn text_reply(exchange: &Exchange, text: &str) -> Outcome {
    let target = exchange.snapshot().target(exchange.context.version());
    let size_hint = stamp::text_result_size(text, &target);
    Reply::written(exchange.context.request_id(), size_hint, |message| {
        stamp::write_text_result(message, text, &target);
        Ok(())
    })
}

pub(crate) async fn get_prompt(method: &'static Method, exchange: &Exchange) -> Outcome {
    let snapshot = exchange.snapshot();
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
        let unsettled = match prompt.get(rounds.context().clone(), values.clone()).await {
            Ok(PromptResponse::Complete(result)) => {
                return snapshot.finish(result, exchange.context.version());
            }
            #[cfg(feature = "input")]
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
    let snapshot = exchange.snapshot();
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
        let unsettled = match resource.clone().read(rounds.context().clone()).await {
            Ok(ReadOutcome::Complete(result)) => return snapshot.finish(result, version),
            #[cfg(feature = "input")]
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
