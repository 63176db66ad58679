//! Finds the headings, links and code blocks of a Markdown file, as far as this repository uses Markdown.

use std::collections::BTreeMap;
use std::ops::Range;

/// The parts of a Markdown file.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) headings: Vec<Heading>,
    pub(crate) links: Vec<Link>,
    pub(crate) definitions: Vec<Definition>,
    pub(crate) blocks: Vec<Block>,
}

/// A heading outside of code blocks.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Heading {
    pub(crate) line: usize,
    /// The id that code hosts give the heading.
    pub(crate) anchor: String,
}

/// A link or an image.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) line: usize,
    /// The whole link in the text of the file.
    pub(crate) range: Range<usize>,
    pub(crate) text: String,
    pub(crate) target: Target,
}

/// What a link refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// `[text](address)`
    Inline(String),
    /// `[text][label]`, `[label][]` or `[label]`
    Label(String),
}

/// A line `[label]: address`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Definition {
    pub(crate) line: usize,
    pub(crate) label: String,
    pub(crate) address: String,
}

/// A fenced code block.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) line: usize,
    /// The text after the opening fence.
    pub(crate) language: String,
    /// The comment in the line before the block, without its marks.
    pub(crate) comment: Option<String>,
    pub(crate) code: String,
}

impl Document {
    /// Parses a file.
    pub(crate) fn parse(text: &str) -> Self {
        let mut document = Self {
            headings: Vec::new(),
            links: Vec::new(),
            definitions: Vec::new(),
            blocks: Vec::new(),
        };
        let prose = document.read_lines(text);
        document.read_links(text, &prose);
        document
    }

    /// Returns the address of a link, or `None` if its label is not defined.
    pub(super) fn address<'a>(&'a self, target: &'a Target) -> Option<&'a str> {
        match target {
            Target::Inline(address) => Some(address),
            Target::Label(label) => self
                .definitions
                .iter()
                .find(|definition| same_label(&definition.label, label))
                .map(|definition| definition.address.as_str()),
        }
    }

    /// Reads headings, definitions and code blocks. Returns the text of equal length in which everything else than prose
    /// is blank.
    fn read_lines(&mut self, text: &str) -> Vec<u8> {
        let mut prose = Vec::with_capacity(text.len());
        let mut anchors = BTreeMap::new();
        let mut open: Option<(String, Block)> = None;
        let mut previous = "";
        for (index, full_line) in text.split_inclusive('\n').enumerate() {
            let line = full_line.trim_end_matches(['\r', '\n']);
            let trimmed = line.trim_start();
            let mut is_prose = false;
            if let Some((fence, mut block)) = open.take() {
                if trimmed.trim_end() == fence {
                    self.blocks.push(block);
                } else {
                    block.code.push_str(line);
                    block.code.push('\n');
                    open = Some((fence, block));
                }
            } else if let Some(fence) = opening_fence(trimmed) {
                let block = Block {
                    line: index + 1,
                    language: trimmed[fence.len()..].trim().to_owned(),
                    comment: comment(previous),
                    code: String::new(),
                };
                open = Some((fence.to_owned(), block));
            } else if let Some(definition) = definition(line, index + 1) {
                self.definitions.push(definition);
            } else {
                is_prose = !trimmed.starts_with("<!--");
                if let Some(title) = heading(line) {
                    let anchor = unique(anchor(title), &mut anchors);
                    self.headings.push(Heading {
                        line: index + 1,
                        anchor,
                    });
                }
            }
            previous = line;
            if is_prose {
                prose.extend_from_slice(full_line.as_bytes());
            } else {
                let blank = |byte: u8| if byte == b'\n' { b'\n' } else { b' ' };
                prose.extend(full_line.bytes().map(blank));
            }
        }
        prose
    }

    fn read_links(&mut self, text: &str, prose: &[u8]) {
        let mut structure = without_code_spans(prose);
        for at in 0..structure.len() {
            if structure[at] == b'['
                && let Some(link) = self.link_at(text, &structure, at)
            {
                // The text of a link can contain an image. Its target contains no link.
                let target = at + 1 + link.text.len()..link.range.end;
                structure[target].fill(b'.');
                self.links.push(link);
            }
        }
    }

    fn link_at(&self, text: &str, structure: &[u8], start: usize) -> Option<Link> {
        let end = closing(structure, start, b'[', b']')?;
        let inner = &text[start + 1..end];
        let (target, end) = match structure.get(end + 1) {
            Some(b'(') => {
                let close = closing(structure, end + 1, b'(', b')')?;
                let address = text[end + 2..close].trim();
                let address = address.split_whitespace().next().unwrap_or_default();
                (Target::Inline(address.to_owned()), close + 1)
            }
            Some(b'[') => {
                let close = closing(structure, end + 1, b'[', b']')?;
                let label = &text[end + 2..close];
                let label = if label.is_empty() { inner } else { label };
                (Target::Label(label.to_owned()), close + 1)
            }
            _ => {
                let target = Target::Label(inner.to_owned());
                self.address(&target)?;
                (target, end + 1)
            }
        };
        Some(Link {
            line: text[..start].matches('\n').count() + 1,
            range: start..end,
            text: inner.to_owned(),
            target,
        })
    }
}

/// Returns the id that code hosts give a heading: lower case, hyphens for spaces, no punctuation.
pub(super) fn anchor(title: &str) -> String {
    let kept = |c: char| match c {
        ' ' | '-' => Some('-'),
        '_' => Some('_'),
        c if c.is_alphanumeric() => Some(c),
        _ => None,
    };
    title.to_lowercase().chars().filter_map(kept).collect()
}

