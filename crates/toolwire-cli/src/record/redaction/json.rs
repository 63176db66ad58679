//! Replaces secrets in JSON, and leaves all other bytes as they are.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use toolwire_proto::secret_names::{SecretValue, secret_value};

use crate::record::redaction::patterns::redact_text;
use crate::record::redaction::{replacement, replacement_len};

/// How deep values may be nested, and JSON within texts counts too. A deeper value is replaced as a whole.
const MAX_DEPTH: usize = 128;

/// Members with JSON Schemas. A property of a schema has the name of a secret, but no secret.
const SCHEMAS: [&str; 3] = ["inputSchema", "outputSchema", "requestedSchema"];

/// Members with the data of users. A schema in them is data, too.
const DATA: [&str; 3] = ["arguments", "structuredContent", "inputResponses"];

/// Replaces the secrets in a JSON text. Returns `None` if it is not JSON.
pub(crate) fn redact_json(text: &str) -> Option<Cow<'_, str>> {
    redact(text, 0)
}

fn redact(text: &str, depth: usize) -> Option<Cow<'_, str>> {
    let raw: &RawValue = serde_json::from_str(text).ok()?;
    let mut search = Search {
        text,
        replacements: Vec::new(),
    };
    search.value(raw, ValueContext::default(), depth);
    if search.replacements.is_empty() {
        return Some(Cow::Borrowed(text));
    }
    let mut redacted = String::with_capacity(text.len());
    let mut end = 0;
    for (range, value) in search.replacements {
        redacted.push_str(&text[end..range.start]);
        redacted.push_str(&value);
        end = range.end;
    }
    redacted.push_str(&text[end..]);
    Some(Cow::Owned(redacted))
}

/// Where a value is.
#[derive(Debug, Clone, Copy, Default)]
struct ValueContext {
    secret: Option<SecretValue>,
    is_schema: bool,
    is_data: bool,
}

impl ValueContext {
    /// Returns the context of a member.
    fn member(self, name: &str) -> Self {
        let is_data = self.is_data || DATA.contains(&name);
        let is_schema = !is_data && (self.is_schema || SCHEMAS.contains(&name));
        let secret = self.secret.or_else(|| secret_value(name));
        Self {
            secret: secret.filter(|_| !is_schema),
            is_schema,
            is_data,
        }
    }
}

/// Collects what is replaced, in the order of the text.
struct Search<'a> {
    text: &'a str,
    replacements: Vec<(Range<usize>, String)>,
}

impl<'a> Search<'a> {
    /// Searches a value. What cannot be read is replaced as a whole: a raw value may have half of a surrogate pair.
    fn value(&mut self, raw: &'a RawValue, context: ValueContext, depth: usize) {
        if depth > MAX_DEPTH {
            return self.replace(raw, &replacement(raw.get()));
        }
        match raw.get().as_bytes().first() {
            Some(b'{') => {
                let Ok(members) = serde_json::from_str::<Members<'a>>(raw.get()) else {
                    return self.replace(raw, &replacement(raw.get()));
                };
                for (name, value) in members.0 {
                    self.value(value, context.member(&name), depth + 1);
                }
            }
            Some(b'[') => {
                let Ok(elements) = serde_json::from_str::<Vec<&'a RawValue>>(raw.get()) else {
                    return self.replace(raw, &replacement(raw.get()));
                };
                for element in elements {
                    self.value(element, context, depth + 1);
                }
            }
            Some(b'"') => self.string(raw, context, depth),
            Some(b'-' | b'0'..=b'9') if context.secret == Some(SecretValue::Any) => {
                self.replace(raw, &replacement(raw.get()));
            }
            _ => {}
        }
    }

    fn string(&mut self, raw: &'a RawValue, context: ValueContext, depth: usize) {
        let Ok(text) = serde_json::from_str::<String>(raw.get()) else {
            return self.replace(raw, &replacement(raw.get()));
        };
        if context.secret.is_some() {
            // A record that is read and redacted again does not change.
            let is_replacement = replacement_len(&text) == Some(text.len());
            if !text.is_empty() && !is_replacement {
                self.replace(raw, &replacement(&text));
            }
            return;
        }
        // Tools repeat structured content as a text.
        let is_json = text.trim_start().starts_with(['{', '[']);
        let redacted = match is_json.then(|| redact(&text, depth + 1)).flatten() {
            Some(redacted) => redacted,
            None => redact_text(&text),
        };
        if let Cow::Owned(redacted) = redacted {
            self.replace(raw, &redacted);
        }
    }

    /// Replaces a value by a string.
    fn replace(&mut self, raw: &'a RawValue, text: &str) {
        // Every raw value is a part of the text.
        let start = raw.get().as_ptr() as usize - self.text.as_ptr() as usize;
        let range = start..start + raw.get().len();
        let value = serde_json::Value::from(text).to_string();
        self.replacements.push((range, value));
    }
}

