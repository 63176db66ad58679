//! Tasks of mounted upstream servers.
//!
//! The id that a client gets is sealed. It contains the upstream server, the tool and the id there, and opens only for the
//! principal of the call. So it leads back to its server without a table, and the id of another principal looks like an
//! unknown one. A request about a task is a request for its tool: it passes the same rules, scopes and middleware.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use toolwire_proto::methods::is_about_task;
use toolwire_types::tasks::extension::EXTENSION_ID;
use toolwire_types::{ErrorObject, RawJson, ServerCapabilities};

use crate::engine::{Outcome, Principal};
use crate::server::RequestContext;
use crate::server::optional_methods::OptionalMethods;
use crate::server::request::Exchange;
use crate::server::snapshot::Snapshot;
use crate::server::state_seal::StatePurpose;
use crate::server::tool::ToolEntry;

/// How long an id is valid. The upstream server decides when the task itself expires.
const ID_TTL: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// The maximum length of the id at the upstream server. A client of 2026-07-28 repeats the sealed id in a header.
const MAX_UPSTREAM_ID_BYTES: usize = 1024;

/// The designs of tasks that a source supports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TaskDesigns {
    /// The tasks of 2025-11-25.
    pub(crate) core: bool,
    /// The extension of 2026-07-28.
    pub(crate) extension: bool,
}

impl TaskDesigns {
    pub(crate) fn union(self, other: Self) -> Self {
        Self {
            core: self.core || other.core,
            extension: self.extension || other.extension,
        }
    }
}

/// The task that the id of a client stands for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct UpstreamTask {
    /// The name of the upstream server.
    pub(crate) upstream: String,
    /// The name of the tool on this server.
    pub(crate) tool: String,
    /// The id at the upstream server.
    pub(crate) id: String,
}

impl UpstreamTask {
    /// Returns the id for the client of a call.
    ///
    /// # Errors
    /// Returns an error if the id of the upstream server is too long.
    pub(crate) fn seal(&self, ctx: &RequestContext) -> Result<String, ErrorObject> {
        check_length(&self.id)?;
        let text = RawJson::from_serialize(self)
            .map_err(|error| ErrorObject::internal(error.to_string()))?;
        let principal = Principal::of(ctx.auth());
        let seal = &ctx.scope().snapshot.options.seal;
        seal.seal_text(&purpose(&principal), text.get(), ID_TTL)
    }

    /// Returns the task that a request is about. Returns `None` for other requests, and if the id is not one of the caller.
    pub(crate) fn of(exchange: &Exchange) -> Option<Self> {
        if !is_about_task(exchange.route().name()) {
            return None;
        }
        let principal = Principal::of(exchange.context.auth());
        let seal = &exchange.snapshot().options.seal;
        let text = seal.open_text(&purpose(&principal), exchange.name()?)?;
        serde_json::from_str(&text).ok()
    }
}

fn check_length(id: &str) -> Result<(), ErrorObject> {
    if id.len() > MAX_UPSTREAM_ID_BYTES {
        return Err(ErrorObject::internal(format!(
            "the upstream server returned a task id of more than {MAX_UPSTREAM_ID_BYTES} bytes"
        )));
    }
    Ok(())
}

fn purpose(principal: &Principal) -> StatePurpose<'_> {
    StatePurpose {
        principal,
        method: "tasks",
        name: "",
        arguments: None,
    }
}

/// Returns the error for an id that is not a task of the caller.
pub(crate) fn unknown_task() -> ErrorObject {
    ErrorObject::invalid_params("unknown task")
}

/// The methods about tasks of mounted servers. Other ids are those of the server itself, if it has tasks.
pub(crate) static MOUNTED_TASKS: OptionalMethods = OptionalMethods {
    name: "mounted tasks",
    respond: |_, _| None,
    start: |method, exchange| {
        if !is_about_task(method.name) {
            return None;
        }
        match exchange.mounted_task_tool() {
            Some(tool) => Some(Box::pin(respond(exchange, tool))),
            None if exchange.snapshot().has_own_tasks() => None,
            None => Some(Box::pin(std::future::ready(Err(unknown_task())))),
        }
    },
    scopes: |_, _, _| None,
};

async fn respond(exchange: &Exchange, tool: Arc<ToolEntry>) -> Outcome {
    exchange.context.check_scopes(tool.access())?;
    match &tool.raw {
        Some(raw) => raw.respond_about_task(exchange).await,
        None => Err(unknown_task()),
    }
}

impl Exchange {
    /// Returns the tool whose task the request is about, if the caller sees it.
    pub(crate) fn mounted_task_tool(&self) -> Option<Arc<ToolEntry>> {
        let task = UpstreamTask::of(self)?;
        let tool = self.snapshot().find_tool(&task.tool, &self.viewer());
        tool.cloned()
    }
}

impl Snapshot {
    /// Installs the methods about tasks of mounted servers, before those of the server itself.
    pub(crate) fn install_mounted_tasks(&mut self) {
        let name = MOUNTED_TASKS.name;
        if !self.kinds.iter().any(|kind| kind.name == name) {
            self.kinds.insert(0, &MOUNTED_TASKS);
        }
    }

    /// Returns the designs of tasks that mounted servers support.
    pub(crate) fn mounted_tasks(&self) -> TaskDesigns {
        let declared = self.declarations.values().map(|declared| declared.tasks);
        declared.fold(TaskDesigns::default(), TaskDesigns::union)
    }

    /// Declares the tasks of mounted servers. `tasks/list` is not declared for them: a server behind the same credentials
    /// would list the tasks of all callers.
    pub(crate) fn add_mounted_task_capabilities(&self, capabilities: &mut ServerCapabilities) {
        let designs = self.mounted_tasks();
        if designs.core {
            let tasks = capabilities.tasks.take().unwrap_or_default();
            capabilities.tasks = Some(tasks.with_cancel().with_request("tools/call"));
        }
        if designs.extension {
            capabilities
                .extensions
                .get_or_insert_default()
                .insert(EXTENSION_ID.to_owned(), RawJson::empty_object());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn length_of_upstream_ids_is_limited() {
        assert!(check_length(&"x".repeat(MAX_UPSTREAM_ID_BYTES)).is_ok());
        let error = check_length(&"x".repeat(MAX_UPSTREAM_ID_BYTES + 1)).unwrap_err();
        assert!(error.message.contains("1024 bytes"), "{error:?}");
    }
}
