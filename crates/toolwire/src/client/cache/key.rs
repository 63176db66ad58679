//! The keys of cached results, and the filters that select them for removal.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolwire_proto::cache::{Invalidation, concerns};
use toolwire_types::{ProtocolVersion, RawJson};

/// The identity of a request: equal keys mean equal requests. Its JSON can serve as the key in an external store.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CacheKey {
    /// The server: its URL or command. A random name for a server that only one client can reach.
    pub server: String,
    /// The protocol version of the result.
    pub version: ProtocolVersion,
    /// The method of the request.
    pub method: String,
    /// The URI of the resource, for `resources/read`.
    pub uri: Option<String>,
    /// The parameters without `_meta`, as JSON text with sorted members.
    pub params: String,
    /// The partition that may use the result. `None` means that it is public.
    pub partition: Option<String>,
}

impl CacheKey {
    /// Returns the key of a request, or `None` if its parameters are not a valid JSON object.
    pub(crate) fn of(
        server: &str,
        version: ProtocolVersion,
        method: &str,
        params: Option<&RawJson>,
    ) -> Option<Self> {
        let mut params = match params {
            Some(params) if !params.is_null() => params.to_value().ok()?,
            _ => Value::Object(serde_json::Map::new()),
        };
        let members = params.as_object_mut()?;
        members.remove("_meta");
        let uri = members.get("uri").and_then(Value::as_str);
        let uri = uri
            .filter(|_| method == "resources/read")
            .map(str::to_owned);
        params.sort_all_objects();
        Some(Self {
            server: server.to_owned(),
            version,
            method: method.to_owned(),
            uri,
            params: params.to_string(),
            partition: None,
        })
    }

    /// Returns the key of the same request in one partition. `None` selects the public entry.
    pub(crate) fn in_partition(&self, partition: Option<&str>) -> Self {
        Self {
            partition: partition.map(str::to_owned),
            ..self.clone()
        }
    }

    /// Returns the length of its texts in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let optional = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        self.server.len()
            + self.method.len()
            + self.params.len()
            + optional(&self.uri)
            + optional(&self.partition)
    }
}

/// Selects the entries that a store removes: the public entries of one server and those of one partition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CacheFilter {
    /// The server that sent the results.
    pub server: String,
    /// Private entries match only if they belong to this partition. Public entries always match.
    pub partition: String,
    /// Restricts the filter to results of these methods. Empty means all methods.
    pub methods: Vec<String>,
    /// Restricts the filter to this URI and to resources that contain it.
    pub uri: Option<String>,
    /// Restricts the filter to requests with exactly these parameters, in the form of [`CacheKey::params`].
    pub params: Option<String>,
}

impl CacheFilter {
    /// Returns a filter for everything of a server that one partition may use.
    pub(crate) fn everything(server: &str, partition: &str) -> Self {
        Self {
            server: server.to_owned(),
            partition: partition.to_owned(),
            methods: Vec::new(),
            uri: None,
            params: None,
        }
    }

    /// Restricts the filter to results of one method.
    pub(crate) fn with_method(mut self, method: &str) -> Self {
        self.methods = vec![method.to_owned()];
        self
    }

    /// Restricts the filter to results of one request.
    pub(crate) fn with_request(self, key: &CacheKey) -> Self {
        let mut filter = self.with_method(&key.method);
        filter.params = Some(key.params.clone());
        filter
    }

    /// Restricts the filter to the results that a change invalidates.
    pub(crate) fn with_outdated(mut self, outdated: Invalidation<'_>) -> Self {
        self.methods = outdated
            .methods
            .iter()
            .map(|&method| method.to_owned())
            .collect();
        self.uri = outdated.uri.map(str::to_owned);
        self
    }

