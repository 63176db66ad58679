//! Compile-time checks of the keys of `#[elicit(…)]`.
//!
//! Generated code asserts each check with its own message. `None` means no limit.

use crate::server::elicit::FieldKind;

/// Returns `true` if the field accepts lengths and formats.
#[must_use]
pub const fn is_text(kind: FieldKind) -> bool {
    matches!(kind, FieldKind::Text { .. })
}

/// Returns `true` if the field accepts a minimum and a maximum.
#[must_use]
pub const fn is_number(kind: FieldKind) -> bool {
    matches!(kind, FieldKind::Number { .. })
}

/// Returns `true` if the field accepts a number of choices.
#[must_use]
pub const fn is_several(kind: FieldKind) -> bool {
    matches!(kind, FieldKind::Several(_))
}

/// Returns `true` if the type can represent the number, which is a limit or a default.
#[must_use]
pub const fn holds_number(kind: FieldKind, number: f64) -> bool {
    match kind {
        FieldKind::Number {
            whole,
            smallest,
            largest,
        } => smallest <= number && number <= largest && (!whole || is_whole(number)),
        _ => false,
    }
}

const fn is_whole(number: f64) -> bool {
    // Every double outside this range is whole, and `i64` holds every one inside it.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    !(-EXACT < number && number < EXACT) || number as i64 as f64 == number
}

/// Returns `true` if the number is within the limits.
#[must_use]
pub const fn is_between(number: f64, minimum: Option<f64>, maximum: Option<f64>) -> bool {
    let large_enough = match minimum {
        Some(minimum) => minimum <= number,
        None => true,
    };
    let small_enough = match maximum {
        Some(maximum) => number <= maximum,
        None => true,
    };
    large_enough && small_enough
}

/// Returns `true` if the minimum does not exceed the maximum.
#[must_use]
pub const fn are_ordered(minimum: Option<u64>, maximum: Option<u64>) -> bool {
    match (minimum, maximum) {
        (Some(minimum), Some(maximum)) => minimum <= maximum,
        _ => true,
    }
}

/// Returns `true` if the type can hold a text of this length.
#[must_use]
pub const fn holds_length(kind: FieldKind, length: u64) -> bool {
    match kind {
        FieldKind::Text { shortest, longest } => shortest <= length && length <= longest,
        _ => false,
    }
}

/// Returns `true` if the length of the text is within the limits. Fields other than text have no length to check.
#[must_use]
pub const fn fits_length(
    kind: FieldKind,
    text: &str,
    minimum: Option<u64>,
    maximum: Option<u64>,
) -> bool {
    if !is_text(kind) {
        return true;
    }
    let length = characters(text);
    holds_length(kind, length) && is_count(length, minimum, maximum)
}

/// Returns `true` if the text is a valid default: any text, or one of the field's words.
#[must_use]
pub const fn takes_text(kind: FieldKind, text: &str) -> bool {
    match kind {
        FieldKind::Text { .. } => true,
        FieldKind::Choice(words) => contains(words, text),
        _ => false,
    }
}

/// Returns `true` if the field is a boolean.
#[must_use]
pub const fn is_boolean(kind: FieldKind) -> bool {
    matches!(kind, FieldKind::Boolean)
}

/// Returns `true` if each of the words can be chosen.
#[must_use]
pub const fn takes_words(kind: FieldKind, chosen: &[&str]) -> bool {
    let FieldKind::Several(words) = kind else {
        return false;
    };
    let mut rest = chosen;
    while let [word, after @ ..] = rest {
        if !contains(words, word) {
            return false;
        }
        rest = after;
    }
    true
}

/// Returns `true` if no word occurs twice.
#[must_use]
pub const fn are_distinct(words: &[&str]) -> bool {
    let mut rest = words;
    while let [word, after @ ..] = rest {
        if contains(after, word) {
            return false;
        }
        rest = after;
    }
    true
}

