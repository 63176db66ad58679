//! What results of the modern era have in common: the kind of result, cache hints, and members nobody knows yet.
//!
//! Results are open objects in every revision. What a struct here does not name lands in its [`Extra`] map and is
//! written back, so a proxy built on these types loses nothing.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Number, Value};

use crate::meta::Meta;

/// Members of an open object that the types do not name.
pub type Extra = Map<String, Value>;

/// What kind of answer a result is (`resultType`, 2026-07-28).
///
/// Older servers leave the member out, which means [`Complete`](Self::Complete). Whether an unknown kind is acceptable
/// is decided in `toolwire-proto`; here it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ResultType {
    /// The request is answered.
    Complete,
    /// The server needs input from the client before it can answer.
    InputRequired,
    /// The server answers later, through a task (extension `io.modelcontextprotocol/tasks`).
    Task,
    /// A kind from an extension or a later revision.
    Other(String),
}

impl ResultType {
    /// The wire name.
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

/// Who may share a cached result (`cacheScope`, 2026-07-28).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum CacheScope {
    /// Anybody, across users and tokens.
    Public,
    /// Only the authorization context that asked. A scope this crate does not know is read as this one, because
    /// sharing too little is safe and sharing too much is not.
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

/// A result with nothing to say: the answer to `ping`, `logging/setLevel` and other acknowledgements.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct EmptyResult {
    /// The kind of result; 2026-07-28 and later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl EmptyResult {
    /// An empty object.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

/// Reads an optional non-negative integer that some peers write as a float: `5000`, `5000.0` and `-1` are all
/// understood, the last as 0. Used with `#[serde(default, deserialize_with = ..)]`.
pub(crate) fn lenient_optional_integer<'de, D>(deserializer: D) -> Result<Option<u64>, D::Error>
where
    D: Deserializer<'de>,
{
    let number = Option::<Number>::deserialize(deserializer)?;
    Ok(number.as_ref().map(saturating_integer))
}

/// The same for a member that must be there.
pub(crate) fn lenient_integer<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    Number::deserialize(deserializer).map(|number| saturating_integer(&number))
}

fn saturating_integer(number: &Number) -> u64 {
    match number.as_u64() {
        Some(integer) => integer,
        // `as` turns NaN and negative numbers into 0 and stops at the largest integer.
        None => number.as_f64().map_or(0, |float| float as u64),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn unknown_result_kinds_survive() {
        for name in ["complete", "input_required", "task", "com.example/later"] {
            let kind: ResultType = serde_json::from_value(json!(name)).unwrap();
            assert_eq!(serde_json::to_value(&kind).unwrap(), json!(name));
        }
        assert_eq!(ResultType::from("task"), ResultType::Task);
        assert_eq!(ResultType::from("x"), ResultType::Other("x".into()));
    }

    #[test]
    fn unknown_cache_scopes_are_private() {
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
    fn integers_are_read_leniently() {
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
    fn empty_results_keep_what_they_do_not_know() {
        let wire = json!({"resultType": "complete", "_meta": {"a": 1}, "later": [1, 2]});
        let result: EmptyResult = serde_json::from_value(wire.clone()).unwrap();
        assert_eq!(result.extra["later"], json!([1, 2]));
        assert_eq!(serde_json::to_value(&result).unwrap(), wire);
        assert_eq!(serde_json::to_value(EmptyResult::new()).unwrap(), json!({}));
    }
}
