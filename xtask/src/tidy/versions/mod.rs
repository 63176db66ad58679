//! Permits comparisons of protocol versions in `toolwire-proto` only. Other crates use the methods of
//! `VersionFeatures`.
//!
//! Three things are found in shipped code: a revision by name, its date in a string, and a version as one side of a
//! comparison. A side is a version if its last name is `version`, ends in `_version`, belongs to `ProtocolVersion`, or
//! was declared with that type in the same file. Operators are found by the spaces that rustfmt puts around them.

use super::source::{Source, line_at, numbered};
use super::{File, Finding, code};

/// The paths in which versions may be named and compared: the rules, the type itself, the peers of the tests with the
/// revisions that they are expected to negotiate, and a server and a client without any SDK.
const PERMITTED_PATHS: [&str; 5] = [
    "crates/toolwire-proto/",
    "crates/toolwire-types/src/version.rs",
    "interop/peers/",
    "interop/src/mirror/",
    "interop/src/release/list.rs",
];

const TYPE: &str = "ProtocolVersion";

const OPERATORS: [&str; 6] = ["==", "!=", "<=", ">=", "<", ">"];

/// Methods that compare their receiver with their argument.
const COMPARING_METHODS: [&str; 10] = [
    "cmp",
    "partial_cmp",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "max",
    "min",
];

/// Methods that return the same version in another type.
const CONVERSIONS: [&str; 9] = [
    "as_ref",
    "as_str",
    "clone",
    "copied",
    "expect",
    "to_owned",
    "to_string",
    "unwrap",
    "unwrap_or",
];

pub(super) fn check(file: &File, source: &Source) -> Vec<Finding> {
    if code::is_test(&file.path)
        || PERMITTED_PATHS
            .iter()
            .any(|path| file.path.starts_with(path))
    {
        return Vec::new();
    }
    let mut findings: Vec<Finding> = numbered(&source.shipped_code)
        .zip(source.shipped_code_and_strings.lines())
        .filter(|((_, code), with_strings)| names_revision(code) || writes_date(with_strings))
        .map(|((line, _), _)| {
            file.finding(line, "protocol versions are named in toolwire-proto only")
        })
        .collect();
    let named: Vec<usize> = findings.iter().map(|finding| finding.line).collect();
    let compared = comparisons(&source.shipped_code)
        .into_iter()
        .map(|at| line_at(&source.shipped_code, at))
        .filter(|line| !named.contains(line))
        .map(|line| {
            file.finding(
                line,
                "protocol versions are compared in toolwire-proto only",
            )
        });
    findings.extend(compared);
    findings
}

/// Returns `true` if code contains `ProtocolVersion::V2025_11_25` or similar, however imported.
fn names_revision(code: &str) -> bool {
    words(code).any(|(_, word)| is_date(word.strip_prefix('V').unwrap_or_default(), b'_'))
}

/// Returns `true` if code contains a date. Without comments, it can only be in a string.
fn writes_date(code: &str) -> bool {
    let length = "yyyy-mm-dd".len();
    (0..code.len()).any(|at| {
        let part = code.get(at..at + length);
        part.is_some_and(|part| is_date(part, b'-'))
    })
}

/// Returns `true` if the text is a date of this century with `separator` between its parts.
fn is_date(text: &str, separator: u8) -> bool {
    text.len() == "yyyy-mm-dd".len()
        && text.starts_with("20")
        && text.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == separator,
            _ => byte.is_ascii_digit(),
        })
}

/// Returns the positions where a version is compared.
fn comparisons(code: &str) -> Vec<usize> {
    let declared = declared_versions(code);
    let is_version = |operand: &str| is_version(operand, &declared);
    let mut positions: Vec<usize> = operators(code)
        .filter(|(at, operator)| {
            is_version(operand_before(code, *at))
                || is_version(operand_after(&code[at + operator.len()..]))
        })
        .map(|(at, _)| at)
        .collect();
    for (at, name) in words(code) {
        let after = &code[at + name.len()..];
        if COMPARING_METHODS.contains(&name) && code[..at].ends_with('.') {
            let argument = after.strip_prefix('(').unwrap_or_default();
            if is_version(operand_before(code, at - 1)) || is_version(operand_after(argument)) {
                positions.push(at);
            }
        }
        if name == "matches"
            && after
                .strip_prefix("!(")
                .is_some_and(|arguments| is_version(operand_after(arguments)))
        {
            positions.push(at);
        }
        // A constant as a pattern: `ProtocolVersion::LATEST => …`.
        if name == TYPE && is_pattern(after) {
            positions.push(at);
        }
    }
    positions
}

