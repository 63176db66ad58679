//! The three methods that may ask for input: `tools/call`, `prompts/get`, `resources/read`.

use std::sync::Arc;

use indexmap::IndexMap;
use serde_json::value::RawValue;
use toolwire_proto::cache::without_sharing;
use toolwire_proto::methods::Method;
use toolwire_proto::stamp;
use toolwire_types::json::checked_raw;
use toolwire_types::{CacheScope, CallToolResult, ErrorObject, GetPromptRequestParams};

use crate::engine::{EncodedResult, Outcome, boxed_cold};
use crate::server::prompt::PromptResponse;
use crate::server::request::Exchange;
use crate::server::resource::{ReadOutcome, ResolvedResource};
use crate::server::response::ToolResponse;
use crate::server::result_meta::remove_forbidden_meta;
use crate::server::rounds::{RequestRounds, RoundOutcome};
use crate::server::snapshot::Snapshot;
use crate::server::tool::ToolEntry;
use crate::server::tool_error::ToolError;

/// Calls a tool, once per round. The returned future is small, because the futures of calls are moved.
#[expect(
    clippy::manual_async_fn,
    reason = "the future of an `async fn` stores its parameters twice"
)]
pub(crate) fn call_tool(
    method: &'static Method,
    exchange: &Exchange,
) -> impl Future<Output = Outcome> + Send {
    async move {
        if exchange.snapshot().has_raw_entries
            && let Some(raw) = called_tool(exchange)?.0.raw.clone()
        {
            return boxed_cold(|| raw.respond(exchange)).await;
        }
        let mut rounds = RequestRounds::new(method, exchange);
        if let Some(marking) = rounds.mark_state_used() {
            // A call that fails here must not mark the state as used.
            called_tool(exchange)?;
            marking.await?;
        }
        loop {
            let running = {
                let (tool, arguments) = called_tool(exchange)?;
                if let Some(work) = exchange.snapshot().call_as_task(exchange, tool)? {
                    return work.await;
                }
                tool.call(rounds.context().clone(), arguments)
            };
            let response = running.await;
            if let Some(result) = finish_run(exchange, &mut rounds, response).await? {
                return Ok(result);
            }
        }
    }
}

/// Returns the result of a call after a run of its handler. Returns `None` if the handler has to run again.
#[expect(
    clippy::manual_async_fn,
    reason = "the future of an `async fn` stores its parameters twice"
)]
#[inline]
pub(crate) fn finish_run<'a>(
    exchange: &'a Exchange,
    rounds: &'a mut RequestRounds<'_>,
    response: Result<ToolResponse, ToolError>,
) -> impl Future<Output = Result<Option<EncodedResult>, ErrorObject>> + Send + 'a {
    async move {
        let incomplete = match response {
            Ok(ToolResponse::Text(text)) => {
                if exchange.snapshot().options.validate_output {
                    boxed_cold(|| check_output(exchange, None)).await?;
                }
                return encode_text(exchange, &text).map(Some);
            }
            // A tool may return its own error result to the model. An error result that was caused by missing input does
            // not count as one.
            Ok(ToolResponse::Complete(result))
                if result.is_error == Some(true) && rounds.is_unfinished() =>
            {
                Err(ToolError::failed("an input request has no response yet"))
            }
            Ok(ToolResponse::Complete(result)) => {
                if exchange.snapshot().options.validate_output {
                    boxed_cold(|| check_output(exchange, Some(&result))).await?;
                }
                return encode_tool_result(exchange, result).map(Some);
            }
            #[cfg(feature = "input")]
            Ok(ToolResponse::InputRequired(input_required)) => Ok(*input_required),
            #[cfg(feature = "tasks")]
            Ok(ToolResponse::Task(task)) => {
                return boxed_cold(|| task.respond(exchange)).await.map(Some);
            }
            Err(error) => Err(error),
        };
        match boxed_cold(|| rounds.finish_run(incomplete)).await? {
            RoundOutcome::Failed(error) => encode_failure(exchange, error).map(Some),
            RoundOutcome::InputRequired(response) => Ok(Some(response)),
            RoundOutcome::RunAgain => Ok(None),
        }
    }
}

/// Returns the tool that the request names.
fn find_tool(exchange: &Exchange) -> Result<&Arc<ToolEntry>, ErrorObject> {
    let name = exchange.name().unwrap_or_default();
    match exchange.snapshot().find_tool(name, &exchange.viewer()) {
        Some(tool) => Ok(tool),
        None => Err(unknown_tool(name)),
    }
}

/// Returns the tool if the caller may call it, and its arguments.
pub(crate) fn called_tool(
    exchange: &Exchange,
) -> Result<(&Arc<ToolEntry>, &RawValue), ErrorObject> {
    let tool = find_tool(exchange)?;
    exchange.context.check_access(tool.access())?;
    let arguments = exchange.arguments().unwrap_or_else(|| checked_raw("{}"));
    if arguments.get().starts_with('{') {
        Ok((tool, arguments))
    } else {
        Err(no_arguments())
    }
}

#[cold]
fn no_arguments() -> ErrorObject {
    ErrorObject::invalid_params("params.arguments: expected an object")
}

#[cold]
fn unknown_tool(name: &str) -> ErrorObject {
    ErrorObject::invalid_params(format!("unknown tool `{name}`"))
}

