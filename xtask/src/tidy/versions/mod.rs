//! One revision is told from another in `toolwire-proto` only; everybody else asks it a question about the version.
//!
//! Three things are found in code that ships: a revision by name, its date in a string, and a version as one side of a
//! comparison. A side is a version when its last name is `version`, ends in `_version`, belongs to `ProtocolVersion`,
//! or was declared with that type in the same file. Operators are found by the spaces that rustfmt puts around them.

use super::source::{Source, line_at, numbered};
use super::{File, Finding, code};

/// Where the rules are, and where the names and their order are defined.
const HOMES: [&str; 2] = [
    "crates/toolwire-proto/",
    "crates/toolwire-types/src/version.rs",
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

/// Methods whose result is the same version in another dress.
const DRESSES: [&str; 9] = [
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
    if code::is_test(&file.path) || HOMES.iter().any(|home| file.path.starts_with(home)) {
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

/// `ProtocolVersion::V2025_11_25` and the like, however imported.
fn names_revision(code: &str) -> bool {
    words(code).any(|(_, word)| is_date(word.strip_prefix('V').unwrap_or_default(), b'_'))
}

/// A date, which can only stand in a string once comments are gone.
fn writes_date(code: &str) -> bool {
    let length = "yyyy-mm-dd".len();
    (0..code.len()).any(|at| {
        let part = code.get(at..at + length);
        part.is_some_and(|part| is_date(part, b'-'))
    })
}

/// Whether the text is a day of this century with `separator` between its parts.
fn is_date(text: &str, separator: u8) -> bool {
    text.len() == "yyyy-mm-dd".len()
        && text.starts_with("20")
        && text.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == separator,
            _ => byte.is_ascii_digit(),
        })
}

/// Where a version is compared.
fn comparisons(code: &str) -> Vec<usize> {
    let declared = declared_versions(code);
    let is_version = |operand: &str| is_version(operand, &declared);
    let mut found: Vec<usize> = operators(code)
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
                found.push(at);
            }
        }
        if name == "matches"
            && after
                .strip_prefix("!(")
                .is_some_and(|it| is_version(operand_after(it)))
        {
            found.push(at);
        }
        // A constant as a pattern: `ProtocolVersion::LATEST => …`.
        if name == TYPE && is_pattern(after) {
            found.push(at);
        }
    }
    found
}

/// `::LATEST =>` or `::LATEST |`, after the name of the type.
fn is_pattern(after_type: &str) -> bool {
    let Some(constant) = after_type.strip_prefix("::") else {
        return false;
    };
    let rest = constant
        .trim_start_matches(is_name)
        .trim_start_matches([')', ' ', '\n']);
    rest.starts_with("=>") || rest.starts_with("| ")
}

/// The names with a type that holds a version: `requested: &ProtocolVersion`, `agreed: Option<ProtocolVersion>`; and
/// those bound to one: `let revision = context.version();`.
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

/// Comparison operators with a space, or the end of a line, on both sides.
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

/// Whether a path or chain of calls ends in something that is called a version.
fn is_version(operand: &str, declared: &[&str]) -> bool {
    let outside = without_groups(operand);
    let mut names: Vec<&str> = words(&outside).map(|(_, word)| word).collect();
    while names.last().is_some_and(|name| DRESSES.contains(name)) {
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

/// The operand that ends where an operator begins.
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
            // A chain of calls goes on above a line that begins with a dot.
            _ if character.is_whitespace() && text[at..].trim_start().starts_with('.') => {}
            _ => break,
        }
        start = at;
    }
    &text[start..]
}

/// The operand at the beginning of the text.
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

/// The text without what stands in parentheses and brackets.
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

/// Every name, number and keyword, and where it begins.
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
