//! The filter of a listener: what it may name, what the server accepts, and which changes pass it.

use std::collections::BTreeSet;

#[cfg(feature = "events")]
use toolwire_types::events::{EXTENSION_ID as EVENTS_EXTENSION, EventsSettings};
use toolwire_types::tasks::extension::EXTENSION_ID as TASKS_EXTENSION;
use toolwire_types::{ErrorObject, ServerCapabilities, SubscriptionFilter};

use crate::methods::Capability;
use crate::subscriptions::change::Change;
use crate::uri_template::MAX_URI_BYTES;

/// The maximum number of URIs, and of task ids, that one listener may name.
pub const LONGEST_FILTER: usize = 1024;

/// The maximum total length in bytes of the URIs and task ids of one listener.
pub const MAX_FILTER_BYTES: usize = 64 * 1024;

/// The memory that a URI or task id of a filter uses besides its bytes, and again while its change is pending.
const NAME_OVERHEAD: usize = 256;

/// Returns the part of a requested filter that the server supports, as the acknowledgement reports it.
///
/// Spec 2026-07-28, basic/patterns/subscriptions: unsupported kinds are omitted.
#[must_use]
pub fn accepted_filter(
    requested: &SubscriptionFilter,
    server: &ServerCapabilities,
) -> SubscriptionFilter {
    let granted = |value: Option<bool>, capability: Capability| {
        (value == Some(true) && capability.is_advertised(server)).then_some(true)
    };
    let named = |value: &Option<Vec<String>>, possible: bool| {
        value
            .as_ref()
            .filter(|names| possible && !names.is_empty())
            .map(|names| distinct(names))
    };
    let mut granted_filter = SubscriptionFilter::new();
    granted_filter.tools_list_changed =
        granted(requested.tools_list_changed, Capability::ToolsListChanged);
    granted_filter.prompts_list_changed = granted(
        requested.prompts_list_changed,
        Capability::PromptsListChanged,
    );
    granted_filter.resources_list_changed = granted(
        requested.resources_list_changed,
        Capability::ResourcesListChanged,
    );
    granted_filter.resource_subscriptions = named(
        &requested.resource_subscriptions,
        Capability::ResourcesSubscribe.is_advertised(server),
    );
    granted_filter.task_ids = named(
        &requested.task_ids,
        server.extension(TASKS_EXTENSION).is_some(),
    );
    #[cfg(feature = "events")]
    if requested.events_list_changed == Some(true) && announces_event_types(server) {
        granted_filter.events_list_changed = Some(true);
    }
    granted_filter
}

/// Returns `true` if the server declares that it announces changes of its event types.
#[cfg(feature = "events")]
fn announces_event_types(server: &ServerCapabilities) -> bool {
    let settings = server.extension(EVENTS_EXTENSION);
    let settings = settings.and_then(|settings| settings.parse::<EventsSettings>().ok());
    settings.is_some_and(|settings| settings.list_changed == Some(true))
}

/// Returns the extension that a client must have declared to listen with this filter. Returns `None` if the filter names
/// no tasks, or if the server does not offer tasks and so omits them from the accepted filter.
#[must_use]
pub fn required_extension(
    requested: &SubscriptionFilter,
    server: &ServerCapabilities,
) -> Option<&'static str> {
    let names_tasks = requested
        .task_ids
        .as_ref()
        .is_some_and(|ids| !ids.is_empty());
    (names_tasks && server.extension(TASKS_EXTENSION).is_some()).then_some(TASKS_EXTENSION)
}

fn distinct(names: &[String]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    names
        .iter()
        .filter(|name| seen.insert(name.as_str()))
        .cloned()
        .collect()
}

/// The accepted filter of a listener.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    tools: bool,
    prompts: bool,
    resources: bool,
    #[cfg(feature = "events")]
    events: bool,
    uris: BTreeSet<String>,
    tasks: BTreeSet<String>,
}

