//! Decoder of an event stream.

#[cfg(test)]
mod tests;

use std::time::Duration;

use crate::sse::SseEvent;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The maximum length of a line beside its value: the longest relevant field name, a colon and a space.
const LONGEST_PREFIX: usize = "event: ".len();

/// An event over the size limit. Its remaining lines are skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "the error has no details")]
pub struct TooLong;

impl std::fmt::Display for TooLong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("event exceeds the size limit")
    }
}

impl std::error::Error for TooLong {}

/// A decoder that splits a byte stream into events, independent of its chunks.
///
/// The size of an event is the total size of its data, id and type. Comments do not count. Bytes that are not UTF-8 are
/// replaced, as the standard requires. An event that the end of the stream cuts off is not returned.
///
/// ```
/// use toolwire_proto::sse::{SseDecoder, SseEvent};
///
/// let mut decoder = SseDecoder::new(16 * 1024 * 1024);
/// let mut chunk: &[u8] = b": hello\n\nid: 7\ndata: {}\n\n";
/// let event = decoder.next_event(&mut chunk);
/// assert_eq!(event, Some(Ok(SseEvent::new("{}").with_id("7"))));
/// assert_eq!(decoder.next_event(&mut chunk), None);
/// assert_eq!(decoder.last_event_id(), Some("7"));
/// ```
#[derive(Debug)]
pub struct SseDecoder {
    max_event_bytes: usize,
    /// The number of bytes of a byte order mark so far, until another byte arrives.
    mark: Option<usize>,
    /// Whether the last byte was a carriage return. A line feed after it belongs to the same line end.
    after_return: bool,
    line: Line,
    /// The buffered part of the current line.
    pending: Vec<u8>,
    /// Whether the event is too long and was reported.
    skipping_event: bool,
    id: Option<Vec<u8>>,
    event: Vec<u8>,
    /// The data lines, each followed by LF.
    data: Vec<u8>,
    retry: Option<Duration>,
    last_event_id: Option<String>,
    reconnect_after: Option<Duration>,
}

/// The state of the current line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    /// No byte has arrived. If the line ends now, the event is complete.
    Empty,
    /// Its bytes are in `pending`.
    Buffered,
    /// Its bytes are ignored.
    Skipped,
}

impl SseDecoder {
    /// Creates a decoder for events of at most `max_event_bytes` bytes.
    #[must_use]
    pub fn new(max_event_bytes: usize) -> Self {
        Self {
            max_event_bytes,
            mark: Some(0),
            after_return: false,
            line: Line::Empty,
            pending: Vec::new(),
            skipping_event: false,
            id: None,
            event: Vec::new(),
            data: Vec::new(),
            retry: None,
            last_event_id: None,
            reconnect_after: None,
        }
    }

    /// Takes the next event from the chunk. Returns `None` when the chunk is used up.
    ///
    /// After an error the decoder continues with the event after the one that was too long.
    pub fn next_event(&mut self, chunk: &mut &[u8]) -> Option<Result<SseEvent, TooLong>> {
        self.skip_byte_order_mark(chunk);
        loop {
            if self.after_return && !chunk.is_empty() {
                self.after_return = false;
                *chunk = chunk.strip_prefix(b"\n").unwrap_or(chunk);
            }
            let Some(end) = memchr::memchr2(b'\r', b'\n', chunk) else {
                let buffered = self.buffer(chunk);
                *chunk = &[];
                return buffered.err().map(Err);
            };
            let part = &chunk[..end];
            self.after_return = chunk[end] == b'\r';
            *chunk = &chunk[end + 1..];
            if let Some(outcome) = self.end_line(part) {
                return Some(outcome);
            }
        }
    }

    /// Returns the id to send as `Last-Event-ID` on reconnection. Events without data also set it.
    #[must_use]
    pub fn last_event_id(&self) -> Option<&str> {
        self.last_event_id.as_deref().filter(|id| !id.is_empty())
    }

    /// Returns the latest reconnection time of the stream, as sent. The caller clamps it.
    #[must_use]
    pub fn reconnect_after(&self) -> Option<Duration> {
        self.reconnect_after
    }

