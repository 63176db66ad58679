//! Makes untrusted text safe for a terminal.
//!
//! Two kinds of characters never reach a terminal. Control characters start escape sequences, which change colours, the
//! title, the clipboard or what was printed before. Format characters are invisible or change the order of the text, so
//! that a reader sees something other than what is there: bidirectional controls, zero-width characters, fillers, tags,
//! and variation selectors that carry hidden data.
//!
//! Text gets a replacement character (U+FFFD) instead. JSON gets an escape (`\u202e`), which keeps its value.
//!
//! Some invisible characters are part of ordinary writing. They stay where they have their ordinary effect: a joiner
//! between two letters of a script that uses joiners, or between two emoji, and one variation selector after an emoji or
//! an ideograph. Tag characters never stay, because they can spell any hidden text; the flags of England, Scotland and
//! Wales, which need them, are shown as a black flag with replacement characters.

use std::borrow::Cow;
use std::fmt::Write;
use std::ops::RangeInclusive;

const REPLACEMENT: char = '\u{fffd}';

const ZERO_WIDTH_NON_JOINER: char = '\u{200c}';
const ZERO_WIDTH_JOINER: char = '\u{200d}';
const TEXT_STYLE: char = '\u{fe0e}';
const EMOJI_STYLE: char = '\u{fe0f}';
const KEYCAP: char = '\u{20e3}';

/// Characters besides control characters that are invisible or change how others are shown.
const HIDDEN: [RangeInclusive<char>; 17] = [
    // Soft hyphen.
    '\u{ad}'..='\u{ad}',
    // Combining grapheme joiner.
    '\u{34f}'..='\u{34f}',
    // Arabic letter mark.
    '\u{61c}'..='\u{61c}',
    // Hangul fillers.
    '\u{115f}'..='\u{1160}',
    // Khmer inherent vowels.
    '\u{17b4}'..='\u{17b5}',
    // Mongolian variation selectors and vowel separator.
    '\u{180b}'..='\u{180f}',
    // Zero-width space and joiners, left-to-right and right-to-left mark.
    '\u{200b}'..='\u{200f}',
    // Line and paragraph separator, bidirectional embeddings and overrides.
    '\u{2028}'..='\u{202e}',
    // Word joiner, invisible operators, bidirectional isolates, deprecated format characters.
    '\u{2060}'..='\u{206f}',
    // Hangul filler.
    '\u{3164}'..='\u{3164}',
    // Variation selectors.
    '\u{fe00}'..='\u{fe0f}',
    // Byte order mark, also known as zero-width no-break space.
    '\u{feff}'..='\u{feff}',
    // Halfwidth Hangul filler.
    '\u{ffa0}'..='\u{ffa0}',
    // Interlinear annotations, and unassigned characters beside them.
    '\u{fff0}'..='\u{fffb}',
    // Shorthand format controls.
    '\u{1bca0}'..='\u{1bca3}',
    // Musical format controls.
    '\u{1d173}'..='\u{1d17a}',
    // Tags, more variation selectors, and everything else in their plane.
    '\u{e0000}'..='\u{e0fff}',
];

/// Scripts in which joiners choose between shapes of letters: Arabic, Syriac, the scripts of India, and others.
const JOINING_SCRIPTS: [RangeInclusive<char>; 12] = [
    '\u{620}'..='\u{74f}',
    '\u{750}'..='\u{7ff}',
    '\u{840}'..='\u{dff}',
    '\u{1000}'..='\u{109f}',
    '\u{1780}'..='\u{17ff}',
    '\u{1810}'..='\u{18af}',
    '\u{a840}'..='\u{a87f}',
    '\u{a8e0}'..='\u{a8ff}',
    '\u{a980}'..='\u{a9df}',
    '\u{fb50}'..='\u{fdff}',
    '\u{11000}'..='\u{11fff}',
    '\u{1e900}'..='\u{1e95f}',
];

/// Emoji, and symbols that have a form as an emoji.
const EMOJI: [RangeInclusive<char>; 16] = [
    '©'..='©',
    '®'..='®',
    '\u{203c}'..='\u{203c}',
    '\u{2049}'..='\u{2049}',
    '\u{2122}'..='\u{2122}',
    '\u{2139}'..='\u{2139}',
    '\u{2190}'..='\u{21ff}',
    '\u{2300}'..='\u{23ff}',
    '\u{24c2}'..='\u{24c2}',
    '\u{25a0}'..='\u{27bf}',
    '\u{2900}'..='\u{2bff}',
    '\u{3030}'..='\u{3030}',
    '\u{303d}'..='\u{303d}',
    '\u{3297}'..='\u{3297}',
    '\u{3299}'..='\u{3299}',
    '\u{1f000}'..='\u{1faff}',
];

const IDEOGRAPHS: [RangeInclusive<char>; 3] = [
    '\u{3400}'..='\u{9fff}',
    '\u{f900}'..='\u{faff}',
    '\u{20000}'..='\u{3ffff}',
];

const MONGOLIAN_LETTERS: [RangeInclusive<char>; 1] = ['\u{1820}'..='\u{18aa}'];

/// Returns the text without characters that control a terminal or are invisible. Newlines and tabs stay, carriage
/// returns are removed.
pub(crate) fn plain_text(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut before = None;
    let mut characters = text.chars().filter(|c| *c != '\r').peekable();
    while let Some(character) = characters.next() {
        let after = characters.peek().copied();
        let shown = if is_unsafe(character) && !is_ordinary(before, character, after) {
            REPLACEMENT
        } else {
            character
        };
        plain.push(shown);
        before = Some(shown);
    }
    Cow::Owned(plain)
}

