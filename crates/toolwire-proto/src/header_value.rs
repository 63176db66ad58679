//! MCP's HTTP header names, and the encoding of any text as a header value.
//!
//! Text that a header can contain is not encoded. Other text is wrapped as `=?base64?…?=`. Decoding is strict: an
//! invalid wrapped value is an error and never taken literally, so that a gateway and a server agree on the value. This
//! module does not decide which headers a message needs.

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use memchr::memchr3;

/// The revision of a request.
pub const PROTOCOL_VERSION: &str = "MCP-Protocol-Version";
/// The method of the message in the body.
pub const METHOD: &str = "Mcp-Method";
/// The tool, prompt, resource or task that the request names.
pub const NAME: &str = "Mcp-Name";
/// The prefix of the header names of mirrored tool arguments.
pub const PARAM_PREFIX: &str = "Mcp-Param-";
/// The session of a request, up to 2025-11-25.
pub const SESSION_ID: &str = "Mcp-Session-Id";
/// The last event received on a broken stream, up to 2025-11-25.
pub const LAST_EVENT_ID: &str = "Last-Event-ID";

const WRAP_START: &str = "=?base64?";
const WRAP_END: &str = "?=";

/// Encodes any text as a header value of visible ASCII and inner spaces.
///
/// The empty string stays empty, because HTTP allows an empty value.
///
/// ```
/// use toolwire_proto::header_value::encode;
///
/// assert_eq!(encode("us-west1"), "us-west1");
/// assert_eq!(encode(" padded "), "=?base64?IHBhZGRlZCA=?=");
/// ```
#[must_use]
pub fn encode(value: &str) -> Cow<'_, str> {
    // A tab is legal inside a header value. It is also a control character, which must be wrapped.
    let plain = value.bytes().all(|byte| matches!(byte, b' '..=b'~'))
        && !value.starts_with(' ')
        && !value.ends_with(' ');
    let looks_wrapped = value.starts_with(WRAP_START) && value.ends_with(WRAP_END);
    if plain && !looks_wrapped {
        return Cow::Borrowed(value);
    }
    let mut wrapped = String::with_capacity(16 + value.len().div_ceil(3) * 4);
    wrapped.push_str(WRAP_START);
    STANDARD.encode_string(value, &mut wrapped);
    wrapped.push_str(WRAP_END);
    Cow::Owned(wrapped)
}

/// Decodes a header value, whether wrapped or not.
///
/// White space around the value is not part of it (RFC 9110, section 5.5).
///
/// # Errors
/// Returns an error if the value has characters that a header must not contain. The same holds if it wraps anything but
/// canonical base64 of UTF-8 text.
pub fn decode(value: &str) -> Result<Cow<'_, str>, InvalidHeaderValue> {
    let value = trimmed(value);
    if !value
        .bytes()
        .all(|byte| matches!(byte, b' '..=b'~' | b'\t'))
    {
        return Err(InvalidHeaderValue::Characters);
    }
    let Some(payload) = value
        .strip_prefix(WRAP_START)
        .and_then(|rest| rest.strip_suffix(WRAP_END))
    else {
        return Ok(Cow::Borrowed(value));
    };
    let bytes = STANDARD
        .decode(payload)
        .map_err(|_| InvalidHeaderValue::Base64)?;
    String::from_utf8(bytes)
        .map(Cow::Owned)
        .map_err(|_| InvalidHeaderValue::Utf8)
}

/// Returns the value without surrounding white space, which is not part of it (RFC 9110, section 5.5).
#[must_use]
pub fn trimmed(value: &str) -> &str {
    let is_space = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    // Checking both ends costs less than `trim_matches`, which rarely has anything to remove.
    if is_space(value.as_bytes().first()) || is_space(value.as_bytes().last()) {
        value.trim_matches([' ', '\t'])
    } else {
        value
    }
}

/// Returns `true` if the value, written verbatim, could end the header and start another.
#[must_use]
pub fn is_unsafe(value: &str) -> bool {
    memchr3(b'\r', b'\n', b'\0', value.as_bytes()).is_some()
}

