//! Sources: where the entries of a mount come from.

use std::any::Any;
use std::collections::HashSet;
use std::sync::{Arc, Weak};

use toolwire_proto::subscriptions::Change;
use toolwire_types::{ErrorObject, RawJson};

use crate::server::completion::DefaultCompleter;
use crate::server::hub::ChangeListener;
use crate::server::middleware::{Chain, Policy};
use crate::server::mount::Declarations;
use crate::server::mount::catalog_limits::check_descriptor;
use crate::server::prompt::{IntoPrompt, PromptEntry};
use crate::server::raw_entry::RawHandler;
use crate::server::registry::RegistrationError;
use crate::server::resource::{IntoResource, IntoResourceTemplate, ResourceEntry, TemplateEntry};
use crate::server::tool::{IntoTool, ToolEntry};
use crate::server::visibility::Visibility;
use crate::server::{RequestContext, Server, ServerInner};

/// A source of tools, prompts and resources that a server can mount. A [`Server`] is one.
pub trait Source: Send + Sync + 'static {
    /// Returns what the source offers now.
    fn catalog(&self) -> Catalog;

    /// Starts to report changes to a server that mounted the source. Dropping the returned value ends this. By default,
    /// a source never changes.
    fn watch(&self, listener: SourceListener) -> Box<dyn Any + Send + Sync> {
        Box::new(listener)
    }

    /// Reports that the first client of the server subscribed to a resource of this source, or that the last one ended
    /// its subscription.
    fn set_subscribed(&self, uri: &str, is_subscribed: bool) {
        let _ = (uri, is_subscribed);
    }

    /// Returns the server, if the source is one.
    #[doc(hidden)]
    fn as_server(&self) -> Option<&Server> {
        None
    }
}

/// The tools, prompts, resources and templates that a source offers: at most 10,000 in all. The JSON of a raw entry has at
/// most 64 KiB.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Catalog {
    pub(crate) tools: Vec<Arc<ToolEntry>>,
    pub(crate) prompts: Vec<Arc<PromptEntry>>,
    pub(crate) resources: Vec<Arc<ResourceEntry>>,
    pub(crate) templates: Vec<Arc<TemplateEntry>>,
    pub(crate) completer: Option<DefaultCompleter>,
    pub(crate) raw_completer: Option<RawHandler>,
    pub(crate) middleware: Option<Chain>,
    pub(crate) visibility: Option<Visibility>,
    pub(crate) policies: Vec<Policy>,
    pub(crate) has_subscriptions: bool,
    pub(crate) declarations: Declarations,
    /// The names of the tools that have their exposed name before those of earlier mounts.
    pub(crate) preferred_tools: HashSet<String>,
}

impl Catalog {
    /// Creates an empty catalog.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool.
    ///
    /// # Errors
    /// Returns an error if its name is invalid, or if its schema does not compile.
    pub fn add_tool(&mut self, tool: impl IntoTool) -> Result<(), RegistrationError> {
        let tool = tool.into_tool().with_view_metadata()?.prepare()?;
        self.check_capacity()?;
        self.tools.push(Arc::new(tool));
        Ok(())
    }

    /// Adds a prompt.
    ///
    /// # Errors
    /// Returns an error if it has no name.
    pub fn add_prompt(&mut self, prompt: impl IntoPrompt) -> Result<(), RegistrationError> {
        let prompt = prompt.into_prompt().prepare()?;
        self.check_capacity()?;
        self.prompts.push(Arc::new(prompt));
        Ok(())
    }

    /// Adds a resource.
    ///
    /// # Errors
    /// Returns an error if its URI has no scheme.
    pub fn add_resource(&mut self, resource: impl IntoResource) -> Result<(), RegistrationError> {
        let resource = resource.into_resource().prepare()?;
        self.check_capacity()?;
        self.resources.push(Arc::new(resource));
        Ok(())
    }

    /// Adds a resource template.
    ///
    /// # Errors
    /// Returns an error if it is not a valid RFC 6570 template, or cannot be matched unambiguously.
    pub fn add_resource_template(
        &mut self,
        template: impl IntoResourceTemplate,
    ) -> Result<(), RegistrationError> {
        let template = template.into_resource_template().prepare()?;
        self.check_capacity()?;
        self.templates.push(Arc::new(template));
        Ok(())
    }

