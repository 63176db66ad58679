//! The table of methods: one row for every request and notification of the five revisions.
//!
//! A row states which side sends the method, which revisions have it, which server capability or extension it requires,
//! whether the client must declare that extension, and which parameter `Mcp-Name` repeats. No other code lists method names with rules. Sampling, elicitation and roots have rows
//! up to 2025-11-25 only. In later revisions they are input requests inside a result.

use std::num::NonZeroU8;

#[cfg(feature = "events")]
use toolwire_types::events::EXTENSION_ID as EVENTS_EXTENSION;
use toolwire_types::skills::EXTENSION_ID as SKILLS_EXTENSION;
use toolwire_types::tasks::extension::EXTENSION_ID as TASKS_EXTENSION;
use toolwire_types::{ClientCapabilities, ErrorObject, ProtocolVersion, ServerCapabilities};

use crate::extensions;
use crate::features::VersionFeatures;

/// Returns the row of a method or notification with exactly this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Method> {
    let mut bucket = first_bucket(name.as_bytes());
    loop {
        let row = &TABLE[BUCKETS[bucket]?.get() as usize - 1];
        if row.name == name {
            return Some(row);
        }
        bucket = (bucket + 1) % BUCKET_COUNT;
    }
}

const BUCKET_COUNT: usize = 128;

/// The indexes of the rows, counted from one, in an open-addressing hash table. A row is at the first free bucket from
/// the bucket of its name on. Every request is looked up here, and few lookups compare more than one name.
static BUCKETS: [Option<NonZeroU8>; BUCKET_COUNT] = {
    // A lookup ends at an empty bucket, so there must be empty buckets.
    assert!(TABLE.len() < BUCKET_COUNT / 2);
    let mut buckets = [None; BUCKET_COUNT];
    let mut row = 0;
    while row < TABLE.len() {
        let mut bucket = first_bucket(TABLE[row].name.as_bytes());
        while buckets[bucket].is_some() {
            bucket = (bucket + 1) % BUCKET_COUNT;
        }
        row += 1;
        buckets[bucket] = NonZeroU8::new(row as u8);
    }
    buckets
};

const fn first_bucket(name: &[u8]) -> usize {
    match name {
        [] => 0,
        [first, .., last] => (name.len() * 5 + *first as usize + *last as usize * 3) % BUCKET_COUNT,
        [only] => *only as usize % BUCKET_COUNT,
    }
}

/// Returns every row, sorted by name.
#[must_use]
pub const fn all() -> &'static [Method] {
    TABLE
}

/// The notifications that a server processes itself: basic/lifecycle, "Initialization", and
/// basic/utilities/cancellation, in every revision that has them.
const PROCESSED_BY_SERVER: [&str; 2] = ["notifications/initialized", "notifications/cancelled"];

/// Returns `true` if the author of a server may register a handler for this notification: clients send it in at least
/// one revision and the server does not process it itself, or the protocol does not define it.
///
/// ```
/// use toolwire_proto::methods::may_have_notification_handler;
///
/// assert!(may_have_notification_handler("notifications/roots/list_changed"));
/// assert!(!may_have_notification_handler("notifications/cancelled"));
/// ```
#[must_use]
pub fn may_have_notification_handler(name: &str) -> bool {
    let is_received = |row: &Method| {
        ProtocolVersion::ALL
            .iter()
            .any(|version| row.is_client_notification(*version))
    };
    !PROCESSED_BY_SERVER.contains(&name) && find(name).is_none_or(is_received)
}

/// Returns `true` if a request with this method is about one task, in any revision.
///
/// ```
/// use toolwire_proto::methods::is_about_task;
///
/// assert!(is_about_task("tasks/get"));
/// assert!(!is_about_task("tasks/list"));
/// ```
#[must_use]
pub fn is_about_task(method: &str) -> bool {
    find(method).is_some_and(|row| row.name_source == NameSource::TaskId)
}