/// Returns the same JSON with every such character escaped. They can only be in strings, where escapes are possible.
pub(crate) fn escaped_json(json: &str) -> Cow<'_, str> {
    let must_escape = |c: char| is_unsafe(c) && c != '\r';
    if !json.chars().any(must_escape) {
        return Cow::Borrowed(json);
    }
    let mut escaped = String::with_capacity(json.len());
    for character in json.chars() {
        if !must_escape(character) {
            escaped.push(character);
            continue;
        }
        for unit in character.encode_utf16(&mut [0; 2]) {
            let _ = write!(escaped, "\\u{unit:04x}");
        }
    }
    Cow::Owned(escaped)
}

fn is_unsafe(character: char) -> bool {
    match character {
        '\n' | '\t' | ' '..='~' => false,
        _ => character.is_control() || is_in(&HIDDEN, character),
    }
}

/// Returns `true` if a hidden character has its ordinary effect between the characters beside it.
fn is_ordinary(before: Option<char>, character: char, after: Option<char>) -> bool {
    let Some(before) = before else { return false };
    let between = |script: &[RangeInclusive<char>]| {
        is_in(script, before) && after.is_some_and(|after| is_in(script, after))
    };
    match character {
        ZERO_WIDTH_NON_JOINER => between(&JOINING_SCRIPTS),
        ZERO_WIDTH_JOINER => {
            let joins_emoji = is_in(&EMOJI, before) || before == EMOJI_STYLE;
            let emoji_follows = after.is_some_and(|after| is_in(&EMOJI, after));
            between(&JOINING_SCRIPTS) || (joins_emoji && emoji_follows)
        }
        // A digit is an emoji only as a keycap.
        EMOJI_STYLE if matches!(before, '0'..='9' | '#' | '*') => after == Some(KEYCAP),
        TEXT_STYLE | EMOJI_STYLE => is_in(&EMOJI, before) || is_in(&IDEOGRAPHS, before),
        '\u{fe00}'..='\u{fe0d}' | '\u{e0100}'..='\u{e01ef}' => is_in(&IDEOGRAPHS, before),
        '\u{180b}'..='\u{180d}' | '\u{180f}' => is_in(&MONGOLIAN_LETTERS, before),
        _ => false,
    }
}

fn is_in(ranges: &[RangeInclusive<char>], character: char) -> bool {
    ranges.iter().any(|range| range.contains(&character))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_are_replaced() {
        assert_eq!(
            plain_text("a\u{1b}[31mb\r\n\tc\u{9b}\u{7f}"),
            "a\u{fffd}[31mb\n\tc\u{fffd}\u{fffd}"
        );
        assert!(matches!(plain_text("ordinary\n\ttext"), Cow::Borrowed(_)));
        assert!(matches!(plain_text("Größe → 漢字 🎉"), Cow::Borrowed(_)));
    }

    #[test]
    fn every_hidden_character_is_replaced_and_escaped() {
        let named = "\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}\u{200e}\u{200f}\u{61c}\
                     \u{200b}\u{200c}\u{200d}\u{2060}\u{2061}\u{2062}\u{2063}\u{2064}\u{feff}\u{ad}\u{fe0f}\u{2028}";
        let tags = '\u{e0000}'..='\u{e007f}';
        let selectors = '\u{e0100}'..='\u{e01ef}';
        for character in named.chars().chain(tags).chain(selectors) {
            let text = format!("a{character}b");
            assert_eq!(plain_text(&text), "a\u{fffd}b", "{text:?}");
            let json = serde_json::Value::from(text.as_str()).to_string();
            let escaped = escaped_json(&json);
            assert!(escaped.is_ascii(), "{escaped:?}");
            let read: String = serde_json::from_str(&escaped).unwrap();
            assert_eq!(read, text);
        }
    }

    #[test]
    fn invisible_characters_of_ordinary_writing_stay() {
        for text in [
            // A family, a flag, a heart with its style, a keycap.
            "👨\u{200d}👩\u{200d}👧",
            "🏳\u{fe0f}\u{200d}🌈",
            "❤\u{fe0f}!",
            "1\u{fe0f}\u{20e3}",
            // Persian, Hindi and Sinhala words with joiners.
            "می\u{200c}خواهم",
            "क\u{94d}\u{200d}ष",
            "ශ\u{dca}\u{200d}රී",
            // A Japanese name with an ideographic variation.
            "葛\u{e0100}城",
        ] {
            assert_eq!(plain_text(text), text);
        }
    }

    #[test]
    fn hidden_data_in_variation_selectors_is_replaced() {
        let text = "😀\u{fe0f}\u{fe01}\u{e0130}x";
        assert_eq!(plain_text(text), "😀\u{fe0f}\u{fffd}\u{fffd}x");
        assert_eq!(plain_text("1\u{fe0f}2"), "1\u{fffd}2");
        assert_eq!(plain_text("क\u{200d}\u{200d}ष"), "क\u{fffd}\u{fffd}ष");
        assert_eq!(plain_text("\u{200d}👩"), "\u{fffd}👩");
    }

    #[test]
    fn json_keeps_its_value() {
        let json = "{\n  \"a\": \"b\\u001b \u{9b}\u{202e}\u{e0041}c\"\n}";
        let escaped = escaped_json(json);
        assert_eq!(
            escaped,
            "{\n  \"a\": \"b\\u001b \\u009b\\u202e\\udb40\\udc41c\"\n}"
        );
        let value = |json: &str| serde_json::from_str::<serde_json::Value>(json).unwrap();
        assert_eq!(value(&escaped), value(json));
        assert!(matches!(escaped_json("{\"a\": \"é\"}"), Cow::Borrowed(_)));
    }
}