    /// Adds a tool whose entry in the list is this JSON, and whose handler gets the parameters of `tools/call` and returns
    /// its result as JSON. For sources that forward requests.
    ///
    /// Unknown members, the order of members and the text of numbers are preserved. Schemas are not compiled, and neither
    /// arguments nor results are checked. A result is one of 2026-07-28: what the revision of the client does not define is
    /// removed or replaced. It may be an `input_required`: the handler then gets the `inputResponses` and the `requestState`
    /// of the next round unchanged. Clients of earlier revisions cannot get such a result and receive −32603.
    ///
    /// # Errors
    /// Returns an error if the descriptor is not that of a tool or has more than 64 KiB, and beyond 10,000 entries.
    pub fn add_raw_tool<F, Fut>(
        &mut self,
        descriptor: RawJson,
        handler: F,
    ) -> Result<(), RegistrationError>
    where
        F: Fn(RequestContext, RawJson) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<RawJson, ErrorObject>> + Send + 'static,
    {
        let tool = self.new_raw(descriptor, handler, ToolEntry::raw)?;
        self.tools.push(Arc::new(tool));
        Ok(())
    }

    /// Adds a raw prompt, as [`add_raw_tool`](Self::add_raw_tool) adds a tool.
    ///
    /// # Errors
    /// Returns an error if the descriptor is not that of a prompt.
    pub fn add_raw_prompt<F, Fut>(
        &mut self,
        descriptor: RawJson,
        handler: F,
    ) -> Result<(), RegistrationError>
    where
        F: Fn(RequestContext, RawJson) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<RawJson, ErrorObject>> + Send + 'static,
    {
        let prompt = self.new_raw(descriptor, handler, PromptEntry::raw)?;
        self.prompts.push(Arc::new(prompt));
        Ok(())
    }

    /// Adds a raw resource, as [`add_raw_tool`](Self::add_raw_tool) adds a tool.
    ///
    /// # Errors
    /// Returns an error if the descriptor is not that of a resource.
    pub fn add_raw_resource<F, Fut>(
        &mut self,
        descriptor: RawJson,
        handler: F,
    ) -> Result<(), RegistrationError>
    where
        F: Fn(RequestContext, RawJson) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<RawJson, ErrorObject>> + Send + 'static,
    {
        let resource = self.new_raw(descriptor, handler, ResourceEntry::raw)?;
        self.resources.push(Arc::new(resource));
        Ok(())
    }

    /// Adds a raw resource template, as [`add_raw_tool`](Self::add_raw_tool) adds a tool.
    ///
    /// # Errors
    /// Returns an error if the descriptor is not that of a template, or if its template is invalid.
    pub fn add_raw_resource_template<F, Fut>(
        &mut self,
        descriptor: RawJson,
        handler: F,
    ) -> Result<(), RegistrationError>
    where
        F: Fn(RequestContext, RawJson) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<RawJson, ErrorObject>> + Send + 'static,
    {
        let template = self.new_raw(descriptor, handler, TemplateEntry::raw)?;
        self.templates.push(Arc::new(template));
        Ok(())
    }

    /// Creates a raw entry, if the catalog has the capacity for it.
    fn new_raw<T, F, Fut>(
        &self,
        descriptor: RawJson,
        handler: F,
        create: impl FnOnce(RawJson, RawHandler) -> Result<T, RegistrationError>,
    ) -> Result<T, RegistrationError>
    where
        F: Fn(RequestContext, RawJson) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<RawJson, ErrorObject>> + Send + 'static,
    {
        self.check_capacity()?;
        check_descriptor(&descriptor)?;
        create(descriptor, RawHandler::new(handler))
    }

    /// Lets a tool keep its exposed name also if an earlier mount has a tool with this name, which is then hidden. For tools
    /// that a source adds to those of another server.
    pub fn prefer_tool(&mut self, name: impl Into<String>) {
        self.preferred_tools.insert(name.into());
    }

    /// Sets the handler of `completion/complete` for all prompts and templates of the catalog. It gets the parameters with
    /// the names of the source, and returns the result as JSON.
    #[must_use]
    pub fn with_raw_completion<F, Fut>(mut self, handler: F) -> Self
    where
        F: Fn(RequestContext, RawJson) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<RawJson, ErrorObject>> + Send + 'static,
    {
        self.raw_completer = Some(RawHandler::new(handler));
        self
    }

