//! Snapshots: the immutable content of a server. A request uses one snapshot, and each change creates the next one.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};
use std::time::Duration;

use bytes::Bytes;
use indexmap::IndexMap;
use serde_json::Map;
use toolwire_proto::cache::CacheHint;
use toolwire_proto::envelope::NotificationEnvelope;
use toolwire_proto::features::SupportedVersions;
use toolwire_types::{
    Implementation, PromptsCapability, ProtocolVersion, RawJson, ResourcesCapability,
    ServerCapabilities, ToolsCapability,
};

use crate::engine::encoding::shared;
use crate::engine::{BoxFuture, PeerText, TransportContext};
use crate::server::ServerInner;
use crate::server::completion::DefaultCompleter;
use crate::server::connected_client::ConnectedClient;
#[cfg(feature = "events")]
use crate::server::events::EventTypes;
use crate::server::extension_entry::ExtensionEntry;
#[cfg(feature = "relay")]
use crate::server::forward::Forwarder;
use crate::server::inspection::Inspection;
use crate::server::method::MethodEntry;
use crate::server::middleware::{Chain, NotificationDrop, Policy};
#[cfg(feature = "relay")]
use crate::server::mount::ROOTS_CHANGED;
use crate::server::mount::{CatalogEntry as _, Declarations, ExposedUris, Origin};
use crate::server::notification::NotificationEntry;
use crate::server::optional_methods::OptionalMethods;
use crate::server::prompt::PromptEntry;
use crate::server::registry::NameMap;
use crate::server::resource::{ResolvedResource, ResourceEntry, TemplateEntry};
#[cfg(feature = "skills")]
use crate::server::skills::SkillCatalog;
#[cfg(feature = "input")]
use crate::server::state_seal::StateSeal;
#[cfg(feature = "tasks")]
use crate::server::tasks::TaskRuntime;
use crate::server::tool::ToolEntry;
#[cfg(feature = "apps")]
use crate::server::view::View;
use crate::server::visibility::{Viewer, Visibility};
use crate::sync::lock;

/// The default timeout of a client's response to an input request, which may need a person.
const CLIENT_RESPONSE_TIMEOUT: Duration = Duration::from_secs(600);

#[derive(Debug, Clone)]
pub(crate) struct Snapshot {
    /// The server that the snapshot belongs to.
    pub(super) server: Weak<ServerInner>,
    pub(crate) info: Implementation,
    pub(crate) instructions: Option<String>,
    pub(crate) supported: SupportedVersions,
    pub(crate) tools: NameMap<Arc<ToolEntry>>,
    pub(crate) prompts: NameMap<Arc<PromptEntry>>,
    pub(crate) resources: NameMap<Arc<ResourceEntry>>,
    pub(crate) templates: NameMap<Arc<TemplateEntry>>,
    pub(crate) methods: NameMap<Arc<MethodEntry>>,
    /// The handlers of notifications from clients.
    pub(crate) notifications: NameMap<Arc<NotificationEntry>>,
    /// The completer for arguments and variables without a completer of their own.
    pub(crate) completer: Option<DefaultCompleter>,
    /// The methods for the kinds of handlers, besides tools, that were ever registered.
    pub(crate) kinds: Vec<&'static OptionalMethods>,
    pub(crate) extensions: IndexMap<String, Arc<ExtensionEntry>>,
    #[cfg(feature = "events")]
    pub(crate) events: EventTypes,
    /// The skills. Each `SKILL.md` is also in `resources`.
    #[cfg(feature = "skills")]
    pub(crate) skills: Option<Arc<SkillCatalog>>,
    #[cfg(feature = "tasks")]
    pub(crate) tasks: Option<Arc<TaskRuntime>>,
    /// The registered views by URI.
    #[cfg(feature = "apps")]
    pub(crate) views: NameMap<View>,
    pub(crate) options: ServerOptions,
    /// The middleware around every exchange. `None` without any.
    pub(crate) middleware: Option<Chain>,
    /// Whether an entry of a mount has middleware of its own.
    pub(crate) has_mount_middleware: bool,
    /// Writes reports about exchanges. `None` unless the developer asked for them.
    pub(crate) inspection: Option<Arc<Inspection>>,
    /// The rule for what a caller sees.
    pub(crate) visibility: Option<Visibility>,
    /// The policies of the server.
    pub(crate) policies: Vec<Policy>,
    /// Whether a rule or a policy of the server or of a mount hides entries from some callers.
    pub(crate) is_filtered: bool,
    /// Whether a mount has raw entries.
    pub(crate) has_raw_entries: bool,
    /// Whether the entries come from several mounts, or from a mount and the server itself.
    pub(crate) has_several_sources: bool,
    /// What the sources of mounts declare besides their entries, by the number of the mount.
    pub(crate) declarations: BTreeMap<usize, Declarations>,
    /// The URIs under which the resources of mounts are exposed.
    pub(crate) uris: Arc<ExposedUris>,
    pub(crate) emptied: EmptiedLists,
    /// Serves all requests instead of the handlers.
    #[cfg(feature = "relay")]
    pub(crate) forwarder: Option<Arc<dyn Forwarder>>,
    pub(crate) derived: DerivedData,
}

