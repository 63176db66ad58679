//! The server: its registered handlers, and the dispatch of requests to them.

mod access;
#[cfg(feature = "input")]
pub mod ask;
mod call_log;
mod completion;
mod connected_client;
mod context;
pub(crate) mod dispatch;
#[cfg(feature = "input")]
mod elicit;
#[cfg(feature = "events")]
pub(crate) mod events;
mod extension;
mod extension_entry;
#[cfg(feature = "relay")]
pub(crate) mod forward;
pub(crate) mod hub;
mod input_methods;
#[cfg(feature = "input")]
pub(crate) mod input_request;
mod inspection;
mod lists;
mod method;
pub mod middleware;
pub(crate) mod mount;
mod notification;
mod open;
mod optional_methods;
mod options;
mod pagination;
mod prompt;
mod raw_entry;
mod register;
mod registry;
pub(crate) mod request;
mod resource;
mod response;
mod result_meta;
mod rounds;
mod schema;
#[cfg(feature = "skills")]
pub(crate) mod skills;
pub(crate) mod snapshot;
#[cfg(feature = "input")]
pub(crate) mod state_seal;
mod task_calls;
#[cfg(feature = "tasks")]
pub(crate) mod tasks;
mod tool;
mod tool_arguments;
mod tool_error;
mod tool_views;
#[cfg(feature = "input")]
mod url_elicitation;
#[cfg(feature = "apps")]
pub(crate) mod view;
pub(crate) mod visibility;

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock, Weak};

use serde::Serialize;
use toolwire_proto::subscriptions::Change;
use toolwire_types::{Implementation, Notification, ServerCapabilities};

pub use completion::{CompletionRequest, CompletionValues};
pub use connected_client::ConnectedClient;
pub use context::RequestContext;
#[cfg(feature = "input")]
pub use elicit::{
    Elicit, ElicitField, FormField, checks as form_checks, one_of, single_value,
    single_value_schema,
};
pub use extension::Extension;
pub use mount::{Catalog, Mount, MountedUris, Source, SourceListener};
pub use prompt::{IntoPrompt, IntoPromptResponse, PromptArguments, PromptHandler, PromptResponse};
pub use register::HandlerSet;
pub use registry::RegistrationError;
pub use request::RequestScope;
pub use resource::{
    IntoResource, IntoResourceResponse, IntoResourceTemplate, ResourceData, ResourceHandler,
    ResourceResponse, ResourceTemplateHandler, TemplateArguments,
};
pub use response::{Fallible, IntoToolResponse, ToolResponse, conversion};
pub use tool::{IntoTool, ToolHandler};
pub use tool_error::{IntoToolError, ToolError};
pub use visibility::Caller;

use crate::engine::Cancellation;
use crate::error::Error;
use connected_client::custom_params;
use hub::Hub;
use mount::{Mounts, SubscriptionCounts};
use snapshot::{DerivedData, Snapshot};

/// An MCP server: an identity and its registered handlers.
///
/// It is a handle: clones share all state, and a clone can change the server while it runs.
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
/// # #[expect(unused_must_use, reason = "no client connects in this example")]
/// # async fn serve() {
/// Server::new("demo", "1.0.0").tool(add).serve_stdio().await;
/// # }
/// ```
#[derive(Clone)]
#[doc(alias = "McpServer", alias = "FastMCP", alias = "ServerHandler")]
pub struct Server {
    shared: Arc<ServerInner>,
}

pub(crate) struct ServerInner {
    snapshot: RwLock<Arc<Snapshot>>,
    hub: Arc<Hub>,
    shutdown: Cancellation,
    mounts: Mounts,
    subscriptions: SubscriptionCounts,
}

impl ServerInner {
    fn with(snapshot: Arc<Snapshot>) -> Self {
        Self {
            snapshot: RwLock::new(snapshot),
            hub: Arc::default(),
            shutdown: Cancellation::new(),
            mounts: Mounts::default(),
            subscriptions: SubscriptionCounts::default(),
        }
    }
}

