//! Whether the client of a call supports tasks, and what a record stores of the call.

use std::sync::Arc;

use serde::Deserialize;
use toolwire_proto::decode_message::decode_message;
use toolwire_proto::features::VersionFeatures;
use toolwire_proto::rounds::MissingCapability;
use toolwire_types::tasks::core::TaskMetadata;
use toolwire_types::tasks::extension::EXTENSION_ID;
use toolwire_types::{ClientCapabilities, ErrorObject, RawJson};

use crate::engine::TokenInfo;
use crate::server::RequestContext;
use crate::server::tasks::record::TaskCall;
use crate::server::tool::ToolEntry;

/// What the client of a call can take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClientTasks {
    /// It does not support tasks.
    None,
    /// It asks for a task (2025-11-25), with this TTL.
    Requested { ttl_ms: Option<u64> },
    /// It accepts a task (2026-07-28).
    Accepted,
}

impl ClientTasks {
    pub(crate) fn of(context: &RequestContext) -> Result<Self, ErrorObject> {
        let scope = context.scope();
        if context.version().has_core_tasks() {
            let Some(params) = &scope.params else {
                return Ok(Self::None);
            };
            let request: TaskRequest = params.parse().map_err(|error| {
                ErrorObject::invalid_params(format!("params: {}", decode_message(&error)))
            })?;
            return Ok(match request.task {
                Some(task) => Self::Requested { ttl_ms: task.ttl },
                None => Self::None,
            });
        }
        let declared = context.client_capabilities().extension(EXTENSION_ID);
        let accepts = context.version().has_extensions() && declared.is_some();
        Ok(if accepts { Self::Accepted } else { Self::None })
    }
}

#[derive(Deserialize)]
struct TaskRequest {
    task: Option<TaskMetadata>,
}

/// Returns the error of a tool that the client can call only as a task.
#[cold]
pub(crate) fn tasks_required(context: &RequestContext, tool: &ToolEntry) -> ErrorObject {
    if context.version().has_extensions() {
        let mut missing = ClientCapabilities::new();
        let settings = RawJson::empty_object();
        missing
            .extensions
            .get_or_insert_default()
            .insert(EXTENSION_ID.to_owned(), settings);
        return MissingCapability::new(missing).into();
    }
    ErrorObject::method_not_found(format!(
        "the tool `{}` runs only as a task",
        tool.descriptor.name
    ))
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
