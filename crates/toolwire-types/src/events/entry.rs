//! The types of events that a server lists.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::meta::Meta;
use crate::raw::RawJson;
use crate::result::Extra;
use crate::setters::setters;

/// One type of events, in the list of a server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct EventType {
    /// The name, such as `mail.received`.
    pub name: String,
    /// What the event means.
    #[serde(default)]
    pub description: String,
    /// How clients can get the events. Never empty.
    pub delivery: Vec<DeliveryMode>,
    /// The JSON Schema of the arguments of a subscription.
    pub input_schema: RawJson,
    /// The JSON Schema of the data of an event.
    pub payload_schema: RawJson,
    /// The `_meta` object.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl EventType {
    /// Creates a type that clients can poll.
    #[must_use]
    pub fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        input_schema: impl Into<RawJson>,
        payload_schema: impl Into<RawJson>,
    ) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            delivery: vec![DeliveryMode::Poll],
            input_schema: input_schema.into(),
            payload_schema: payload_schema.into(),
            meta: None,
            extra: Extra::new(),
        }
    }

    /// Sets how clients can get the events.
    #[must_use]
    pub fn with_delivery(mut self, delivery: Vec<DeliveryMode>) -> Self {
        self.delivery = delivery;
        self
    }

    /// Returns `true` if clients can get the events in this way.
    #[must_use]
    pub fn offers(&self, mode: &DeliveryMode) -> bool {
        self.delivery.contains(mode)
    }

    setters! {
        with_meta(meta: some Meta);
    }
}

/// A way in which a client gets events.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeliveryMode {
    /// The client asks with `events/poll`.
    Poll,
    /// The server sends on the stream of `events/stream`.
    Push,
    /// The server sends to a URL of `events/subscribe`.
    Webhook,
    /// A way of an extension or a later revision.
    Other(String),
}

impl DeliveryMode {
    /// Returns the name on the wire.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Poll => "poll",
            Self::Push => "push",
            Self::Webhook => "webhook",
            Self::Other(name) => name,
        }
    }
}

impl From<&str> for DeliveryMode {
    fn from(name: &str) -> Self {
        match name {
            "poll" => Self::Poll,
            "push" => Self::Push,
            "webhook" => Self::Webhook,
            other => Self::Other(other.to_owned()),
        }
    }
}

impl fmt::Display for DeliveryMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for DeliveryMode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for DeliveryMode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Cow::<'de, str>::deserialize(deserializer).map(|name| Self::from(name.as_ref()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::round_trip::check;

    #[test]
    fn types_round_trip_with_unknown_delivery_modes() {
        let entry: EventType = check(json!({
            "name": "mail.received", "description": "A mail arrived.",
            "delivery": ["poll", "push", "webhook", "carrier"],
            "inputSchema": {"type": "object"}, "payloadSchema": {"type": "object"},
            "_meta": {"a": 1}, "later": true,
        }));
        assert!(entry.offers(&DeliveryMode::Webhook));
        assert!(entry.offers(&DeliveryMode::from("carrier")));
        let built = EventType::new("a", "b", json!({}), json!({}));
        assert!(built.offers(&DeliveryMode::Poll) && !built.offers(&DeliveryMode::Push));
    }

    #[test]
    fn type_without_delivery_is_rejected() {
        let text = r#"{"name":"a","description":"b","inputSchema":{},"payloadSchema":{}}"#;
        assert!(serde_json::from_str::<EventType>(text).is_err());
    }
}
