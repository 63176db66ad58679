//! The size of regular expressions, estimated from their text.
//!
//! A pattern is matched by an automaton whose work is at most its number of states for each byte of the text. The
//! estimate expands repetitions, because `(a{100}){100}` has ten thousand states in eleven bytes. Patterns that no
//! automaton can match (lookaround, backreferences) are rejected. This module does not check whether a pattern is valid
//! otherwise.

use std::iter::Peekable;
use std::str::Chars;

/// The states of a class of characters that are not all ASCII. UTF-8 needs several for each range.
const UNICODE_CLASS: u64 = 16;

/// The states of a class by Unicode property, such as `\p{Letter}`.
const PROPERTY_CLASS: u64 = 512;

/// The factor by which case-insensitive matching multiplies the states.
const FLAGS_FACTOR: u64 = 8;

/// Returns the estimated number of states, or `None` if the pattern uses lookaround or a backreference.
pub(super) fn states(pattern: &str) -> Option<u64> {
    let mut groups: Vec<u64> = Vec::new();
    // States of the current group without its last atom, and of that atom, which a repetition multiplies.
    let (mut sum, mut atom): (u64, u64) = (0, 0);
    let mut factor = 1;
    let mut chars = pattern.chars().peekable();
    while let Some(char) = chars.next() {
        let next = match char {
            '(' => {
                factor = factor.max(group_flags(&mut chars)?);
                groups.push(sum.saturating_add(atom));
                (sum, atom) = (0, 0);
                continue;
            }
            ')' => {
                let group = sum.saturating_add(atom).saturating_add(1);
                sum = groups.pop().unwrap_or_default();
                atom = group;
                continue;
            }
            '*' | '+' | '?' => {
                atom = atom.saturating_add(1);
                continue;
            }
            '{' => match repetition(&mut chars) {
                Some(times) => {
                    atom = atom.max(1).saturating_mul(times.max(1)).saturating_add(1);
                    continue;
                }
                None => 1,
            },
            '[' => class(&mut chars),
            '.' => UNICODE_CLASS,
            '\\' => escape(&mut chars)?,
            other => other.len_utf8() as u64,
        };
        sum = sum.saturating_add(atom);
        atom = next;
    }
    let open = groups.into_iter().fold(0, u64::saturating_add);
    let total = sum.saturating_add(atom).saturating_add(open);
    Some(total.saturating_mul(factor).saturating_add(1))
}

/// Parses the text after an opening parenthesis. Returns the factor of its flags, or `None` for lookaround.
fn group_flags(chars: &mut Peekable<Chars<'_>>) -> Option<u64> {
    if chars.peek() != Some(&'?') {
        return Some(1);
    }
    chars.next();
    match chars.peek() {
        Some('=' | '!') => None,
        Some('<') => {
            chars.next();
            match chars.peek() {
                Some('=' | '!') => None,
                _ => Some(1),
            }
        }
        Some(':' | 'P') => Some(1),
        _ => Some(FLAGS_FACTOR),
    }
}

/// Parses `n}`, `n,}` or `n,m}` after an opening brace. Returns `None`, and consumes nothing, if the brace is a
/// character.
fn repetition(chars: &mut Peekable<Chars<'_>>) -> Option<u64> {
    let mut ahead = chars.clone();
    let mut largest: u64 = 0;
    let mut current: u64 = 0;
    let mut digits = false;
    for char in ahead.by_ref() {
        match char {
            '0'..='9' => {
                digits = true;
                let digit = u64::from(char as u8 - b'0');
                current = current.saturating_mul(10).saturating_add(digit);
                largest = largest.max(current);
            }
            ',' => current = 0,
            ' ' => {}
            '}' if digits => {
                *chars = ahead;
                return Some(largest);
            }
            _ => return None,
        }
    }
    None
}

/// Parses a character class up to its closing bracket.
fn class(chars: &mut Peekable<Chars<'_>>) -> u64 {
    let negated = chars.next_if_eq(&'^').is_some();
    let mut states: u64 = if negated { UNICODE_CLASS } else { 1 };
    while let Some(char) = chars.next() {
        match char {
            ']' => break,
            '\\' => match chars.next() {
                Some('p' | 'P') => states += PROPERTY_CLASS,
                Some('D' | 'S' | 'W' | 's' | 'u' | 'x') => states += UNICODE_CLASS,
                _ => {}
            },
            other if other.is_ascii() => {}
            _ => states += UNICODE_CLASS / 4,
        }
    }
    states
}

/// Parses the text after a backslash outside a class. Returns `None` for a backreference.
fn escape(chars: &mut Peekable<Chars<'_>>) -> Option<u64> {
    let states = match chars.next() {
        Some('1'..='9' | 'k') => return None,
        Some('p' | 'P') => PROPERTY_CLASS,
        Some('D' | 'S' | 'W' | 's') => UNICODE_CLASS,
        Some('u' | 'x') => 4,
        _ => return Some(4),
    };
    // `\p{Letter}` and `\u{1F600}`: the braces belong to the escape.
    if states != UNICODE_CLASS && chars.next_if_eq(&'{').is_some() {
        chars.by_ref().find(|char| *char == '}');
    }
    Some(states)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, at_least: u64, at_most: u64) {
        let states = states(pattern).unwrap();
        assert!(
            (at_least..=at_most).contains(&states),
            "{pattern}: {states}"
        );
    }

    #[test]
    fn repetitions_are_expanded() {
        check("abc", 3, 10);
        check("^[0-9a-f]{8}-[0-9a-f]{4}$", 12, 60);
        check("(a{100}){100}", 10_000, 20_000);
        check("((a{0,1000}){1000}){1000,}", 1_000_000_000, u64::MAX);
        check("a{99999999999999999999}", 1 << 40, u64::MAX);
        check("(?:(?:x{50}|y){50}", 2_500, 5_000);
        check(r"\p{L}{100}", 51_200, 60_000);
        check("(?i)abc", 24, 100);
        check("a{,b}{x", 5, 20);
    }

    #[test]
    fn lookaround_and_backreferences_are_rejected() {
        for pattern in [
            "(?=a)b",
            "a(?!b)",
            "(?<=a)b",
            "(?<!a)b",
            r"(a)\1",
            r"(?<x>a)\k<x>",
        ] {
            assert_eq!(states(pattern), None, "{pattern}");
        }
        for pattern in ["(?<name>a)", "(?P<name>a)", r"[\1]", "[(?=a)]", r"\(?=a"] {
            assert!(states(pattern).is_some(), "{pattern}");
        }
    }
}
