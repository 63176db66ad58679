//! The names under which tools and prompts of several sources are exposed.
//!
//! A name is the prefix of its source, `_`, and the source's own name. Hosts accept names of at most 64 characters of
//! `A–Z a–z 0–9 _ - .`, so other names are shortened, and a digest makes them unique. Requests are routed by a table.
//! A name is never split at a separator, because prefixes and names may contain it.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fmt::{self, Write as _};

use sha2::{Digest, Sha256};

/// The maximum length of an exposed name. Interfaces of language models accept no longer ones.
pub const MAX_NAME_LENGTH: usize = 64;

/// The maximum number of names in one table.
pub const MAX_NAMES: usize = 65_536;

/// The key of `_meta` with the full name of a tool or prompt whose exposed name is shortened.
pub const FULL_NAME_KEY: &str = "toolwire/fullName";

/// The separator between prefix and name, and between the start of a name and its digest.
const SEPARATOR: char = '_';

/// The length of the digest in hexadecimal digits.
const DIGEST_DIGITS: usize = 8;

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
    let start = MAX_NAME_LENGTH - DIGEST_DIGITS - 1;
    let mut exposed: String = full.chars().take(start).map(permitted).collect();
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

fn is_valid(name: &str) -> bool {
    (1..=MAX_NAME_LENGTH).contains(&name.len()) && name.chars().all(is_permitted)
}

fn is_permitted(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '-' | '.')
}

/// The owners of exposed names, in the order in which they were added. `S` identifies a source.
///
/// A relay builds a new table if a source changes its list, so that the order of sources decides, not that of changes.
#[derive(Debug, Clone)]
pub struct NameTable<S> {
    routes: HashMap<String, Route<S>>,
}

/// The source of an exposed name, and its name there.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Route<S> {
    /// The source.
    pub source: S,
    /// The name of the tool or prompt at its source.
    pub name: String,
}

/// A name that is not exposed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum HiddenName<S> {
    /// Another tool or prompt already has the exposed name.
    Duplicate {
        /// The exposed name.
        exposed: String,
        /// The tool or prompt that has it.
        owner: Route<S>,
    },
    /// The table has [`MAX_NAMES`] names.
    TooMany,
}

impl<S: fmt::Display> fmt::Display for HiddenName<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Duplicate { exposed, owner } => write!(
                f,
                "the name {exposed:?} belongs to {:?} of {}; use another prefix, or rename one of them",
                owner.name, owner.source
            ),
            Self::TooMany => write!(f, "there are more than {MAX_NAMES} names"),
        }
    }
}

impl<S: fmt::Debug + fmt::Display> std::error::Error for HiddenName<S> {}

impl<S> Default for NameTable<S> {
    fn default() -> Self {
        Self {
            routes: HashMap::new(),
        }
    }
}

impl<S: Clone> NameTable<S> {
    /// Creates a table without names.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a name of a source and returns the [`exposed_name`].
    ///
    /// # Errors
    /// Returns an error if the exposed name has an owner, or if there are too many names. The name is then hidden.
    pub fn add(
        &mut self,
        source: S,
        prefix: Option<&str>,
        name: &str,
    ) -> Result<String, HiddenName<S>> {
        self.add_as(exposed_name(prefix, name), source, name)
    }

    /// Adds a name that is exposed as it is, for a relay that changes no names, or under a name of the operator.
    ///
    /// # Errors
    /// Returns an error like [`add`](Self::add).
    pub fn add_as(
        &mut self,
        exposed: String,
        source: S,
        name: &str,
    ) -> Result<String, HiddenName<S>> {
        if let Some(owner) = self.routes.get(&exposed) {
            let owner = owner.clone();
            return Err(HiddenName::Duplicate { exposed, owner });
        }
        if self.routes.len() >= MAX_NAMES {
            return Err(HiddenName::TooMany);
        }
        let route = Route {
            source,
            name: name.to_owned(),
        };
        self.routes.insert(exposed.clone(), route);
        Ok(exposed)
    }

    /// Returns the source of an exposed name.
    #[must_use]
    pub fn route(&self, exposed: &str) -> Option<&Route<S>> {
        self.routes.get(exposed)
    }

    /// Returns the number of exposed names.
    #[must_use]
    pub fn len(&self) -> usize {
        self.routes.len()
    }

    /// Returns `true` if no name is exposed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.routes.is_empty()
    }
}
