//! The names of members and headers whose values are secrets, for records and telemetry.

/// Which values of a member are secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SecretValue {
    /// Texts and numbers.
    Any,
    /// Texts only: `maxTokens` is a number that is not a secret.
    Text,
}

/// Parts of names whose values are secrets, without separators and in lower case.
const PARTS: [&str; 10] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "apikey",
    "accesskey",
    "privatekey",
    "credential",
    "authorization",
    "requeststate",
];

/// Names that end like a secret, but are not one.
const HARMLESS: [&str; 3] = ["progresstoken", "pagetoken", "nextpagetoken"];

/// The start of headers with a copy of an argument. The name of the argument says nothing about its value.
const PARAMETER_HEADER: &str = "mcp-param-";

/// Headers with secrets that the names of members do not cover.
const HEADERS: [&str; 6] = [
    "cookie",
    "dpop",
    "mcp-session-id",
    "proxy-authorization",
    "set-cookie",
    "last-event-id",
];

/// Returns which values of a member with this name are secrets.
#[must_use]
pub fn secret_value(name: &str) -> Option<SecretValue> {
    let name: String = name
        .chars()
        .filter(|c| !matches!(c, '_' | '-' | '.' | ' '))
        .flat_map(char::to_lowercase)
        .collect();
    if PARTS.iter().any(|part| name.contains(part)) {
        return Some(SecretValue::Any);
    }
    let is_token = name.ends_with("token") || name.ends_with("tokens") || name == "pwd";
    (is_token && !HARMLESS.contains(&name.as_str())).then_some(SecretValue::Text)
}

/// Returns `true` if the value of a header is a secret.
#[must_use]
pub fn is_secret_header(name: &str) -> bool {
    let start = name.get(..PARAMETER_HEADER.len());
    if start.is_some_and(|start| start.eq_ignore_ascii_case(PARAMETER_HEADER)) {
        return true;
    }
    HEADERS
        .iter()
        .any(|header| header.eq_ignore_ascii_case(name))
        || secret_value(name).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_found_in_every_spelling() {
        for name in [
            "password",
            "db_password",
            "API-Key",
            "apiKey",
            "clientSecret",
            "requestState",
        ] {
            assert_eq!(secret_value(name), Some(SecretValue::Any), "{name}");
        }
        for name in ["token", "access_token", "refreshToken", "maxTokens"] {
            assert_eq!(secret_value(name), Some(SecretValue::Text), "{name}");
        }
        for name in [
            "progressToken",
            "nextPageToken",
            "name",
            "text",
            "tokenizer",
        ] {
            assert_eq!(secret_value(name), None, "{name}");
        }
        for name in [
            "Authorization",
            "cookie",
            "Set-Cookie",
            "DPoP",
            "Mcp-Session-Id",
            "x-api-key",
            "Mcp-Param-Region",
        ] {
            assert!(is_secret_header(name), "{name}");
        }
        assert!(!is_secret_header("content-type"));
    }
}
