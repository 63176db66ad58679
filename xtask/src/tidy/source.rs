//! Rust source in which parts are blanked that a rule must not read: comments, string contents, test modules.
//!
//! Blanking does not move lines. This is not a parser: it finds comments, literals and braces, which is enough for the
//! rules.

use std::ops::Range;

/// A source file in the variants that the rules need.
#[derive(Debug)]
pub(super) struct Source {
    /// Without comments and contents of string literals.
    pub(super) code: String,
    /// As `code`, and without `#[cfg(test)]` modules.
    pub(super) shipped_code: String,
    /// As `shipped_code`, but with string literals.
    pub(super) shipped_code_and_strings: String,
    /// Only comments and contents of string literals, without `#[cfg(test)]` modules.
    pub(super) shipped_prose: String,
}

impl Source {
    pub(super) fn new(text: &str) -> Self {
        let marked = mark(text);
        let code = blank(text, marked.iter().map(|(_, range)| range.clone()));
        let comments = marked
            .iter()
            .filter(|(kind, _)| *kind == Kind::Comment)
            .map(|(_, range)| range.clone());
        let tests = test_modules(&code);
        let mut code_ranges = Vec::new();
        let mut end_of_last = 0;
        for (_, range) in &marked {
            code_ranges.push(end_of_last..range.start);
            end_of_last = range.end;
        }
        code_ranges.push(end_of_last..text.len());
        Self {
            shipped_prose: blank(text, code_ranges.into_iter().chain(tests.iter().cloned())),
            shipped_code: blank(&code, tests.iter().cloned()),
            shipped_code_and_strings: blank(text, comments.chain(tests.iter().cloned())),
            code,
        }
    }
}

/// Returns the lines of `text` with their numbers from 1.
pub(super) fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line))
}

/// Returns the line number of the byte at `at`.
pub(super) fn line_at(text: &str, at: usize) -> usize {
    1 + text[..at].matches('\n').count()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Comment,
    /// The contents of a literal, without its quotes.
    Literal,
}

/// Returns the ranges of comments and literals, in order.
fn mark(text: &str) -> Vec<(Kind, Range<usize>)> {
    let bytes = text.as_bytes();
    let mut marked = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let word_before = at > 0 && is_word(bytes[at - 1]);
        if rest.starts_with(b"//") {
            let end = at + position(rest, |byte| byte == b'\n');
            marked.push((Kind::Comment, at..end));
            at = end;
        } else if rest.starts_with(b"/*") {
            let end = at + block_comment(rest);
            marked.push((Kind::Comment, at..end));
            at = end;
        } else if let Some((open, close)) = raw_string(rest).filter(|_| !word_before) {
            marked.push((Kind::Literal, at + open..at + close));
            at += close;
            // Skips the closing quote. Its hashes are skipped as ordinary characters.
            at += 1;
        } else if rest[0] == b'"' {
            let end = at + 1 + quoted(&rest[1..], b'"');
            marked.push((Kind::Literal, at + 1..end));
            at = end + 1;
        } else if rest[0] == b'\'' && is_character(rest) {
            let end = at + 1 + quoted(&rest[1..], b'\'');
            marked.push((Kind::Literal, at + 1..end));
            at = end + 1;
        } else {
            at += 1;
        }
    }
    marked
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn position(bytes: &[u8], found: impl Fn(u8) -> bool) -> usize {
    bytes
        .iter()
        .position(|byte| found(*byte))
        .unwrap_or(bytes.len())
}

/// Returns the length of a block comment, which may contain others.
fn block_comment(bytes: &[u8]) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if bytes[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    bytes.len()
}

/// Returns the start and end of the contents of `r"…"`, `r#"…"#`, `br"…"` or `cr"…"`, if `bytes` starts with one.
fn raw_string(bytes: &[u8]) -> Option<(usize, usize)> {
    let letters = match bytes {
        [b'r', ..] => 1,
        [b'b' | b'c', b'r', ..] => 2,
        _ => return None,
    };
    let hashes = position(&bytes[letters..], |byte| byte != b'#');
    let open = letters + hashes + 1;
    if bytes.get(open - 1) != Some(&b'"') {
        return None;
    }
    let mut close = open;
    loop {
        close += position(bytes.get(close..)?, |byte| byte == b'"');
        let after = bytes.get(close + 1..).unwrap_or_default();
        if close >= bytes.len() {
            return Some((open, bytes.len()));
        }
        if after.len() >= hashes && after[..hashes].iter().all(|byte| *byte == b'#') {
            return Some((open, close));
        }
        close += 1;
    }
}