/// The rules of one method or notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Method {
    /// The wire name.
    pub name: &'static str,
    /// Whether the method is a request or a notification.
    pub kind: MethodKind,
    /// The first revision that has it.
    pub since: ProtocolVersion,
    /// The last revision that has it. `None` if the newest revision has it.
    pub until: Option<ProtocolVersion>,
    /// The parameter that the `Mcp-Name` header repeats.
    pub name_source: NameSource,
    /// Whether complete results have `ttlMs` and `cacheScope` (2026-07-28).
    pub cacheable: bool,
    /// Whether the response may be `input_required` (2026-07-28).
    pub may_ask_input: bool,
    /// Whether the response may be a task (tasks extension of 2026-07-28).
    pub may_become_task: bool,
    legacy_direction: Direction,
    modern_direction: Direction,
    capability: Option<Capability>,
    extension: Option<&'static str>,
    needs_declaration: bool,
}

/// The kind of a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "JSON-RPC has exactly these two")]
pub enum MethodKind {
    /// Has an id and gets a response.
    Request,
    /// Has no id and gets no response.
    Notification,
}

/// The side that may send a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a connection has two sides")]
pub enum Direction {
    /// Only the client sends it.
    ClientToServer,
    /// Only the server sends it.
    ServerToClient,
    /// Either side sends it.
    Both,
}

impl Direction {
    /// Returns `true` if a client may send it.
    #[must_use]
    pub fn from_client(self) -> bool {
        self != Self::ServerToClient
    }

    /// Returns `true` if a server may send it.
    #[must_use]
    pub fn from_server(self) -> bool {
        self != Self::ClientToServer
    }
}

/// The parameter that the `Mcp-Name` header repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NameSource {
    /// The request names nothing.
    None,
    /// `params.name`.
    Name,
    /// `params.uri`.
    Uri,
    /// `params.taskId`.
    TaskId,
}

impl NameSource {
    /// Returns the name of the parameter.
    #[must_use]
    pub const fn member(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Name => Some("name"),
            Self::Uri => Some("uri"),
            Self::TaskId => Some("taskId"),
        }
    }
}

/// A server capability that methods require.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Capability {
    /// `tools`.
    Tools,
    /// `tools.listChanged`.
    ToolsListChanged,
    /// `resources`.
    Resources,
    /// `resources.listChanged`.
    ResourcesListChanged,
    /// `resources.subscribe`.
    ResourcesSubscribe,
    /// `prompts`.
    Prompts,
    /// `prompts.listChanged`.
    PromptsListChanged,
    /// `completions`.
    Completions,
    /// `logging`.
    Logging,
    /// `tasks` of 2025-11-25.
    CoreTasks,
    /// `tasks.list` of 2025-11-25.
    CoreTasksList,
    /// `tasks.cancel` of 2025-11-25.
    CoreTasksCancel,
}

impl Capability {
    /// All capabilities.
    pub(crate) const ALL: [Self; 12] = [
        Self::Tools,
        Self::ToolsListChanged,
        Self::Resources,
        Self::ResourcesListChanged,
        Self::ResourcesSubscribe,
        Self::Prompts,
        Self::PromptsListChanged,
        Self::Completions,
        Self::Logging,
        Self::CoreTasks,
        Self::CoreTasksList,
        Self::CoreTasksCancel,
    ];

    /// Returns its path in the capabilities of a server.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::ToolsListChanged => "tools.listChanged",
            Self::Resources => "resources",
            Self::ResourcesListChanged => "resources.listChanged",
            Self::ResourcesSubscribe => "resources.subscribe",
            Self::Prompts => "prompts",
            Self::PromptsListChanged => "prompts.listChanged",
            Self::Completions => "completions",
            Self::Logging => "logging",
            Self::CoreTasks => "tasks",
            Self::CoreTasksList => "tasks.list",
            Self::CoreTasksCancel => "tasks.cancel",
        }
    }

    /// Returns `true` if the server declares it.
    #[must_use]
    pub fn is_advertised(self, server: &ServerCapabilities) -> bool {
        // Each closure reads only its own member, so that the most frequent capability does not load the others.
        let resources = || server.resources.as_ref();
        let tasks = || server.tasks.as_ref();
        match self {
            Self::Tools => server.tools.is_some(),
            Self::ToolsListChanged => {
                let tools = server.tools.as_ref();
                tools.is_some_and(|tools| tools.list_changed == Some(true))
            }
            Self::Resources => resources().is_some(),
            Self::ResourcesListChanged => {
                resources().is_some_and(|resources| resources.list_changed == Some(true))
            }
            Self::ResourcesSubscribe => {
                resources().is_some_and(|resources| resources.subscribe == Some(true))
            }
            Self::Prompts => server.prompts.is_some(),
            Self::PromptsListChanged => {
                let prompts = server.prompts.as_ref();
                prompts.is_some_and(|prompts| prompts.list_changed == Some(true))
            }
            Self::Completions => server.completions.is_some(),
            Self::Logging => server.logging.is_some(),
            Self::CoreTasks => tasks().is_some(),
            Self::CoreTasksList => tasks().is_some_and(|tasks| tasks.list.is_some()),
            Self::CoreTasksCancel => tasks().is_some_and(|tasks| tasks.cancel.is_some()),
        }
    }
}

