//! Members that many results have: the kind of result, cache hints, and unknown members.
//!
//! Results are open objects in every revision. Unknown members are stored in the [`Extra`] map of a struct and
//! serialized again, so that a proxy that uses these types loses nothing.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Number, Value};

use crate::meta::Meta;

/// Members of an open object that the type does not define.
pub(crate) type Extra = Map<String, Value>;

/// The kind of a result (`resultType`, since 2026-07-28).
///
/// Older servers omit the member, which means [`Complete`](Self::Complete). An unknown kind is stored unchanged;
/// `toolwire-proto` decides whether it is valid.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ResultType {
    /// The request is complete.
    Complete,
    /// The server requires input from the client before the request can complete.
    InputRequired,
    /// The request runs as a task (extension `io.modelcontextprotocol/tasks`).
    Task,
    /// A kind of an extension or a later revision.
    Other(String),
}

impl ResultType {
    /// Returns the name on the wire.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Complete => "complete",
            Self::InputRequired => "input_required",
            Self::Task => "task",
            Self::Other(name) => name,
        }
    }
}

impl From<&str> for ResultType {
    fn from(name: &str) -> Self {
        match name {
            "complete" => Self::Complete,
            "input_required" => Self::InputRequired,
            "task" => Self::Task,
            other => Self::Other(other.to_owned()),
        }
    }
}

impl fmt::Display for ResultType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for ResultType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for ResultType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Cow::<'de, str>::deserialize(deserializer).map(|name| Self::from(name.as_ref()))
    }
}

/// Whether caches may share a result between users (`cacheScope`, since 2026-07-28).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum CacheScope {
    /// Caches may share the result across users and tokens.
    Public,
    /// Caches must not share the result outside the authorization context of the request.
    ///
    /// An unknown scope is parsed as `Private`, because this is the safe choice.
    Private,
}

impl<'de> Deserialize<'de> for CacheScope {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = Cow::<'de, str>::deserialize(deserializer)?;
        Ok(match name.as_ref() {
            "public" => Self::Public,
            _ => Self::Private,
        })
    }
}

/// A result without members of its own, as for `ping` and `logging/setLevel`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct EmptyResult {
    /// The kind of result (since 2026-07-28).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The `_meta` object.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl EmptyResult {
    /// Creates an empty result.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

/// Parses an optional non-negative integer leniently, for `#[serde(default, deserialize_with = ..)]`.
///
/// Some peers write integers as floats, so the fraction is dropped: `5000.0` becomes 5000. Negative numbers become 0.
pub(crate) fn lenient_optional_integer<'de, D>(deserializer: D) -> Result<Option<u64>, D::Error>
where
    D: Deserializer<'de>,
{
    let number = Option::<Number>::deserialize(deserializer)?;
    Ok(number.as_ref().map(saturating_integer))
}

/// Parses a required non-negative integer as leniently as [`lenient_optional_integer`].
pub(crate) fn lenient_integer<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    Number::deserialize(deserializer).map(|number| saturating_integer(&number))
}

fn saturating_integer(number: &Number) -> u64 {
    match number.as_u64() {
        Some(integer) => integer,
        // `as` converts NaN and negative numbers to 0, and large numbers to `u64::MAX`.
        None => number.as_f64().map_or(0, |float| float as u64),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn unknown_result_types_round_trip() {
        for name in ["complete", "input_required", "task", "com.example/later"] {
            let kind: ResultType = serde_json::from_value(json!(name)).unwrap();
            assert_eq!(serde_json::to_value(&kind).unwrap(), json!(name));
        }
        assert_eq!(ResultType::from("task"), ResultType::Task);
        assert_eq!(ResultType::from("x"), ResultType::Other("x".into()));
    }

    #[test]
    fn unknown_cache_scope_is_private() {
        let check = |name: &str, expected| {
            let scope: CacheScope = serde_json::from_value(json!(name)).unwrap();
            assert_eq!(scope, expected);
        };
        check("public", CacheScope::Public);
        check("private", CacheScope::Private);
        check("Public", CacheScope::Private);
        check("tenant", CacheScope::Private);
    }

    #[test]
    fn integers_are_parsed_leniently() {
        #[derive(Deserialize)]
        struct Sample {
            #[serde(default, deserialize_with = "lenient_optional_integer")]
            ttl: Option<u64>,
        }
        let check = |text: &str, expected| {
            let sample: Sample = serde_json::from_str(text).unwrap();
            assert_eq!(sample.ttl, expected, "{text}");
        };
        check("{}", None);
        check(r#"{"ttl":null}"#, None);
        check(r#"{"ttl":5000}"#, Some(5000));
        check(r#"{"ttl":5000.9}"#, Some(5000));
        check(r#"{"ttl":-1}"#, Some(0));
        check(r#"{"ttl":-0.5}"#, Some(0));
        check(r#"{"ttl":18446744073709551615}"#, Some(u64::MAX));
        check(r#"{"ttl":1e300}"#, Some(u64::MAX));
        assert!(serde_json::from_str::<Sample>(r#"{"ttl":"5"}"#).is_err());
    }

    #[test]
    fn empty_results_round_trip_with_unknown_members() {
        let wire = json!({"resultType": "complete", "_meta": {"a": 1}, "later": [1, 2]});
        let result: EmptyResult = serde_json::from_value(wire.clone()).unwrap();
        assert_eq!(result.extra["later"], json!([1, 2]));
        assert_eq!(serde_json::to_value(&result).unwrap(), wire);
        assert_eq!(serde_json::to_value(EmptyResult::new()).unwrap(), json!({}));
    }
}
