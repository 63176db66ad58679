//! `subscriptions/listen`: the filter of a listener, and the notifications that it receives.
//!
//! A listener receives only changes that it requested and that the server declared. Every message on a listen stream
//! has the id of the listen request, with its original JSON type. Delivery, queues and coalescing belong to higher
//! layers.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
#[cfg(feature = "events")]
use toolwire_types::events::{EXTENSION_ID as EVENTS_EXTENSION, EventsSettings};
use toolwire_types::tasks::extension::EXTENSION_ID as TASKS_EXTENSION;
use toolwire_types::{
    ErrorObject, Meta, Notification, RawJson, RequestId, ServerCapabilities, SubscriptionFilter,
    SubscriptionsAcknowledgedNotificationParams, meta_key,
};

use crate::methods::Capability;
use crate::uri_template::MAX_URI_BYTES;

/// The maximum number of URIs, and of task ids, that one listener may name.
pub const LONGEST_FILTER: usize = 1024;

/// The maximum total length in bytes of the URIs and task ids of one listener.
pub const MAX_FILTER_BYTES: usize = 64 * 1024;

/// The memory that a URI or task id of a filter uses besides its bytes, and again while its change is pending.
const NAME_OVERHEAD: usize = 256;

/// A change that a listener may subscribe to.
///
/// Nodes of one service exchange changes as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Change {
    /// The list of tools changed.
    ToolsListChanged,
    /// The list of prompts changed.
    PromptsListChanged,
    /// The list of resources changed.
    ResourcesListChanged,
    /// The resource at this URI changed.
    ResourceUpdated(String),
    /// The task with this id changed (tasks extension).
    Task(String),
    /// The list of event types changed (events extension).
    #[cfg(feature = "events")]
    EventsListChanged,
}

impl Change {
    /// Returns the change that a notification reports. Returns `None` if it reports no change.
    #[must_use]
    pub fn of_notification(method: &str, params: Option<&RawValue>) -> Option<Self> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Subject {
            uri: Option<String>,
            task_id: Option<String>,
        }

        let subject = || serde_json::from_str::<Subject>(params?.get()).ok();
        match method {
            "notifications/tools/list_changed" => Some(Self::ToolsListChanged),
            "notifications/prompts/list_changed" => Some(Self::PromptsListChanged),
            "notifications/resources/list_changed" => Some(Self::ResourcesListChanged),
            #[cfg(feature = "events")]
            "notifications/events/list_changed" => Some(Self::EventsListChanged),
            "notifications/resources/updated" => subject()?.uri.map(Self::ResourceUpdated),
            "notifications/tasks" => subject()?.task_id.map(Self::Task),
            _ => None,
        }
    }

    /// Returns the notification of the change, without a subscription id.
    ///
    /// Returns `None` for a task: its notification contains the whole task, which must be loaded first, see
    /// [`task_notification`].
    #[must_use]
    pub fn to_notification(&self) -> Option<Notification> {
        let (method, params) = match self {
            Self::ToolsListChanged => ("notifications/tools/list_changed", None),
            Self::PromptsListChanged => ("notifications/prompts/list_changed", None),
            Self::ResourcesListChanged => ("notifications/resources/list_changed", None),
            Self::ResourceUpdated(uri) => (
                "notifications/resources/updated",
                Some(serde_json::json!({ "uri": uri }).into()),
            ),
            Self::Task(_) => return None,
            #[cfg(feature = "events")]
            Self::EventsListChanged => ("notifications/events/list_changed", None),
        };
        Some(Notification::new(method, params))
    }
}

/// Returns the notification of a changed task. `task` is the whole detailed task, an object.
#[must_use]
pub fn task_notification(task: RawJson) -> Notification {
    Notification::new("notifications/tasks", Some(task))
}

/// Returns the first message of a subscription.
#[must_use]
pub fn acknowledgement(subscription: &RequestId, accepted: SubscriptionFilter) -> Notification {
    let params = SubscriptionsAcknowledgedNotificationParams::new(subscription, accepted);
    let params = RawJson::from_serialize(&params).expect("a filter always serializes");
    Notification::new("notifications/subscriptions/acknowledged", Some(params))
}

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

