//! Characters that a reader does not see, or that change how others are shown, but that a model and a program read.
//!
//! Everything that shows, compares or removes text of a peer uses this table. Control characters are not part of it: a
//! caller that writes to a terminal or into one line treats them itself.
//!
//! Some invisible characters are part of ordinary writing, where they have a visible effect: a joiner between two letters
//! of a script that uses joiners, or between two emoji, and one variation selector after an emoji or an ideograph. The
//! functions that take a whole text accept them there. Tag characters are never accepted, because they can spell any
//! hidden text; the flags of England, Scotland and Wales need them and are shown without them.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use self::InvisibleCharacter as Kind;

/// A kind of invisible characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum InvisibleCharacter {
    /// Tag characters, which can spell any text, and everything else in their plane except variation selectors.
    Tag,
    /// Characters that change the direction of text.
    Bidirectional,
    /// Characters without a width, such as joiners.
    ZeroWidth,
    /// Selectors of a variant of the character before them. A sequence of them can carry any data.
    VariationSelector,
    /// Characters that take the place of a letter and show nothing.
    Filler,
    /// Characters that separate or annotate text.
    Format,
}

/// The invisible characters, in the order of their code points.
pub const INVISIBLE_CHARACTERS: [(RangeInclusive<char>, InvisibleCharacter); 25] = [
    // Soft hyphen.
    ('\u{ad}'..='\u{ad}', Kind::Format),
    // Combining grapheme joiner.
    ('\u{34f}'..='\u{34f}', Kind::ZeroWidth),
    // Arabic letter mark.
    ('\u{61c}'..='\u{61c}', Kind::Bidirectional),
    // Hangul fillers.
    ('\u{115f}'..='\u{1160}', Kind::Filler),
    // Khmer inherent vowels.
    ('\u{17b4}'..='\u{17b5}', Kind::Filler),
    // Mongolian variation selectors.
    ('\u{180b}'..='\u{180d}', Kind::VariationSelector),
    // Mongolian vowel separator.
    ('\u{180e}'..='\u{180e}', Kind::ZeroWidth),
    // The fourth Mongolian variation selector.
    ('\u{180f}'..='\u{180f}', Kind::VariationSelector),
    // Zero-width space and joiners.
    ('\u{200b}'..='\u{200d}', Kind::ZeroWidth),
    // Left-to-right and right-to-left mark.
    ('\u{200e}'..='\u{200f}', Kind::Bidirectional),
    // Line and paragraph separator.
    ('\u{2028}'..='\u{2029}', Kind::Format),
    // Bidirectional embeddings and overrides.
    ('\u{202a}'..='\u{202e}', Kind::Bidirectional),
    // Word joiner, invisible operators.
    ('\u{2060}'..='\u{2065}', Kind::ZeroWidth),
    // Bidirectional isolates.
    ('\u{2066}'..='\u{2069}', Kind::Bidirectional),
    // Deprecated format characters.
    ('\u{206a}'..='\u{206f}', Kind::Format),
    // Hangul filler.
    ('\u{3164}'..='\u{3164}', Kind::Filler),
    // Variation selectors.
    ('\u{fe00}'..='\u{fe0f}', Kind::VariationSelector),
    // Byte order mark, also known as zero-width no-break space.
    ('\u{feff}'..='\u{feff}', Kind::ZeroWidth),
    // Halfwidth Hangul filler.
    ('\u{ffa0}'..='\u{ffa0}', Kind::Filler),
    // Interlinear annotations, and unassigned characters beside them.
    ('\u{fff0}'..='\u{fffb}', Kind::Format),
    // Shorthand format controls.
    ('\u{1bca0}'..='\u{1bca3}', Kind::Format),
    // Musical format controls.
    ('\u{1d173}'..='\u{1d17a}', Kind::Format),
    // Tags, and unassigned characters beside them.
    ('\u{e0000}'..='\u{e00ff}', Kind::Tag),
    // Ideographic variation selectors.
    ('\u{e0100}'..='\u{e01ef}', Kind::VariationSelector),
    // Unassigned characters.
    ('\u{e01f0}'..='\u{e0fff}', Kind::Tag),
];

const ZERO_WIDTH_NON_JOINER: char = '\u{200c}';
const ZERO_WIDTH_JOINER: char = '\u{200d}';
const TEXT_STYLE: char = '\u{fe0e}';
const EMOJI_STYLE: char = '\u{fe0f}';
const KEYCAP: char = '\u{20e3}';

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

impl InvisibleCharacter {
    /// Returns the kind of a character. `None` if it is visible, or a control character.
    #[must_use]
    pub fn of(character: char) -> Option<Self> {
        if character < '\u{ad}' {
            return None;
        }
        let mut table = INVISIBLE_CHARACTERS.iter();
        let row = table.find(|(range, _)| range.contains(&character));
        row.map(|(_, kind)| *kind)
    }