/// Returns `true` if the count is within the limits.
#[must_use]
pub const fn is_count(count: u64, minimum: Option<u64>, maximum: Option<u64>) -> bool {
    are_ordered(minimum, Some(count)) && are_ordered(Some(count), maximum)
}

/// Returns `true` if the field has at least `count` words.
#[must_use]
pub const fn has_words(kind: FieldKind, count: u64) -> bool {
    match kind {
        FieldKind::Several(words) => count <= words.len() as u64,
        _ => false,
    }
}

const fn contains(words: &[&str], sought: &str) -> bool {
    let mut rest = words;
    while let [word, after @ ..] = rest {
        if are_same(word.as_bytes(), sought.as_bytes()) {
            return true;
        }
        rest = after;
    }
    false
}

const fn are_same(mut left: &[u8], mut right: &[u8]) -> bool {
    while let ([first, left_rest @ ..], [second, right_rest @ ..]) = (left, right) {
        if *first != *second {
            return false;
        }
        (left, right) = (left_rest, right_rest);
    }
    left.is_empty() && right.is_empty()
}

/// Counts characters as JSON Schema does: each byte of UTF-8 that is not a continuation byte starts one.
const fn characters(text: &str) -> u64 {
    let mut count = 0;
    let mut rest = text.as_bytes();
    while let [byte, after @ ..] = rest {
        if *byte & 0b1100_0000 != 0b1000_0000 {
            count += 1;
        }
        rest = after;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEVERAL: FieldKind = FieldKind::Several(&["a", "b"]);

    #[test]
    fn numbers_fit_their_type() {
        let byte = FieldKind::Number {
            whole: true,
            smallest: 0.0,
            largest: 255.0,
        };
        for (number, fits) in [
            (0.0, true),
            (255.0, true),
            (256.0, false),
            (-1.0, false),
            (1.5, false),
            (f64::NAN, false),
        ] {
            assert_eq!(holds_number(byte, number), fits, "{number}");
        }
        assert!(!holds_number(FieldKind::Boolean, 1.0));
        assert!(is_whole(1e300) && is_whole(-3.0) && !is_whole(-0.5));
        assert!(is_between(1.0, Some(1.0), Some(1.0)) && is_between(1.0, None, None));
        assert!(!is_between(1.0, Some(1.5), None) && !is_between(2.0, None, Some(1.5)));
    }

    #[test]
    fn lengths_count_characters() {
        let text = FieldKind::Text {
            shortest: 0,
            longest: u64::MAX,
        };
        assert_eq!(characters("aé😀"), 3);
        assert!(fits_length(text, "aé😀", Some(3), Some(3)));
        assert!(!fits_length(text, "aé", Some(3), None));
        assert!(!fits_length(text, "aé😀", None, Some(2)));
        assert!(fits_length(SEVERAL, "aé😀", None, Some(2)));
        let character = FieldKind::Text {
            shortest: 1,
            longest: 1,
        };
        assert!(holds_length(character, 1) && !holds_length(character, 2));
        assert!(!fits_length(character, "ab", None, None));
    }

    #[test]
    fn words_are_matched() {
        let one = FieldKind::Choice(&["a", "bc"]);
        assert!(takes_text(one, "bc") && !takes_text(one, "b") && !takes_text(one, ""));
        assert!(!takes_text(SEVERAL, "a"));
        assert!(takes_words(SEVERAL, &["b", "a"]) && takes_words(SEVERAL, &[]));
        assert!(!takes_words(SEVERAL, &["a", "c"]) && !takes_words(one, &["a"]));
        assert!(are_distinct(&["a", "b"]) && !are_distinct(&["a", "b", "a"]));
        assert!(has_words(SEVERAL, 2) && !has_words(SEVERAL, 3));
        assert!(is_count(2, Some(2), Some(2)) && !is_count(1, Some(2), None));
    }
}
