//! The search in the log: it finds words also beyond the beginning of an entry, which is all that the page has.

use serde::Serialize;

use crate::inspect::log::Log;

/// The entries of one part of the log whose text contains a word.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct LogMatches {
    /// The numbers of the entries.
    found: Vec<u64>,
    /// The number of the last entry that was searched. The next part begins after it.
    last: u64,
}

/// The limits of one part.
#[derive(Debug, Clone, Copy)]
struct PartLimits {
    entries: usize,
    /// Bytes of text. A longer entry is a part of its own.
    bytes: usize,
}

const LIMITS: PartLimits = PartLimits {
    entries: 10_000,
    bytes: 4 * 1024 * 1024,
};

impl LogMatches {
    /// Searches the stored texts of the entries after the one with this number, ignoring case.
    pub(super) fn find(log: &Log, word: &str, after: u64) -> Self {
        Self::find_within(log, word, after, LIMITS)
    }

    fn find_within(log: &Log, word: &str, after: u64, limits: PartLimits) -> Self {
        let word = word.to_lowercase();
        let part = log.texts_after(after, limits.entries, limits.bytes);
        let matches = part
            .texts
            .iter()
            .filter(|(_, text)| text.to_lowercase().contains(&word));
        Self {
            found: matches.map(|(number, _)| *number).collect(),
            last: part.last,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::log::LogLimits;

    #[test]
    fn word_is_found_anywhere_in_an_entry() {
        let log = Log::new(LogLimits::default());
        let long = format!("{}NEEDLE é", "x".repeat(100_000));
        for text in ["needle", "nothing", &long] {
            log.stderr(text);
        }
        let check = |word: &str, after: u64, expected: &[u64]| {
            let found = LogMatches::find(&log, word, after);
            assert_eq!(
                (found.found.as_slice(), found.last),
                (expected, 3),
                "{word}"
            );
        };
        check("needle", 0, &[1, 3]);
        check("Needle É", 0, &[3]);
        check("needle", 1, &[3]);
        check("needle", 3, &[]);
        check("haystack", 0, &[]);
    }

    #[test]
    fn part_ends_at_its_limits() {
        let log = Log::new(LogLimits::default());
        for text in ["a", "a", "a", "longer a"] {
            log.stderr(text);
        }
        let check = |entries: usize, bytes: usize, after: u64, expected: (&[u64], u64)| {
            let limits = PartLimits { entries, bytes };
            let found = LogMatches::find_within(&log, "a", after, limits);
            assert_eq!((found.found.as_slice(), found.last), expected, "{after}");
        };
        check(3, 100, 0, (&[1, 2, 3], 3));
        check(4, 100, 0, (&[1, 2, 3, 4], 4));
        check(4, 2, 0, (&[1, 2], 2));
        check(4, 3, 0, (&[1, 2, 3], 3));
        // An entry beyond the limit is searched alone.
        check(4, 3, 3, (&[4], 4));
        log.clear();
        // The next search begins after the removed entries.
        check(4, 100, 0, (&[], 4));
    }

    #[test]
    fn default_limits_are_those_of_the_documentation() {
        assert_eq!((LIMITS.entries, LIMITS.bytes), (10_000, 4_194_304));
    }
}
