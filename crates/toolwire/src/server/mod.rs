//! Servers: what they offer, and how requests reach it.

mod access;
#[cfg(feature = "input")]
pub mod ask;
mod by_name;
mod completion;
mod context;
mod described;
pub(crate) mod dispatch;
#[cfg(feature = "input")]
mod elicit;
pub(crate) mod hub;
mod input_methods;
mod lists;
mod method;
mod open;
mod optional_methods;
mod options;
mod pagination;
mod prompt;
mod register;
mod registration;
mod resource;
mod response;
#[cfg_attr(not(feature = "input"), path = "no_rounds.rs")]
mod rounds;
mod schema;
#[cfg_attr(not(feature = "schema-validation"), path = "no_schema_check.rs")]
mod schema_check;
mod schema_pool;
#[cfg(feature = "input")]
mod sealing_options;
pub(crate) mod snapshot;
#[cfg(feature = "input")]
mod state_seal;
mod tool;
mod tool_error;

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock, Weak};

use toolwire_proto::subscriptions::Change;
use toolwire_types::{Implementation, ServerCapabilities};

pub use completion::{CompletionRequest, CompletionValues};
pub use context::RequestContext;
#[cfg(feature = "input")]
pub use elicit::{Elicit, ElicitField, FormField, checks as form_checks, one_of};
pub use prompt::{IntoPrompt, IntoPromptResponse, PromptArguments, PromptHandler, PromptResponse};
pub use register::HandlerSet;
pub use registration::RegistrationError;
pub use resource::{
    IntoResource, IntoResourceResponse, IntoResourceTemplate, ResourceData, ResourceHandler,
    ResourceResponse, ResourceTemplateHandler, TemplateArguments,
};
pub use response::{Fallible, IntoToolResponse, ToolResponse, conversion};
#[cfg(all(feature = "client", feature = "schema-validation"))]
pub(crate) use schema_check::SchemaCheck;
#[cfg(all(feature = "client", feature = "schema-validation"))]
pub(crate) use schema_pool::{CHECK_TIMEOUT, QUICK_BYTES, QuickCheck, SchemaPool};
pub use tool::{IntoTool, ToolHandler};
pub use tool_error::{IntoToolError, ToolError};

use crate::engine::Cancellation;
use hub::Hub;
use snapshot::{DerivedData, Snapshot};

/// An MCP server: a name, and what is registered on it.
///
/// It is a handle: clones share everything, and a clone kept aside changes the server while it serves.
///
/// ```
/// use toolwire::{Server, tool};
///
/// /// Adds two integers.
/// #[tool]
/// async fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// # #[expect(unused_must_use, reason = "nobody speaks to it here")]
/// # async fn serve() {
/// Server::new("demo", "1.0.0").tool(add).serve_stdio().await;
/// # }
/// ```
#[derive(Clone)]
pub struct Server {
    shared: Arc<ServerInner>,
}

pub(crate) struct ServerInner {
    snapshot: RwLock<Arc<Snapshot>>,
    hub: Arc<Hub>,
    shutdown: Cancellation,
}

impl ServerInner {
    fn with(snapshot: Arc<Snapshot>) -> Self {
        Self {
            snapshot: RwLock::new(snapshot),
            hub: Arc::default(),
            shutdown: Cancellation::new(),
        }
    }
}

impl Server {
    /// A server that offers nothing yet.
    #[must_use]
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self::with_info(Implementation::new(name, version))
    }

    /// A server with a full identity: title, icons, website.
    #[must_use]
    pub fn with_info(info: Implementation) -> Self {
        let shared = Arc::new_cyclic(|shared: &Weak<ServerInner>| {
            ServerInner::with(Arc::new(Snapshot::new(info, Weak::clone(shared))))
        });
        Self { shared }
    }

    /// What the server advertises, derived from what is registered.
    #[must_use]
    pub fn capabilities(&self) -> ServerCapabilities {
        self.snapshot().capabilities().clone()
    }

    // ---- telling clients ----

    /// Tells subscribers that a resource changed. Returns how many streams were reached.
    pub fn resource_updated(&self, uri: impl Into<String>) -> usize {
        self.publish(&Change::ResourceUpdated(uri.into()))
    }

    /// Tells clients that the list of tools changed; adding and removing tools does so by itself.
    pub fn tools_changed(&self) -> usize {
        self.publish(&Change::ToolsListChanged)
    }

    /// Tells clients that the list of prompts changed; adding and removing prompts does so by itself.
    pub fn prompts_changed(&self) -> usize {
        self.publish(&Change::PromptsListChanged)
    }

    /// Tells clients that the list of resources changed; adding and removing resources does so by itself.
    pub fn resources_changed(&self) -> usize {
        self.publish(&Change::ResourcesListChanged)
    }

    /// Ends serving: streams get their last word, running requests a moment to finish.
    pub fn shutdown(&self) {
        self.shared.shutdown.cancel();
    }

    // ---- for the floors around ----

    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(
            &self
                .shared
                .snapshot
                .read()
                .unwrap_or_else(PoisonError::into_inner),
        )
    }

    /// The server that a snapshot was taken of. When that is gone, another one that offers the same, to nobody.
    pub(crate) fn of_snapshot(snapshot: &Arc<Snapshot>) -> Self {
        let shared = snapshot.server.upgrade();
        Self {
            shared: shared.unwrap_or_else(|| Arc::new(ServerInner::with(Arc::clone(snapshot)))),
        }
    }

    pub(crate) fn hub(&self) -> &Arc<Hub> {
        &self.shared.hub
    }

    pub(crate) fn shutdown_signal(&self) -> &Cancellation {
        &self.shared.shutdown
    }

    fn publish(&self, change: &Change) -> usize {
        self.shared.hub.publish(change)
    }

    /// Makes the next snapshot. Requests that run keep the one they began with.
    fn change<R>(&self, change: impl FnOnce(&mut Snapshot) -> R) -> R {
        let mut current = self
            .shared
            .snapshot
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        let snapshot = Arc::make_mut(&mut current);
        snapshot.derived = DerivedData::default();
        change(snapshot)
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let snapshot = self.snapshot();
        f.debug_struct("Server")
            .field("info", &snapshot.info)
            .field("tools", &snapshot.tools.len())
            .field("prompts", &snapshot.prompts.len())
            .field(
                "resources",
                &(snapshot.resources.len() + snapshot.templates.len()),
            )
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_knows_its_server_and_outlives_it() {
        let server = Server::new("short", "1").with_instructions("Be quick.");
        let snapshot = server.snapshot();
        let found = Server::of_snapshot(&snapshot);
        assert!(Arc::ptr_eq(&found.shared, &server.shared));
        drop((server, found));
        let left = Server::of_snapshot(&snapshot);
        assert_eq!(left.snapshot().instructions.as_deref(), Some("Be quick."));
    }
}
