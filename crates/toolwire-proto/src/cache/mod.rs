//! Cache hints: how long a result stays fresh, which clients may share it, and which results may be cached.
//!
//! This module parses, writes and evaluates hints. It does not store results. The client stores them, keys them by
//! method, parameters and authorization context, and drops them on a change notification.

mod invalidation;

use std::borrow::Cow;
use std::time::Duration;

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::value::RawValue;
use toolwire_types::{CacheScope, RawJson};

use crate::raw_object::RawObject;

pub use invalidation::{Invalidation, concerns, invalidated_by};

const TTL_MS: &str = "ttlMs";
const CACHE_SCOPE: &str = "cacheScope";

/// The largest integer that every JSON parser represents exactly.
const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

/// The lifetime and the sharing scope of a cached result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "the hint has two members on the wire"
)]
pub struct CacheHint {
    /// How long the result stays fresh after it is received.
    pub ttl: Duration,
    /// Which clients may share the result.
    pub scope: CacheScope,
}

impl Default for CacheHint {
    /// Returns a hint that is stale at once and private, for servers without a caching policy.
    fn default() -> Self {
        Self::private(Duration::ZERO)
    }
}

impl CacheHint {
    /// Returns the lifetime in milliseconds, as on the wire.
    #[must_use]
    pub fn ttl_ms(&self) -> u64 {
        u64::try_from(self.ttl.as_millis())
            .map_or(MAX_SAFE_INTEGER, |ttl| ttl.min(MAX_SAFE_INTEGER))
    }

    /// Returns the hint of a result that is made from two others: the shorter lifetime, and private if one of them is.
    #[must_use]
    pub fn merged(self, other: Self) -> Self {
        let is_public = self.scope == CacheScope::Public && other.scope == CacheScope::Public;
        Self {
            ttl: self.ttl.min(other.ttl),
            scope: if is_public {
                CacheScope::Public
            } else {
                CacheScope::Private
            },
        }
    }

    /// Creates a hint for results that any client may share.
    #[must_use]
    pub const fn public(ttl: Duration) -> Self {
        Self {
            ttl,
            scope: CacheScope::Public,
        }
    }

    /// Creates a hint for results that only the requesting client may use.
    #[must_use]
    pub const fn private(ttl: Duration) -> Self {
        Self {
            ttl,
            scope: CacheScope::Private,
        }
    }
}

/// Parses the hint of a complete result. Returns `None` if the result has no valid `ttlMs`.
///
/// A negative lifetime counts as zero. If the scope is missing or unknown, the result is private. The specification
/// gives no default, and private leaks nothing.
#[must_use]
pub fn parse(result: &RawValue) -> Option<CacheHint> {
    let members = HintMembers::read(result)?;
    if !members.is_complete() {
        return None;
    }
    let milliseconds = read::<f64>(members.ttl_ms)?;
    let scope = match read::<Cow<'_, str>>(members.cache_scope).as_deref() {
        Some("public") => CacheScope::Public,
        _ => CacheScope::Private,
    };
    Some(CacheHint {
        // The cast saturates: a negative value becomes zero, and a huge one becomes the maximum.
        ttl: Duration::from_millis(milliseconds as u64),
        scope,
    })
}

/// Returns a copy of the result with this hint, which replaces an existing one.
///
/// An `input_required` result must not have a hint and is copied unchanged. The same holds for a value that is not an
/// object.
#[must_use]
pub fn attach(hint: CacheHint, result: &RawJson) -> RawJson {
    if !HintMembers::read(result.as_raw_value()).is_some_and(|members| members.is_complete()) {
        return result.clone();
    }
    let Ok(mut members) = serde_json::from_str::<IndexMap<String, &RawValue>>(result.get()) else {
        return result.clone();
    };
    let ttl_ms = RawJson::from_value(&hint.ttl_ms().into());
    let scope = RawJson::from_serialize(&hint.scope).expect("a scope is a string");
    members.insert(TTL_MS.to_owned(), ttl_ms.as_raw_value());
    members.insert(CACHE_SCOPE.to_owned(), scope.as_raw_value());
    RawJson::from_serialize(&members).expect("string keys and JSON values always serialize")
}

/// Returns a result that callers must not share: the scope of its hint is private. Other members keep their text.
#[must_use]
pub fn without_sharing(result: RawJson) -> RawJson {
    let Some(mut members) = RawObject::parse(result.as_raw_value()) else {
        return result;
    };
    if members.text(CACHE_SCOPE).as_deref() == Some("public") {
        members.set_text(CACHE_SCOPE, "private");
    }
    members.finish_if_edited().unwrap_or_else(|| result.clone())
}

/// Returns `true` for the methods whose complete results clients cache by their hints.
///
/// `skills/get` is not one of them, although its results have hints: clients send it because a cached entry is outdated.
#[must_use]
pub fn is_cacheable_method(method: &str) -> bool {
    matches!(
        method,
        "server/discover"
            | "tools/list"
            | "prompts/list"
            | "resources/list"
            | "resources/templates/list"
            | "resources/read"
            | "skills/list"
    )
}