/// Returns `true` for `::LATEST =>` or `::LATEST |`, after the name of the type.
fn is_pattern(after_type: &str) -> bool {
    let Some(constant) = after_type.strip_prefix("::") else {
        return false;
    };
    let rest = constant
        .trim_start_matches(is_name)
        .trim_start_matches([')', ' ', '\n']);
    rest.starts_with("=>") || rest.starts_with("| ")
}

/// Returns the names with a type that contains a version, such as `requested: &ProtocolVersion` or `agreed:
/// Option<ProtocolVersion>`, and those bound to one: `let revision = context.version();`.
fn declared_versions(code: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for (at, word) in words(code) {
        if word == TYPE {
            let before = code[..at].trim_end_matches('&');
            let before = before
                .trim_end_matches("Option<")
                .trim_end_matches(['&', ' ']);
            names.extend(before.strip_suffix(':').map(name_at_end));
        }
        if word == "let" {
            let binding = code[at + word.len()..].split(';').next().unwrap_or("");
            if let Some((pattern, value)) = binding.split_once(" = ")
                && is_version(operand_before(value, value.len()), &[])
            {
                names.push(name_at_end(pattern));
            }
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

/// Returns comparison operators with a space, or the end of a line, on both sides.
fn operators(code: &str) -> impl Iterator<Item = (usize, &'static str)> {
    let alone = |at: usize, operator: &str| {
        code[..at].ends_with([' ', '\n']) && code[at + operator.len()..].starts_with([' ', '\n'])
    };
    OPERATORS.into_iter().flat_map(move |operator| {
        code.match_indices(operator)
            .filter(move |(at, _)| alone(*at, operator))
            .map(move |(at, _)| (at, operator))
    })
}

/// Returns `true` if a path or chain of calls ends in a name of a version.
fn is_version(operand: &str, declared: &[&str]) -> bool {
    let outside = without_groups(operand);
    let mut names: Vec<&str> = words(&outside).map(|(_, word)| word).collect();
    while names.last().is_some_and(|name| CONVERSIONS.contains(name)) {
        names.pop();
    }
    if matches!(names.last(), None | Some(&"Some")) {
        let inside = operand.split_once('(').map(|(_, inside)| inside);
        return inside.is_some_and(|inside| is_version(operand_after(inside), declared));
    }
    let of_type = names.len() >= 2 && names[names.len() - 2] == TYPE;
    of_type
        || names.last().is_some_and(|last| {
            *last == "version" || last.ends_with("_version") || declared.contains(last)
        })
}

/// Returns the operand that ends where an operator starts.
fn operand_before(code: &str, end: usize) -> &str {
    let text = code[..end].trim_end();
    let mut depth = 0_usize;
    let mut start = text.len();
    for (at, character) in text.char_indices().rev() {
        match character {
            ')' | ']' => depth += 1,
            '(' | '[' if depth == 0 => break,
            '(' | '[' => depth -= 1,
            _ if depth > 0 || continues_operand(character) => {}
            // A chain of calls continues above a line that starts with a dot.
            _ if character.is_whitespace() && text[at..].trim_start().starts_with('.') => {}
            _ => break,
        }
        start = at;
    }
    &text[start..]
}

/// Returns the operand at the start of the text.
fn operand_after(code: &str) -> &str {
    let text = code.trim_start().trim_start_matches(['&', '*', '(']);
    let mut depth = 0_usize;
    for (at, character) in text.char_indices() {
        match character {
            '(' | '[' => depth += 1,
            ')' | ']' if depth == 0 => return &text[..at],
            ')' | ']' => depth -= 1,
            _ if depth > 0 || continues_operand(character) => {}
            _ if character.is_whitespace() && text[at..].trim_start().starts_with('.') => {}
            _ => return &text[..at],
        }
    }
    text
}

fn continues_operand(character: char) -> bool {
    is_name(character) || matches!(character, '.' | ':' | '?')
}

/// Returns the text without the contents of parentheses and brackets.
fn without_groups(text: &str) -> String {
    let mut depth = 0_usize;
    let mut outside = String::new();
    for character in text.chars() {
        match character {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            _ if depth == 0 => outside.push(character),
            _ => {}
        }
    }
    outside
}

fn name_at_end(text: &str) -> &str {
    let text = text.trim_end();
    &text[text.trim_end_matches(is_name).len()..]
}

fn is_name(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Returns every name, number and keyword with its position.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut end = 0;
    std::iter::from_fn(move || {
        let start = end + text[end..].find(is_name)?;
        let rest = &text[start..];
        end = start
            + rest
                .find(|character| !is_name(character))
                .unwrap_or(rest.len());
        Some((start, &text[start..end]))
    })
}

#[cfg(test)]
mod tests;
