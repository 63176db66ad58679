//! Cache hints: how long a result stays fresh, for whom, and which results may be kept at all.
//!
//! Only reading, writing and judging hints happens here. Storing results, keying them by method, parameters and
//! authorization context, and dropping them on a change notification is the client's business.

mod invalidation;

use std::borrow::Cow;
use std::time::Duration;

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::value::RawValue;
use toolwire_types::{CacheScope, RawJson};

pub use invalidation::{Invalidation, concerns, outdated_by};

const TTL_MS: &str = "ttlMs";
const CACHE_SCOPE: &str = "cacheScope";

/// The largest whole number every JSON reader keeps exact.
const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

/// How long a result may be served from a cache, and to whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "the two members of the wire")]
pub struct CacheHint {
    /// How long the result stays fresh after it was received.
    pub ttl: Duration,
    /// Who may share it.
    pub scope: CacheScope,
}

impl Default for CacheHint {
    /// Stale at once, and for nobody else: what a server says that has no opinion.
    fn default() -> Self {
        Self::private(Duration::ZERO)
    }
}

impl CacheHint {
    /// The lifetime in milliseconds, as the wire has it.
    #[must_use]
    pub fn ttl_ms(&self) -> u64 {
        u64::try_from(self.ttl.as_millis())
            .map_or(MAX_SAFE_INTEGER, |ttl| ttl.min(MAX_SAFE_INTEGER))
    }

    /// A hint for any client.
    #[must_use]
    pub const fn public(ttl: Duration) -> Self {
        Self {
            ttl,
            scope: CacheScope::Public,
        }
    }

    /// A hint for the client that asked.
    #[must_use]
    pub const fn private(ttl: Duration) -> Self {
        Self {
            ttl,
            scope: CacheScope::Private,
        }
    }
}

/// Reads the hint of a complete result; nothing when it has no usable `ttlMs`.
///
/// A negative time is zero. Without a scope, or with an unknown one, the result is private: the spec gives no default,
/// and private is the choice that leaks nothing.
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
        // The cast saturates: negative becomes zero, and the absurdly long becomes for ever.
        ttl: Duration::from_millis(milliseconds as u64),
        scope,
    })
}

/// Copies a result with the hint written into it, replacing one it had.
///
/// A result that still asks for input must not carry a hint and is copied unchanged, as is anything but an object.
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
    RawJson::from_serialize(&members).expect("string keys and JSON values always serialise")
}

/// True for the methods whose complete results carry hints.
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
    )
}

/// True when the answer to a request may be kept.
///
/// The answer to a retry that carried `inputResponses` or `requestState` never is, whatever its hint says.
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

/// Until when one received result is fresh; each page of a list has its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Freshness {
    expires: Duration,
}

impl Freshness {
    /// A result that is stale at once: it had no hint, or something it depends on changed.
    pub const STALE: Self = Self {
        expires: Duration::ZERO,
    };

    /// The freshness of a result received at `received`, on the clock later passed to [`Self::is_fresh`].
    #[must_use]
    pub const fn of(hint: CacheHint, received: Duration) -> Self {
        Self {
            expires: received.saturating_add(hint.ttl),
        }
    }

    /// The freshness of a result that was kept until `expires`, a moment on the same clock.
    #[must_use]
    pub const fn until(expires: Duration) -> Self {
        Self { expires }
    }

    /// When it ends, on the clock it was made with.
    #[must_use]
    pub const fn expires(self) -> Duration {
        self.expires
    }

    /// True while the result may be served without asking again.
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

    /// Servers of older revisions leave `resultType` out of their results, which are all complete.
    fn is_complete(&self) -> bool {
        self.result_type.is_none()
            || read::<Cow<'_, str>>(self.result_type).as_deref() == Some("complete")
    }
}

fn read<'a, T: Deserialize<'a>>(member: Option<&'a RawValue>) -> Option<T> {
    serde_json::from_str(member?.get()).ok()
}

/// Keeps a member that is `null`, which `Option` alone would take for absent.
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
    fn hints_are_read_leniently_and_default_to_private() {
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
    fn a_hint_is_written_into_a_copy() {
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
    fn an_attached_hint_is_read_back() {
        for hint in [
            CacheHint::public(milliseconds(1)),
            CacheHint::private(milliseconds(MAX_SAFE_INTEGER)),
        ] {
            let result = attach(hint, &RawJson::empty_object());
            assert_eq!(parse(result.as_raw_value()), Some(hint));
        }
    }

    #[test]
    fn answers_to_retries_are_not_kept() {
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
    fn a_result_is_fresh_for_its_time_from_receipt() {
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
