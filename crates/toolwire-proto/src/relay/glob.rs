//! Patterns for the names of tools, upstreams and principals: `get_*`.

use std::fmt;

/// The maximum length of a pattern in bytes.
pub const MAX_PATTERN_BYTES: usize = 256;

/// A pattern in which `*` stands for any characters, also none, and `?` for exactly one. All others stand for
/// themselves, and upper and lower case differ.
///
/// ```
/// use toolwire_proto::relay::glob::Glob;
///
/// let pattern: Glob = "get_*".parse().unwrap();
/// assert!(pattern.matches("get_issue"));
/// assert!(!pattern.matches("forget_issue"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glob(String);

impl Glob {
    /// Returns `true` if the pattern matches the whole text.
    ///
    /// The work is bounded by the length of the pattern times that of the text.
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        let (mut pattern, mut rest) = (self.0.as_str(), text);
        // Behind the last `*`: the pattern, and the text that the `*` has not taken yet.
        let mut last_star: Option<(&str, &str)> = None;
        loop {
            let mut characters = pattern.chars();
            match characters.next() {
                Some('*') => {
                    pattern = characters.as_str();
                    last_star = Some((pattern, rest));
                    continue;
                }
                None if rest.is_empty() => return true,
                Some(expected) => {
                    let mut others = rest.chars();
                    if others
                        .next()
                        .is_some_and(|actual| expected == '?' || expected == actual)
                    {
                        (pattern, rest) = (characters.as_str(), others.as_str());
                        continue;
                    }
                }
                None => {}
            }
            // The last `*` takes one character more.
            let Some((behind, mut left)) = last_star.map(|(behind, left)| (behind, left.chars()))
            else {
                return false;
            };
            if left.next().is_none() {
                return false;
            }
            last_star = Some((behind, left.as_str()));
            (pattern, rest) = (behind, left.as_str());
        }
    }

    /// Returns the pattern as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::str::FromStr for Glob {
    type Err = InvalidGlob;

    fn from_str(text: &str) -> Result<Self, InvalidGlob> {
        if text.is_empty() || text.len() > MAX_PATTERN_BYTES {
            return Err(InvalidGlob(()));
        }
        Ok(Self(text.to_owned()))
    }
}

/// A pattern that is empty or too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidGlob(());

impl fmt::Display for InvalidGlob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a pattern has 1 to {MAX_PATTERN_BYTES} bytes; use `*` for all names"
        )
    }
}

impl std::error::Error for InvalidGlob {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn glob(pattern: &str) -> Glob {
        pattern.parse().expect("a valid pattern")
    }

    #[test]
    fn patterns_match_whole_names() {
        let check = |pattern: &str, text: &str, expected: bool| {
            assert_eq!(glob(pattern).matches(text), expected, "{pattern} {text}");
        };
        check("get_*", "get_", true);
        check("get_*", "get", false);
        check("*", "", true);
        check("*_issue", "get_issue", true);
        check("*_issue", "get_issues", false);
        check("a*b*c", "a-b-b-c", true);
        check("a*b*c", "a-c-b", false);
        check("a?c", "a\u{e9}c", true);
        check("a?c", "ac", false);
        check("**", "x", true);
        check("a.c", "abc", false);
        check("Get", "get", false);
        check("[a]", "a", false);
    }

    #[test]
    fn length_of_patterns_is_limited() {
        assert!("".parse::<Glob>().is_err());
        assert!("x".repeat(MAX_PATTERN_BYTES).parse::<Glob>().is_ok());
        let longer = "x".repeat(MAX_PATTERN_BYTES + 1).parse::<Glob>();
        assert!(longer.unwrap_err().to_string().contains("256"));
    }

    #[test]
    fn many_stars_do_not_multiply_the_work() {
        let pattern = glob(&"*a".repeat(MAX_PATTERN_BYTES / 2));
        assert!(!pattern.matches(&"b".repeat(10_000)));
    }

    /// Matches by trying every length for every `*`.
    fn reference(pattern: &[char], text: &[char]) -> bool {
        match pattern {
            [] => text.is_empty(),
            ['*', rest @ ..] => (0..=text.len()).any(|taken| reference(rest, &text[taken..])),
            [first, rest @ ..] => match text {
                [actual, others @ ..] => {
                    (*first == '?' || first == actual) && reference(rest, others)
                }
                [] => false,
            },
        }
    }

    proptest! {
        #[test]
        fn matching_equals_the_definition(pattern in "[ab*?]{1,7}", text in "[ab]{0,7}") {
            let characters = |text: &str| text.chars().collect::<Vec<_>>();
            prop_assert_eq!(
                glob(&pattern).matches(&text),
                reference(&characters(&pattern), &characters(&text))
            );
        }
    }
}
