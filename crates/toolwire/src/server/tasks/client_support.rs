//! Whether the client of a call supports tasks, and what a record stores of the call.

use std::sync::Arc;

use serde::Deserialize;
use toolwire_proto::decode_message::decode_message;
use toolwire_proto::task_rules::ClientTasks;
use toolwire_types::tasks::core::TaskMetadata;
use toolwire_types::{ErrorObject, RawJson};

use crate::engine::TokenInfo;
use crate::server::RequestContext;
use crate::server::tasks::record::TaskCall;

/// Returns whether the response to a call may be a task.
pub(crate) fn client_tasks(context: &RequestContext) -> Result<ClientTasks, ErrorObject> {
    // Only a call with the parameter `task` has its parameters here.
    let request = match &context.scope().params {
        Some(params) => params.parse().map_err(|error| {
            ErrorObject::invalid_params(format!("params: {}", decode_message(&error)))
        })?,
        None => TaskRequest::default(),
    };
    let declared = || context.client_capabilities();
    Ok(ClientTasks::of_call(
        context.version(),
        request.task.as_ref(),
        declared,
    ))
}

#[derive(Default, Deserialize)]
struct TaskRequest {
    task: Option<TaskMetadata>,
}

/// Returns what the record stores of a call.
pub(crate) fn call_of(context: &RequestContext) -> TaskCall {
    let scope = context.scope();
    let params = &scope.request_params;
    TaskCall {
        arguments: params
            .arguments()
            .map_or_else(RawJson::empty_object, RawJson::from),
        meta: params.meta().map(RawJson::from),
        capabilities: context.client_capabilities().clone(),
        client_info: context.client_info().cloned(),
        progress_token: scope.progress_token.clone(),
        uses_tokens: scope.transport.uses_tokens(),
        token: Arc::new(TokenInfo::clone(context.auth())),
    }
}