    /// Permits clients to subscribe to the resources. The source reports changes with
    /// [`SourceListener::resource_updated`].
    #[must_use]
    pub fn with_resource_subscriptions(mut self) -> Self {
        self.has_subscriptions = true;
        self
    }

    /// States that the source does not know its entries yet. The server declares tools, prompts and resources, so that its
    /// clients expect changes of these lists. Later mounts whose prefix is shorter cannot use names with the prefix of this
    /// one.
    #[must_use]
    pub fn with_unknown_entries(mut self) -> Self {
        self.declarations.has_unknown_entries = true;
        self
    }

    /// Declares that the source sends log messages, so that clients can set their level.
    #[must_use]
    pub fn with_logging(mut self) -> Self {
        self.declarations.has_logging = true;
        self
    }

    /// Sets the instructions of the source. Clients get them below a heading with the name of the mount, after the
    /// instructions of the server.
    #[must_use]
    pub fn with_instructions(mut self, instructions: impl Into<String>) -> Self {
        self.declarations.instructions = Some(instructions.into());
        self
    }
}

/// The handle by which a source reports changes to the server that mounted it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SourceListener {
    pub(crate) server: Weak<ServerInner>,
    pub(crate) mount: usize,
}

impl SourceListener {
    /// Reports that the catalog may have changed. The server compares it with the previous one, and notifies its clients
    /// of the lists that changed.
    pub fn catalog_changed(&self) {
        if let Some(server) = self.server() {
            server.refresh_mount(self.mount);
        }
    }

    /// Reports that a resource changed. Returns the number of streams reached.
    pub fn resource_updated(&self, uri: impl Into<String>) -> usize {
        let uri = uri.into();
        match self.server() {
            Some(server) => {
                let exposed = server.shared.mounts.claims.exposed();
                server.resource_updated(exposed.exposed(self.mount, &uri))
            }
            None => 0,
        }
    }

    fn server(&self) -> Option<Server> {
        let shared = self.server.upgrade()?;
        Some(Server { shared })
    }
}

impl Source for Server {
    fn catalog(&self) -> Catalog {
        let snapshot = self.snapshot();
        Catalog {
            tools: snapshot.tools.values().cloned().collect(),
            prompts: snapshot.prompts.values().cloned().collect(),
            resources: snapshot.resources.values().cloned().collect(),
            templates: snapshot.templates.values().cloned().collect(),
            completer: snapshot.completer.clone(),
            raw_completer: None,
            middleware: snapshot.middleware.clone(),
            visibility: snapshot.visibility.clone(),
            policies: snapshot.policies.clone(),
            has_subscriptions: snapshot.options.resource_subscriptions,
            declarations: snapshot.declared(),
            preferred_tools: HashSet::new(),
        }
    }

    fn watch(&self, listener: SourceListener) -> Box<dyn Any + Send + Sync> {
        Box::new(self.hub().listen(Arc::new(MountListener(listener))))
    }

    fn set_subscribed(&self, uri: &str, is_subscribed: bool) {
        // A source that panics was logged.
        let _ = self.count_subscription(uri, is_subscribed);
    }

    fn as_server(&self) -> Option<&Server> {
        Some(self)
    }
}

impl<S: Source + ?Sized> Source for Arc<S> {
    fn catalog(&self) -> Catalog {
        S::catalog(self)
    }

    fn watch(&self, listener: SourceListener) -> Box<dyn Any + Send + Sync> {
        S::watch(self, listener)
    }

    fn set_subscribed(&self, uri: &str, is_subscribed: bool) {
        S::set_subscribed(self, uri, is_subscribed);
    }

    fn as_server(&self) -> Option<&Server> {
        S::as_server(self)
    }
}

/// Passes the changes of a mounted server to the server that mounted it.
struct MountListener(SourceListener);

impl ChangeListener for MountListener {
    fn deliver(&self, change: &Change) -> bool {
        match change {
            Change::ToolsListChanged
            | Change::PromptsListChanged
            | Change::ResourcesListChanged => {
                self.0.catalog_changed();
                true
            }
            Change::ResourceUpdated(uri) => self.0.resource_updated(uri) > 0,
            _ => false,
        }
    }

    #[cfg(feature = "http-server")]
    fn resync(&self) {
        self.0.catalog_changed();
    }
}