/// Returns the title of a heading line.
pub(super) fn heading(line: &str) -> Option<&str> {
    let title = line.trim_start_matches('#');
    let level = line.len() - title.len();
    ((1..=6).contains(&level) && title.starts_with(' ')).then(|| title.trim())
}

/// Returns the marks of an opening fence.
pub(super) fn opening_fence(trimmed: &str) -> Option<&str> {
    let length = trimmed.len() - trimmed.trim_start_matches('`').len();
    (length >= 3 && !trimmed[length..].contains('`')).then(|| &trimmed[..length])
}

/// Compares labels as Markdown does: without regard to case and white space.
fn same_label(one: &str, other: &str) -> bool {
    let words = |label: &str| -> Vec<String> {
        let lower = label.to_lowercase();
        lower.split_whitespace().map(str::to_owned).collect()
    };
    words(one) == words(other)
}

fn comment(line: &str) -> Option<String> {
    let inner = line.trim().strip_prefix("<!--")?.strip_suffix("-->")?;
    Some(inner.trim().to_owned())
}

fn definition(line: &str, number: usize) -> Option<Definition> {
    let (label, address) = line.strip_prefix('[')?.split_once("]: ")?;
    Some(Definition {
        line: number,
        label: label.to_owned(),
        address: address.trim().to_owned(),
    })
}

/// Adds a number to the second and later headings with one anchor.
fn unique(anchor: String, counts: &mut BTreeMap<String, usize>) -> String {
    let count = counts.entry(anchor.clone()).or_default();
    *count += 1;
    match *count {
        1 => anchor,
        number => format!("{anchor}-{}", number - 1),
    }
}

/// Returns the position of the bracket that closes the one at `start`. A paragraph ends at an empty line.
fn closing(structure: &[u8], start: usize, open: u8, close: u8) -> Option<usize> {
    let mut depth = 0;
    for (at, byte) in structure.iter().enumerate().skip(start) {
        if *byte == open {
            depth += 1;
        } else if *byte == close {
            depth -= 1;
            if depth == 0 {
                return Some(at);
            }
        } else if *byte == b'\n' && structure.get(at + 1) == Some(&b'\n') {
            return None;
        }
    }
    None
}

/// Replaces the characters in code spans, which can be brackets.
fn without_code_spans(prose: &[u8]) -> Vec<u8> {
    let mut structure = prose.to_vec();
    let mut at = 0;
    while at < prose.len() {
        if prose[at] != b'`' {
            at += 1;
            continue;
        }
        let length = ticks(prose, at);
        let mut end = at + length;
        let close = loop {
            match prose.get(end) {
                None => break None,
                Some(b'\n') if prose.get(end + 1) == Some(&b'\n') => break None,
                Some(b'`') if ticks(prose, end) == length => break Some(end),
                Some(b'`') => end += ticks(prose, end),
                Some(_) => end += 1,
            }
        };
        match close {
            Some(close) => {
                structure[at..close].fill(b'.');
                at = close + length;
            }
            None => at += length,
        }
    }
    structure
}

fn ticks(text: &[u8], at: usize) -> usize {
    text[at..].iter().take_while(|byte| **byte == b'`').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(text: &str) -> Vec<(String, Option<String>)> {
        let document = Document::parse(text);
        let target = |link: &Link| {
            let address = document.address(&link.target).map(str::to_owned);
            (link.text.clone(), address)
        };
        document.links.iter().map(target).collect()
    }

    fn check(text: &str, expected: &[(&str, Option<&str>)]) {
        let expected: Vec<_> = expected
            .iter()
            .map(|(text, address)| ((*text).to_owned(), address.map(str::to_owned)))
            .collect();
        assert_eq!(targets(text), expected, "{text}");
    }

    #[test]
    fn links_are_found() {
        check(
            "see [a](b.md) and [`c`][D]\n\n[d]: e.md\n",
            &[("a", Some("b.md")), ("`c`", Some("e.md"))],
        );
        check(
            "a [link\nover lines](b.md#c)",
            &[("link\nover lines", Some("b.md#c"))],
        );
        check(
            "[defined] and [not defined]\n\n[defined]: a",
            &[("defined", Some("a"))],
        );
        check("[text][missing]", &[("text", None)]);
        check("![picture](a.png)", &[("picture", Some("a.png"))]);
    }

    #[test]
    fn code_has_no_links() {
        check("`a[b](c)` and ``[`d`](e)``", &[]);
        check("```text\n[a](b)\n```\n<!-- [c](d) -->\n", &[]);
        check("[`a[0]`](b)", &[("`a[0]`", Some("b"))]);
    }

    #[test]
    fn headings_have_the_anchors_of_code_hosts() {
        let document =
            Document::parse("# `toolwire call`: a, b\n## Same\n## Same\n```\n# code\n```\n");
        let anchors: Vec<&str> = document
            .headings
            .iter()
            .map(|heading| heading.anchor.as_str())
            .collect();
        assert_eq!(anchors, ["toolwire-call-a-b", "same", "same-1"]);
    }

    #[test]
    fn blocks_have_language_comment_and_code() {
        let document = Document::parse("<!-- not run: why -->\n```sh\na\n\nb\n```\n");
        let expected = Block {
            line: 2,
            language: "sh".to_owned(),
            comment: Some("not run: why".to_owned()),
            code: "a\n\nb\n".to_owned(),
        };
        assert_eq!(document.blocks, [expected]);
    }
}
