//! Scopes that imply others, and the scopes that a token lacks.
//!
//! Spec 2026-07-28, authorization, "Step-Up Authorization Flow": servers account for broader scopes that imply narrower
//! ones. "Scope Challenge Handling": a challenge names all missing scopes at once.

use std::collections::BTreeMap;

use toolwire_proto::scopes::ScopeSet;

/// A map from scopes to the scopes that they imply. By default no scope implies another.
///
/// ```
/// use toolwire_auth::ScopeHierarchy;
/// use toolwire_proto::scopes::ScopeSet;
///
/// let hierarchy = ScopeHierarchy::new().with_implied("files:write", ["files:read"]);
/// let granted = ScopeSet::parse("files:write")?;
/// let required = ScopeSet::parse("files:read mail:read")?;
/// assert_eq!(hierarchy.missing(&required, &granted).to_string(), "mail:read");
/// # Ok::<(), toolwire_proto::scopes::InvalidScope>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScopeHierarchy {
    implied: BTreeMap<String, Vec<String>>,
}

impl ScopeHierarchy {
    /// Creates a hierarchy in which no scope implies another.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            implied: BTreeMap::new(),
        }
    }

    /// Declares that a scope implies others. Implication is transitive.
    #[must_use]
    pub fn with_implied<S: Into<String>>(
        mut self,
        broader: impl Into<String>,
        narrower: impl IntoIterator<Item = S>,
    ) -> Self {
        let implied = self.implied.entry(broader.into()).or_default();
        implied.extend(narrower.into_iter().map(Into::into));
        self
    }

    /// Returns all required scopes that are neither granted nor implied by granted ones.
    #[must_use]
    pub fn missing(&self, required: &ScopeSet, granted: &ScopeSet) -> ScopeSet {
        required.without(&self.closure(granted))
    }

    /// Returns the scopes and all scopes that they imply. In a cycle, every member implies all others.
    #[must_use]
    pub fn closure(&self, granted: &ScopeSet) -> ScopeSet {
        let mut closure: Vec<&str> = granted.iter().collect();
        let mut at = 0;
        while let Some(scope) = closure.get(at) {
            for narrower in self.implied.get(*scope).into_iter().flatten() {
                if !closure.contains(&narrower.as_str()) {
                    closure.push(narrower);
                }
            }
            at += 1;
        }
        ScopeSet::from_trusted(closure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_missing_scopes_are_returned() {
        let hierarchy = ScopeHierarchy::new()
            .with_implied("admin", ["write"])
            .with_implied("write", ["read", "list"])
            .with_implied("list", ["write"]);
        let check = |required: &str, granted: &str, expected: &str| {
            let set = |text| ScopeSet::parse(text).unwrap();
            let missing = hierarchy.missing(&set(required), &set(granted));
            assert_eq!(missing.to_string(), expected, "{required} of {granted}");
        };
        check("", "", "");
        check("read write mail", "", "read write mail");
        check("read", "read", "");
        check("read", "admin", "");
        check("read write mail chat", "admin", "mail chat");
        check("admin read", "write", "admin");
        check("write", "list", "");
        check("write", "read", "write");
    }

    #[test]
    fn no_scope_is_implied_by_default() {
        let set = |text| ScopeSet::parse(text).unwrap();
        let missing = ScopeHierarchy::new().missing(&set("files:read"), &set("files files:*"));
        assert_eq!(missing.to_string(), "files:read");
    }
}
