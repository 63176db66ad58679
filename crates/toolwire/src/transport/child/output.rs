//! The last output of a server process, and the line of it that an error quotes.

use std::collections::VecDeque;
use std::sync::Mutex;

use crate::sync::lock;

/// The size of the stored end of an output, which an error can show.
pub(super) const TAIL_BYTES: usize = 4 * 1024;

/// The longest quotation of a line in an error, in characters.
const MAX_QUOTE_CHARS: usize = 300;

/// The beginnings of lines that say nothing about a failure: the version and the stack frames of a runtime, advice.
const UNINFORMATIVE: [&str; 8] = [
    "Node.js v",
    "File \"",
    "Traceback (most recent call last)",
    "During handling of the above exception",
    "For further information visit ",
    "note: run with `RUST_BACKTRACE",
    "npm error A complete log of this run",
    "npm notice", // tidy: allow(notice) output of npm
];

/// The last part of one output of a server.
#[derive(Debug, Default)]
pub(super) struct OutputTail(Mutex<VecDeque<u8>>);

impl OutputTail {
    pub(super) fn push(&self, chunk: &[u8]) {
        let chunk = &chunk[chunk.len().saturating_sub(TAIL_BYTES)..];
        let mut tail = lock(&self.0);
        let excess = (tail.len() + chunk.len()).saturating_sub(TAIL_BYTES);
        tail.drain(..excess);
        tail.extend(chunk);
    }

    /// Adds a line and its end.
    pub(super) fn push_line(&self, line: &[u8]) {
        self.push(line);
        self.push(b"\n");
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

/// Returns the end of a sentence that quotes the output of a server: a line of its stderr, or else of the text that it
/// printed to stdout instead of messages.
pub(super) fn quote(stderr: &str, stdout: &str) -> Option<String> {
    if let Some(line) = last_error(stderr) {
        return Some(format!("its stderr: {line}"));
    }
    if let Some(line) = last_line(stderr) {
        return Some(format!("last line of stderr: {line}"));
    }
    let line = last_error(stdout).or_else(|| last_line(stdout))?;
    Some(format!(
        "it printed text that is not a message to stdout: {line}"
    ))
}

/// Returns the last line that starts with the name of an error, unless it is the last line anyway.
fn last_error(text: &str) -> Option<String> {
    let mut lines = informative_lines(text).rev();
    let last = lines.next()?;
    if names_error(last) {
        return None;
    }
    lines.find(|line| names_error(line)).map(shortened)
}

/// Returns the last line with information, for use in a sentence.
fn last_line(text: &str) -> Option<String> {
    informative_lines(text).next_back().map(shortened)
}

/// Returns the lines with information, without the frames that Python draws around the traces of several errors.
fn informative_lines(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    let lines = text.lines().map(|line| {
        let is_frame = |letter: char| letter.is_whitespace() || letter == '|';
        line.trim_start_matches(is_frame).trim_end()
    });
    lines.filter(|line| is_informative(line))
}

/// Returns `false` for lines without words, such as `+-----` and `}`, and for known lines that say nothing.
fn is_informative(line: &str) -> bool {
    let letters = line.chars().filter(|letter| letter.is_alphabetic());
    letters.take(2).count() == 2
        && !UNINFORMATIVE.iter().any(|start| line.starts_with(start))
        && !is_stack_frame(line)
}

/// Returns `true` for a line such as `at main (server.js:3:1)` or `at server.js:3:1`.
fn is_stack_frame(line: &str) -> bool {
    line.starts_with("at ") && line.ends_with(|end: char| end == ')' || end.is_ascii_digit())
}

/// Returns `true` for a line such as `TypeError [CODE]: message`, `some.module.SomeException: message` or
/// `error: message`.
fn names_error(line: &str) -> bool {
    let Some((head, _)) = line.split_once(": ") else {
        return false;
    };
    let name = head.split(' ').next().unwrap_or_default();
    let name = name.to_ascii_lowercase();
    ["error", "exception", "fatal"]
        .iter()
        .any(|end| name.ends_with(end))
}

/// Removes control characters. A long line is shortened to its end, after an ellipsis: the end names the cause, and the
/// beginning is often a path or a time.
fn shortened(line: &str) -> String {
    let plain: String = line.chars().filter(|letter| !letter.is_control()).collect();
    let start = plain.char_indices().rev().nth(MAX_QUOTE_CHARS - 1);
    match start {
        Some((start, _)) if start > 0 => format!("…{}", &plain[start..]),
        _ => plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tail_of(chunks: &[&[u8]]) -> String {
        let tail = OutputTail::default();
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
    fn last_line_with_information_is_quoted() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(last_line(text).as_deref(), expected, "{text:?}");
        };
        check("one\ntwo\n\n  \n", Some("two"));
        check("\u{7}a\tb\r\n", Some("ab"));
        check(" \n", None);
        check("+--------\n}\n^^^^\n", None);
        check(
            "at least one file is needed\n    at main (a.js:1:2)\n    at a.js:3:1\n",
            Some("at least one file is needed"),
        );
        check("cannot listen\n\nNode.js v22.12.0\n", Some("cannot listen"));
        check(
            "  | the cause\n  +---------------- 1 ----------------\n",
            Some("the cause"),
        );
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

    #[test]
    fn line_that_names_an_error_is_preferred() {
        let node = "node:internal/modules/cjs/loader:1404\n  throw err;\n  ^\n\n\
            Error: Cannot find module '/server.js'\n    at Module._resolve (node:internal:1)\n  \
            code: 'MODULE_NOT_FOUND',\n  requireStack: []\n}\n\nNode.js v22.12.0\n";
        assert_eq!(
            quote(node, "").as_deref(),
            Some("its stderr: Error: Cannot find module '/server.js'")
        );
        let python = "  + Exception Group Traceback (most recent call last):\n  |   File \"a.py\", line 1\n  \
            | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)\n  \
            +-+---------------- 1 ----------------\n    | Traceback (most recent call last):\n    \
            | pydantic_core._pydantic_core.ValidationError: 24 validation errors for ClientRequest\n    \
            | PingRequest.method\n    |     For further information visit https://errors.pydantic.dev/\n    \
            +------------------------------------\n";
        assert_eq!(
            quote(python, "").as_deref(),
            Some(
                "its stderr: pydantic_core._pydantic_core.ValidationError: 24 validation errors for ClientRequest"
            )
        );
    }

    #[test]
    fn text_on_stdout_is_quoted_if_stderr_has_none() {
        let check = |stderr: &str, stdout: &str, expected: Option<&str>| {
            assert_eq!(quote(stderr, stdout).as_deref(), expected);
        };
        check(
            "no database\n",
            "hello\n",
            Some("last line of stderr: no database"),
        );
        check(
            "+---\n",
            "usage: tool FILE\nhello\n",
            Some("it printed text that is not a message to stdout: hello"),
        );
        check("", "", None);
    }
}