impl Method {
    /// Returns `true` if the revision has the method, in the core or through an extension.
    #[must_use]
    pub fn is_served(&self, version: ProtocolVersion) -> bool {
        self.since <= version && self.until.is_none_or(|until| version <= until)
    }

    /// Returns the sides that may send it in the legacy revisions, and those that may send it in the modern ones.
    #[cfg(feature = "relay")]
    pub(crate) const fn directions(&self) -> [Direction; 2] {
        [self.legacy_direction, self.modern_direction]
    }

    /// Returns the sides that may send it in that revision. `notifications/progress` lost a direction in 2026-07-28.
    #[must_use]
    pub fn direction(&self, version: ProtocolVersion) -> Direction {
        if version.is_modern() {
            self.modern_direction
        } else {
            self.legacy_direction
        }
    }

    /// Returns the server capability that the method requires in that revision.
    #[must_use]
    pub fn capability(&self, version: ProtocolVersion) -> Option<Capability> {
        self.capability.filter(|capability| match capability {
            // 2024-11-05 has no `completions` capability, so the method is always allowed.
            Capability::Completions => version.has_completions_capability(),
            Capability::CoreTasks | Capability::CoreTasksList | Capability::CoreTasksCancel => {
                version.has_core_tasks()
            }
            _ => true,
        })
    }

    /// Returns the extension that defines it in that revision. Returns `None` if it is part of the core.
    #[must_use]
    pub fn extension(&self, version: ProtocolVersion) -> Option<&'static str> {
        self.extension
            .filter(|id| extensions::may_declare(version, id))
    }

    /// Returns the extension that the client must have declared to send it in that revision.
    #[must_use]
    #[inline]
    pub fn declared_extension(&self, version: ProtocolVersion) -> Option<&'static str> {
        if self.needs_declaration {
            self.extension(version)
        } else {
            None
        }
    }

    /// Returns `true` if a server with these capabilities offers it in that revision.
    ///
    /// A method that is not offered gets the same error as an unknown method (2026-07-28, error code −32601).
    #[must_use]
    pub fn is_offered(&self, version: ProtocolVersion, server: &ServerCapabilities) -> bool {
        let extension_on = self
            .extension(version)
            .is_none_or(|id| server.extension(id).is_some());
        let capability_on = self
            .capability(version)
            .is_none_or(|capability| capability.is_advertised(server));
        self.is_served(version) && extension_on && capability_on
    }

    /// Returns the error for a request of this method that a server rejects before it reads the parameters.
    ///
    /// The error is −32601 if the server does not offer the method. It is −32021 if the method requires the client to
    /// declare its extension, and the client did not. `client` is called only for such a method.
    #[must_use]
    #[inline]
    pub fn rejection<'c>(
        &self,
        version: ProtocolVersion,
        server: &ServerCapabilities,
        client: impl FnOnce() -> &'c ClientCapabilities,
    ) -> Option<ErrorObject> {
        if !self.is_offered(version, server) {
            return Some(not_offered(self.name));
        }
        let id = self.declared_extension(version)?;
        extensions::check_declared(id, client()).err()
    }

    /// Returns `true` if a client may send it as a request in that revision.
    #[must_use]
    pub fn is_client_request(&self, version: ProtocolVersion) -> bool {
        self.kind == MethodKind::Request
            && self.is_served(version)
            && self.direction(version).from_client()
    }

    /// Returns `true` if a server may send it as a request in that revision.
    #[must_use]
    pub fn is_server_request(&self, version: ProtocolVersion) -> bool {
        self.kind == MethodKind::Request
            && self.is_served(version)
            && self.direction(version).from_server()
    }

    /// Returns `true` if a client may send it as a notification in that revision.
    #[must_use]
    pub fn is_client_notification(&self, version: ProtocolVersion) -> bool {
        self.kind == MethodKind::Notification
            && self.is_served(version)
            && self.direction(version).from_client()
    }

    const fn new(name: &'static str, kind: MethodKind, direction: Direction) -> Self {
        Self {
            name,
            kind,
            since: ProtocolVersion::V2024_11_05,
            until: None,
            name_source: NameSource::None,
            cacheable: false,
            may_ask_input: false,
            may_become_task: false,
            legacy_direction: direction,
            modern_direction: direction,
            capability: None,
            extension: None,
            needs_declaration: false,
        }
    }

    const fn since(mut self, version: ProtocolVersion) -> Self {
        self.since = version;
        self
    }

    const fn until(mut self, version: ProtocolVersion) -> Self {
        self.until = Some(version);
        self
    }

    const fn modern_direction(mut self, direction: Direction) -> Self {
        self.modern_direction = direction;
        self
    }

    const fn needs(mut self, capability: Capability) -> Self {
        self.capability = Some(capability);
        self
    }

    const fn extended_by(mut self, extension: &'static str) -> Self {
        self.extension = Some(extension);
        self
    }

    /// The client must declare the extension of the method to send it.
    const fn needs_declaration(mut self) -> Self {
        self.needs_declaration = true;
        self
    }

    const fn named_by(mut self, source: NameSource) -> Self {
        self.name_source = source;
        self
    }

    const fn cacheable(mut self) -> Self {
        self.cacheable = true;
        self
    }

    const fn may_ask_input(mut self) -> Self {
        self.may_ask_input = true;
        self
    }

    const fn may_become_task(mut self) -> Self {
        self.may_become_task = true;
        self
    }
}

