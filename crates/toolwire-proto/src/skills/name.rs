//! The names of skills.

use std::fmt;

/// The maximum length of a name, in characters.
pub const MAX_NAME_CHARS: usize = 64;

/// The reason why a text is not the name of a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "these are the rules of the Agent Skills format"
)]
pub enum InvalidName {
    /// The text is empty.
    Empty,
    /// The text is longer than [`MAX_NAME_CHARS`].
    TooLong,
    /// The text has this character, which no name has.
    Character(char),
    /// The text starts or ends with a hyphen, or has two in a row.
    Hyphen,
}

impl fmt::Display for InvalidName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the name is empty"),
            Self::TooLong => write!(
                f,
                "the name is too long; use at most {MAX_NAME_CHARS} characters"
            ),
            Self::Character(character) => write!(
                f,
                "the name has the character {character:?}; use `a` to `z`, `0` to `9` and `-`"
            ),
            Self::Hyphen => f.write_str(
                "the name starts or ends with a hyphen, or has two in a row; use single hyphens between words",
            ),
        }
    }
}

impl std::error::Error for InvalidName {}

/// Checks the name of a skill: 1 to 64 of `a` to `z`, `0` to `9` and single hyphens inside.
///
/// # Errors
/// Returns an error that names the violated rule.
///
/// ```
/// use toolwire_proto::skills::{InvalidName, check_name};
///
/// assert_eq!(check_name("git-workflow"), Ok(()));
/// assert_eq!(check_name("Git"), Err(InvalidName::Character('G')));
/// ```
pub fn check_name(name: &str) -> Result<(), InvalidName> {
    let allowed = |character: char| {
        character.is_ascii_lowercase() || character.is_ascii_digit() || character == '-'
    };
    if name.is_empty() {
        return Err(InvalidName::Empty);
    }
    if let Some(character) = name.chars().find(|character| !allowed(*character)) {
        return Err(InvalidName::Character(character));
    }
    // Only ASCII is left, so bytes are characters.
    if name.len() > MAX_NAME_CHARS {
        return Err(InvalidName::TooLong);
    }
    if name.starts_with('-') || name.ends_with('-') || name.contains("--") {
        return Err(InvalidName::Hyphen);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_lowercase_words_with_single_hyphens() {
        let longest = "a".repeat(MAX_NAME_CHARS);
        for name in ["a", "0", "a-b", "git-workflow-2", longest.as_str()] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        let too_long = "a".repeat(MAX_NAME_CHARS + 1);
        for (name, expected) in [
            ("", InvalidName::Empty),
            (too_long.as_str(), InvalidName::TooLong),
            ("A", InvalidName::Character('A')),
            ("a_b", InvalidName::Character('_')),
            ("a b", InvalidName::Character(' ')),
            ("a/b", InvalidName::Character('/')),
            ("..", InvalidName::Character('.')),
            ("é", InvalidName::Character('é')),
            ("-a", InvalidName::Hyphen),
            ("a-", InvalidName::Hyphen),
            ("a--b", InvalidName::Hyphen),
            ("-", InvalidName::Hyphen),
        ] {
            assert_eq!(check_name(name), Err(expected), "{name:?}");
        }
    }
}
