//! Calls of a server without the feature `tasks`.

use std::sync::Arc;
use std::time::Duration;

use toolwire_types::{ErrorObject, ServerCapabilities};

use crate::engine::{BoxFuture, Outcome};
use crate::server::Server;
use crate::server::request::Exchange;
use crate::server::snapshot::Snapshot;
use crate::server::tool::ToolEntry;

impl Server {
    pub(crate) fn start_tasks(&self) {}

    pub(crate) async fn stop_tasks(&self, _: Duration) {}
}

impl Snapshot {
    /// Returns `None`, because every call is an ordinary one.
    #[inline]
    pub(crate) fn call_as_task<'a>(
        &'a self,
        _: &'a Exchange,
        _: &'a Arc<ToolEntry>,
    ) -> Result<Option<BoxFuture<'a, Outcome>>, ErrorObject> {
        Ok(None)
    }

    /// Returns `false`.
    #[cfg(feature = "relay")]
    pub(crate) fn has_own_tasks(&self) -> bool {
        false
    }

    /// Returns `None`, because no tool needs tasks.
    pub(crate) fn tool_without_tasks(&self) -> Option<&str> {
        None
    }

    pub(crate) fn add_task_capabilities(&self, _: &mut ServerCapabilities) {}
}