/// The reason why a header value is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the encoding has exactly these errors"
)]
pub enum InvalidHeaderValue {
    /// A character other than visible ASCII, space and tab.
    Characters,
    /// A wrapped value that is not canonical base64.
    Base64,
    /// Wrapped base64 that is not UTF-8 text.
    Utf8,
}

impl fmt::Display for InvalidHeaderValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Characters => "has characters that are not allowed in a header",
            Self::Base64 => "is not valid base64",
            Self::Utf8 => "is not valid UTF-8",
        })
    }
}

impl std::error::Error for InvalidHeaderValue {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_text_that_a_header_cannot_contain_is_wrapped() {
        #[track_caller]
        fn check(value: &str, encoded: &str) {
            assert_eq!(encode(value), encoded);
            assert_eq!(decode(encoded).as_deref(), Ok(value));
        }
        check("us-west1", "us-west1");
        check("", "");
        check("a b", "a b");
        check(
            "~!\"#$%&'()*+,/:;<=>?@[]^_`{|}",
            "~!\"#$%&'()*+,/:;<=>?@[]^_`{|}",
        );
        check("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?=");
        check(" padded ", "=?base64?IHBhZGRlZCA=?=");
        check(" a", "=?base64?IGE=?=");
        check("a ", "=?base64?YSA=?=");
        check("line1\nline2", "=?base64?bGluZTEKbGluZTI=?=");
        check("a\tb", "=?base64?YQli?=");
        check("\u{7f}", "=?base64?fw==?=");
        check("\0", "=?base64?AA==?=");
        check("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=");
        check("=?base64?=", "=?base64?PT9iYXNlNjQ/PQ==?=");
        check("=?base64?open", "=?base64?open");
        check("shut?=", "shut?=");
        check("=?BASE64?YQ==?=", "=?BASE64?YQ==?=");
    }

    #[test]
    fn decoding_ignores_white_space_and_is_strict_otherwise() {
        #[track_caller]
        fn check(value: &str, expected: Result<&str, InvalidHeaderValue>) {
            assert_eq!(decode(value).as_deref().map_err(|error| *error), expected);
        }
        check("  us-west1\t", Ok("us-west1"));
        check("a\tb", Ok("a\tb"));
        check("=?base64??=", Ok(""));
        check("=?base64?=", Ok("=?base64?="));
        check("=?Base64?YQ==?=", Ok("=?Base64?YQ==?="));
        check("=?base64?YQ==", Ok("=?base64?YQ=="));
        check("=?base64?YQ?=", Err(InvalidHeaderValue::Base64));
        check("=?base64?YR==?=", Err(InvalidHeaderValue::Base64));
        check("=?base64?Y Q==?=", Err(InvalidHeaderValue::Base64));
        check("=?base64?_-8=?=", Err(InvalidHeaderValue::Base64));
        check("=?base64?!!!?=", Err(InvalidHeaderValue::Base64));
        check("=?base64?/w==?=", Err(InvalidHeaderValue::Utf8));
        check("a\r\nb", Err(InvalidHeaderValue::Characters));
        check("caf\u{e9}", Err(InvalidHeaderValue::Characters));
        check("\u{7f}", Err(InvalidHeaderValue::Characters));
    }

    #[test]
    fn line_ends_and_nul_are_unsafe() {
        for value in ["\r", "a\nb", "a\r\nX-Evil: 1", "\0"] {
            assert!(is_unsafe(value), "{value:?}");
        }
        for value in ["", "a b", "a\tb", "é"] {
            assert!(!is_unsafe(value), "{value:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_round_trips_and_is_header_safe(value in any::<String>()) {
            let encoded = encode(&value);
            prop_assert!(encoded.bytes().all(|byte| (b' '..=b'~').contains(&byte)));
            prop_assert_eq!(encoded.trim(), encoded.as_ref());
            prop_assert_eq!(decode(&encoded).unwrap(), value.as_str());
        }

        #[test]
        fn text_near_the_marker_round_trips(value in "(=\\?base64\\?)?[ a-zA-Z0-9+/=?\t]{0,12}(\\?=)?") {
            let encoded = encode(&value);
            prop_assert_eq!(decode(&encoded).unwrap(), value.as_str());
        }

        #[test]
        fn decoding_any_text_does_not_panic(value in any::<String>()) {
            let _ = decode(&value);
        }
    }
}