    /// Returns the kind in words.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tag => "tag characters",
            Self::Bidirectional => "bidirectional controls",
            Self::ZeroWidth => "zero-width characters",
            Self::VariationSelector => "variation selectors",
            Self::Filler => "fillers",
            Self::Format => "format characters",
        }
    }
}

/// Returns the kinds of the invisible characters in a text that are not part of ordinary writing, each one once.
#[must_use]
pub fn invisible_kinds(text: &str) -> Vec<InvisibleCharacter> {
    let mut kinds = Vec::new();
    let _ = replace_invisible(text, |character| {
        kinds.extend(InvisibleCharacter::of(character));
        None
    });
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

/// Returns the text without the invisible characters that are not part of ordinary writing.
#[must_use]
pub fn without_invisible(text: &str) -> Cow<'_, str> {
    replace_invisible(text, |_| None)
}

/// Replaces each invisible character that is not part of ordinary writing. `None` removes it.
pub fn replace_invisible(
    text: &str,
    mut replacement: impl FnMut(char) -> Option<char>,
) -> Cow<'_, str> {
    if !text
        .chars()
        .any(|character| InvisibleCharacter::of(character).is_some())
    {
        return Cow::Borrowed(text);
    }
    let mut replaced = String::with_capacity(text.len());
    let mut before = None;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let is_hidden = InvisibleCharacter::of(character).is_some()
            && !is_ordinary(before, character, characters.peek().copied());
        let shown = if is_hidden {
            replacement(character)
        } else {
            Some(character)
        };
        if let Some(shown) = shown {
            replaced.push(shown);
        }
        before = if is_hidden { None } else { Some(character) };
    }
    Cow::Owned(replaced)
}

/// Returns `true` if an invisible character has its ordinary effect between the characters beside it.
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
    fn table_is_ordered_and_has_no_overlaps() {
        for pair in INVISIBLE_CHARACTERS.windows(2) {
            assert!(pair[0].0.end() < pair[1].0.start(), "{pair:?}");
        }
    }

    #[test]
    fn page_of_the_command_has_the_same_table() {
        let page = include_str!("../../../page/src/plain_text.ts");
        let pairs = page.lines().filter_map(|line| {
            let pair = line.trim().strip_prefix("[0x")?.strip_suffix("],")?;
            let (first, last) = pair.split_once(", 0x")?;
            let code = |text: &str| u32::from_str_radix(text, 16).ok();
            Some((code(first)?, code(last)?))
        });
        // The page does not distinguish kinds, so it has one pair for rows that touch.
        let mut merged: Vec<(u32, u32)> = Vec::new();
        for (range, _) in &INVISIBLE_CHARACTERS {
            let (first, last) = (u32::from(*range.start()), u32::from(*range.end()));
            match merged.last_mut() {
                Some(row) if row.1 + 1 == first => row.1 = last,
                _ => merged.push((first, last)),
            }
        }
        assert_eq!(pairs.collect::<Vec<_>>(), merged);
    }

    #[test]
    fn every_row_is_found_at_its_edges() {
        for (range, kind) in &INVISIBLE_CHARACTERS {
            assert_eq!(InvisibleCharacter::of(*range.start()), Some(*kind));
            assert_eq!(InvisibleCharacter::of(*range.end()), Some(*kind));
            let text = format!("a{}b", range.start());
            assert_eq!(without_invisible(&text), "ab", "{text:?}");
            assert_eq!(invisible_kinds(&text), [*kind], "{text:?}");
        }
    }

    #[test]
    fn visible_text_and_controls_stay() {
        for text in [
            "",
            "plain\n\ttext\r\u{1b}",
            "Größe → 漢字 🎉",
            "\u{ac}\u{ae}\u{2010}\u{202f}",
        ] {
            assert!(
                matches!(without_invisible(text), Cow::Borrowed(_)),
                "{text:?}"
            );
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
            assert_eq!(without_invisible(text), text);
            assert!(invisible_kinds(text).is_empty(), "{text:?}");
        }
    }

    #[test]
    fn hidden_data_is_replaced() {
        let check = |text: &str, expected: &str| {
            assert_eq!(replace_invisible(text, |_| Some('?')), expected, "{text:?}");
        };
        check("😀\u{fe0f}\u{fe01}\u{e0130}x", "😀\u{fe0f}??x");
        check("1\u{fe0f}2", "1?2");
        check("क\u{200d}\u{200d}ष", "क??ष");
        check("\u{200d}👩", "?👩");
        check("\u{e0041}\u{202e}a\u{feff}", "??a?");
    }
}