    /// Returns `true` if the entry under this key has to be removed.
    #[must_use]
    pub fn matches(&self, key: &CacheKey) -> bool {
        let uri = match (&self.uri, &key.uri) {
            (None, _) => true,
            (Some(updated), Some(read)) => concerns(updated, read),
            (Some(_), None) => false,
        };
        uri && self.server == key.server
            && (self.methods.is_empty() || self.methods.contains(&key.method))
            && self
                .params
                .as_ref()
                .is_none_or(|params| *params == key.params)
            && key
                .partition
                .as_ref()
                .is_none_or(|partition| *partition == self.partition)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODERN: ProtocolVersion = ProtocolVersion::V2026_07_28;

    fn key(method: &str, params: &str) -> Option<CacheKey> {
        let params = RawJson::from_string(params.to_owned()).unwrap();
        CacheKey::of("s", MODERN, method, Some(&params))
    }

    #[test]
    fn equal_requests_have_equal_keys_despite_different_json() {
        #[track_caller]
        fn check(one: &str, other: &str, same: bool) {
            let (one, other) = (key("resources/read", one), key("resources/read", other));
            assert_eq!(one == other, same, "{one:?} {other:?}");
        }
        check(r#"{"uri":"a:b","x":1}"#, r#"{ "x":1, "uri":"a:b" }"#, true);
        check(
            r#"{"x":{"b":[{"d":1,"c":2}],"a":0}}"#,
            r#"{"x":{"a":0,"b":[{"c":2,"d":1}]}}"#,
            true,
        );
        check(r#"{"uri":"a:b"}"#, r#"{"uri":"\u0061:b"}"#, true);
        check(r#"{"uri":"a:b"}"#, r#"{"uri":"a:b","_meta":{"x":1}}"#, true);
        check("{}", "null", true);
        check(r#"{"uri":"a:b"}"#, r#"{"uri":"a:B"}"#, false);
        check(
            r#"{"uri":"a:b"}"#,
            r#"{"uri":"a:b","x":{"_meta":1}}"#,
            false,
        );
        check(r#"{"x":[1,2]}"#, r#"{"x":[2,1]}"#, false);
        check(r#"{"cursor":""}"#, "{}", false);
        assert_eq!(
            CacheKey::of("s", MODERN, "tools/list", None),
            key("tools/list", "{}")
        );
        assert_ne!(key("tools/list", "{}"), key("prompts/list", "{}"));
        assert_eq!(key("tools/list", "[1]"), None);
    }

    #[test]
    fn key_survives_a_json_round_trip() {
        let key = key("resources/read", r#"{"uri":"a:b"}"#).unwrap();
        let key = key.in_partition(Some("me"));
        let text = serde_json::to_string(&key).unwrap();
        assert_eq!(serde_json::from_str::<CacheKey>(&text).unwrap(), key);
    }

    #[test]
    fn filter_matches_no_other_partition_and_no_other_server() {
        let everything = CacheFilter::everything("s", "me");
        let public = key("tools/list", "{}").unwrap();
        assert!(everything.matches(&public));
        assert!(everything.matches(&public.in_partition(Some("me"))));
        assert!(!everything.matches(&public.in_partition(Some("you"))));
        assert!(!everything.matches(&public.in_partition(Some(""))));
        assert!(!CacheFilter::everything("t", "me").matches(&public));
    }

    #[test]
    fn filter_selects_one_method_or_one_request() {
        let everything = CacheFilter::everything("s", "me");
        let first = key("tools/list", "{}").unwrap();
        let second = key("tools/list", r#"{"cursor":"2"}"#).unwrap();
        let prompts = key("prompts/list", "{}").unwrap();
        let check = |filter: &CacheFilter, expected: [bool; 3]| {
            let matches = [&first, &second, &prompts].map(|key| filter.matches(key));
            assert_eq!(matches, expected, "{filter:?}");
        };
        check(&everything, [true, true, true]);
        let tools = everything.clone().with_method("tools/list");
        check(&tools, [true, true, false]);
        check(&everything.with_request(&second), [false, true, false]);
    }
}
