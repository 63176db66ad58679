//! Framing of stdio: one message per line, on bytes.
//!
//! Frames end at 0x0A and at no other byte, so that an invalid message does not affect the next one. A line over the
//! limit is skipped and not buffered. This module does not check whether a frame is a message. [`crate::strict_json`]
//! does.

use std::borrow::Cow;
use std::time::Duration;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The maximum number of bytes trimmed from a line: a byte order mark and a carriage return.
const TRIMMED: usize = BYTE_ORDER_MARK.len() + 1;

/// The number of bytes retained of a line that is too long.
const HEAD: usize = 256;

/// One line of the stream, without its line end.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a line is complete, too long, or cut off by the end of the stream"
)]
pub enum Frame<'a> {
    /// A complete line. Borrowed from the chunk, unless it began in an earlier chunk.
    Line(Cow<'a, [u8]>),
    /// A line over the limit, which was skipped.
    TooLong,
    /// The last line without a newline: a complete message or the first part of one.
    Unterminated(Vec<u8>),
}

/// A decoder that splits a byte stream into lines, independent of its chunks.
///
/// A line within one chunk is not copied. Other lines are copied once. Blank lines are skipped.
///
/// ```
/// use toolwire_proto::framing::{Frame, LineDecoder};
///
/// let mut decoder = LineDecoder::new(4 * 1024 * 1024);
/// let mut lines = Vec::new();
/// for chunk in ["{\"a\":1}\r\n\n{\"b\"", ":2}\n"] {
///     let mut chunk = chunk.as_bytes();
///     while let Some(Frame::Line(line)) = decoder.next_frame(&mut chunk) {
///         lines.push(line.into_owned());
///     }
/// }
/// assert_eq!(lines, [b"{\"a\":1}", b"{\"b\":2}"]);
/// ```
#[derive(Debug)]
pub struct LineDecoder {
    max_bytes: usize,
    /// The buffered part of a line that began in an earlier chunk.
    pending: Vec<u8>,
    /// The current line is too long, and its bytes are not buffered.
    skipping: bool,
    /// The first bytes of the last line that was too long.
    head: Vec<u8>,
    /// No message has arrived yet, so a byte order mark is allowed.
    at_start: bool,
}

impl LineDecoder {
    /// Creates a decoder for lines of at most `max_bytes` bytes, not counting the line end.
    #[must_use]
    pub fn new(max_bytes: usize) -> Self {
        Self {
            max_bytes,
            pending: Vec::new(),
            skipping: false,
            head: Vec::new(),
            at_start: true,
        }
    }

    /// Returns the first bytes of the line of the last [`Frame::TooLong`]. They usually contain the id of the message.
    #[must_use]
    pub fn skipped_head(&self) -> &[u8] {
        &self.head
    }

    /// Takes the next line from the chunk. Returns `None` when the chunk is used up.
    pub fn next_frame<'a>(&mut self, chunk: &mut &'a [u8]) -> Option<Frame<'a>> {
        while let Some(end) = memchr::memchr(b'\n', chunk) {
            let (part, rest) = (&chunk[..end], &chunk[end + 1..]);
            *chunk = rest;
            if let Some(frame) = self.end_line(part) {
                return Some(frame);
            }
        }
        self.buffer(chunk);
        *chunk = &[];
        None
    }

    /// Returns the remaining line after the end of the stream.
    pub fn finish(&mut self) -> Option<Frame<'static>> {
        match self.end_line(&[])? {
            Frame::Line(line) => Some(Frame::Unterminated(line.into_owned())),
            Frame::TooLong => Some(Frame::TooLong),
            Frame::Unterminated(line) => Some(Frame::Unterminated(line)),
        }
    }

    fn end_line<'a>(&mut self, last_part: &'a [u8]) -> Option<Frame<'a>> {
        let line = if self.pending.is_empty() && !self.skipping {
            Cow::Borrowed(last_part)
        } else {
            self.buffer(last_part);
            Cow::Owned(std::mem::take(&mut self.pending))
        };
        if std::mem::take(&mut self.skipping) {
            self.at_start = false;
            return Some(Frame::TooLong);
        }
        let line = self.trim(line);
        if line.len() > self.max_bytes {
            self.at_start = false;
            self.head = line[..line.len().min(HEAD)].to_vec();
            return Some(Frame::TooLong);
        }
        if line.trim_ascii().is_empty() {
            return None;
        }
        self.at_start = false;
        Some(Frame::Line(line))
    }

    fn trim<'a>(&mut self, line: Cow<'a, [u8]>) -> Cow<'a, [u8]> {
        let has_mark = self.at_start && line.starts_with(BYTE_ORDER_MARK);
        let start = if has_mark { BYTE_ORDER_MARK.len() } else { 0 };
        self.at_start &= !has_mark;
        let end = line.len() - usize::from(line[start..].ends_with(b"\r"));
        match line {
            Cow::Borrowed(line) => Cow::Borrowed(&line[start..end]),
            Cow::Owned(mut line) => {
                line.truncate(end);
                line.drain(..start);
                Cow::Owned(line)
            }
        }
    }

    /// Buffers a part of a line, or starts to skip the line once it exceeds the limit.
    fn buffer(&mut self, part: &[u8]) {
        if self.skipping {
            return;
        }
        let most = self.max_bytes.saturating_add(TRIMMED);
        let needed = self.pending.len().saturating_add(part.len());
        if needed > most {
            self.head.clear();
            let line = self.pending.iter().chain(part);
            self.head.extend(line.take(HEAD));
            self.pending = Vec::new();
            self.skipping = true;
            return;
        }
        if needed > self.pending.capacity() {
            // The capacity doubles as in a vector, but never exceeds the limit.
            let capacity = needed.max(self.pending.capacity() * 2).min(most);
            self.pending.reserve_exact(capacity - self.pending.len());
        }
        self.pending.extend_from_slice(part);
    }
}

