//! Arguments and results in spans, with the values of secret members replaced.

use serde_json::Value;

/// The maximum number of bytes of recorded arguments, and of a recorded result.
pub const MAX_PAYLOAD_BYTES: usize = 4096;

/// What replaces the value of a secret member.
const REDACTED: &str = "[redacted]";

/// Parts of the names of members whose values are always replaced.
const SECRET_NAMES: [&str; 9] = [
    "authorization",
    "apikey",
    "api_key",
    "api-key",
    "credential",
    "password",
    "private_key",
    "secret",
    "token",
];

/// Which values are replaced in recorded arguments and results.
///
/// The values of members whose name contains `authorization`, `api_key`, `credential`, `password`, `private_key`, `secret`
/// or `token`, in any case, are always replaced, at every depth. So are `data` and `blob`, which contain bytes. JSON within a
/// text is not searched.
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
        self.redact(&mut value);
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

    fn redact(&self, value: &mut Value) {
        match value {
            Value::Object(members) => {
                for (name, member) in members.iter_mut() {
                    if self.is_secret(name) {
                        *member = REDACTED.into();
                    } else {
                        self.redact(member);
                    }
                }
            }
            Value::Array(elements) => {
                for element in elements {
                    self.redact(element);
                }
            }
            _ => {}
        }
    }

    fn is_secret(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        matches!(&*name, "data" | "blob")
            || SECRET_NAMES.iter().any(|secret| name.contains(secret))
            || self.members.contains(&name)
    }
}

#[cfg(test)]
mod tests {
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
