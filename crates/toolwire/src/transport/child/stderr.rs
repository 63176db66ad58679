//! Reads the server's stderr. It is always drained, so that the server never blocks on it. The last part is stored for
//! the error that describes how the server ended.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use tokio::io::{AsyncRead, AsyncReadExt};

use crate::sync::lock;
use crate::transport::child::command::StderrListener;

/// The size of one read in bytes.
const CHUNK: usize = 16 * 1024;

/// The size of the stored end of the output, which an error can show.
pub(super) const TAIL_BYTES: usize = 4 * 1024;

/// The longest line that is passed to the listener in one part.
const MAX_LINE_BYTES: usize = 8 * 1024;

/// The longest quotation of a line in an error, in characters.
const MAX_QUOTE_CHARS: usize = 300;

/// The last part of a server's output.
#[derive(Debug, Default)]
pub(super) struct StderrTail(Mutex<VecDeque<u8>>);

impl StderrTail {
    fn push(&self, chunk: &[u8]) {
        let chunk = &chunk[chunk.len().saturating_sub(TAIL_BYTES)..];
        let mut tail = lock(&self.0);
        let excess = (tail.len() + chunk.len()).saturating_sub(TAIL_BYTES);
        tail.drain(..excess);
        tail.extend(chunk);
    }

    /// Returns the end of the output as text, at most [`TAIL_BYTES`] bytes.
    pub(super) fn text(&self) -> String {
        let mut tail = lock(&self.0);
        let bytes = &*tail.make_contiguous();
        // A character whose first bytes were dropped is omitted.
        let is_inside = |byte: &&u8| (0x80..0xC0).contains(*byte);
        let cut = match bytes.len() {
            TAIL_BYTES => bytes.iter().take(3).take_while(is_inside).count(),
            _ => 0,
        };
        let text = String::from_utf8_lossy(&bytes[cut..]);
        // Bytes that are not UTF-8 need more space as text.
        let mut start = text.len().saturating_sub(TAIL_BYTES);
        while !text.is_char_boundary(start) {
            start += 1;
        }
        text[start..].to_owned()
    }
}

/// Returns the last line that is not blank, for use in a sentence. A long line is shortened to its end, after an
/// ellipsis: the end names the cause, and the beginning is often a path or a time.
pub(super) fn last_line(text: &str) -> Option<String> {
    let line = text.lines().rev().find(|line| !line.trim().is_empty())?;
    let plain = line.trim().chars().filter(|letter| !letter.is_control());
    let plain: String = plain.collect();
    let start = plain.char_indices().rev().nth(MAX_QUOTE_CHARS - 1);
    Some(match start {
        Some((start, _)) if start > 0 => format!("…{}", &plain[start..]),
        _ => plain,
    })
}

/// Reads until the server has closed its stderr.
pub(super) async fn drain(
    mut stderr: impl AsyncRead + Unpin,
    tail: &StderrTail,
    listener: Option<StderrListener>,
) {
    let mut lines = StderrLines::default();
    let mut chunk = vec![0; CHUNK];
    loop {
        match stderr.read(&mut chunk).await {
            Ok(0) => break,
            Ok(length) => {
                tail.push(&chunk[..length]);
                lines.push(&chunk[..length], |line| {
                    deliver_line(line, listener.as_ref());
                });
            }
            Err(error) => {
                tracing::debug!(%error, "the server's stderr cannot be read");
                break;
            }
        }
    }
    lines.finish(|line| deliver_line(line, listener.as_ref()));
}

fn deliver_line(line: &[u8], listener: Option<&StderrListener>) {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let line = String::from_utf8_lossy(line);
    let Some(listener) = listener else {
        tracing::debug!(%line, "standard error of the server");
        return;
    };
    // Reading must continue, even if the listener panics.
    if catch_unwind(AssertUnwindSafe(|| listener(&line))).is_err() {
        tracing::error!("a listener for stderr panicked");
    }
}

/// Splits the output into lines, and long lines into parts.
#[derive(Debug, Default)]
struct StderrLines {
    current: Vec<u8>,
}