/// The lists that lost an entry. Their capabilities were advertised and clients continue to request them, so an emptied
/// list must stay available and not become an unknown method.
#[derive(Debug, Clone, Default)]
pub(crate) struct EmptiedLists {
    pub(crate) tools: bool,
    pub(crate) prompts: bool,
    pub(crate) resources: bool,
}

/// The options of a server.
#[derive(Debug, Clone)]
pub(crate) struct ServerOptions {
    pub(crate) logging: bool,
    pub(crate) resource_subscriptions: bool,
    pub(crate) require_initialized: bool,
    pub(crate) validate_output: bool,
    pub(crate) send_server_info: bool,
    pub(crate) page_size: usize,
    pub(crate) filter_by_scope: bool,
    /// The hint of lists and of the discovery result. Default: `default_hint`.
    pub(crate) list_hint: Option<CacheHint>,
    /// The hint of results without a hint of their own.
    pub(crate) default_hint: CacheHint,
    pub(crate) client_response_timeout: Duration,
    #[cfg(feature = "input")]
    pub(crate) seal: Arc<StateSeal>,
}

impl ServerOptions {
    /// Returns the hint of lists and of the discovery result.
    pub(crate) fn list_hint(&self) -> CacheHint {
        self.list_hint.unwrap_or(self.default_hint)
    }
}

impl Snapshot {
    pub(super) fn new(info: Implementation, server: Weak<ServerInner>) -> Self {
        #[cfg(feature = "input")]
        let seal = Arc::new(StateSeal::new(info.name.clone()));
        Self {
            server,
            info,
            instructions: None,
            supported: SupportedVersions::default(),
            tools: NameMap::default(),
            prompts: NameMap::default(),
            resources: NameMap::default(),
            templates: NameMap::default(),
            methods: NameMap::default(),
            notifications: NameMap::default(),
            completer: None,
            kinds: Vec::new(),
            extensions: IndexMap::new(),
            #[cfg(feature = "events")]
            events: EventTypes::default(),
            #[cfg(feature = "skills")]
            skills: None,
            #[cfg(feature = "tasks")]
            tasks: None,
            #[cfg(feature = "apps")]
            views: NameMap::default(),
            options: ServerOptions {
                logging: false,
                resource_subscriptions: false,
                require_initialized: false,
                validate_output: false,
                send_server_info: true,
                page_size: 0,
                filter_by_scope: false,
                list_hint: None,
                default_hint: CacheHint::default(),
                client_response_timeout: CLIENT_RESPONSE_TIMEOUT,
                #[cfg(feature = "input")]
                seal,
            },
            middleware: None,
            has_mount_middleware: false,
            inspection: None,
            visibility: None,
            policies: Vec::new(),
            is_filtered: false,
            has_raw_entries: false,
            has_several_sources: false,
            declarations: BTreeMap::new(),
            uris: Arc::default(),
            emptied: EmptiedLists::default(),
            #[cfg(feature = "relay")]
            forwarder: None,
            derived: DerivedData::default(),
        }
    }

    /// Returns the server's capabilities, derived from its registered handlers.
    pub(crate) fn capabilities(&self) -> &ServerCapabilities {
        self.derived
            .capabilities
            .get_or_init(|| self.derive_capabilities())
    }