/// Rejects a result that does not match the output schema of its tool. `None` is a text-only result.
async fn check_output(
    exchange: &Exchange,
    result: Option<&CallToolResult>,
) -> Result<(), ErrorObject> {
    let text_only = CallToolResult::default();
    let result = result.unwrap_or(&text_only);
    find_tool(exchange)?.check_output(result).await
}

/// Encodes a result. Not inlined: it needs more stack than its caller.
#[inline(never)]
fn encode_tool_result(exchange: &Exchange, mut result: Box<CallToolResult>) -> Outcome {
    remove_forbidden_meta(&mut *result, exchange.route().name(), exchange.name());
    write_tool_result(exchange, *result)
}

#[cold]
fn encode_failure(exchange: &Exchange, error: ToolError) -> Outcome {
    let result = CallToolResult::error(error.into_text()?);
    write_tool_result(exchange, result)
}

pub(crate) fn write_tool_result(exchange: &Exchange, result: CallToolResult) -> Outcome {
    let target = exchange.snapshot().target(exchange.context.version());
    let size_hint = stamp::tool_result_size(&result, &target);
    EncodedResult::write(exchange.context.request_id(), size_hint, |message| {
        stamp::write_tool_result(message, result, &target)
    })
}

fn encode_text(exchange: &Exchange, text: &str) -> Outcome {
    let target = exchange.snapshot().target(exchange.context.version());
    let size_hint = stamp::text_result_size(text, &target);
    EncodedResult::write(exchange.context.request_id(), size_hint, |message| {
        stamp::write_text_result(message, text, &target);
        Ok(())
    })
}

pub(crate) async fn get_prompt(method: &'static Method, exchange: &Exchange) -> Outcome {
    let snapshot = exchange.snapshot();
    let name = exchange.name().unwrap_or_default();
    let Some(prompt) = snapshot.find_prompt(name, &exchange.viewer()) else {
        return Err(ErrorObject::invalid_params(format!(
            "unknown prompt `{name}`"
        )));
    };
    exchange.context.check_access(prompt.access())?;
    if let Some(raw) = &prompt.raw {
        return raw.respond(exchange).await;
    }
    let request: GetPromptRequestParams = exchange.decode_params()?;
    let values: IndexMap<String, String> = request.arguments.unwrap_or_default();
    let mut rounds = RequestRounds::new(method, exchange);
    if let Some(marking) = rounds.mark_state_used() {
        marking.await?;
    }
    loop {
        let incomplete = match prompt.get(rounds.context().clone(), values.clone()).await {
            Ok(PromptResponse::Complete(mut result)) => {
                remove_forbidden_meta(&mut result, method.name, exchange.name());
                return snapshot.finish(result, exchange.context.version());
            }
            #[cfg(feature = "input")]
            Ok(PromptResponse::InputRequired(input_required)) => Ok(input_required),
            Err(error) => Err(error),
        };
        match rounds.finish_run(incomplete).await? {
            RoundOutcome::Failed(error) => return Err(error.into_error_object()),
            RoundOutcome::InputRequired(response) => return Ok(response),
            RoundOutcome::RunAgain => {}
        }
    }
}

/// Returns `true` if the server hides the resource from some callers, or rejects them. Then callers must not share its
/// contents.
fn is_restricted(snapshot: &Snapshot, resource: &ResolvedResource) -> bool {
    let origin = resource.origin();
    snapshot.visibility.is_some()
        || !snapshot.policies.is_empty()
        || !resource.access().scopes.is_empty()
        || origin.is_some_and(|origin| origin.is_restricted())
}

pub(crate) async fn read_resource(method: &'static Method, exchange: &Exchange) -> Outcome {
    let snapshot = exchange.snapshot();
    let Some(uri) = exchange.name() else {
        return Err(ErrorObject::invalid_params("params.uri: expected a string"));
    };
    let version = exchange.context.version();
    let Some(resource) = snapshot.find_resource(uri, &exchange.viewer()) else {
        return Err(stamp::resource_not_found(uri, version));
    };
    exchange.context.check_access(resource.access())?;
    let is_restricted = is_restricted(snapshot, &resource);
    if let Some(raw) = resource.raw_entry() {
        let outcome = raw.respond(exchange).await?;
        return Ok(match outcome {
            EncodedResult::Json(result) if is_restricted => {
                EncodedResult::Json(without_sharing(result))
            }
            outcome => outcome,
        });
    }
    let mut rounds = RequestRounds::new(method, exchange);
    if let Some(marking) = rounds.mark_state_used() {
        marking.await?;
    }
    let default_hint = snapshot.options.default_hint;
    loop {
        let reading = resource.clone();
        let reading = reading.read(rounds.context().clone(), default_hint);
        let incomplete = match reading.await {
            Ok(ReadOutcome::Complete(mut result)) => {
                remove_forbidden_meta(&mut result, method.name, exchange.name());
                if is_restricted {
                    result.cache_scope = Some(CacheScope::Private);
                }
                return snapshot.finish(result, version);
            }
            #[cfg(feature = "input")]
            Ok(ReadOutcome::InputRequired(input_required)) => Ok(input_required),
            Err(error) => Err(error),
        };
        match rounds.finish_run(incomplete).await? {
            RoundOutcome::Failed(error) => return Err(error.into_error_object()),
            RoundOutcome::InputRequired(response) => return Ok(response),
            RoundOutcome::RunAgain => {}
        }
    }
}
