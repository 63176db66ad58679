//! Sanitizes client names for display.
//!
//! Any client can register any name. A name must not look like part of the surrounding page.

use toolwire_proto::invisible_characters::InvisibleCharacter;

/// The maximum number of displayed characters.
pub(crate) const LONGEST_SHOWN: usize = 64;

/// Returns a name as one line without invisible and direction characters, shortened if it is long. Returns `None` if no
/// visible character remains.
#[must_use]
pub(crate) fn display_name(name: &str) -> Option<String> {
    let visible: String = name
        .chars()
        .map(|character| {
            if character.is_whitespace() {
                ' '
            } else {
                character
            }
        })
        .filter(|character| !is_invisible(*character))
        .collect();
    let words: Vec<&str> = visible.split_whitespace().collect();
    let line = words.join(" ");
    let mut shown: String = line.chars().take(LONGEST_SHOWN).collect();
    if shown.len() < line.len() {
        shown.push('…');
    }
    (!shown.is_empty()).then_some(shown)
}

/// Returns `true` for control characters, zero-width characters and characters that change the text direction.
fn is_invisible(character: char) -> bool {
    character.is_control() || InvisibleCharacter::of(character).is_some()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn name_is_one_line_of_visible_characters() {
        let check = |name: &str, expected: Option<&str>| {
            assert_eq!(display_name(name).as_deref(), expected, "{name:?}");
        };
        check("Cursor", Some("Cursor"));
        check("クライアント名", Some("クライアント名"));
        check("a\r\nSet-Cookie: b", Some("a Set-Cookie: b"));
        check("a\u{2028}b\u{85}c", Some("a b c"));
        check("moc\u{202E}.elgoog", Some("moc.elgoog"));
        check("Goo\u{200B}gle\u{FEFF}", Some("Google"));
        check(" \t ", None);
        check("", None);
    }

    #[test]
    fn long_names_are_shortened_with_an_ellipsis() {
        let fits = "ü".repeat(LONGEST_SHOWN);
        assert_eq!(display_name(&fits), Some(fits.clone()));
        let cut = display_name(&format!("{fits}ü")).unwrap();
        assert_eq!(cut, format!("{fits}…"));
    }

    proptest! {
        #[test]
        fn name_is_one_line_within_the_limit(name in any::<String>()) {
            if let Some(shown) = display_name(&name) {
                prop_assert!(shown.chars().count() <= LONGEST_SHOWN + 1);
                prop_assert!(!shown.chars().any(char::is_control));
            }
        }
    }
}
