//! The server's error output: always read, so that the server never waits for somebody to read it, and the last of it
//! kept for the error that says how the server ended.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt};

use crate::transport::child::command::StderrListener;

/// How much is read at once.
const CHUNK: usize = 16 * 1024;

/// How much of the end is kept, and shown in an error.
pub(super) const TAIL_BYTES: usize = 4 * 1024;

/// The longest line that is passed on in one piece.
const LONGEST_LINE: usize = 8 * 1024;

/// The longest part of a line that is quoted in the sentence of an error, in characters.
const LONGEST_QUOTE: usize = 300;

/// The last of what a server wrote.
#[derive(Debug, Default)]
pub(super) struct StderrTail(Mutex<VecDeque<u8>>);

impl StderrTail {
    fn push(&self, chunk: &[u8]) {
        let chunk = &chunk[chunk.len().saturating_sub(TAIL_BYTES)..];
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let excess = (kept.len() + chunk.len()).saturating_sub(TAIL_BYTES);
        kept.drain(..excess);
        kept.extend(chunk);
    }

    /// The end of the output as text, at most [`KEPT`] bytes.
    pub(super) fn text(&self) -> String {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = &*kept.make_contiguous();
        // A character whose beginning is already forgotten is left out.
        let is_inside = |byte: &&u8| (0x80..0xC0).contains(*byte);
        let cut = match bytes.len() {
            TAIL_BYTES => bytes.iter().take(3).take_while(is_inside).count(),
            _ => 0,
        };
        let text = String::from_utf8_lossy(&bytes[cut..]);
        // What is no UTF-8 takes more room as text.
        let mut start = text.len().saturating_sub(TAIL_BYTES);
        while !text.is_char_boundary(start) {
            start += 1;
        }
        text[start..].to_owned()
    }
}

/// Returns the last line that is not blank, fit for one sentence. Of a long line it is the end, after an ellipsis: there
/// it names the cause, whereas its beginning is often a path or a time.
pub(super) fn last_line(text: &str) -> Option<String> {
    let line = text.lines().rev().find(|line| !line.trim().is_empty())?;
    let plain = line.trim().chars().filter(|letter| !letter.is_control());
    let plain: String = plain.collect();
    let start = plain.char_indices().rev().nth(LONGEST_QUOTE - 1);
    Some(match start {
        Some((start, _)) if start > 0 => format!("…{}", &plain[start..]),
        _ => plain,
    })
}

/// Reads until the server has closed its error output.
pub(super) async fn drain(
    mut stderr: impl AsyncRead + Unpin,
    words: &StderrTail,
    listener: Option<StderrListener>,
) {
    let mut lines = StderrLines::default();
    let mut chunk = vec![0; CHUNK];
    loop {
        match stderr.read(&mut chunk).await {
            Ok(0) => break,
            Ok(length) => {
                words.push(&chunk[..length]);
                lines.push(&chunk[..length], |line| pass_on(line, listener.as_ref()));
            }
            Err(error) => {
                tracing::debug!(%error, "the server's error output cannot be read");
                break;
            }
        }
    }
    lines.finish(|line| pass_on(line, listener.as_ref()));
}

fn pass_on(line: &[u8], listener: Option<&StderrListener>) {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let line = String::from_utf8_lossy(line);
    let Some(listener) = listener else {
        tracing::debug!(%line, "standard error of the server");
        return;
    };
    // The output has to be read on, whatever the listener does.
    if catch_unwind(AssertUnwindSafe(|| listener(&line))).is_err() {
        tracing::error!("a listener for standard error panicked");
    }
}

/// Cuts the output into lines and lines that are too long into pieces.
#[derive(Debug, Default)]
struct StderrLines {
    begun: Vec<u8>,
}

