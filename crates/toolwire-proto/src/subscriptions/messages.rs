//! The messages of a subscription, which have the id of the listen request.

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::value::RawValue;
use toolwire_types::{
    Meta, Notification, RawJson, RequestId, SubscriptionFilter,
    SubscriptionsAcknowledgedNotificationParams, meta_key,
};

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
