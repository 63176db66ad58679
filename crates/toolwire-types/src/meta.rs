//! `_meta`: the open object in requests, notifications, results and many data types.
//!
//! Values stay raw until they are parsed by type, so that unknown metadata is forwarded unchanged. `toolwire-proto`
//! checks which keys are well formed and which are reserved.

use indexmap::IndexMap;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::raw::RawJson;
use crate::setters::setters;

/// The keys of `_meta` that the specification defines.
pub mod meta_key {
    /// A [`ProgressToken`](crate::ProgressToken), which requests progress notifications. Every revision.
    pub const PROGRESS_TOKEN: &str = "progressToken";
    /// The protocol version of a request. Required on requests since 2026-07-28.
    pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
    /// The [`ClientCapabilities`](crate::ClientCapabilities) for a request. Required since 2026-07-28.
    pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
    /// The name and version of the client, on requests since 2026-07-28.
    pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
    /// The least severe [`LoggingLevel`](crate::LoggingLevel) to send, on requests since 2026-07-28.
    pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
    /// The name and version of the server, on results since 2026-07-28.
    pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
    /// The id of the listen request that a notification or closing result belongs to. Since 2026-07-28.
    pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
    /// The task that a message belongs to. 2025-11-25 only.
    pub const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";
    /// An immediate response for the model while a task runs. 2025-11-25 only.
    pub const MODEL_IMMEDIATE_RESPONSE: &str = "io.modelcontextprotocol/model-immediate-response";
    /// W3C trace context: the parent span.
    pub const TRACEPARENT: &str = "traceparent";
    /// W3C trace context: vendor state.
    pub const TRACESTATE: &str = "tracestate";
    /// W3C baggage.
    pub const BAGGAGE: &str = "baggage";
}

/// A `_meta` object. Its members keep their order and stay raw.
///
/// ```
/// use toolwire_types::{Meta, ProgressToken, meta_key};
///
/// let meta: Meta = serde_json::from_str(r#"{"progressToken": 7, "com.example/note": "hi"}"#).unwrap();
/// let token: Option<ProgressToken> = meta.get_as(meta_key::PROGRESS_TOKEN).unwrap();
/// assert_eq!(token, Some(7.into()));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Meta(IndexMap<String, RawJson>);

impl Meta {
    /// Creates an empty object.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a value. It replaces the previous value of the key.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, value: impl Into<RawJson>) -> Self {
        self.insert(key, value);
        self
    }

    /// Returns the raw value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&RawJson> {
        self.0.get(key)
    }

    /// Parses the value of a key. Returns `None` if the key is absent.
    ///
    /// # Errors
    /// Returns an error if the value does not parse as `T`.
    pub fn get_as<T: DeserializeOwned>(&self, key: &str) -> serde_json::Result<Option<T>> {
        self.get(key).map(RawJson::parse).transpose()
    }

    /// Returns `true` if the key is present, even if its value is `null`.
    #[must_use]
    pub fn contains_key(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// Sets a value and returns the previous value of the key.
    pub fn insert(&mut self, key: impl Into<String>, value: impl Into<RawJson>) -> Option<RawJson> {
        self.0.insert(key.into(), value.into())
    }

    /// Removes and returns the value of a key. The order of the others does not change.
    pub fn remove(&mut self, key: &str) -> Option<RawJson> {
        self.0.shift_remove(key)
    }

    /// Returns the number of keys.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns `true` if there are no keys.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over keys and raw values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &RawJson)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }
}

impl<K: Into<String>, V: Into<RawJson>> FromIterator<(K, V)> for Meta {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let entries = entries.into_iter();
        Self(entries.map(|(k, v)| (k.into(), v.into())).collect())
    }
}

/// The parameters of a request that defines only `_meta`: `ping`, `server/discover`, `roots/list`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RequestParams {
    /// The `_meta` object.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl RequestParams {
    /// Creates parameters without metadata.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        with_meta(meta: some Meta);
    }
}

/// The parameters of a notification that defines only `_meta`: `initialized` and every `list_changed`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NotificationParams {
    /// The `_meta` object.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl NotificationParams {
    /// Creates parameters without metadata.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        with_meta(meta: some Meta);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::jsonrpc::RequestId;

    #[test]
    fn values_round_trip_in_order_and_byte_for_byte() {
        let text = r#"{"z":1.00,"a":{"b":[ ]},"progressToken":"7"}"#;
        let meta: Meta = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&meta).unwrap(), text);
        let keys: Vec<_> = meta.iter().map(|(key, _)| key).collect();
        assert_eq!(keys, ["z", "a", "progressToken"]);
    }

    #[test]
    fn parsed_ids_preserve_their_json_type() {
        let check = |value: serde_json::Value, expected: RequestId| {
            let meta = Meta::new().with(meta_key::SUBSCRIPTION_ID, value);
            let id = meta.get_as::<RequestId>(meta_key::SUBSCRIPTION_ID).unwrap();
            assert_eq!(id, Some(expected));
        };
        check(json!(1), 1.into());
        check(json!("1"), "1".into());
        assert_eq!(Meta::new().get_as::<RequestId>("absent").unwrap(), None);
        assert!(
            Meta::new()
                .with("a", json!([]))
                .get_as::<RequestId>("a")
                .is_err()
        );
    }

    #[test]
    fn removal_preserves_the_order_of_other_keys() {
        let mut meta: Meta = [("a", json!(1)), ("b", json!(2)), ("c", json!(3))]
            .into_iter()
            .collect();
        assert_eq!(meta.remove("a"), Some(json!(1).into()));
        assert_eq!(meta.remove("a"), None);
        assert_eq!(meta.insert("b", json!(4)), Some(json!(2).into()));
        assert_eq!(serde_json::to_string(&meta).unwrap(), r#"{"b":4,"c":3}"#);
        assert_eq!(meta.len(), 2);
        assert!(meta.contains_key("c") && !meta.is_empty());
    }

    #[test]
    fn metadata_that_is_not_an_object_is_rejected() {
        assert!(serde_json::from_str::<Meta>("[]").is_err());
        assert!(serde_json::from_str::<RequestParams>(r#"{"_meta":3}"#).is_err());
        let params: RequestParams = serde_json::from_str(r#"{"_meta":{}}"#).unwrap();
        assert_eq!(serde_json::to_value(params).unwrap(), json!({"_meta": {}}));
    }
}