/// Adds the listen request's id to `params._meta` of a notification. Other metadata stays.
///
/// Parameters that are not an object are replaced, because only an object can contain the id.
#[must_use]
pub fn stamp(mut notification: Notification, subscription: &RequestId) -> Notification {
    let members = notification.params.as_ref().map(RawJson::parse);
    let mut members: IndexMap<String, RawJson> = match members {
        Some(Ok(members)) => members,
        Some(Err(_)) | None => IndexMap::new(),
    };
    let mut meta: Meta = members
        .get("_meta")
        .and_then(|raw| raw.parse().ok())
        .unwrap_or_default();
    let id = RawJson::from_serialize(subscription).expect("an id always serializes");
    meta.insert(meta_key::SUBSCRIPTION_ID, id);
    let meta = RawJson::from_serialize(&meta).expect("metadata always serializes");
    members.insert("_meta".to_owned(), meta);
    let params = RawJson::from_serialize(&members).expect("named members always serialize");
    notification.params = Some(params);
    notification
}

/// Returns the subscription of a notification or a listen result, for clients with several subscriptions.
#[must_use]
pub fn subscription_of(params_or_result: &RawValue) -> Option<RequestId> {
    #[derive(Deserialize)]
    struct Stamped {
        #[serde(rename = "_meta")]
        meta: StampedMeta,
    }
    #[derive(Deserialize)]
    struct StampedMeta {
        #[serde(rename = "io.modelcontextprotocol/subscriptionId")]
        id: RequestId,
    }

    let stamped: Stamped = serde_json::from_str(params_or_result.get()).ok()?;
    Some(stamped.meta.id)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn changes_are_parsed_from_their_notifications() {
        let changes = [
            Change::ToolsListChanged,
            Change::PromptsListChanged,
            Change::ResourcesListChanged,
            Change::ResourceUpdated("file:///a".to_owned()),
        ];
        for change in changes {
            let notification = change.to_notification().expect("no task");
            let params = notification.params.as_ref().map(RawJson::as_raw_value);
            assert_eq!(
                Change::of_notification(&notification.method, params),
                Some(change)
            );
        }
        let task = RawJson::from(json!({"taskId": "t", "status": "working"}));
        assert_eq!(
            Change::of_notification("notifications/tasks", Some(task.as_raw_value())),
            Some(Change::Task("t".to_owned()))
        );
        assert_eq!(
            Change::of_notification("notifications/resources/updated", None),
            None
        );
        assert_eq!(Change::of_notification("notifications/message", None), None);
    }

    fn filter(value: Value) -> SubscriptionFilter {
        serde_json::from_value(value).expect("a filter")
    }

    #[test]
    fn accepted_filter_is_requested_and_declared() {
        let check = |requested: Value, server: Value, expected: Value| {
            let server: ServerCapabilities = serde_json::from_value(server).expect("capabilities");
            let granted = accepted_filter(&filter(requested), &server);
            assert_eq!(serde_json::to_value(granted).expect("plain data"), expected);
        };
        let everything = json!({
            "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
            "resourceSubscriptions": ["a:b", "a:c", "a:b"], "taskIds": ["t"], "unheardOf": true,
        });
        check(everything.clone(), json!({}), json!({}));
        check(
            everything.clone(),
            json!({"tools": {"listChanged": true}, "prompts": {}, "resources": {"listChanged": false}}),
            json!({"toolsListChanged": true}),
        );
        check(
            everything,
            json!({
                "prompts": {"listChanged": true},
                "resources": {"listChanged": true, "subscribe": true},
                "extensions": {"io.modelcontextprotocol/tasks": {}},
            }),
            json!({
                "promptsListChanged": true, "resourcesListChanged": true,
                "resourceSubscriptions": ["a:b", "a:c"], "taskIds": ["t"],
            }),
        );
        check(
            json!({"toolsListChanged": false, "resourceSubscriptions": []}),
            json!({"tools": {"listChanged": true}, "resources": {"subscribe": true}}),
            json!({}),
        );
    }

    #[test]
    fn listening_to_tasks_requires_the_extension_of_a_server_that_offers_it() {
        let check = |requested: Value, server: Value, expected: Option<&str>| {
            let server: ServerCapabilities = serde_json::from_value(server).expect("capabilities");
            assert_eq!(required_extension(&filter(requested), &server), expected);
        };
        let offering = || json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
        let tasks = || json!({"taskIds": ["t"]});
        check(tasks(), offering(), Some("io.modelcontextprotocol/tasks"));
        check(tasks(), json!({"tasks": {}}), None);
        check(json!({"taskIds": []}), offering(), None);
        check(json!({"toolsListChanged": true}), offering(), None);
    }

    #[cfg(feature = "events")]
    #[test]
    fn changes_of_event_types_are_accepted_only_if_they_are_declared() {
        let check = |settings: Value, expected: bool| {
            let server = json!({"extensions": {EVENTS_EXTENSION: settings}});
            let server: ServerCapabilities = serde_json::from_value(server).expect("capabilities");
            let granted = accepted_filter(&filter(json!({"eventsListChanged": true})), &server);
            let accepted = granted.events_list_changed == Some(true);
            assert_eq!(accepted, expected);
            let listener = Filter::new(&granted).expect("a small filter");
            let change = Change::EventsListChanged;
            assert_eq!(listener.accepts(&change), expected);
            assert_eq!(listener.changes().any(|one| one == change), expected);
            assert!(!listener.accepts(&Change::ToolsListChanged));
            let notification = change.to_notification().expect("it is no task");
            let read = Change::of_notification(&notification.method, None);
            assert_eq!(read, Some(change));
        };
        check(json!({"listChanged": true}), true);
        check(json!({"listChanged": false}), false);
        check(json!({}), false);
        let tools = Filter::new(&filter(json!({"toolsListChanged": true}))).expect("small");
        assert!(!tools.accepts(&Change::EventsListChanged));
    }

    #[test]
    fn listener_receives_only_requested_changes() {
        let changes = [
            ("toolsListChanged", Change::ToolsListChanged),
            ("promptsListChanged", Change::PromptsListChanged),
            ("resourcesListChanged", Change::ResourcesListChanged),
        ];
        for (requested, _) in &changes {
            let listener = Filter::new(&filter(json!({*requested: true}))).expect("a small filter");
            for (kind, change) in &changes {
                assert_eq!(
                    listener.accepts(change),
                    kind == requested,
                    "{kind} {requested}"
                );
            }
            assert!(!listener.accepts(&Change::ResourceUpdated("a:b".to_owned())));
            assert!(!listener.accepts(&Change::Task("t".to_owned())));
        }
        let tasks = Filter::new(&filter(json!({"taskIds": ["t"]}))).expect("a small filter");
        assert!(tasks.accepts(&Change::Task("t".to_owned())));
        assert!(!tasks.accepts(&Change::Task("t2".to_owned())));
    }

    #[test]
    fn subscribed_uri_covers_itself_and_its_sub_resources() {
        let check = |subscribed: &str, changed: &str, expected: bool| {
            let listener = Filter::new(&filter(json!({"resourceSubscriptions": [subscribed]})))
                .expect("a small filter");
            let change = Change::ResourceUpdated(changed.to_owned());
            assert_eq!(
                listener.accepts(&change),
                expected,
                "{subscribed} {changed}"
            );
        };
        check("file:///a", "file:///a", true);
        check("file:///a", "file:///a/b/c", true);
        check("file:///a/", "file:///a/b", true);
        check("file:///a", "file:///a?x=1", true);
        check("file:///a", "file:///a#top", true);
        check("file:///a", "file:///ab", false);
        check("file:///a/b", "file:///a", false);
        check("file:///", "file:///a", true);
        check("file:", "file:///a", false);
        check("file://", "file:///a", false);
        check("https://", "https://x.test/a", false);
        check("https:/", "https://x.test/a", false);
        check("https://x.test", "https://x.test/a", true);
        check("https://x.test", "https://x.test.evil/a", false);
        check("note:1", "note:1/part", true);
        check("ü:ä", "ü:ä/ö", true);
        check("", "file:///a", false);
    }

    #[test]
    fn filter_may_name_1024_uris() {
        for (count, fits) in [(1023, true), (1024, true), (1025, false)] {
            for member in ["resourceSubscriptions", "taskIds"] {
                let names: Vec<_> = (0..count).map(|number| format!("a:{number}")).collect();
                let outcome = Filter::new(&filter(json!({ member: names })));
                assert_eq!(outcome.is_ok(), fits, "{member} {count}");
                if let Err(error) = outcome {
                    assert_eq!(error.code, -32602);
                }
            }
        }
    }

    #[test]
    fn uri_of_a_filter_may_have_8_kib() {
        for (bytes, fits) in [(MAX_URI_BYTES, true), (MAX_URI_BYTES + 1, false)] {
            for member in ["resourceSubscriptions", "taskIds"] {
                let names = ["a".repeat(bytes)];
                let outcome = Filter::new(&filter(json!({ member: names })));
                assert_eq!(outcome.is_ok(), fits, "{member} {bytes}");
                if let Err(error) = outcome {
                    assert_eq!(error.code, -32602);
                    assert!(error.message.contains(member), "{}", error.message);
                }
            }
        }
    }

    #[test]
    fn all_names_of_a_filter_may_have_64_kib() {
        for (bytes, fits) in [(MAX_FILTER_BYTES, true), (MAX_FILTER_BYTES + 1, false)] {
            let mut uris: Vec<_> = (0..15).map(|n| format!("{n:04}").repeat(1024)).collect();
            let rest = bytes - uris.iter().map(String::len).sum::<usize>();
            let tasks = [uris.pop().expect("there are 15"), "t".repeat(rest)];
            let value = json!({"resourceSubscriptions": uris, "taskIds": tasks});
            let outcome = Filter::new(&filter(value));
            assert_eq!(outcome.is_ok(), fits, "{bytes}");
            match outcome {
                Ok(filter) => assert!(filter.memory_bytes() > 2 * bytes),
                Err(error) => assert_eq!(error.code, -32602),
            }
        }
    }

    #[test]
    fn each_change_has_its_notification() {
        let check = |change: Change, expected: Value| {
            let notification = change.to_notification().expect("it needs no task");
            assert_eq!(serde_json::to_value(notification).expect("json"), expected);
        };
        check(
            Change::ToolsListChanged,
            json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}),
        );
        check(
            Change::PromptsListChanged,
            json!({"jsonrpc": "2.0", "method": "notifications/prompts/list_changed"}),
        );
        check(
            Change::ResourcesListChanged,
            json!({"jsonrpc": "2.0", "method": "notifications/resources/list_changed"}),
        );
        check(
            Change::ResourceUpdated("a:b".to_owned()),
            json!({
                "jsonrpc": "2.0", "method": "notifications/resources/updated",
                "params": {"uri": "a:b"},
            }),
        );
        assert!(Change::Task("t".to_owned()).to_notification().is_none());
    }

    #[test]
    fn stamp_keeps_the_type_of_the_id_and_other_members() {
        let check = |params: Option<Value>, id: RequestId, expected: Value| {
            let plain = Notification::new("notifications/x", params.map(RawJson::from));
            let stamped = stamp(plain, &id).params.expect("the id is in there");
            assert_eq!(stamped, expected.into());
            assert_eq!(subscription_of(stamped.as_raw_value()), Some(id));
        };
        let key = meta_key::SUBSCRIPTION_ID;
        check(None, 1.into(), json!({"_meta": {key: 1}}));
        check(None, "1".into(), json!({"_meta": {key: "1"}}));
        check(None, "".into(), json!({"_meta": {key: ""}}));
        check(
            Some(json!({"uri": "a:b", "_meta": {"other": [1], key: "old"}})),
            7.into(),
            json!({"uri": "a:b", "_meta": {"other": [1], key: 7}}),
        );
        check(
            Some(json!({"_meta": 3})),
            7.into(),
            json!({"_meta": {key: 7}}),
        );
    }

    #[test]
    fn acknowledgement_has_the_subscription_and_the_accepted_filter() {
        let granted = SubscriptionFilter::new().with_tools_list_changed();
        let notification = acknowledgement(&"listen-1".into(), granted);
        assert_eq!(
            serde_json::to_value(notification).expect("json"),
            json!({
                "jsonrpc": "2.0",
                "method": "notifications/subscriptions/acknowledged",
                "params": {
                    "_meta": {meta_key::SUBSCRIPTION_ID: "listen-1"},
                    "notifications": {"toolsListChanged": true},
                },
            })
        );
    }

    #[test]
    fn task_notification_contains_the_whole_task() {
        let notification = task_notification(json!({"taskId": "t", "status": "working"}).into());
        assert_eq!(notification.method, "notifications/tasks");
        assert!(subscription_of(RawJson::empty_object().as_raw_value()).is_none());
    }
}
