//! The words of rules in configuration files. The policy of a server and that of a gateway read the same ones.
//!
//! A rule has one of `allow` and `deny`, and optionally `unless`. Each of them has conditions: `upstream`, `tool`, `hint`,
//! `principal`, `scope`, `claim` and `argument`. The readers of JSON and TOML find the members, and this module knows what
//! their values mean.

use serde_json::Value;

use crate::relay::glob::Glob;
use crate::relay::policy::{ArgumentTest, Effect, Hint};
use crate::scopes::ScopeSet;

/// The values of `hint`.
pub const HINTS: [(&str, Hint); 4] = [
    ("read-only", Hint::ReadOnly),
    ("destructive", Hint::Destructive),
    ("idempotent", Hint::Idempotent),
    ("open-world", Hint::OpenWorld),
];

/// Returns the hint with this name. An underscore means the same as a hyphen.
///
/// # Errors
/// Returns an error with the known names if the name is unknown.
pub fn hint(name: &str) -> Result<Hint, String> {
    let written = name.replace('_', "-");
    let known = HINTS.iter().find(|(known, _)| *known == written);
    known.map(|(_, hint)| *hint).ok_or_else(|| {
        let names = HINTS.map(|(known, _)| format!("`{known}`"));
        format!(
            "unknown hint `{name}`, expected one of {}",
            names.join(", ")
        )
    })
}

/// Returns the effect of a rule and its conditions.
///
/// # Errors
/// Returns an error unless there is exactly one of both.
pub fn effect<C>(allow: Option<C>, deny: Option<C>) -> Result<(Effect, C), String> {
    match (allow, deny) {
        (Some(allowed), None) => Ok((Effect::Allow, allowed)),
        (None, Some(denied)) => Ok((Effect::Deny, denied)),
        _ => Err("a rule has either `allow` or `deny`".to_owned()),
    }
}

/// Returns the scope of a condition.
///
/// # Errors
/// Returns an error if no token can have it. A rule with it would never match.
pub fn scope(text: &str) -> Result<&str, String> {
    match ScopeSet::parse(text) {
        Ok(set) if set.iter().eq([text]) => Ok(text),
        Ok(_) => Err(format!("`{text}` is not one scope; write a rule for each")),
        Err(error) => Err(error.to_string()),
    }
}

/// Returns the names of members on the way to an argument: `file.path` is the member `path` of the argument `file`. Names
/// with a dot are written as a list.
pub fn argument_path(text: &str) -> impl Iterator<Item = &str> {
    text.split('.')
}

/// Returns the test of an argument.
///
/// # Errors
/// Returns an error unless there is exactly one of the three.
pub fn argument_test(
    equals: Option<Value>,
    starts_with: Option<String>,
    matches: Option<Glob>,
) -> Result<ArgumentTest, String> {
    match (equals, starts_with, matches) {
        (Some(value), None, None) => Ok(ArgumentTest::Equals(value)),
        (None, Some(start), None) => Ok(ArgumentTest::StartsWith(start)),
        (None, None, Some(pattern)) => Ok(ArgumentTest::Matches(pattern.into())),
        _ => Err("`argument` needs one of `equals`, `starts_with` and `matches`".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_have_one_name_in_two_spellings() {
        for (name, expected) in HINTS {
            assert_eq!(hint(name), Ok(expected));
            assert_eq!(hint(&name.replace('-', "_")), Ok(expected));
        }
        let problem = hint("bad").unwrap_err();
        assert!(
            problem.contains("`bad`") && problem.contains("`open-world`"),
            "{problem}"
        );
    }

    #[test]
    fn scope_of_a_rule_is_one_that_a_token_can_have() {
        assert_eq!(scope("files:read"), Ok("files:read"));
        for text in ["", "a b", " a", "a\"b"] {
            assert!(scope(text).is_err(), "{text}");
        }
    }

    #[test]
    fn rule_and_argument_have_exactly_one_alternative() {
        assert_eq!(effect(Some(1), None), Ok((Effect::Allow, 1)));
        assert_eq!(effect(None, Some(1)), Ok((Effect::Deny, 1)));
        assert!(effect(Some(1), Some(1)).is_err() && effect::<u8>(None, None).is_err());
        let start = || Some("/a".to_owned());
        assert!(argument_test(None, start(), None).is_ok());
        assert!(argument_test(None, None, None).is_err());
        assert!(argument_test(Some(Value::Null), start(), None).is_err());
        assert!(argument_path("file.path").eq(["file", "path"]));
    }
}