/// Appends a message and its newline.
///
/// Raw line ends in the message become spaces. In valid JSON they can only be white space between tokens.
pub fn encode_line(out: &mut Vec<u8>, message: &[u8]) {
    out.reserve(message.len() + 1);
    let start = out.len();
    out.extend_from_slice(message);
    if memchr::memchr2(b'\n', b'\r', message).is_some() {
        for byte in &mut out[start..] {
            if matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
    }
    out.push(b'\n');
}

/// A limit on error responses to malformed lines: ten in any ten seconds.
///
/// A peer that prints a log, or echoes its input, must not cause a flood of error messages.
#[derive(Debug, Clone, Default)]
pub struct ParseErrorQuota {
    /// The times of the latest responses, as a ring. Once it is full, its oldest entry is at `oldest`.
    responses: Vec<Duration>,
    oldest: usize,
}

impl ParseErrorQuota {
    /// The maximum number of responses in one window.
    pub const MAX_RESPONSES: usize = 10;

    /// The length of the window.
    pub const WINDOW: Duration = Duration::from_secs(10);

    /// Creates an unused quota.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns `true` and counts one response if a malformed line may get a response now.
    ///
    /// `now` is the time since any fixed point and does not go backwards.
    pub fn take(&mut self, now: Duration) -> bool {
        if self.responses.len() < Self::MAX_RESPONSES {
            self.responses.push(now);
            return true;
        }
        let oldest = &mut self.responses[self.oldest];
        if now.saturating_sub(*oldest) < Self::WINDOW {
            return false;
        }
        *oldest = now;
        self.oldest = (self.oldest + 1) % Self::MAX_RESPONSES;
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn first_bytes_of_an_overlong_line_are_retained() {
        let line =
            b"{\"id\":7,\"result\":\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"}\n";
        for size in 1..=line.len() {
            let mut decoder = LineDecoder::new(16);
            let mut found = Vec::new();
            for mut chunk in line.chunks(size) {
                while let Some(frame) = decoder.next_frame(&mut chunk) {
                    found.push(frame.clone());
                }
            }
            assert_eq!(found, [Frame::TooLong]);
            assert!(decoder.skipped_head().starts_with(b"{\"id\":7,"), "{size}");
            assert!(decoder.skipped_head().len() <= HEAD);
        }
    }

    /// Returns the frames of a stream that arrives in these chunks and then ends.
    fn frames<'a>(max_bytes: usize, chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<Frame<'a>> {
        let mut decoder = LineDecoder::new(max_bytes);
        let mut frames = Vec::new();
        for mut chunk in chunks {
            while let Some(frame) = decoder.next_frame(&mut chunk) {
                frames.push(frame);
            }
            let buffered = decoder.pending.capacity();
            assert!(
                buffered <= max_bytes + 64 * 1024,
                "{buffered} bytes buffered"
            );
        }
        frames.extend(decoder.finish());
        assert_eq!(decoder.finish(), None);
        frames
    }

    fn line(line: &[u8]) -> Frame<'_> {
        Frame::Line(line.into())
    }

    #[track_caller]
    fn check(input: &[u8], expected: &[Frame<'_>]) {
        assert_eq!(frames(8, [input]), expected, "at once");
        assert_eq!(frames(8, input.chunks(1)), expected, "byte by byte");
    }

    #[test]
    fn lines_end_at_line_feeds_only() {
        check(b"a\nb\n", &[line(b"a"), line(b"b")]);
        check(b"a\r\nb\rc\r\r\n", &[line(b"a"), line(b"b\rc\r")]);
        check("a\u{2028}b\n".as_bytes(), &[line("a\u{2028}b".as_bytes())]);
        check(
            "\u{85}\x0B\x0C\n".as_bytes(),
            &[line("\u{85}\x0B\x0C".as_bytes())],
        );
        check(b"\xFF\xFE\0\n", &[line(b"\xFF\xFE\0")]);
    }

    #[test]
    fn blank_lines_are_skipped() {
        check(b"", &[]);
        check(b"\n\r\n \t \n\na\n \n", &[line(b"a")]);
        check(b"  \t", &[]);
    }

    #[test]
    fn byte_order_mark_is_removed_only_before_the_first_message() {
        check(
            b"\xEF\xBB\xBFa\n\xEF\xBB\xBFb\n",
            &[line(b"a"), line(b"\xEF\xBB\xBFb")],
        );
        check(b"\n\xEF\xBB\xBFa\n", &[line(b"a")]);
        check(b"\xEF\xBB\xBF\n\xEF\xBB\xBFb\n", &[line(b"\xEF\xBB\xBFb")]);
        check(b"\xEF\xBBa\n", &[line(b"\xEF\xBBa")]);
        check(b"\xEF\xBB\xBFa", &[Frame::Unterminated(b"a".to_vec())]);
    }

    #[test]
    fn line_of_exactly_the_limit_is_accepted() {
        check(b"1234567\n", &[line(b"1234567")]);
        check(b"12345678\n", &[line(b"12345678")]);
        check(b"12345678\r\n", &[line(b"12345678")]);
        check(b"\xEF\xBB\xBF12345678\r\n", &[line(b"12345678")]);
        check(b"123456789\nnext\n", &[Frame::TooLong, line(b"next")]);
        check(b"123456789\r\nnext\n", &[Frame::TooLong, line(b"next")]);
        check(b"a\n\xEF\xBB\xBF345678\n", &[line(b"a"), Frame::TooLong]);
    }

    #[test]
    fn overlong_line_is_skipped_without_buffering() {
        let limit = 1 << 20;
        let filler = vec![b'x'; 64 * 1024];
        let mut chunks: Vec<&[u8]> = vec![&filler; 64];
        chunks.push(b"\nnext\n");
        assert_eq!(frames(limit, chunks), [Frame::TooLong, line(b"next")]);
        let exact: Vec<&[u8]> = vec![&filler; 16];
        assert_eq!(
            frames(limit, exact),
            [Frame::Unterminated(vec![b'x'; limit])]
        );
    }

    #[test]
    fn end_of_the_stream_ends_the_line() {
        check(b"a\n{}", &[line(b"a"), Frame::Unterminated(b"{}".to_vec())]);
        check(b"{}\r", &[Frame::Unterminated(b"{}".to_vec())]);
        check(b"1234567890123456", &[Frame::TooLong]);
        check(b"123456789", &[Frame::TooLong]);
    }

    #[test]
    fn encoded_message_is_one_line() {
        let mut out = Vec::new();
        encode_line(&mut out, b"{}");
        encode_line(&mut out, b"{\r\n\"a\": 1\n}");
        assert_eq!(out, b"{}\n{  \"a\": 1 }\n");
    }

    #[test]
    fn quota_permits_ten_responses_in_any_ten_seconds() {
        let mut quota = ParseErrorQuota::new();
        let mut take = |milliseconds| quota.take(Duration::from_millis(milliseconds));
        for second in 0..10 {
            assert!(take(second * 500));
        }
        assert!(!take(4_500));
        assert!(!take(9_999));
        assert!(take(10_000));
        assert!(!take(10_499));
        assert!(take(10_500));
        let later = (0..100).filter(|at| take(60_000 + at)).count();
        assert_eq!(later, 10);
    }

    fn stream() -> impl Strategy<Value = Vec<u8>> {
        let byte = prop::sample::select(b"\n\n\r \xEF\xBB\xBFab\x00\x85".to_vec());
        prop::collection::vec(byte, 0..80)
    }

    proptest! {
        #[test]
        fn chunks_do_not_change_the_frames(
            stream in stream(),
            cuts in prop::collection::vec(0_usize..80, 0..8),
            max_bytes in 0_usize..12,
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(stream.len())).collect();
            cuts.extend([0, stream.len()]);
            cuts.sort_unstable();
            let chunks = cuts.windows(2).map(|cut| &stream[cut[0]..cut[1]]);
            prop_assert_eq!(frames(max_bytes, chunks), frames(max_bytes, [&stream[..]]));
        }

        #[test]
        fn encoded_messages_are_decoded_back(messages in prop::collection::vec("[a-z\"{} \u{2028}é]{0,12}[a-z]", 0..8)) {
            let mut stream = Vec::new();
            for message in &messages {
                encode_line(&mut stream, message.as_bytes());
            }
            let expected: Vec<_> = messages.iter().map(|message| line(message.as_bytes())).collect();
            prop_assert_eq!(frames(1024, stream.chunks(3)), expected);
        }
    }
}