/// Returns the length of the text before the closing quote.
fn quoted(bytes: &[u8], quote: u8) -> usize {
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            byte if byte == quote => return at,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Returns `true` if a `'` starts a character and not a lifetime: an escape, or one character and another quote.
fn is_character(bytes: &[u8]) -> bool {
    match std::str::from_utf8(&bytes[1..bytes.len().min(8)]) {
        Ok(text) => first_is_character(text),
        // The slice ends within a later character.
        Err(error) => {
            std::str::from_utf8(&bytes[1..1 + error.valid_up_to()]).is_ok_and(first_is_character)
        }
    }
}

fn first_is_character(text: &str) -> bool {
    let mut characters = text.chars();
    match characters.next() {
        Some('\\') => true,
        Some(_) => characters.next() == Some('\''),
        None => false,
    }
}

/// Returns the ranges of `#[cfg(test)] mod name { … }` in code without comments and literals.
fn test_modules(code: &str) -> Vec<Range<usize>> {
    const ATTRIBUTES: [&str; 2] = ["#[cfg(test)]", "#[cfg(all(test, unix))]"];
    let mut modules = Vec::new();
    let mut from = 0;
    while let Some((start, attribute)) = ATTRIBUTES
        .into_iter()
        .filter_map(|attribute| Some((from + code[from..].find(attribute)?, attribute)))
        .min()
    {
        let after = start + attribute.len();
        from = after;
        let item = code[after..].trim_start();
        let is_module = item.starts_with("mod ") || item.starts_with("pub mod ");
        let body = after
            + position(&code.as_bytes()[after..], |byte| {
                matches!(byte, b'{' | b';')
            });
        if is_module && code.as_bytes().get(body) == Some(&b'{') {
            from = body + block(&code.as_bytes()[body..]);
            modules.push(start..from);
        }
    }
    modules
}

/// Returns the length of a block in braces.
fn block(code: &[u8]) -> usize {
    let mut depth = 0_usize;
    for (at, byte) in code.iter().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            _ => continue,
        }
        if depth == 0 {
            return at + 1;
        }
    }
    code.len()
}

/// Replaces the ranges with spaces. Lines do not move.
fn blank(text: &str, ranges: impl Iterator<Item = Range<usize>>) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let end = bytes.len();
    for range in ranges {
        for byte in &mut bytes[range.start.min(end)..range.end.min(end)] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
    }
    String::from_utf8(bytes).expect("ranges start and end at character boundaries")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_blanked() {
        fn check(text: &str, expected: &str) {
            assert_eq!(Source::new(text).code, expected, "{text}");
        }
        check("a // b\nc", "a     \nc");
        check("a /* b /* c */ d */ e", "a                   e");
        check("f(\"a // b\") // c", "f(\"      \")     ");
        check(r#"f("\"x")"#, r#"f("   ")"#);
        check(r##"f(r#"a"b"#, 1)"##, r##"f(r#"   "#, 1)"##);
        check("f(br\"a\\\", 1)", "f(br\"  \", 1)");
        check("var\"a\"", "var\" \"");
        check("'a', '\\'', b'\"', '\u{fc}'", "' ', '  ', b' ', '  '");
        check("fn f<'a>(x: &'a str) {}", "fn f<'a>(x: &'a str) {}");
        check("\"open", "\"    ");
        check("r#\"open", "r#\"    ");
        check("r#type", "r#type");
        check("'", "'");
        check("\"\\", "\" ");
    }

    #[test]
    fn test_modules_are_not_shipped() {
        fn check(text: &str, expected: &str) {
            let source = Source::new(text);
            let shipped: Vec<&str> = source.shipped_code_and_strings.split_whitespace().collect();
            assert_eq!(shipped.join(" "), expected, "{text}");
        }
        check("a #[cfg(test)] mod tests { f(\"}\"); { } } b", "a b");
        check(
            "#[cfg(test)] mod tests; f(\"x\")",
            "#[cfg(test)] mod tests; f(\"x\")",
        );
        check("a #[cfg(all(test, unix))] mod tests { f() } b", "a b");
        check("#[cfg(test)] use a::{b}; c", "#[cfg(test)] use a::{b}; c");
        check("#[cfg(test)] mod tests { never closed", "");
        check("f(\"x\") // y", "f(\"x\")");
    }
}
