//! The difference of two texts, line by line.

use std::fmt::Write;

/// How many unchanged lines are shown around a change.
const CONTEXT: usize = 3;

/// Beyond this many lines on both sides of a change, the change is shown as one block.
const COMPARED_LINES: usize = 2000;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Line<'a> {
    Same(&'a str),
    Removed(&'a str),
    Added(&'a str),
}

/// What has to be removed (`-`) and added (`+`) to make `new` out of `old`; empty when they are the same.
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

/// Texts that end in a line break have no empty last line.
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
    if old_middle.len().max(new_middle.len()) > COMPARED_LINES {
        lines.extend(old_middle.iter().copied().map(Line::Removed));
        lines.extend(new_middle.iter().copied().map(Line::Added));
    } else {
        lines.extend(changes(old_middle, new_middle));
    }
    lines.extend(old[old.len() - tail..].iter().copied().map(Line::Same));
    lines
}

/// The longest common subsequence decides what stays.
fn changes<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<Line<'a>> {
    let width = new.len() + 1;
    let mut common = vec![0_u32; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i * width + j] = match old[i] == new[j] {
                true => common[(i + 1) * width + j + 1] + 1,
                false => common[(i + 1) * width + j].max(common[i * width + j + 1]),
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
    fn the_difference_is_shown_with_its_surroundings() {
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
    fn what_lies_far_between_two_changes_is_left_out() {
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
    fn long_changes_are_one_block() {
        let side = |name: &str, lines: usize| -> String {
            (0..lines)
                .map(|line| format!("{name}{line}\nsame\n"))
                .collect()
        };
        // The last line is the same on both sides, so each side differs by one line less.
        let at_the_edge = diff(
            &side("a", COMPARED_LINES / 2),
            &side("b", COMPARED_LINES / 2),
        );
        assert!(at_the_edge.contains("- a0\n+ b0\n  same\n"));
        let beyond = COMPARED_LINES / 2 + 1;
        let block = diff(&side("a", beyond), &side("b", beyond));
        assert!(block.starts_with("- a0\n- same\n- a1\n"), "{block}");
    }
}