impl StderrLines {
    fn push(&mut self, mut chunk: &[u8], mut tell: impl FnMut(&[u8])) {
        while !chunk.is_empty() {
            let room = LONGEST_LINE - self.begun.len();
            let end = chunk.iter().take(room + 1).position(|byte| *byte == b'\n');
            let part = end.unwrap_or(room.min(chunk.len()));
            self.begun.extend_from_slice(&chunk[..part]);
            chunk = &chunk[part + usize::from(end.is_some())..];
            if end.is_some() || self.begun.len() == LONGEST_LINE && !chunk.is_empty() {
                tell(&self.begun);
                self.begun.clear();
            }
        }
    }

    fn finish(self, mut tell: impl FnMut(&[u8])) {
        if !self.begun.is_empty() {
            tell(&self.begun);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn words(chunks: &[&[u8]]) -> String {
        let words = StderrTail::default();
        for chunk in chunks {
            words.push(chunk);
        }
        words.text()
    }

    #[test]
    fn exactly_the_last_four_kibibytes_are_kept() {
        assert_eq!(words(&[&[b'x'; TAIL_BYTES - 1]]).len(), TAIL_BYTES - 1);
        assert_eq!(words(&[&[b'x'; TAIL_BYTES], b"end"]).len(), TAIL_BYTES);
        assert!(words(&[&[b'x'; TAIL_BYTES], b"end"]).ends_with("xend"));
        assert_eq!(words(&[&[b'x'; 3 * TAIL_BYTES]]), "x".repeat(TAIL_BYTES));
        assert_eq!(words(&[b"a", b"", b"b"]), "ab");
    }

    #[test]
    fn the_last_words_are_text_whatever_the_server_wrote() {
        let euros = "€".repeat(TAIL_BYTES);
        assert_eq!(words(&[euros.as_bytes()]), "€".repeat(TAIL_BYTES / 3));
        assert_eq!(words(&[b"a\xFFb"]), "a\u{FFFD}b");
        assert!(words(&[&[0xFF; TAIL_BYTES]]).len() <= TAIL_BYTES);
        assert!(words(&[&[0x80; TAIL_BYTES]]).len() <= TAIL_BYTES);
    }

    #[test]
    fn the_last_line_that_says_something_is_quoted() {
        assert_eq!(last_line("one\ntwo\n\n  \n").as_deref(), Some("two"));
        assert_eq!(last_line("\u{7}a\tb\r\n").as_deref(), Some("ab"));
        assert_eq!(last_line(" \n"), None);
    }

    #[test]
    fn end_of_a_long_last_line_is_quoted() {
        let longest = "é".repeat(LONGEST_QUOTE);
        assert_eq!(last_line(&longest).as_deref(), Some(&*longest));
        let one_more = format!("a{longest}");
        assert_eq!(last_line(&one_more), Some(format!("…{longest}")));
        let cause = "error: the database is locked";
        let line =
            last_line(&format!("{}{cause}\n", "x".repeat(TAIL_BYTES))).expect("it has a line");
        assert!(line.ends_with(cause), "{line}");
    }

    async fn lines_of(output: &[u8]) -> Vec<String> {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let listener: StderrListener = Arc::new({
            let heard = Arc::clone(&heard);
            move |line: &str| heard.lock().expect("no panic").push(line.to_owned())
        });
        drain(output, &StderrTail::default(), Some(listener)).await;
        let heard = heard.lock().expect("no panic");
        heard.clone()
    }

    #[tokio::test]
    async fn the_listener_hears_lines() {
        assert_eq!(lines_of(b"a\r\n\nb").await, ["a", "", "b"]);
        assert!(lines_of(b"").await.is_empty());
    }

    #[tokio::test]
    async fn a_line_of_the_longest_length_comes_in_one_piece_and_a_longer_one_in_two() {
        let longest = "x".repeat(LONGEST_LINE);
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
    async fn a_listener_that_panics_does_not_stop_the_reading() {
        let words = StderrTail::default();
        let listener: StderrListener = Arc::new(|line| assert_eq!(line, "fine", "not fine"));
        drain(&b"bad\nworse\nfine"[..], &words, Some(listener)).await;
        assert_eq!(words.text(), "bad\nworse\nfine");
    }
}
