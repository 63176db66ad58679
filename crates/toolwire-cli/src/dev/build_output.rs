//! The output of a build as plain text of bounded size.

use crate::show::plain_text;

/// The maximum number of lines that are stored.
const MAX_LINES: usize = 5000;

/// The maximum number of bytes that are stored.
const MAX_BYTES: usize = 256 * 1024;

/// The beginning of the output of a build. The first error of a compiler is often the reason of the others.
#[derive(Debug, Default)]
pub(super) struct BuildOutput {
    text: String,
    lines: usize,
    left_out: usize,
}

impl BuildOutput {
    /// Adds a line of plain text.
    pub(super) fn push(&mut self, line: &str) {
        let is_full = self.lines >= MAX_LINES || self.text.len() + line.len() >= MAX_BYTES;
        if is_full || self.left_out > 0 {
            self.left_out += 1;
            return;
        }
        self.text.push_str(line);
        self.text.push('\n');
        self.lines += 1;
    }

    /// Returns the text. Its last line states how many lines are left out.
    pub(super) fn finish(mut self) -> String {
        if self.left_out > 0 {
            let left_out = format!("… {} more lines are in the terminal\n", self.left_out);
            self.text.push_str(&left_out);
        }
        self.text
    }
}

/// Returns a line without colours, and with all other control characters replaced.
pub(super) fn plain_line(line: &str) -> String {
    plain_text(&without_colours(line)).into_owned()
}

/// Removes the escape sequences that set colours: `ESC [`, numbers, and `m`.
fn without_colours(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(start) = rest.find("\u{1b}[") {
        plain.push_str(&rest[..start]);
        let sequence = &rest[start + 2..];
        let end = sequence.find(|c: char| !c.is_ascii_digit() && c != ';' && c != ':');
        rest = match end {
            Some(end) if sequence[end..].starts_with('m') => &sequence[end + 1..],
            _ => {
                plain.push_str("\u{1b}[");
                sequence
            }
        };
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_removed_and_other_sequences_are_replaced() {
        let check = |line: &str, expected: &str| assert_eq!(plain_line(line), expected);
        check("error: no", "error: no");
        check("\u{1b}[1m\u{1b}[38;5;9merror\u{1b}[0m: no", "error: no");
        check("\u{1b}[2Jcleared", "\u{fffd}[2Jcleared");
        check("\u{1b}]0;title\u{7}", "\u{fffd}]0;title\u{fffd}");
        check("\u{1b}[", "\u{fffd}[");
    }

    #[test]
    fn lines_are_limited_in_number_and_bytes() {
        let mut output = BuildOutput::default();
        for _ in 0..MAX_LINES {
            output.push("x");
        }
        assert_eq!(output.left_out, 0);
        output.push("x");
        assert!(
            output
                .finish()
                .ends_with("… 1 more lines are in the terminal\n")
        );

        let mut output = BuildOutput::default();
        output.push(&"x".repeat(MAX_BYTES - 1));
        assert_eq!(output.left_out, 0);
        output.push("x");
        assert_eq!(output.left_out, 1);
        let mut output = BuildOutput::default();
        output.push(&"x".repeat(MAX_BYTES));
        assert_eq!(output.left_out, 1);
    }
}
