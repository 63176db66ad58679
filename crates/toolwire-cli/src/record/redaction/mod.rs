//! Replaces secrets in messages, headers and texts.
//!
//! A secret is the value of a member with a telling name, or a text with the form of a token or a key. This is a help, not
//! a guarantee: a secret that looks like ordinary text stays. The replacement has the length and the first two bytes of
//! the digest, so that equal secrets stay equal and `toolwire replay` can compare them.

mod json;
mod names;
mod patterns;

use sha2::{Digest as _, Sha256};

pub(crate) use json::redact_json;
pub(super) use names::is_secret_header;
pub(super) use patterns::{redact_log_line, redact_text};

/// The start of every replacement.
const START: &str = "[redacted ";

/// What a redacted record lists in its header.
pub(super) const REDACTED: [&str; 8] = [
    "authorization",
    "cookie",
    "set-cookie",
    "dpop",
    "mcp-session-id",
    "members: password, secret, token, api_key, credential, requestState",
    "texts: JWT, keys of known services, private keys, passwords in URLs",
    "headers given by the user",
];

/// Returns the text that replaces a secret.
pub(super) fn replacement(secret: &str) -> String {
    let digest = Sha256::digest(secret.as_bytes());
    let (first, second) = (digest[0], digest[1]);
    let length = secret.len();
    format!("{START}{length} bytes sha256:{first:02x}{second:02x}]")
}

/// Returns `true` if a text is or contains a replacement.
pub(crate) fn is_redacted(text: &str) -> bool {
    text.contains(START)
}