    fn derive_capabilities(&self) -> ServerCapabilities {
        let mut capabilities = ServerCapabilities::default();
        if !self.tools.is_empty() || self.emptied.tools {
            capabilities.tools = Some(ToolsCapability::new().with_list_changed());
        }
        if !self.prompts.is_empty() || self.emptied.prompts {
            capabilities.prompts = Some(PromptsCapability::new().with_list_changed());
        }
        let has_resources = !self.resources.is_empty() || !self.templates.is_empty();
        if has_resources || self.emptied.resources {
            let mut resources = ResourcesCapability::new().with_list_changed();
            resources.subscribe = self.options.resource_subscriptions.then_some(true);
            capabilities.resources = Some(resources);
        }
        if self.options.logging {
            capabilities.logging = Some(Map::new());
        }
        if self.has_completions() {
            capabilities.completions = Some(Map::new());
        }
        if !self.extensions.is_empty() {
            let extensions = self.extensions.iter();
            let extensions = extensions.map(|(id, entry)| (id.clone(), entry.settings.clone()));
            capabilities.extensions = Some(extensions.collect());
        }
        self.add_task_capabilities(&mut capabilities);
        #[cfg(feature = "relay")]
        self.add_mounted_task_capabilities(&mut capabilities);
        capabilities
    }

    fn has_completions(&self) -> bool {
        let of_mount = |origin: Option<&Arc<Origin>>| {
            origin
                .is_some_and(|origin| origin.completer.is_some() || origin.raw_completer.is_some())
        };
        self.completer.is_some()
            || self
                .prompts
                .values()
                .any(|prompt| !prompt.completers.is_empty() || of_mount(prompt.origin()))
            || self
                .templates
                .values()
                .any(|template| !template.completers.is_empty() || of_mount(template.origin()))
    }

    /// Returns a tool that the caller sees.
    #[inline]
    pub(crate) fn find_tool(&self, name: &str, viewer: &Viewer<'_>) -> Option<&Arc<ToolEntry>> {
        let tool = self.tools.get(name);
        tool.filter(|tool| viewer.sees_kind(name, tool.origin(), tool.kind()))
    }

    /// Returns a prompt that the caller sees.
    pub(crate) fn find_prompt(&self, name: &str, viewer: &Viewer<'_>) -> Option<&Arc<PromptEntry>> {
        let prompt = self.prompts.get(name);
        prompt.filter(|prompt| viewer.sees(name, prompt.origin()))
    }

    /// Returns a template that the caller sees.
    pub(crate) fn find_template(
        &self,
        template: &str,
        viewer: &Viewer<'_>,
    ) -> Option<&Arc<TemplateEntry>> {
        let entry = self.templates.get(template);
        entry.filter(|entry| viewer.sees_kind(template, entry.origin(), entry.kind()))
    }

    /// Returns a fixed resource that the caller sees.
    pub(crate) fn find_fixed_resource(
        &self,
        uri: &str,
        viewer: &Viewer<'_>,
    ) -> Option<&Arc<ResourceEntry>> {
        let entry = self.resources.get(uri);
        entry.filter(|entry| viewer.sees(uri, entry.origin()))
    }

    /// Returns the resource at a URI that the caller sees: a fixed one, a file of a skill, or the most specific template
    /// that matches.
    pub(crate) fn find_resource(&self, uri: &str, viewer: &Viewer<'_>) -> Option<ResolvedResource> {
        if let Some(entry) = self.find_fixed_resource(uri, viewer) {
            return Some(entry.resolve());
        }
        #[cfg(feature = "skills")]
        if let Some(skills) = &self.skills
            && let Some(file) = skills.files.get(uri)
            && skills.sees_file(uri, viewer)
        {
            return Some(file.resource.resolve());
        }
        let mut matching = self.templates_at(uri).into_iter();
        let (_, found) = matching.find(|(entry, _)| viewer.sees_at(uri, entry))?;
        Some(found)
    }

    /// Returns the templates that match a URI, with the resource there. The most specific one is first. A URI with the
    /// prefix of a mount belongs to that mount only.
    pub(crate) fn templates_at(&self, uri: &str) -> Vec<(&Arc<TemplateEntry>, ResolvedResource)> {
        if self.has_raw_entries
            && let Some(prefixed) = self.prefixed_templates_at(uri)
        {
            return prefixed;
        }
        let mut matching: Vec<_> = self
            .templates
            .values()
            .filter_map(|entry| Some((entry, entry.resolve(uri)?)))
            .collect();
        // The sort is stable: of two equally specific templates, the first registered is used.
        matching.sort_by_key(|(entry, _)| std::cmp::Reverse(entry.template.specificity()));
        matching
    }

    /// Returns `true` if a forwarder serves all requests instead of the handlers.
    pub(crate) fn forwards(&self) -> bool {
        #[cfg(feature = "relay")]
        let forwards = self.forwarder.is_some();
        #[cfg(not(feature = "relay"))]
        let forwards = false;
        forwards
    }

    /// Tells the middleware that an HTTP session was opened.
    #[cfg(feature = "http-server")]
    pub(crate) fn session_opened(&self, session: &str, version: ProtocolVersion) {
        if let Some(chain) = &self.middleware {
            chain.notify(|middleware| middleware.session_opened(session, version));
        }
    }