/// Returns `true` if the response to a request may be cached.
///
/// The response to a retry with `inputResponses` or `requestState` is never cached, even if it has a hint.
#[must_use]
pub fn may_cache(method: &str, params: Option<&RawValue>) -> bool {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct RetryMembers<'a> {
        #[serde(borrow, default, deserialize_with = "present")]
        input_responses: Option<&'a RawValue>,
        #[serde(borrow, default, deserialize_with = "present")]
        request_state: Option<&'a RawValue>,
    }

    is_cacheable_method(method)
        && params.is_none_or(|params| {
            serde_json::from_str::<RetryMembers<'_>>(params.get()).is_ok_and(|members| {
                members.input_responses.is_none() && members.request_state.is_none()
            })
        })
}

/// The time until which a received result is fresh. Each page of a list has its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Freshness {
    expires: Duration,
}

impl Freshness {
    /// A result that is stale at once, because it had no hint or a dependency changed.
    pub const STALE: Self = Self {
        expires: Duration::ZERO,
    };

    /// Returns the freshness of a result received at `received`, on the clock later passed to [`Self::is_fresh`].
    #[must_use]
    pub const fn of(hint: CacheHint, received: Duration) -> Self {
        Self {
            expires: received.saturating_add(hint.ttl),
        }
    }

    /// Returns the freshness of a result that is cached until `expires`, a time on the same clock.
    #[must_use]
    pub const fn until(expires: Duration) -> Self {
        Self { expires }
    }

    /// Returns the expiry time, on the clock that the value was created with.
    #[must_use]
    pub const fn expires(self) -> Duration {
        self.expires
    }

    /// Returns `true` while the result may be served from the cache.
    #[must_use]
    pub fn is_fresh(self, now: Duration) -> bool {
        now < self.expires
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HintMembers<'a> {
    #[serde(borrow, default)]
    ttl_ms: Option<&'a RawValue>,
    #[serde(borrow, default)]
    cache_scope: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result_type: Option<&'a RawValue>,
}

impl<'a> HintMembers<'a> {
    fn read(result: &'a RawValue) -> Option<Self> {
        // serde would also read the members from an array, by position.
        let text = result.get().trim_start();
        text.starts_with('{')
            .then(|| serde_json::from_str(text).ok())
            .flatten()
    }

    /// Returns `true` if the result is complete. Servers of older revisions omit `resultType`, and their results are
    /// always complete.
    fn is_complete(&self) -> bool {
        self.result_type.is_none()
            || read::<Cow<'_, str>>(self.result_type).as_deref() == Some("complete")
    }
}

fn read<'a, T: Deserialize<'a>>(member: Option<&'a RawValue>) -> Option<T> {
    serde_json::from_str(member?.get()).ok()
}

/// Deserializes a `null` member as present. `Option` alone would treat it as absent.
fn present<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> RawJson {
        RawJson::from_string(text.to_owned()).unwrap()
    }

