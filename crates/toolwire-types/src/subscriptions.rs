//! `subscriptions/listen` (since 2026-07-28): the notifications that a client requests and a server accepts.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::jsonrpc::RequestId;
use crate::meta::{Meta, meta_key};
use crate::object::object;
use crate::result::{Extra, ResultType};
use crate::setters::setters;

/// A selection of notifications: those that a client requests, or those that a server accepts.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SubscriptionFilter {
    /// Whether to notify about changes of the tool list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools_list_changed: Option<bool>,
    /// Whether to notify about changes of the prompt list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompts_list_changed: Option<bool>,
    /// Whether to notify about changes of the resource list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources_list_changed: Option<bool>,
    /// Whether to notify about changes of the list of event types (extension `io.modelcontextprotocol/events`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events_list_changed: Option<bool>,
    /// The URIs of the resources to notify about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_subscriptions: Option<Vec<String>>,
    /// The ids of the tasks to notify about (extension `io.modelcontextprotocol/tasks`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_ids: Option<Vec<String>>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

object!(SubscriptionFilter = SubscriptionFilter::default();
    "toolsListChanged" => tools_list_changed,
    "promptsListChanged" => prompts_list_changed,
    "resourcesListChanged" => resources_list_changed,
    "eventsListChanged" => events_list_changed,
    "resourceSubscriptions" => resource_subscriptions,
    "taskIds" => task_ids;
    others stored
);

impl SubscriptionFilter {
    /// Creates an empty selection.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Selects changes of the tool list.
        with_tools_list_changed(tools_list_changed = true);
        /// Selects changes of the prompt list.
        with_prompts_list_changed(prompts_list_changed = true);
        /// Selects changes of the resource list.
        with_resources_list_changed(resources_list_changed = true);
        /// Selects changes of the list of event types (extension `io.modelcontextprotocol/events`).
        with_events_list_changed(events_list_changed = true);
    }

    /// Selects changes of one resource.
    #[must_use]
    pub fn with_resource(mut self, uri: impl Into<String>) -> Self {
        self.resource_subscriptions
            .get_or_insert_default()
            .push(uri.into());
        self
    }

    /// Selects changes of one task (extension `io.modelcontextprotocol/tasks`).
    #[must_use]
    pub fn with_task(mut self, task_id: impl Into<String>) -> Self {
        self.task_ids.get_or_insert_default().push(task_id.into());
        self
    }
}

/// The parameters of `subscriptions/listen`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SubscriptionsListenRequestParams {
    /// The notifications that the client requests.
    pub notifications: SubscriptionFilter,
    /// The `_meta` object.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

object!(SubscriptionsListenRequestParams = SubscriptionsListenRequestParams::new(SubscriptionFilter::default());
    "notifications" => notifications required,
    "_meta" => meta;
    others ignored
);

impl SubscriptionsListenRequestParams {
    /// Creates the parameters of a listen request.
    #[must_use]
    pub fn new(notifications: SubscriptionFilter) -> Self {
        Self {
            notifications,
            meta: None,
        }
    }
}

/// The parameters of `notifications/subscriptions/acknowledged`, the first message of a subscription.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SubscriptionsAcknowledgedNotificationParams {
    /// The requested notifications that the server accepts.
    pub notifications: SubscriptionFilter,
    /// The `_meta` object, which contains the subscription id.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl SubscriptionsAcknowledgedNotificationParams {
    /// Creates the acknowledgement of the listen request with this id.
    #[must_use]
    pub fn new(subscription_id: &RequestId, notifications: SubscriptionFilter) -> Self {
        Self {
            notifications,
            meta: Some(Meta::for_subscription(subscription_id)),
        }
    }
}

/// The result of `subscriptions/listen`, with which the server ends a subscription.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SubscriptionsListenResult {
    /// The kind of result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The `_meta` object, which contains the subscription id.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl SubscriptionsListenResult {
    /// Creates the result of the listen request with this id.
    #[must_use]
    pub fn new(subscription_id: &RequestId) -> Self {
        Self {
            result_type: Some(ResultType::Complete),
            meta: Some(Meta::for_subscription(subscription_id)),
            extra: Extra::new(),
        }
    }
}

impl Meta {
    /// Creates metadata with a subscription id: the id of the listen request, with the same JSON type.
    #[must_use]
    pub fn for_subscription(id: &RequestId) -> Self {
        let id = match id {
            RequestId::Number(number) => Value::from(*number),
            RequestId::String(text) => Value::from(text.as_ref()),
        };
        Self::new().with(meta_key::SUBSCRIPTION_ID, id)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::round_trip::check;

    #[test]
    fn listen_messages_round_trip() {
        check::<SubscriptionsListenRequestParams>(json!({"notifications": {}}));
        check::<SubscriptionsListenRequestParams>(json!({
            "notifications": {
                "toolsListChanged": true, "promptsListChanged": false, "resourcesListChanged": true,
                "eventsListChanged": true,
                "resourceSubscriptions": ["file:///a"], "taskIds": ["t"], "later": {"x": 1},
            },
            "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"},
        }));
        check::<SubscriptionsListenResult>(
            json!({"resultType": "complete", "_meta": {}, "later": 1}),
        );
    }

    #[test]
    fn malformed_notification_filters_are_rejected() {
        for wire in [
            json!({}),
            json!({"notifications": []}),
            json!({"notifications": {"resourceSubscriptions": true}}),
        ] {
            assert!(serde_json::from_value::<SubscriptionsListenRequestParams>(wire).is_err());
        }
    }

    #[test]
    fn subscription_id_preserves_the_json_type_of_the_request_id() {
        let check = |id: RequestId, expected: Value| {
            let meta = json!({"io.modelcontextprotocol/subscriptionId": expected});
            let result = SubscriptionsListenResult::new(&id);
            assert_eq!(
                serde_json::to_value(result).unwrap(),
                json!({"resultType": "complete", "_meta": meta})
            );
            let filter = SubscriptionFilter::new().with_tools_list_changed();
            let acknowledged = SubscriptionsAcknowledgedNotificationParams::new(&id, filter);
            assert_eq!(
                serde_json::to_value(acknowledged).unwrap(),
                json!({"notifications": {"toolsListChanged": true}, "_meta": meta})
            );
        };
        check(1.into(), json!(1));
        check("1".into(), json!("1"));
    }

    #[test]
    fn built_filters_serialize_to_wire_format() {
        let filter = SubscriptionFilter::new()
            .with_prompts_list_changed()
            .with_resources_list_changed()
            .with_resource("a:b")
            .with_resource("a:c")
            .with_task("t");
        assert_eq!(
            serde_json::to_value(filter).unwrap(),
            json!({
                "promptsListChanged": true, "resourcesListChanged": true,
                "resourceSubscriptions": ["a:b", "a:c"], "taskIds": ["t"],
            })
        );
    }
}
