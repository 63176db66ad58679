//! Sets of scopes.

use std::fmt;

use crate::http::truncated_for_display;

/// The maximum number of scopes in a set from an untrusted source.
pub const MAX_SCOPES: usize = 256;

/// The maximum length of one scope in bytes.
pub const LONGEST_SCOPE: usize = 1024;

/// Distinct scopes in their original order (RFC 6749, section 3.3).
///
/// ```
/// use toolwire_proto::scopes::ScopeSet;
///
/// let read = ScopeSet::parse("files:read")?;
/// let both = read.union(&ScopeSet::parse("files:write files:read")?);
/// assert_eq!(both.to_string(), "files:read files:write");
/// assert_eq!(both.without(&read).to_string(), "files:write");
/// # Ok::<(), toolwire_proto::scopes::InvalidScope>(())
/// ```
#[derive(Debug, Clone, Default, Eq)]
pub struct ScopeSet(Vec<String>);

impl ScopeSet {
    /// Creates an empty set.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Parses scopes that are separated by spaces. A text without scopes is an empty set.
    ///
    /// # Errors
    /// Returns an error if a scope has an invalid character or is too long, or if there are too many scopes.
    pub fn parse(text: &str) -> Result<Self, InvalidScope> {
        let mut set = Self::new();
        set.add_all(text)?;
        Ok(set)
    }

    /// Parses a list of scopes, as in metadata.
    ///
    /// # Errors
    /// Returns the errors of [`parse`](Self::parse).
    pub fn from_list<'a>(scopes: impl IntoIterator<Item = &'a str>) -> Result<Self, InvalidScope> {
        let mut set = Self::new();
        for text in scopes {
            // Some servers list several scopes in one entry. A request for all of them means the same.
            set.add_all(text)?;
        }
        Ok(set)
    }

    /// Creates a set of scopes from a trusted source. They are not validated or limited.
    pub fn from_trusted<S: Into<String>>(scopes: impl IntoIterator<Item = S>) -> Self {
        let mut set = Self::new();
        for scope in scopes {
            let scope = scope.into();
            if !set.contains(&scope) {
                set.0.push(scope);
            }
        }
        set
    }

    fn add_all(&mut self, text: &str) -> Result<(), InvalidScope> {
        for scope in text.split(' ').filter(|scope| !scope.is_empty()) {
            if scope.len() > LONGEST_SCOPE || !scope.bytes().all(is_scope_character) {
                return Err(InvalidScope::Malformed(truncated_for_display(scope)));
            }
            if !self.contains(scope) {
                if self.0.len() == MAX_SCOPES {
                    return Err(InvalidScope::TooMany);
                }
                self.0.push(scope.to_owned());
            }
        }
        Ok(())
    }

    /// Returns `true` if a scope is in the set. Implied scopes do not count.
    #[must_use]
    pub fn contains(&self, scope: &str) -> bool {
        self.0.iter().any(|own| own == scope)
    }

    /// Returns `true` if every scope of the other set is in this one.
    #[must_use]
    pub fn contains_all(&self, other: &Self) -> bool {
        other.iter().all(|scope| self.contains(scope))
    }

    /// Returns the scopes of both sets, those of this set first.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let added = other.without(self);
        Self(self.0.iter().cloned().chain(added.0).collect())
    }

    /// Returns the scopes that the other set does not have.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        let selected = self.iter().filter(|scope| !other.contains(scope));
        Self(selected.map(str::to_owned).collect())
    }

    /// Returns the scopes that both sets have, in the order of this set.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let selected = self.iter().filter(|scope| other.contains(scope));
        Self(selected.map(str::to_owned).collect())
    }

    /// Returns the scopes for which `keep` returns `true`.
    #[must_use]
    pub fn filtered(&self, keep: impl Fn(&str) -> bool) -> Self {
        Self(self.0.iter().filter(|scope| keep(scope)).cloned().collect())
    }

    /// Returns the scopes.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Returns the number of scopes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns `true` if the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Compares sets, ignoring the order of their scopes.
impl PartialEq for ScopeSet {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.contains_all(other)
    }
}

impl fmt::Display for ScopeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(" "))
    }
}

/// Returns `true` for printable ASCII without the space, the quotation mark and the backslash.
fn is_scope_character(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\')
}

/// The reason why scopes are invalid.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidScope {
    /// A scope with an invalid character, or one that is too long. The value is its start.
    Malformed(String),
    /// More than [`MAX_SCOPES`] scopes.
    TooMany,
}

impl fmt::Display for InvalidScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(scope) => write!(f, "`{}` is not a valid scope", scope.escape_debug()),
            Self::TooMany => write!(f, "more than {MAX_SCOPES} scopes"),
        }
    }
}

impl std::error::Error for InvalidScope {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn scopes_are_distinct_and_in_order() {
        #[track_caller]
        fn check(text: &str, expected: &str) {
            assert_eq!(ScopeSet::parse(text).unwrap().to_string(), expected);
        }
        check("", "");
        check(" ", "");
        check("b a b", "b a");
        check("  a   b ", "a b");
        check(
            "mcp:tools/call https://a.example/b!#[]~",
            "mcp:tools/call https://a.example/b!#[]~",
        );
        assert_eq!(ScopeSet::parse("a b"), ScopeSet::parse("b a"));
        assert_ne!(ScopeSet::parse("a b"), ScopeSet::parse("b c"));
    }

    #[test]
    fn invalid_characters_are_rejected() {
        for text in ["a\tb", "a\nb", "\"a\"", "a\\b", "ü", "a\u{a0}b", "a\0"] {
            let error = ScopeSet::parse(text).unwrap_err();
            assert!(matches!(error, InvalidScope::Malformed(_)), "{text:?}");
            assert!(!error.to_string().contains(['\n', '\0', '\t']), "{error}");
        }
    }

    #[test]
    fn untrusted_sets_are_bounded() {
        let scopes = |count: usize| {
            (0..count)
                .map(|n| n.to_string())
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(
            ScopeSet::parse(&scopes(MAX_SCOPES)).unwrap().len(),
            MAX_SCOPES
        );
        assert_eq!(
            ScopeSet::parse(&scopes(MAX_SCOPES + 1)),
            Err(InvalidScope::TooMany)
        );
        let longest = "a".repeat(LONGEST_SCOPE);
        assert!(ScopeSet::parse(&longest).is_ok());
        assert!(ScopeSet::parse(&format!("{longest}a")).is_err());
    }

    #[test]
    fn lists_may_have_several_scopes_in_one_entry() {
        let set = ScopeSet::from_list(["a", "b c", "a"]).unwrap();
        assert_eq!(set.to_string(), "a b c");
        assert!(ScopeSet::from_list(["a", "ü"]).is_err());
    }

    proptest! {
        #[test]
        fn sets_behave_like_sets(one in "[a-d ]{0,12}", other in "[a-d ]{0,12}") {
            let (one, other) = (ScopeSet::parse(&one).unwrap(), ScopeSet::parse(&other).unwrap());
            let union = one.union(&other);
            prop_assert_eq!(&union, &other.union(&one));
            prop_assert!(union.contains_all(&one) && union.contains_all(&other));
            prop_assert_eq!(&one.without(&other).union(&one.intersection(&other)), &one);
            prop_assert!(one.without(&other).intersection(&other).is_empty());
            prop_assert_eq!(ScopeSet::parse(&union.to_string()), Ok(union));
        }

        #[test]
        fn parsing_any_text_does_not_panic(text in any::<String>()) {
            let _ = ScopeSet::parse(&text);
        }
    }
}
