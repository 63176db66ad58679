//! The changes that a listener may subscribe to.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use toolwire_types::Notification;

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
    /// [`task_notification`](crate::subscriptions::task_notification).
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
