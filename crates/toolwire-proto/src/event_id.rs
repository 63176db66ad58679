//! The ids of events on resumable streams, up to 2025-11-25: the stream and the position in it.
//!
//! A client sends the last id it received on any connection, so the id alone identifies the stream (spec 2025-11-25,
//! basic/transports, "Resumability and Redelivery"). This module does not know whether the stream exists, or which
//! client owns it.

use std::fmt;
use std::ops::RangeInclusive;

/// The length of a stream name: long enough to be unguessable, short enough to be repeated with every event.
const STREAM_LENGTH: RangeInclusive<usize> = 16..=64;

/// The id of an event, written `<stream>.<sequence>`.
///
/// ```
/// use toolwire_proto::event_id::EventId;
///
/// let id = EventId::parse("kXw3-0nq_Yb81LzA.42").expect("it is well formed");
/// assert_eq!(id.stream(), "kXw3-0nq_Yb81LzA");
/// assert_eq!(id.sequence(), 42);
/// assert_eq!(id.to_string(), "kXw3-0nq_Yb81LzA.42");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventId<'a> {
    stream: &'a str,
    sequence: u64,
}

impl<'a> EventId<'a> {
    /// Creates an id. Returns `None` unless the stream name is 16 to 64 characters of the base64url alphabet.
    #[must_use]
    pub fn new(stream: &'a str, sequence: u64) -> Option<Self> {
        let is_stream = STREAM_LENGTH.contains(&stream.len())
            && stream
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
        is_stream.then_some(Self { stream, sequence })
    }

    /// Parses an id. Returns `None` for every text that [`Self::write_into`] does not produce.
    #[must_use]
    pub fn parse(text: &'a str) -> Option<Self> {
        let (stream, digits) = text.split_once('.')?;
        // A number has one spelling. After this check `parse` can fail only by overflow.
        let is_plain = match digits.as_bytes() {
            [b'0'] => true,
            [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
            _ => false,
        };
        if !is_plain {
            return None;
        }
        Self::new(stream, digits.parse().ok()?)
    }

    /// Returns the stream name.
    #[must_use]
    pub fn stream(&self) -> &'a str {
        self.stream
    }

    /// Returns the position in the stream.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Appends the id to a buffer.
    pub fn write_into(&self, buffer: &mut String) {
        use fmt::Write as _;

        write!(buffer, "{self}").expect("writing to a string does not fail");
    }
}

impl fmt::Display for EventId<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.stream, self.sequence)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const STREAM: &str = "abcdefghijklmn-_";

    #[test]
    fn ids_are_parsed_strictly() {
        #[track_caller]
        fn check(text: &str, expected: Option<u64>) {
            let sequence = EventId::parse(text).map(|id| id.sequence());
            assert_eq!(sequence, expected, "{text:?}");
        }
        check("abcdefghijklmn-_.0", Some(0));
        check("abcdefghijklmn-_.7", Some(7));
        check("abcdefghijklmn-_.18446744073709551615", Some(u64::MAX));
        check("abcdefghijklmn-_.18446744073709551616", None);
        check("abcdefghijklmn-_.99999999999999999999999999", None);
        check("abcdefghijklmn-_.00", None);
        check("abcdefghijklmn-_.07", None);
        check("abcdefghijklmn-_.+7", None);
        check("abcdefghijklmn-_.-7", None);
        check("abcdefghijklmn-_. 7", None);
        check("abcdefghijklmn-_.7 ", None);
        check("abcdefghijklmn-_.7.8", None);
        check("abcdefghijklmn-_.0x7", None);
        check("abcdefghijklmn-_.７", None);
        check("abcdefghijklmn-_.", None);
        check("abcdefghijklmn-_", None);
        check("abcdefghijklmn-.7", None);
        check("abcdefghijklmn-+.7", None);
        check("abcdefghijklmn-=.7", None);
        check("abcdefghijklmn ü.7", None);
        check(".7", None);
        check("7", None);
        check("", None);
    }

    #[test]
    fn names_of_streams_are_bounded() {
        let name = "a".repeat(65);
        assert!(EventId::new(&name[..15], 1).is_none());
        assert!(EventId::new(&name[..16], 1).is_some());
        assert!(EventId::new(&name[..64], 1).is_some());
        assert!(EventId::new(&name, 1).is_none());
    }

    #[test]
    fn id_is_appended_to_the_buffer() {
        let mut buffer = "id: ".to_owned();
        let id = EventId::new(STREAM, 12).expect("the stream is well named");
        id.write_into(&mut buffer);
        assert_eq!(buffer, "id: abcdefghijklmn-_.12");
    }

    proptest! {
        #[test]
        fn written_id_is_parsed_back(stream in "[A-Za-z0-9_-]{16,64}", sequence in any::<u64>()) {
            let id = EventId::new(&stream, sequence).expect("the stream is well named");
            let written = id.to_string();
            prop_assert_eq!(EventId::parse(&written), Some(id));
        }

        #[test]
        fn parsed_id_is_written_the_same_way(text in "[a-z]{14,18}[.][0-9+ ]{1,3}") {
            if let Some(id) = EventId::parse(&text) {
                prop_assert_eq!(id.to_string(), text.as_str());
            }
        }

        #[test]
        fn parsing_any_text_does_not_panic(text in any::<String>()) {
            let _ = EventId::parse(&text);
        }
    }
}
