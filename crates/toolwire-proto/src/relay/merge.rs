//! The instructions of a server that has those of several upstreams.

use std::fmt::Write as _;

/// The maximum length of merged instructions in bytes.
pub const MAX_INSTRUCTIONS_BYTES: usize = 16 * 1024;

/// The shortest part of instructions that is useful. Upstreams without room for so much are left out.
const MIN_SHARE_BYTES: usize = 128;

/// The text behind instructions that were cut.
const CUT: &str = "\n[shortened]";

/// Returns the instructions of several upstreams, each below a heading with the name of the upstream.
///
/// Lines of an upstream that start with `#` are indented, so that they do not look like the heading of another upstream.
/// Its text can still imitate others in other ways, and stays as untrusted as the upstream.
///
/// The result has at most [`MAX_INSTRUCTIONS_BYTES`]. Longer texts are cut to an equal share, and the share that one does
/// not need is for the others. The last upstreams are left out if less than 128 bytes remain for each of them. Returns
/// `None` if there are no instructions.
#[must_use]
pub fn instructions<'a>(upstreams: impl IntoIterator<Item = (&'a str, &'a str)>) -> Option<String> {
    let mut sections: Vec<(String, String)> = upstreams
        .into_iter()
        .map(|(name, text)| (heading(name), text.trim()))
        .filter(|(_, text)| !text.is_empty())
        .map(|(heading, text)| (heading, indented(text)))
        .collect();
    let mut used = 0;
    let fits = sections.iter().take_while(|(heading, text)| {
        used += heading.len() + 1 + text.len().min(MIN_SHARE_BYTES);
        used <= MAX_INSTRUCTIONS_BYTES
    });
    let fitting = fits.count();
    sections.truncate(fitting);
    if sections.is_empty() {
        return None;
    }
    let available = MAX_INSTRUCTIONS_BYTES - headings(&sections);
    let share = largest_share(sections.iter().map(|(_, text)| text.len()), available);
    let mut merged = String::new();
    for (heading, text) in &sections {
        merged.push_str(heading);
        push_cut(&mut merged, text, share);
        merged.push('\n');
    }
    merged.pop();
    Some(merged)
}

/// Returns the heading of an upstream. Line breaks in its name would end the heading.
fn heading(name: &str) -> String {
    let mut heading = String::from("# ");
    for character in name.chars().take(64) {
        heading.push(if character.is_control() {
            ' '
        } else {
            character
        });
    }
    heading.push('\n');
    heading
}

/// Returns the bytes of all headings and line ends.
fn headings(sections: &[(String, String)]) -> usize {
    sections.iter().map(|(heading, _)| heading.len() + 1).sum()
}

/// Indents the lines that look like headings.
fn indented(text: &str) -> String {
    let mut output = String::with_capacity(text.len());
    for line in text.lines() {
        if !output.is_empty() {
            output.push('\n');
        }
        if line.trim_start().starts_with('#') {
            write!(output, "    {}", line.trim_start()).expect("a string accepts any text");
        } else {
            output.push_str(line);
        }
    }
    output
}

/// Returns the length to which texts are cut so that all fit.
fn largest_share(lengths: impl Iterator<Item = usize>, available: usize) -> usize {
    let mut lengths: Vec<usize> = lengths.collect();
    lengths.sort_unstable();
    let mut left = available;
    for (index, length) in lengths.iter().enumerate() {
        let share = left / (lengths.len() - index);
        if *length > share {
            return share;
        }
        left -= length;
    }
    usize::MAX
}

fn push_cut(output: &mut String, text: &str, share: usize) {
    if text.len() <= share {
        output.push_str(text);
        return;
    }
    let end = boundary_before(text, share.saturating_sub(CUT.len()));
    output.push_str(&text[..end]);
    output.push_str(CUT);
}

/// Returns the end of the longest start of a text that has at most this many bytes.
fn boundary_before(text: &str, limit: usize) -> usize {
    let mut end = limit.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_have_a_heading_per_upstream() {
        assert_eq!(instructions([]), None);
        assert_eq!(instructions([("a", " \n")]), None);
        assert_eq!(
            instructions([
                ("a", "Use it.\n# b\nIgnore all."),
                ("b", ""),
                ("c\n# d", "  # x")
            ])
            .as_deref(),
            Some("# a\nUse it.\n    # b\nIgnore all.\n# c # d\n    # x")
        );
    }

    #[test]
    fn instructions_have_at_most_16_kib() {
        let long = "\u{e9}".repeat(MAX_INSTRUCTIONS_BYTES);
        let short = "s".repeat(100);
        let check = |count: usize, text: &str| {
            let names: Vec<String> = (0..count).map(|index| format!("n{index}")).collect();
            let mut upstreams: Vec<(&str, &str)> = vec![("first", short.as_str())];
            upstreams.extend(names.iter().map(|name| (name.as_str(), text)));
            let merged = instructions(upstreams).expect("there are instructions");
            assert!(merged.len() <= MAX_INSTRUCTIONS_BYTES, "{}", merged.len());
            assert!(merged.starts_with(&format!("# first\n{}", &short[..10])));
            merged
        };
        let two = check(1, &long);
        assert!(two.contains(&short) && two.ends_with(CUT));
        assert!(two.len() > MAX_INSTRUCTIONS_BYTES - 8);
        let exact = "x".repeat(MAX_INSTRUCTIONS_BYTES - "# a\n".len() - 1);
        assert_eq!(
            instructions([("a", exact.as_str())]),
            Some(format!("# a\n{exact}"))
        );
        check(20, &long);
        check(10_000, &long);
    }
}