    fn skip_byte_order_mark(&mut self, chunk: &mut &[u8]) {
        while let (Some(seen), Some(&byte)) = (self.mark, chunk.first()) {
            if byte == BYTE_ORDER_MARK[seen] {
                *chunk = &chunk[1..];
                let complete = seen + 1 == BYTE_ORDER_MARK.len();
                self.mark = (!complete).then_some(seen + 1);
            } else {
                self.mark = None;
                if seen > 0 {
                    self.pending.extend_from_slice(&BYTE_ORDER_MARK[..seen]);
                    self.line = Line::Buffered;
                }
            }
        }
    }

    /// Adds a part to the line, unless the line is ignored.
    fn buffer(&mut self, part: &[u8]) -> Result<(), TooLong> {
        if part.is_empty() {
            return Ok(());
        }
        if self.line == Line::Empty {
            let skipped = self.skipping_event || part[0] == b':';
            self.line = if skipped {
                Line::Skipped
            } else {
                Line::Buffered
            };
        }
        if self.line == Line::Buffered {
            let most = self.remaining().saturating_add(LONGEST_PREFIX);
            if self.pending.len().saturating_add(part.len()) > most {
                self.line = Line::Skipped;
                return self.skip_event();
            }
            self.pending.extend_from_slice(part);
        }
        Ok(())
    }

    /// Ends the line. An empty line ends the event.
    fn end_line(&mut self, last_part: &[u8]) -> Option<Result<SseEvent, TooLong>> {
        if self.line == Line::Empty && last_part.is_empty() {
            return self.end_event().map(Ok);
        }
        let is_complete_line = self.line == Line::Empty;
        let result = if is_complete_line {
            self.field_unless_skipped(last_part)
        } else {
            self.buffer(last_part).and_then(|()| {
                let line = std::mem::take(&mut self.pending);
                match self.line {
                    Line::Buffered => self.field(&line),
                    Line::Empty | Line::Skipped => Ok(()),
                }
            })
        };
        self.line = Line::Empty;
        result.err().map(Err)
    }

    fn field_unless_skipped(&mut self, line: &[u8]) -> Result<(), TooLong> {
        if self.skipping_event || line.starts_with(b":") {
            Ok(())
        } else if line.len() > self.remaining().saturating_add(LONGEST_PREFIX) {
            self.skip_event()
        } else {
            self.field(line)
        }
    }

    fn field(&mut self, line: &[u8]) -> Result<(), TooLong> {
        let (name, value) = match memchr::memchr(b':', line) {
            Some(colon) => {
                let value = &line[colon + 1..];
                (&line[..colon], value.strip_prefix(b" ").unwrap_or(value))
            }
            None => (line, &[][..]),
        };
        if !matches!(name, b"data" | b"event" | b"id" | b"retry") {
            return Ok(());
        }
        if value.len() > self.remaining() {
            return self.skip_event();
        }
        match name {
            b"data" => {
                self.data.extend_from_slice(value);
                self.data.push(b'\n');
            }
            b"event" => self.event = value.to_vec(),
            b"id" if !value.contains(&0) => self.id = Some(value.to_vec()),
            b"retry" => {
                if let Some(retry) = milliseconds(value) {
                    self.retry = Some(retry);
                    self.reconnect_after = Some(retry);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Returns the number of bytes that the event may still add.
    fn remaining(&self) -> usize {
        let id = self.id.as_ref().map_or(0, Vec::len);
        let used = self.data.len() + self.event.len() + id;
        self.max_event_bytes.saturating_sub(used)
    }

    fn skip_event(&mut self) -> Result<(), TooLong> {
        self.skipping_event = true;
        self.pending = Vec::new();
        self.data = Vec::new();
        self.event = Vec::new();
        self.id = None;
        self.retry = None;
        Err(TooLong)
    }

    fn end_event(&mut self) -> Option<SseEvent> {
        self.skipping_event = false;
        let id = self.id.take().map(text);
        let event = text(std::mem::take(&mut self.event));
        let retry = self.retry.take();
        let mut data = std::mem::take(&mut self.data);
        if id.is_some() {
            self.last_event_id.clone_from(&id);
        }
        // Without a `data` line there is no event. An empty `data` line makes an event with empty data.
        data.pop()?;
        Some(SseEvent {
            id,
            event: (!event.is_empty()).then_some(event),
            data: text(data),
            retry,
        })
    }
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Parses ASCII digits. A number that is out of range becomes the maximum.
fn milliseconds(value: &[u8]) -> Option<Duration> {
    if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let digits = std::str::from_utf8(value).ok()?;
    Some(Duration::from_millis(digits.parse().unwrap_or(u64::MAX)))
}
