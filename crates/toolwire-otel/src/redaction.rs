//! Arguments and results in spans, with the values of secret members replaced.

use serde_json::Value;
use toolwire_proto::secret_names::{SecretValue, secret_value};

/// The maximum number of bytes of recorded arguments, and of a recorded result.
pub const MAX_PAYLOAD_BYTES: usize = 4096;

/// What replaces the value of a secret member.
const REDACTED: &str = "[redacted]";

/// How deep JSON within texts is searched. A deeper text is replaced as a whole.
const MAX_TEXT_DEPTH: usize = 4;

/// Which values are replaced in recorded arguments and results.
///
/// The values of members with the names of secrets are always replaced, at every depth, also in texts that are JSON: names
/// that contain `password`, `passphrase`, `secret`, `apiKey`, `accessKey`, `privateKey`, `credential`, `authorization`,
/// `requestState` or `token`, in any spelling. A number or boolean with the name of a token is no secret, such as
/// `maxTokens`. `data` and `blob` are replaced, too: they contain bytes.
///
/// ```
/// use toolwire_otel::Redaction;
///
/// let redaction = Redaction::new().with_members(["iban"]);
/// # drop(redaction);
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Redaction {
    members: Vec<String>,
}

impl Redaction {
    /// Creates the default rules.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Replaces also the values of members with these names, in any case.
    #[must_use]
    pub fn with_members<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        let names = names.into_iter().map(|name| name.into().to_lowercase());
        self.members.extend(names);
        self
    }

    /// Returns JSON without its secrets and of limited length. JSON that cannot be parsed is not recorded.
    pub(crate) fn payload(&self, json: &str) -> Option<String> {
        let mut value: Value = serde_json::from_str(json).ok()?;
        self.redact(&mut value, 0);
        let mut text = value.to_string();
        if text.len() > MAX_PAYLOAD_BYTES {
            let mut end = MAX_PAYLOAD_BYTES;
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            text.truncate(end);
        }
        Some(text)
    }

    /// Replaces the secrets in a value. Returns `true` if there were some. `depth` counts the texts around the value.
    fn redact(&self, value: &mut Value, depth: usize) -> bool {
        match value {
            Value::Object(members) => members.iter_mut().fold(false, |found, (name, member)| {
                if self.is_secret(name, member) {
                    *member = REDACTED.into();
                    return true;
                }
                self.redact(member, depth) || found
            }),
            Value::Array(elements) => {
                let mut found = false;
                for element in elements {
                    found |= self.redact(element, depth);
                }
                found
            }
            Value::String(text) if text.trim_start().starts_with(['{', '[']) => {
                let Some(redacted) = self.redacted_text(text, depth) else {
                    return false;
                };
                *text = redacted;
                true
            }
            _ => false,
        }
    }

    /// Returns a text that is JSON without its secrets, or `None` if it has none.
    fn redacted_text(&self, text: &str, depth: usize) -> Option<String> {
        let mut value: Value = serde_json::from_str(text).ok()?;
        if depth == MAX_TEXT_DEPTH {
            return Some(REDACTED.to_owned());
        }
        self.redact(&mut value, depth + 1)
            .then(|| value.to_string())
    }

    fn is_secret(&self, name: &str, value: &Value) -> bool {
        let lower = name.to_lowercase();
        let is_token = || lower.contains("token").then_some(SecretValue::Text);
        let is_scalar = matches!(value, Value::Null | Value::Bool(_) | Value::Number(_));
        let is_named = match secret_value(name).or_else(is_token) {
            Some(SecretValue::Text) => !is_scalar,
            Some(_) => true,
            None => false,
        };
        is_named || matches!(&*lower, "data" | "blob") || self.members.contains(&lower)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secret_members_are_replaced_at_every_depth() {
        let redaction = Redaction::new().with_members(["IBAN"]);
        let check = |json: &str, expected: Option<&str>| {
            assert_eq!(redaction.payload(json).as_deref(), expected, "{json}");
        };
        check(r#"{"city":"Paris"}"#, Some(r#"{"city":"Paris"}"#));
        check(
            r#"{"a":[{"accessToken":"x","Iban":"y"}],"password":{"b":1}}"#,
            Some(
                r#"{"a":[{"accessToken":"[redacted]","Iban":"[redacted]"}],"password":"[redacted]"}"#,
            ),
        );
        check(r#"{"blob":"AAAA"}"#, Some(r#"{"blob":"[redacted]"}"#));
        check("{", None);
        check(
            r#"{"privateKey":"x","pass-phrase":"y","tokenValue":"z","pwd":7,"maxTokens":7}"#,
            Some(
                r#"{"privateKey":"[redacted]","pass-phrase":"[redacted]","tokenValue":"[redacted]","pwd":7,"maxTokens":7}"#,
            ),
        );
    }

    #[test]
    fn secret_members_are_replaced_in_texts_that_are_json() {
        let redaction = Redaction::new();
        let nested = |levels: usize| {
            let mut json = json!({"password": "hunter2", "n": 1});
            for _ in 0..levels {
                json = json!({ "text": json.to_string() });
            }
            redaction.payload(&json.to_string()).unwrap()
        };
        assert_eq!(
            nested(1),
            r#"{"text":"{\"password\":\"[redacted]\",\"n\":1}"}"#
        );
        for levels in [0, 1, MAX_TEXT_DEPTH, MAX_TEXT_DEPTH + 1, 8] {
            let payload = nested(levels);
            assert!(!payload.contains("hunter2"), "{levels}: {payload}");
            let has_rest = payload.contains(r#"n\"#) || payload.contains(r#""n""#);
            assert_eq!(has_rest, levels <= MAX_TEXT_DEPTH, "{levels}: {payload}");
        }
        let text = r#"{"text":"{ \"a\": 1 }","rest":"{no json"}"#;
        assert_eq!(redaction.payload(text).as_deref(), Some(text));
    }

    #[test]
    fn payload_is_cut_at_the_limit() {
        let redaction = Redaction::new();
        let fits = format!("\"{}\"", "a".repeat(MAX_PAYLOAD_BYTES - 2));
        assert_eq!(redaction.payload(&fits), Some(fits.clone()));
        let longer = format!("\"{}\"", "ü".repeat(MAX_PAYLOAD_BYTES));
        let payload = redaction.payload(&longer).unwrap();
        assert!(payload.len() <= MAX_PAYLOAD_BYTES && payload.len() > MAX_PAYLOAD_BYTES - 4);
    }
}