/// The members of an object in their order, also those with equal names.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;

        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(MembersVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(redact_json(text).unwrap(), expected);
        assert_eq!(redact_json(expected).unwrap(), expected, "again");
    }

    #[test]
    fn other_bytes_stay_as_they_are() {
        let text = r#"{ "a" : 1.0, "b":[null,true , "text"], "a":{"c":"d"} }"#;
        check(text, text);
        check(
            r#"{ "n" : 1.0, "password" : "hunter2", "n":2 }"#,
            r#"{ "n" : 1.0, "password" : "[redacted 7 bytes sha256:f52f]", "n":2 }"#,
        );
        assert_eq!(redact_json("{"), None);
    }

    #[test]
    fn members_are_found_by_name() {
        check(
            r#"{"pass\u0077ord":"hunter2","credentials":{"user":"hunter2"},"list":[{"pin_secret":12}]}"#,
            concat!(
                r#"{"pass\u0077ord":"[redacted 7 bytes sha256:f52f]","#,
                r#""credentials":{"user":"[redacted 7 bytes sha256:f52f]"},"#,
                r#""list":[{"pin_secret":"[redacted 2 bytes sha256:6b51]"}]}"#,
            ),
        );
        // Only the exact form is a replacement.
        check(
            r#"{"password":"[redacted hunter2"}"#,
            r#"{"password":"[redacted 17 bytes sha256:cb96]"}"#,
        );
        let harmless = r#"{"progressToken":"a","maxTokens":5,"password":""}"#;
        check(harmless, harmless);
    }

    #[test]
    fn schemas_keep_the_properties_of_secrets() {
        let schema = r#"{"tools":[{"inputSchema":{"properties":{"password":{"type":"string","default":"x"}}}}]}"#;
        check(schema, schema);
        let data = r#"{"arguments":{"inputSchema":{"password":"hunter2"}}}"#;
        check(
            data,
            r#"{"arguments":{"inputSchema":{"password":"[redacted 7 bytes sha256:f52f]"}}}"#,
        );
    }

    #[test]
    fn json_within_a_text_is_redacted() {
        check(
            r#"{"text":"{\"token\": \"hunter2\"}"}"#,
            r#"{"text":"{\"token\": \"[redacted 7 bytes sha256:f52f]\"}"}"#,
        );
    }

    #[test]
    fn values_with_half_a_surrogate_pair_are_replaced_as_a_whole() {
        for text in [
            r#"{"a":1,"b":{"\ud800":1,"password":"hunter2"}}"#,
            r#"{"a":1,"b":{"password":"hunter2 \udc00"}}"#,
            r#"{"a":1,"b":["\ud800 https://me:hunter2@example.com"]}"#,
        ] {
            let redacted = redact_json(text).unwrap();
            assert!(!redacted.contains("hunter2"), "{redacted}");
            assert!(redacted.starts_with(r#"{"a":1,"b":"#), "{redacted}");
            assert_eq!(redact_json(&redacted).unwrap(), redacted, "again");
        }
    }

    #[test]
    fn too_deep_values_are_replaced_as_a_whole() {
        let deep = |depth: usize| {
            let (open, close) = ("[".repeat(depth), "]".repeat(depth));
            format!("{open}\"text\"{close}")
        };
        // The last level is that of the text.
        assert_eq!(redact_json(&deep(MAX_DEPTH)).unwrap(), deep(MAX_DEPTH));
        let redacted = redact_json(&deep(MAX_DEPTH + 1)).map(Cow::into_owned);
        // A parser may reject it; in no case is it returned unchanged.
        assert_ne!(redacted, Some(deep(MAX_DEPTH + 1)));
    }
}
