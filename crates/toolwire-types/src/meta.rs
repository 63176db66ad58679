//! `_meta`: the open object that rides along with requests, notifications, results and many data types.
//!
//! Values stay raw until somebody asks for one by type, so metadata of other people passes through untouched. Which
//! keys are well formed and which are reserved is judged in `toolwire-proto`.

use indexmap::IndexMap;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::raw::RawJson;
use crate::setters::setters;

/// The keys of `_meta` to which the specification gives a meaning.
pub mod meta_key {
    /// A [`ProgressToken`](crate::ProgressToken); the sender wants progress notifications. Every revision.
    pub const PROGRESS_TOKEN: &str = "progressToken";
    /// The version a request speaks. Required on requests from 2026-07-28 on.
    pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
    /// The [`ClientCapabilities`](crate::ClientCapabilities) of a request. Required from 2026-07-28 on.
    pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
    /// Name and version of the client, on requests from 2026-07-28 on.
    pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
    /// The least severe [`LoggingLevel`](crate::LoggingLevel) wanted, on requests from 2026-07-28 on.
    pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
    /// Name and version of the server, on results from 2026-07-28 on.
    pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
    /// The id of the listen request a notification or closing result belongs to. From 2026-07-28 on.
    pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
    /// The task a message belongs to. 2025-11-25 only.
    pub const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";
    /// What a model may be told while a task runs. 2025-11-25 only.
    pub const MODEL_IMMEDIATE_RESPONSE: &str = "io.modelcontextprotocol/model-immediate-response";
    /// W3C trace context: the parent span.
    pub const TRACEPARENT: &str = "traceparent";
    /// W3C trace context: vendor state.
    pub const TRACESTATE: &str = "tracestate";
    /// W3C baggage.
    pub const BAGGAGE: &str = "baggage";
}

/// Metadata: an object whose members keep their order and stay raw.
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
    /// No metadata.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a value, replacing one of the same key.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, value: impl Into<RawJson>) -> Self {
        self.insert(key, value);
        self
    }

    /// The raw value at a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&RawJson> {
        self.0.get(key)
    }

    /// The value at a key as a type; `None` when the key is absent.
    ///
    /// # Errors
    /// When the value does not have the shape of `T`.
    pub fn get_as<T: DeserializeOwned>(&self, key: &str) -> serde_json::Result<Option<T>> {
        self.get(key).map(RawJson::parse).transpose()
    }

    /// True when the key is present, whatever its value.
    #[must_use]
    pub fn contains_key(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// Sets a value and returns the one it replaces.
    pub fn insert(&mut self, key: impl Into<String>, value: impl Into<RawJson>) -> Option<RawJson> {
        self.0.insert(key.into(), value.into())
    }

    /// Takes a value out; the others keep their order.
    pub fn remove(&mut self, key: &str) -> Option<RawJson> {
        self.0.shift_remove(key)
    }

    /// How many keys there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True when there are no keys.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Keys and raw values, in order.
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

/// The parameters of a request that has none of its own: `ping`, `server/discover`, `roots/list`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RequestParams {
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl RequestParams {
    /// No metadata.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        with_meta(meta: some Meta);
    }
}

/// The parameters of a notification that has none of its own: `initialized` and every `list_changed`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NotificationParams {
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl NotificationParams {
    /// No metadata.
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
    fn values_survive_in_order_and_byte_for_byte() {
        let text = r#"{"z":1.00,"a":{"b":[ ]},"progressToken":"7"}"#;
        let meta: Meta = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&meta).unwrap(), text);
        let keys: Vec<_> = meta.iter().map(|(key, _)| key).collect();
        assert_eq!(keys, ["z", "a", "progressToken"]);
    }

    #[test]
    fn typed_reading_keeps_the_type_of_ids() {
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
    fn removing_keeps_the_order_of_the_rest() {
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
    fn metadata_must_be_an_object() {
        assert!(serde_json::from_str::<Meta>("[]").is_err());
        assert!(serde_json::from_str::<RequestParams>(r#"{"_meta":3}"#).is_err());
        let params: RequestParams = serde_json::from_str(r#"{"_meta":{}}"#).unwrap();
        assert_eq!(serde_json::to_value(params).unwrap(), json!({"_meta": {}}));
    }
}
