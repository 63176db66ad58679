//! Computes the line-by-line difference of two texts.

use std::fmt::Write;

/// The number of unchanged lines that are shown around a change.
const CONTEXT: usize = 3;

/// The largest number of changed lines that are compared. A longer change is shown as one block.
const MAX_COMPARED_LINES: usize = 2000;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Line<'a> {
    Same(&'a str),
    Removed(&'a str),
    Added(&'a str),
}

/// Returns the lines to remove (`-`) and to add (`+`) to turn `old` into `new`. Empty if the texts are equal.
pub(super) fn diff(old: &str, new: &str) -> String {
    let lines = compare(&lines_of(old), &lines_of(new));
    let changed: Vec<usize> = (0..lines.len())
        .filter(|at| !matches!(lines[*at], Line::Same(_)))
        .collect();
    let mut shown = String::new();
    let mut last = None;
    for (at, line) in lines.iter().enumerate() {
        let next = changed.partition_point(|change| change + CONTEXT < at);
        if changed
            .get(next)
            .is_none_or(|change| *change > at + CONTEXT)
        {
            continue;
        }
        if last.is_some_and(|last: usize| last + 1 < at) {
            shown.push_str("  …\n");
        }
        last = Some(at);
        let (sign, text) = match line {
            Line::Same(text) => (' ', text),
            Line::Removed(text) => ('-', text),
            Line::Added(text) => ('+', text),
        };
        writeln!(shown, "{sign} {text}").expect("writing to a string cannot fail");
    }
    shown
}

/// Splits a text into lines. A text that ends with a line break has no empty last line.
fn lines_of(text: &str) -> Vec<&str> {
    text.lines().collect()
}

fn compare<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<Line<'a>> {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) = (&old[head..], &new[head..]);
    let pairs = old_rest.iter().rev().zip(new_rest.iter().rev());
    let tail = pairs.take_while(|(a, b)| a == b).count();
    let old_middle = &old_rest[..old_rest.len() - tail];
    let new_middle = &new_rest[..new_rest.len() - tail];

    let mut lines: Vec<Line<'a>> = old[..head].iter().copied().map(Line::Same).collect();
    if old_middle.len().max(new_middle.len()) > MAX_COMPARED_LINES {
        lines.extend(old_middle.iter().copied().map(Line::Removed));
        lines.extend(new_middle.iter().copied().map(Line::Added));
    } else {
        lines.extend(changes(old_middle, new_middle));
    }
    lines.extend(old[old.len() - tail..].iter().copied().map(Line::Same));
    lines
}

/// Compares two texts by their longest common subsequence.
fn changes<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<Line<'a>> {
    let width = new.len() + 1;
    let mut common = vec![0_u32; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i * width + j] = if old[i] == new[j] {
                common[(i + 1) * width + j + 1] + 1
            } else {
                common[(i + 1) * width + j].max(common[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut lines = Vec::new();
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            lines.push(Line::Same(old[i]));
            i += 1;
            j += 1;
        } else if i < old.len()
            && (j == new.len() || common[(i + 1) * width + j] >= common[i * width + j + 1])
        {
            lines.push(Line::Removed(old[i]));
            i += 1;
        } else {
            lines.push(Line::Added(new[j]));
            j += 1;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(old: &str, new: &str, expected: &str) {
        assert_eq!(diff(old, new), expected, "{old:?} -> {new:?}");
    }

    #[test]
    fn difference_is_shown_with_context() {
        check("a\nb\nc\n", "a\nb\nc\n", "");
        check("a\nb\nc\n", "a\nx\nc\n", "  a\n- b\n+ x\n  c\n");
        check("", "a\n", "+ a\n");
        check("a\n", "", "- a\n");
        check("a\nb\n", "b\nc\n", "- a\n  b\n+ c\n");
        check(
            "1\n2\n3\n4\n5\n6\n7\n8\n9\n",
            "1\n2\n3\n4\nx\n6\n7\n8\n9\n",
            "  2\n  3\n  4\n- 5\n+ x\n  6\n  7\n  8\n",
        );
    }

    #[test]
    fn unchanged_lines_between_distant_changes_are_omitted() {
        let old: Vec<String> = (0..20).map(|line| line.to_string()).collect();
        let mut new = old.clone();
        new[0] = "x".to_owned();
        new[19] = "y".to_owned();
        let shown = diff(&old.join("\n"), &new.join("\n"));
        assert_eq!(
            shown,
            "- 0\n+ x\n  1\n  2\n  3\n  …\n  16\n  17\n  18\n- 19\n+ y\n"
        );
    }

    #[test]
    fn long_changes_are_shown_as_one_block() {
        let side = |name: &str, lines: usize| -> String {
            (0..lines)
                .map(|line| format!("{name}{line}\nsame\n"))
                .collect()
        };
        // The last line is equal on both sides, so each side differs by one line less.
        let at_the_limit = diff(
            &side("a", MAX_COMPARED_LINES / 2),
            &side("b", MAX_COMPARED_LINES / 2),
        );
        assert!(at_the_limit.contains("- a0\n+ b0\n  same\n"));
        let beyond = MAX_COMPARED_LINES / 2 + 1;
        let block = diff(&side("a", beyond), &side("b", beyond));
        assert!(block.starts_with("- a0\n- same\n- a1\n"), "{block}");
    }
}