/// Returns the error for a method that a server does not offer.
#[cold]
#[must_use]
pub fn not_offered(method: &str) -> ErrorObject {
    ErrorObject::method_not_found(format!("`{method}` is not offered by this server"))
}

const fn request(name: &'static str) -> Method {
    Method::new(name, MethodKind::Request, Direction::ClientToServer)
}

const fn server_request(name: &'static str) -> Method {
    Method::new(name, MethodKind::Request, Direction::ServerToClient)
}

const fn two_way_request(name: &'static str) -> Method {
    Method::new(name, MethodKind::Request, Direction::Both)
}

const fn notification(name: &'static str) -> Method {
    Method::new(name, MethodKind::Notification, Direction::ServerToClient)
}

const fn client_notification(name: &'static str) -> Method {
    Method::new(name, MethodKind::Notification, Direction::ClientToServer)
}

const fn two_way_notification(name: &'static str) -> Method {
    Method::new(name, MethodKind::Notification, Direction::Both)
}

const JUNE_2025: ProtocolVersion = ProtocolVersion::V2025_06_18;
const LAST_LEGACY: ProtocolVersion = ProtocolVersion::V2025_11_25;
const MODERN: ProtocolVersion = ProtocolVersion::V2026_07_28;

/// The rows, sorted by name.
#[rustfmt::skip]
static TABLE: &[Method] = &[
    request("completion/complete").needs(Capability::Completions),
    server_request("elicitation/create").since(JUNE_2025).until(LAST_LEGACY),
    // Events extension: no header repeats the name of these methods.
    #[cfg(feature = "events")]
    request("events/list").since(MODERN).extended_by(EVENTS_EXTENSION),
    #[cfg(feature = "events")]
    request("events/poll").since(MODERN).extended_by(EVENTS_EXTENSION),
    #[cfg(feature = "events")]
    request("events/stream").since(MODERN).extended_by(EVENTS_EXTENSION),
    #[cfg(feature = "events")]
    request("events/subscribe").since(MODERN).extended_by(EVENTS_EXTENSION),
    #[cfg(feature = "events")]
    request("events/unsubscribe").since(MODERN).extended_by(EVENTS_EXTENSION),
    request("initialize").until(LAST_LEGACY),
    request("logging/setLevel").until(LAST_LEGACY).needs(Capability::Logging),
    // 2026-07-28: the client sends it on stdio, the server only to end a `subscriptions/listen`.
    two_way_notification("notifications/cancelled"),
    notification("notifications/elicitation/complete").since(LAST_LEGACY).until(LAST_LEGACY),
    #[cfg(feature = "events")]
    notification("notifications/events/active").since(MODERN).extended_by(EVENTS_EXTENSION),
    #[cfg(feature = "events")]
    notification("notifications/events/error").since(MODERN).extended_by(EVENTS_EXTENSION),
    #[cfg(feature = "events")]
    notification("notifications/events/event").since(MODERN).extended_by(EVENTS_EXTENSION),
    #[cfg(feature = "events")]
    notification("notifications/events/heartbeat").since(MODERN).extended_by(EVENTS_EXTENSION),
    #[cfg(feature = "events")]
    notification("notifications/events/list_changed").since(MODERN).extended_by(EVENTS_EXTENSION),
    #[cfg(feature = "events")]
    notification("notifications/events/terminated").since(MODERN).extended_by(EVENTS_EXTENSION),
    client_notification("notifications/initialized").until(LAST_LEGACY),
    notification("notifications/message").needs(Capability::Logging),
    two_way_notification("notifications/progress").modern_direction(Direction::ServerToClient),
    notification("notifications/prompts/list_changed").needs(Capability::PromptsListChanged),
    notification("notifications/resources/list_changed").needs(Capability::ResourcesListChanged),
    notification("notifications/resources/updated").needs(Capability::ResourcesSubscribe),
    client_notification("notifications/roots/list_changed").until(LAST_LEGACY),
    notification("notifications/subscriptions/acknowledged").since(MODERN),
    notification("notifications/tasks").since(MODERN).extended_by(TASKS_EXTENSION),
    two_way_notification("notifications/tasks/status").since(LAST_LEGACY).until(LAST_LEGACY),
    notification("notifications/tools/list_changed").needs(Capability::ToolsListChanged),
    two_way_request("ping").until(LAST_LEGACY),
    request("prompts/get").needs(Capability::Prompts).named_by(NameSource::Name).may_ask_input(),
    request("prompts/list").needs(Capability::Prompts).cacheable(),
    // Our servers with skills always serve it. Clients check the setting `directoryRead` before.
    request("resources/directory/read").since(LAST_LEGACY).needs(Capability::Resources).extended_by(SKILLS_EXTENSION),
    request("resources/list").needs(Capability::Resources).cacheable(),
    request("resources/read").needs(Capability::Resources).named_by(NameSource::Uri).cacheable().may_ask_input(),
    request("resources/subscribe").until(LAST_LEGACY).needs(Capability::ResourcesSubscribe).named_by(NameSource::Uri),
    request("resources/templates/list").needs(Capability::Resources).cacheable(),
    request("resources/unsubscribe").until(LAST_LEGACY).needs(Capability::ResourcesSubscribe).named_by(NameSource::Uri),
    server_request("roots/list").until(LAST_LEGACY),
    server_request("sampling/createMessage").until(LAST_LEGACY),
    request("server/discover").since(MODERN).cacheable(),
    // Skills extension: no header repeats the URI of these methods.
    request("skills/get").since(LAST_LEGACY).needs(Capability::Resources).extended_by(SKILLS_EXTENSION).cacheable(),
    request("skills/list").since(LAST_LEGACY).needs(Capability::Resources).extended_by(SKILLS_EXTENSION).cacheable(),
    request("subscriptions/listen").since(MODERN),
    // 2025-11-25: each side may have started the task. 2026-07-28: the extension, which only clients call.
    two_way_request("tasks/cancel").since(LAST_LEGACY).modern_direction(Direction::ClientToServer)
        .needs(Capability::CoreTasksCancel).extended_by(TASKS_EXTENSION).needs_declaration().named_by(NameSource::TaskId),
    two_way_request("tasks/get").since(LAST_LEGACY).modern_direction(Direction::ClientToServer)
        .needs(Capability::CoreTasks).extended_by(TASKS_EXTENSION).needs_declaration().named_by(NameSource::TaskId),
    two_way_request("tasks/list").since(LAST_LEGACY).until(LAST_LEGACY).needs(Capability::CoreTasksList),
    two_way_request("tasks/result").since(LAST_LEGACY).until(LAST_LEGACY)
        .needs(Capability::CoreTasks).named_by(NameSource::TaskId),
    request("tasks/update").since(MODERN).extended_by(TASKS_EXTENSION).needs_declaration().named_by(NameSource::TaskId),
    request("tools/call").needs(Capability::Tools).named_by(NameSource::Name).may_ask_input().may_become_task(),
    request("tools/list").needs(Capability::Tools).cacheable(),
];

#[cfg(test)]
mod tests;