    /// Tells the middleware, and the forwarder if there is one, that an HTTP session has ended.
    #[cfg(feature = "http-server")]
    pub(crate) fn session_closed(&self, session: &str) {
        #[cfg(feature = "relay")]
        if let Some(forwarder) = &self.forwarder {
            forwarder.session_closed(session);
        }
        if let Some(chain) = &self.middleware {
            chain.notify(|middleware| middleware.session_closed(session));
        }
    }

    /// Tells the middleware that a notification was dropped.
    pub(crate) fn notification_dropped(&self, dropped: NotificationDrop) {
        if let Some(chain) = &self.middleware {
            chain.notify(|middleware| middleware.notification_dropped(dropped));
        }
    }

    /// Returns `true` if the server serves a method that the protocol does not define.
    pub(crate) fn is_custom_method(&self, name: &str) -> bool {
        self.methods.contains_key(name) || self.forwards()
    }

    /// Returns `true` if the server accepts a notification that the protocol does not define.
    pub(crate) fn is_custom_notification(&self, name: &str) -> bool {
        self.notifications.contains_key(name) || self.forwards()
    }

    /// Returns the work for a notification, if the server or a source handles it.
    pub(crate) fn notification_work(
        &self,
        notification: &NotificationEnvelope<'_>,
        client: impl FnOnce() -> Arc<dyn TransportContext>,
    ) -> Option<BoxFuture<'static, ()>> {
        #[cfg(feature = "relay")]
        if let Some(forwarder) = &self.forwarder {
            return Some(forwarder.notification(notification, client()));
        }
        #[cfg(feature = "relay")]
        if notification.method == ROOTS_CHANGED {
            let client = client();
            let handler = self.handler_work(notification, || Arc::clone(&client));
            return self.roots_work(&client, handler);
        }
        self.handler_work(notification, client)
    }

    /// Returns the work of the handler that the author registered for a notification.
    fn handler_work(
        &self,
        notification: &NotificationEnvelope<'_>,
        client: impl FnOnce() -> Arc<dyn TransportContext>,
    ) -> Option<BoxFuture<'static, ()>> {
        let Some(entry) = self.notifications.get(&*notification.method) else {
            tracing::debug!(method = %PeerText::new(&notification.method), "notification without a handler");
            return None;
        };
        let params = match notification.params {
            Some(params) => RawJson::from(params),
            None => RawJson::empty_object(),
        };
        let client = ConnectedClient::new(client());
        entry
            .is_in_force(&client)
            .then(|| entry.call(client, params))
    }

    /// Returns the server info for the `_meta` of every 2026-07-28 result.
    pub(crate) fn server_info(&self) -> Option<&RawJson> {
        let write = || RawJson::from_serialize(&self.info).ok();
        let info = self.derived.server_info.get_or_init(write).as_ref();
        info.filter(|_| self.options.send_server_info)
    }
}

/// The kind of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ListKind {
    Tools,
    Prompts,
    Resources,
    Templates,
    #[cfg(feature = "skills")]
    Skills,
}

/// Data derived from a snapshot, computed once. A changed snapshot starts without it.
#[derive(Debug, Default)]
pub(crate) struct DerivedData {
    capabilities: OnceLock<ServerCapabilities>,
    server_info: OnceLock<Option<RawJson>>,
    pages: Mutex<HashMap<PageKey, Bytes>>,
}

/// The key of a list page: the list, the revision and the index of the first entry.
type PageKey = (ListKind, ProtocolVersion, usize);

impl Clone for DerivedData {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl DerivedData {
    /// Returns the page that starts at `start`, encoding it at first use.
    ///
    /// Only pages that start at a page boundary are cached, so that forged cursors cannot fill the cache.
    pub(crate) fn page<E>(
        &self,
        list: ListKind,
        version: ProtocolVersion,
        start: usize,
        page_size: usize,
        write: impl FnOnce() -> Result<RawJson, E>,
    ) -> Result<Bytes, E> {
        let write = || write().map(|page| shared(&page));
        let regular = start.checked_rem(page_size).unwrap_or(start) == 0;
        if !regular {
            return write();
        }
        let key = (list, version, start);
        if let Some(page) = self.lock().get(&key) {
            return Ok(page.clone());
        }
        let page = write()?;
        self.lock().insert(key, page.clone());
        Ok(page)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PageKey, Bytes>> {
        lock(&self.pages)
    }
}
