//! The names under which tools and prompts of several sources are exposed.
//!
//! A name is the prefix of its source, `_`, and the source's own name. Hosts accept names of at most 64 characters of
//! `A–Z a–z 0–9 _ - .`, so other names are shortened, and a digest makes them unique. A
//! name is never split at a separator, because prefixes and names may contain it.

#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

/// The maximum length of an exposed name. Interfaces of language models accept no longer ones.
pub const MAX_NAME_LENGTH: usize = 64;

/// The key of `_meta` with the full name of a tool or prompt whose exposed name is shortened.
pub const FULL_NAME_KEY: &str = "toolwire/fullName";

/// The separator between prefix and name, and between the start of a name and its digest.
const SEPARATOR: char = '_';

/// The length of the digest in hexadecimal digits.
const DIGEST_DIGITS: usize = 8;

/// The number of characters of a full name at the start of a shortened one.
const SHORTENED_LENGTH: usize = MAX_NAME_LENGTH - DIGEST_DIGITS - 1;

/// Returns the name under which a name is exposed.
///
/// The result is the same in every process. It is the full name if that has 1 to 64 permitted characters. Otherwise it
/// is the start of the full name, with `_` instead of other characters, and a digest of the full name.
///
/// ```
/// use toolwire_proto::relay::names::exposed_name;
///
/// assert_eq!(exposed_name(Some("github"), "get_issue"), "github_get_issue");
/// assert_eq!(exposed_name(None, "get_issue"), "get_issue");
/// assert_eq!(exposed_name(None, "get issue"), "get_issue_9ca682a2");
/// ```
#[must_use]
pub fn exposed_name(prefix: Option<&str>, name: &str) -> String {
    let full = full_name(prefix, name);
    if is_valid(&full) {
        return full;
    }
    let permitted = |character: char| {
        if is_permitted(character) {
            character
        } else {
            SEPARATOR
        }
    };
    let start = full.chars().take(SHORTENED_LENGTH);
    let mut exposed: String = start.map(permitted).collect();
    exposed.push(SEPARATOR);
    let digest = Sha256::digest(&full);
    for byte in &digest[..DIGEST_DIGITS / 2] {
        write!(exposed, "{byte:02x}").expect("a string accepts any text");
    }
    exposed
}

/// Returns the prefix and the name, without a limit.
#[must_use]
pub fn full_name(prefix: Option<&str>, name: &str) -> String {
    match prefix {
        Some(prefix) => format!("{prefix}{SEPARATOR}{name}"),
        None => name.to_owned(),
    }
}

/// Returns `true` if the source with this prefix may expose the name. A shortened name has the start of its prefix only.
///
/// ```
/// use toolwire_proto::relay::names::may_have_prefix;
///
/// assert!(may_have_prefix("git_hub_get_issue", "git_hub"));
/// assert!(!may_have_prefix("git_hubs", "git_hub"));
/// ```
#[must_use]
pub fn may_have_prefix(name: &str, prefix: &str) -> bool {
    let start = full_name(Some(prefix), "");
    let compared = if name.len() < MAX_NAME_LENGTH {
        start.as_str()
    } else {
        // Prefixes have only permitted characters, which are ASCII.
        start
            .get(..start.len().min(SHORTENED_LENGTH))
            .unwrap_or(&start)
    };
    name.starts_with(compared)
}

fn is_valid(name: &str) -> bool {
    (1..=MAX_NAME_LENGTH).contains(&name.len()) && name.chars().all(is_permitted)
}

fn is_permitted(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '-' | '.')
}