    const fn milliseconds(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn hints_are_parsed_leniently_and_default_to_private() {
        #[track_caller]
        fn check(result: &str, expected: Option<CacheHint>) {
            assert_eq!(parse(raw(result).as_raw_value()), expected, "{result}");
        }
        let private = |count| Some(CacheHint::private(milliseconds(count)));
        let public = |count| Some(CacheHint::public(milliseconds(count)));
        check(r#"{"ttlMs":1500,"cacheScope":"public"}"#, public(1500));
        check(r#"{"ttlMs":1500,"cacheScope":"private"}"#, private(1500));
        check(
            r#"{"resultType":"complete","ttlMs":1,"cacheScope":"public"}"#,
            public(1),
        );
        check(r#"{"tools":[{"ttlMs":9}],"ttlMs":1500.9}"#, private(1500));
        check(r#"{"ttlMs":1e3}"#, private(1000));
        check(r#"{"ttlMs":0}"#, private(0));
        check(r#"{"ttlMs":-5,"cacheScope":"public"}"#, public(0));
        check(r#"{"ttlMs":-0.1}"#, private(0));
        check(r#"{"ttlMs":1e300}"#, private(u64::MAX));
        check(r#"{"ttlMs":1,"cacheScope":"shared"}"#, private(1));
        check(r#"{"ttlMs":1,"cacheScope":"Public"}"#, private(1));
        check(r#"{"ttlMs":1,"cacheScope":7}"#, private(1));
        check(r#"{"cacheScope":"public"}"#, None);
        check(r#"{"ttlMs":null}"#, None);
        check(r#"{"ttlMs":"5"}"#, None);
        check(r#"{"ttlMs":1e999}"#, None);
        check(r#"{"resultType":"input_required","ttlMs":5}"#, None);
        check(r#"{"resultType":7,"ttlMs":5}"#, None);
        check(r#"[5,"public"]"#, None);
        check("null", None);
    }

    #[test]
    fn hint_is_written_into_a_copy() {
        #[track_caller]
        fn check(hint: CacheHint, result: &str, expected: &str) {
            let original = raw(result);
            assert_eq!(attach(hint, &original).get(), expected);
            assert_eq!(original.get(), result);
        }
        let hint = CacheHint::public(milliseconds(60_000));
        check(
            hint,
            r#"{"z":[1.0, 2],"a":{}}"#,
            r#"{"z":[1.0, 2],"a":{},"ttlMs":60000,"cacheScope":"public"}"#,
        );
        check(hint, "{}", r#"{"ttlMs":60000,"cacheScope":"public"}"#);
        check(
            CacheHint::private(Duration::ZERO),
            r#"{"ttlMs":5,"cacheScope":"public","a":1}"#,
            r#"{"ttlMs":0,"cacheScope":"private","a":1}"#,
        );
        check(
            CacheHint::private(Duration::MAX),
            "{}",
            r#"{"ttlMs":9007199254740991,"cacheScope":"private"}"#,
        );
        let asks_for_input = r#"{"resultType":"input_required","inputRequests":{}}"#;
        check(hint, asks_for_input, asks_for_input);
        check(hint, "[1]", "[1]");
    }

    #[test]
    fn merged_hint_is_the_shorter_and_narrower_one() {
        let (one, two) = (milliseconds(1), milliseconds(2));
        let public = CacheHint::public(two);
        assert_eq!(
            public.merged(CacheHint::public(one)),
            CacheHint::public(one)
        );
        assert_eq!(
            public.merged(CacheHint::private(one)),
            CacheHint::private(one)
        );
        assert_eq!(
            CacheHint::private(one).merged(public),
            CacheHint::private(one)
        );
    }

    #[test]
    fn public_result_becomes_private() {
        #[track_caller]
        fn check(result: &str, expected: &str) {
            assert_eq!(without_sharing(raw(result)).get(), expected);
        }
        check(
            r#"{"z":1.0,"cacheScope":"public","ttlMs":5}"#,
            r#"{"z":1.0,"cacheScope":"private","ttlMs":5}"#,
        );
        for unchanged in [r#"{"cacheScope": "private"}"#, r#"{"a": 1.0}"#, "[1.0]"] {
            check(unchanged, unchanged);
        }
    }

    #[test]
    fn attached_hint_is_parsed_back() {
        for hint in [
            CacheHint::public(milliseconds(1)),
            CacheHint::private(milliseconds(MAX_SAFE_INTEGER)),
        ] {
            let result = attach(hint, &RawJson::empty_object());
            assert_eq!(parse(result.as_raw_value()), Some(hint));
        }
    }

    #[test]
    fn responses_to_retries_are_not_cached() {
        #[track_caller]
        fn check(method: &str, params: Option<&str>, expected: bool) {
            let params = params.map(raw);
            let params = params.as_ref().map(RawJson::as_raw_value);
            assert_eq!(may_cache(method, params), expected, "{method} {params:?}");
        }
        check("tools/list", None, true);
        check("tools/list", Some(r#"{"cursor":"a"}"#), true);
        check("server/discover", Some("{}"), true);
        check("prompts/list", Some("{}"), true);
        check("resources/list", Some("{}"), true);
        check("resources/templates/list", Some("{}"), true);
        check("resources/read", Some(r#"{"uri":"a:b"}"#), true);
        check("skills/list", Some("{}"), true);
        check("skills/get", Some(r#"{"uri":"a:b"}"#), false);
        check(
            "resources/read",
            Some(r#"{"uri":"a:b","requestState":"x"}"#),
            false,
        );
        check(
            "resources/read",
            Some(r#"{"uri":"a:b","requestState":null}"#),
            false,
        );
        check(
            "resources/read",
            Some(r#"{"uri":"a:b","inputResponses":{}}"#),
            false,
        );
        check("tools/call", Some("{}"), false);
        check("prompts/get", None, false);
    }

    #[test]
    fn result_is_fresh_for_its_ttl_after_receipt() {
        let freshness = Freshness::of(CacheHint::private(milliseconds(10)), milliseconds(100));
        assert!(freshness.is_fresh(milliseconds(100)));
        assert!(freshness.is_fresh(milliseconds(109)));
        assert!(!freshness.is_fresh(milliseconds(110)));

        let at_once = Freshness::of(CacheHint::private(Duration::ZERO), milliseconds(100));
        assert!(!at_once.is_fresh(milliseconds(100)));
        assert!(!Freshness::STALE.is_fresh(Duration::ZERO));

        assert_eq!(Freshness::until(freshness.expires()), freshness);

        let for_ever = Freshness::of(CacheHint::private(Duration::MAX), milliseconds(100));
        assert!(for_ever.is_fresh(milliseconds(u64::MAX)));
    }
}
