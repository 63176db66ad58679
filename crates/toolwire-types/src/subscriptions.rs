//! `subscriptions/listen` (since 2026-07-28): which notifications a client wants, and which it will get.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::jsonrpc::RequestId;
use crate::meta::{Meta, meta_key};
use crate::object::object;
use crate::result::{Extra, ResultType};
use crate::setters::setters;

/// A choice of notifications: what a client asks for, or what a server agrees to.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SubscriptionFilter {
    /// The list of tools changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools_list_changed: Option<bool>,
    /// The list of prompts changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompts_list_changed: Option<bool>,
    /// The list of resources changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources_list_changed: Option<bool>,
    /// One of these resources changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_subscriptions: Option<Vec<String>>,
    /// One of these tasks changed (extension `io.modelcontextprotocol/tasks`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_ids: Option<Vec<String>>,
    /// Members this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

object!(SubscriptionFilter = SubscriptionFilter::default();
    "toolsListChanged" => tools_list_changed,
    "promptsListChanged" => prompts_list_changed,
    "resourcesListChanged" => resources_list_changed,
    "resourceSubscriptions" => resource_subscriptions,
    "taskIds" => task_ids;
    others kept
);

impl SubscriptionFilter {
    /// No notifications.
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
    }

    /// Adds changes of one resource.
    #[must_use]
    pub fn with_resource(mut self, uri: impl Into<String>) -> Self {
        self.resource_subscriptions
            .get_or_insert_default()
            .push(uri.into());
        self
    }

    /// Adds changes of one task (extension `io.modelcontextprotocol/tasks`).
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
    /// What the client wants to hear about.
    pub notifications: SubscriptionFilter,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

object!(SubscriptionsListenRequestParams = SubscriptionsListenRequestParams::new(SubscriptionFilter::default());
    "notifications" => notifications required,
    "_meta" => meta;
    others ignored
);

impl SubscriptionsListenRequestParams {
    /// Asks for notifications.
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
    /// What the server agrees to: the part of the wish that it can grant.
    pub notifications: SubscriptionFilter,
    /// Metadata; names the subscription.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl SubscriptionsAcknowledgedNotificationParams {
    /// Agrees to part of what the listen request with this id asked for.
    #[must_use]
    pub fn new(subscription_id: &RequestId, notifications: SubscriptionFilter) -> Self {
        Self {
            notifications,
            meta: Some(Meta::for_subscription(subscription_id)),
        }
    }
}

/// The answer to `subscriptions/listen`: the server ends the subscription in good order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SubscriptionsListenResult {
    /// The kind of result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// Metadata; names the subscription.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl SubscriptionsListenResult {
    /// Ends the subscription of the listen request with this id.
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
    /// Metadata that names a subscription: the id of its listen request, its JSON type kept.
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
    fn listening_survives() {
        check::<SubscriptionsListenRequestParams>(json!({"notifications": {}}));
        check::<SubscriptionsListenRequestParams>(json!({
            "notifications": {
                "toolsListChanged": true, "promptsListChanged": false, "resourcesListChanged": true,
                "resourceSubscriptions": ["file:///a"], "taskIds": ["t"], "later": {"x": 1},
            },
            "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"},
        }));
        check::<SubscriptionsListenResult>(
            json!({"resultType": "complete", "_meta": {}, "later": 1}),
        );
    }

    #[test]
    fn the_wish_must_be_an_object_and_the_resources_a_list() {
        for wire in [
            json!({}),
            json!({"notifications": []}),
            json!({"notifications": {"resourceSubscriptions": true}}),
        ] {
            assert!(serde_json::from_value::<SubscriptionsListenRequestParams>(wire).is_err());
        }
    }

    #[test]
    fn subscriptions_are_named_by_the_listen_id_with_its_type() {
        let check = |id: RequestId, expected: Value| {
            let tag = json!({"io.modelcontextprotocol/subscriptionId": expected});
            let result = SubscriptionsListenResult::new(&id);
            assert_eq!(
                serde_json::to_value(result).unwrap(),
                json!({"resultType": "complete", "_meta": tag})
            );
            let filter = SubscriptionFilter::new().with_tools_list_changed();
            let acknowledged = SubscriptionsAcknowledgedNotificationParams::new(&id, filter);
            assert_eq!(
                serde_json::to_value(acknowledged).unwrap(),
                json!({"notifications": {"toolsListChanged": true}, "_meta": tag})
            );
        };
        check(1.into(), json!(1));
        check("1".into(), json!("1"));
    }

    #[test]
    fn filters_are_built_piece_by_piece() {
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