impl Server {
    /// Creates a server without handlers.
    #[must_use]
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self::with_info(Implementation::new(name, version))
    }

    /// Creates a server with a full identity: title, icons, website.
    #[must_use]
    #[doc(alias = "get_info")]
    pub fn with_info(info: Implementation) -> Self {
        let shared = Arc::new_cyclic(|shared: &Weak<ServerInner>| {
            ServerInner::with(Arc::new(Snapshot::new(info, Weak::clone(shared))))
        });
        Self { shared }
    }

    /// Returns the capabilities that the server advertises, derived from its registered handlers.
    #[must_use]
    pub fn capabilities(&self) -> ServerCapabilities {
        self.snapshot().capabilities().clone()
    }

    // ---- change notifications ----

    /// Notifies subscribers that a resource changed. Returns the number of streams reached.
    #[doc(alias = "notify_resource_updated")]
    pub fn resource_updated(&self, uri: impl Into<String>) -> usize {
        self.publish(&Change::ResourceUpdated(uri.into()))
    }

    /// Notifies clients that the list of tools changed. Adding and removing tools does this automatically. Returns the
    /// number of streams reached.
    #[doc(alias = "notify_tool_list_changed", alias = "send_tool_list_changed")]
    pub fn tools_changed(&self) -> usize {
        self.publish(&Change::ToolsListChanged)
    }

    /// Notifies clients that the list of prompts changed. Adding and removing prompts does this automatically. Returns
    /// the number of streams reached.
    #[doc(
        alias = "notify_prompt_list_changed",
        alias = "send_prompt_list_changed"
    )]
    pub fn prompts_changed(&self) -> usize {
        self.publish(&Change::PromptsListChanged)
    }

    /// Notifies clients that the list of resources changed. Adding and removing resources does this automatically.
    /// Returns the number of streams reached.
    #[doc(
        alias = "notify_resource_list_changed",
        alias = "send_resource_list_changed"
    )]
    pub fn resources_changed(&self) -> usize {
        self.publish(&Change::ResourcesListChanged)
    }

    // ---- connected clients ----

    /// Returns the clients that messages outside of a request can reach on this node: open connections on stdio, in
    /// process and on transports of your own, and HTTP sessions with a GET stream. Clients of 2026-07-28 have no
    /// session and are not contained.
    #[must_use]
    pub fn connected_clients(&self) -> Vec<ConnectedClient> {
        let clients = self.hub().clients().into_iter().map(ConnectedClient::new);
        clients.filter(ConnectedClient::is_reachable).collect()
    }

    /// Sends a notification that the protocol does not define to all connected clients with a session, on all nodes.
    /// Returns the number of clients reached on this node.
    ///
    /// ```
    /// # fn main() -> Result<(), toolwire::Error> {
    /// use toolwire::Server;
    ///
    /// let server = Server::new("demo", "1.0.0");
    /// let reached = server.notify_all("com.example/maintenance", serde_json::json!({ "minutes": 5 }))?;
    /// assert_eq!(reached, 0, "no client is connected");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Returns an error if the protocol defines the method, and if `params` is not an object.
    pub fn notify_all(&self, method: &str, params: impl Serialize) -> Result<usize, Error> {
        let params = custom_params(method, &params)?;
        let notification = Notification::new(method.to_owned(), Some(params));
        Ok(self.hub().publish_notification(&notification))
    }

    // ---- shutdown ----

    /// Shuts the server down: streams receive their final message, and running requests get a short time to finish.
    pub fn shutdown(&self) {
        self.shared.shutdown.cancel();
    }

    // ---- for other modules ----

    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(
            &self
                .shared
                .snapshot
                .read()
                .unwrap_or_else(PoisonError::into_inner),
        )
    }

    /// Returns the server that a snapshot belongs to. If that server was dropped, returns a new server with the same
    /// content and no clients.
    pub(crate) fn of_snapshot(snapshot: &Arc<Snapshot>) -> Self {
        let shared = snapshot.server.upgrade();
        Self {
            shared: shared.unwrap_or_else(|| Arc::new(ServerInner::with(Arc::clone(snapshot)))),
        }
    }

    pub(crate) fn shared(&self) -> &Arc<ServerInner> {
        &self.shared
    }

    pub(crate) fn of_shared(shared: Arc<ServerInner>) -> Self {
        Self { shared }
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

    /// Creates the next snapshot. Running requests continue with their own.
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
    fn snapshot_refers_to_its_server_and_outlives_it() {
        let server = Server::new("short", "1").with_instructions("Be quick.");
        let snapshot = server.snapshot();
        let same = Server::of_snapshot(&snapshot);
        assert!(Arc::ptr_eq(&same.shared, &server.shared));
        drop((server, same));
        let replacement = Server::of_snapshot(&snapshot);
        assert_eq!(
            replacement.snapshot().instructions.as_deref(),
            Some("Be quick.")
        );
    }
}