impl Filter {
    /// Creates a filter from the accepted part of a request, see [`accepted_filter`].
    ///
    /// # Errors
    /// Returns −32602 if the filter names more than [`LONGEST_FILTER`] URIs or tasks, or if one of them is longer than
    /// [`MAX_URI_BYTES`]. The same holds if all together are longer than [`MAX_FILTER_BYTES`]. On HTTP the error has
    /// status 400.
    pub fn new(filter: &SubscriptionFilter) -> Result<Self, ErrorObject> {
        check_name_bytes(filter)?;
        let names = |names: &Option<Vec<String>>, member: &str| match names {
            Some(names) if names.len() > LONGEST_FILTER => Err(ErrorObject::invalid_params(
                format!("notifications.{member} may name at most {LONGEST_FILTER}"),
            )),
            Some(names) => Ok(names.iter().cloned().collect()),
            None => Ok(BTreeSet::new()),
        };
        Ok(Self {
            tools: filter.tools_list_changed == Some(true),
            prompts: filter.prompts_list_changed == Some(true),
            resources: filter.resources_list_changed == Some(true),
            #[cfg(feature = "events")]
            events: filter.events_list_changed == Some(true),
            uris: names(&filter.resource_subscriptions, "resourceSubscriptions")?,
            tasks: names(&filter.task_ids, "taskIds")?,
        })
    }

    /// Returns an upper bound of the bytes that the names of this filter take in memory, each also as a pending change.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let names = self.uris.iter().chain(&self.tasks);
        names.map(|name| 2 * name.len() + NAME_OVERHEAD).sum()
    }

    /// Returns `true` if the listener receives the change.
    #[must_use]
    pub fn accepts(&self, change: &Change) -> bool {
        match change {
            Change::ToolsListChanged => self.tools,
            Change::PromptsListChanged => self.prompts,
            Change::ResourcesListChanged => self.resources,
            Change::ResourceUpdated(uri) => self.covers(uri),
            Change::Task(id) => self.tasks.contains(id),
            #[cfg(feature = "events")]
            Change::EventsListChanged => self.events,
        }
    }

    /// Returns every change that the listener receives, for cases in which the actual changes are unknown.
    pub fn changes(&self) -> impl Iterator<Item = Change> + '_ {
        let lists = [
            (self.tools, Change::ToolsListChanged),
            (self.prompts, Change::PromptsListChanged),
            (self.resources, Change::ResourcesListChanged),
            #[cfg(feature = "events")]
            (self.events, Change::EventsListChanged),
        ];
        let lists = lists.into_iter().filter(|(is_requested, _)| *is_requested);
        lists
            .map(|(_, change)| change)
            .chain(self.uris.iter().cloned().map(Change::ResourceUpdated))
            .chain(self.tasks.iter().cloned().map(Change::Task))
    }

    /// Returns `true` for a subscribed URI and for its sub-resources.
    ///
    /// Schema 2026-07-28, ResourceUpdatedNotificationParams: the URI may be a sub-resource of the subscribed one.
    fn covers(&self, uri: &str) -> bool {
        self.uris.contains(uri) || self.uris.iter().any(|above| lies_below(uri, above))
    }
}

/// Rejects a filter with a name that is too long, or with too many bytes in all names.
fn check_name_bytes(filter: &SubscriptionFilter) -> Result<(), ErrorObject> {
    let members = [
        ("resourceSubscriptions", &filter.resource_subscriptions),
        ("taskIds", &filter.task_ids),
    ];
    let mut total = 0;
    for (member, names) in members {
        for name in names.iter().flatten() {
            if name.len() > MAX_URI_BYTES {
                return Err(ErrorObject::invalid_params(format!(
                    "notifications.{member} has an entry of {} bytes; the limit is {MAX_URI_BYTES}",
                    name.len()
                )));
            }
            total += name.len();
        }
    }
    if total > MAX_FILTER_BYTES {
        return Err(ErrorObject::invalid_params(format!(
            "the entries of notifications have {total} bytes together; the limit is {MAX_FILTER_BYTES}, \
             so listen more than once"
        )));
    }
    Ok(())
}

pub(crate) fn lies_below(uri: &str, above: &str) -> bool {
    // A scheme and its slashes are not a resource, so they have no sub-resources.
    let scheme = uri.find("://").map_or(0, |end| end + 3);
    above.len() > scheme
        && uri
            .strip_prefix(above)
            .is_some_and(|rest| above.ends_with('/') || rest.starts_with(['/', '?', '#']))
}
