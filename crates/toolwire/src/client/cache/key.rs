//! Under which name an answer is kept, and which answers a filter means.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolwire_proto::cache::{Invalidation, concerns};
use toolwire_types::{ProtocolVersion, RawJson};

/// Everything that makes two requests the same request. Its JSON is a good key for a store outside this process.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CacheKey {
    /// The server: its URL or command; something random for a server that only one client can reach.
    pub server: String,
    /// The revision the answer is written in.
    pub version: ProtocolVersion,
    /// The method.
    pub method: String,
    /// The URI, when a resource was read.
    pub uri: Option<String>,
    /// The parameters without `_meta`, as JSON text with sorted members.
    pub params: String,
    /// For whom the answer is; `None` for anybody.
    pub partition: Option<String>,
}

impl CacheKey {
    /// The key of a request; `None` when its parameters cannot be compared.
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

    /// The same request, with an answer for one partition or, with `None`, for anybody.
    pub(crate) fn in_partition(&self, partition: Option<&str>) -> Self {
        Self {
            partition: partition.map(str::to_owned),
            ..self.clone()
        }
    }

    /// How many bytes of text it is made of.
    pub(crate) fn bytes(&self) -> usize {
        let optional = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        self.server.len()
            + self.method.len()
            + self.params.len()
            + optional(&self.uri)
            + optional(&self.partition)
    }
}

/// Which answers a store forgets: those for anybody and those of one partition, of one server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CacheFilter {
    /// The server whose answers they are.
    pub server: String,
    /// Of private answers only those of this partition. Public ones always match.
    pub partition: String,
    /// Only answers to these methods; to all of them when it is empty.
    pub methods: Vec<String>,
    /// Only what was read from this URI, or from a resource that holds it.
    pub uri: Option<String>,
    /// Only answers to requests with exactly these parameters, written as in [`CacheKey::params`].
    pub params: Option<String>,
}

impl CacheFilter {
    /// Everything of a server that one partition can see.
    pub(crate) fn everything(server: &str, partition: &str) -> Self {
        Self {
            server: server.to_owned(),
            partition: partition.to_owned(),
            methods: Vec::new(),
            uri: None,
            params: None,
        }
    }

    /// Only answers to one method.
    pub(crate) fn with_method(mut self, method: &str) -> Self {
        self.methods = vec![method.to_owned()];
        self
    }

    /// Only answers to one request.
    pub(crate) fn with_request(self, key: &CacheKey) -> Self {
        let mut filter = self.with_method(&key.method);
        filter.params = Some(key.params.clone());
        filter
    }

    /// Only what a change outdates.
    pub(crate) fn with_outdated(mut self, outdated: Invalidation<'_>) -> Self {
        self.methods = outdated
            .methods
            .iter()
            .map(|&method| method.to_owned())
            .collect();
        self.uri = outdated.uri.map(str::to_owned);
        self
    }

    /// True when the answer under this key is to be forgotten.
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
    fn the_same_request_has_the_same_key_however_it_is_written() {
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
    fn a_key_survives_a_store_that_writes_json() {
        let key = key("resources/read", r#"{"uri":"a:b"}"#).unwrap();
        let key = key.in_partition(Some("me"));
        let text = serde_json::to_string(&key).unwrap();
        assert_eq!(serde_json::from_str::<CacheKey>(&text).unwrap(), key);
    }

    #[test]
    fn a_filter_never_reaches_into_another_partition_or_server() {
        let everything = CacheFilter::everything("s", "me");
        let public = key("tools/list", "{}").unwrap();
        assert!(everything.matches(&public));
        assert!(everything.matches(&public.in_partition(Some("me"))));
        assert!(!everything.matches(&public.in_partition(Some("you"))));
        assert!(!everything.matches(&public.in_partition(Some(""))));
        assert!(!CacheFilter::everything("t", "me").matches(&public));
    }

    #[test]
    fn a_filter_can_mean_one_list_or_one_request() {
        let everything = CacheFilter::everything("s", "me");
        let first = key("tools/list", "{}").unwrap();
        let second = key("tools/list", r#"{"cursor":"2"}"#).unwrap();
        let prompts = key("prompts/list", "{}").unwrap();
        let check = |filter: &CacheFilter, expected: [bool; 3]| {
            let found = [&first, &second, &prompts].map(|key| filter.matches(key));
            assert_eq!(found, expected, "{filter:?}");
        };
        check(&everything, [true, true, true]);
        let tools = everything.clone().with_method("tools/list");
        check(&tools, [true, true, false]);
        check(&everything.with_request(&second), [false, true, false]);
    }
}