impl StderrLines {
    fn push(&mut self, mut chunk: &[u8], mut deliver: impl FnMut(&[u8])) {
        while !chunk.is_empty() {
            let capacity = MAX_LINE_BYTES - self.current.len();
            let end = chunk
                .iter()
                .take(capacity + 1)
                .position(|byte| *byte == b'\n');
            let part = end.unwrap_or(capacity.min(chunk.len()));
            self.current.extend_from_slice(&chunk[..part]);
            chunk = &chunk[part + usize::from(end.is_some())..];
            if end.is_some() || self.current.len() == MAX_LINE_BYTES && !chunk.is_empty() {
                deliver(&self.current);
                self.current.clear();
            }
        }
    }

    fn finish(self, mut deliver: impl FnMut(&[u8])) {
        if !self.current.is_empty() {
            deliver(&self.current);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn tail_of(chunks: &[&[u8]]) -> String {
        let tail = StderrTail::default();
        for chunk in chunks {
            tail.push(chunk);
        }
        tail.text()
    }

    #[test]
    fn tail_stores_exactly_the_last_four_kibibytes() {
        assert_eq!(tail_of(&[&[b'x'; TAIL_BYTES - 1]]).len(), TAIL_BYTES - 1);
        assert_eq!(tail_of(&[&[b'x'; TAIL_BYTES], b"end"]).len(), TAIL_BYTES);
        assert!(tail_of(&[&[b'x'; TAIL_BYTES], b"end"]).ends_with("xend"));
        assert_eq!(tail_of(&[&[b'x'; 3 * TAIL_BYTES]]), "x".repeat(TAIL_BYTES));
        assert_eq!(tail_of(&[b"a", b"", b"b"]), "ab");
    }

    #[test]
    fn tail_is_valid_text_for_any_output() {
        let euros = "€".repeat(TAIL_BYTES);
        assert_eq!(tail_of(&[euros.as_bytes()]), "€".repeat(TAIL_BYTES / 3));
        assert_eq!(tail_of(&[b"a\xFFb"]), "a\u{FFFD}b");
        assert!(tail_of(&[&[0xFF; TAIL_BYTES]]).len() <= TAIL_BYTES);
        assert!(tail_of(&[&[0x80; TAIL_BYTES]]).len() <= TAIL_BYTES);
    }

    #[test]
    fn last_line_that_is_not_blank_is_quoted() {
        assert_eq!(last_line("one\ntwo\n\n  \n").as_deref(), Some("two"));
        assert_eq!(last_line("\u{7}a\tb\r\n").as_deref(), Some("ab"));
        assert_eq!(last_line(" \n"), None);
    }

    #[test]
    fn end_of_a_long_last_line_is_quoted() {
        let longest = "é".repeat(MAX_QUOTE_CHARS);
        assert_eq!(last_line(&longest).as_deref(), Some(&*longest));
        let one_more = format!("a{longest}");
        assert_eq!(last_line(&one_more), Some(format!("…{longest}")));
        let cause = "error: the database is locked";
        let line =
            last_line(&format!("{}{cause}\n", "x".repeat(TAIL_BYTES))).expect("it has a line");
        assert!(line.ends_with(cause), "{line}");
    }

    async fn lines_of(output: &[u8]) -> Vec<String> {
        let received = Arc::new(Mutex::new(Vec::new()));
        let listener: StderrListener = Arc::new({
            let received = Arc::clone(&received);
            move |line: &str| received.lock().expect("no panic").push(line.to_owned())
        });
        drain(output, &StderrTail::default(), Some(listener)).await;
        let received = received.lock().expect("no panic");
        received.clone()
    }

    #[tokio::test]
    async fn listener_receives_lines() {
        assert_eq!(lines_of(b"a\r\n\nb").await, ["a", "", "b"]);
        assert!(lines_of(b"").await.is_empty());
    }

    #[tokio::test]
    async fn line_above_the_limit_is_split_into_two_parts() {
        let longest = "x".repeat(MAX_LINE_BYTES);
        assert_eq!(
            lines_of(format!("{longest}\nb\n").as_bytes()).await,
            [&longest, "b"]
        );
        assert_eq!(
            lines_of(format!("{longest}yz\nb").as_bytes()).await,
            [&longest, "yz", "b"]
        );
        assert_eq!(lines_of(longest.as_bytes()).await, [longest]);
    }

    #[tokio::test]
    async fn panicking_listener_does_not_stop_reading() {
        let tail = StderrTail::default();
        let listener: StderrListener = Arc::new(|line| assert_eq!(line, "fine", "not fine"));
        drain(&b"bad\nworse\nfine"[..], &tail, Some(listener)).await;
        assert_eq!(tail.text(), "bad\nworse\nfine");
    }
}
