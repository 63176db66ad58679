//! Finds words that the glossary replaces.
//!
//! A line may contain `tidy: allow(word)` with a reason.

use super::super::source::{Source, numbered};
use super::super::{File, Finding};

/// Words, or pairs of words, that are not permitted in comments and texts.
const PROSE: [&str; 31] = [
    "nobody",
    "somebody",
    "anybody",
    "everybody",
    "whoever",
    "whom",
    "is none",
    "are none",
    "told",
    "patience",
    "wish",
    "wishes",
    "kept",
    "hang up",
    "hangs up",
    "hung up",
    "notice",
    "notices",
    "news",
    "leads to",
    "answer",
    "answers",
    "answered",
    "answering",
    "refuse",
    "refuses",
    "refused",
    "refusal",
    "refusals",
    "question",
    "questions",
];

/// Words that are not permitted in names, in addition to those of prose.
const NAMES: [&str; 15] = [
    "place", "places", "slot", "slots", "turn", "held", "lead", "dial", "link", "pipe", "inbox",
    "leg", "standing", "found", "better",
];

/// Terms of MCP, HTTP and JSON-RPC that contain such a word.
const TERMS: [&str; 2] = ["not_found", "resource_link"];

/// The page that lists the words and their replacements.
const GLOSSARY: &str = "CONTRIBUTING.md";

/// Finds words in comments and string literals.
pub(super) fn check_prose(file: &File, source: &Source) -> Vec<Finding> {
    check_text(file, &source.shipped_prose)
}

/// Finds words in the prose of a Markdown file.
pub(super) fn check_markdown(file: &File) -> Vec<Finding> {
    if file.path == GLOSSARY {
        return Vec::new();
    }
    check_text(file, &markdown_prose(&file.text))
}

/// Returns a Markdown text without code and addresses. Lines do not move.
fn markdown_prose(text: &str) -> String {
    let mut prose = String::new();
    let mut is_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !(is_code || line.starts_with('[') && line.contains("]: ")) {
            // Every second part is between backticks.
            for part in line.split('`').step_by(2) {
                let mut links = part.split("](");
                prose.push_str(links.next().unwrap_or_default());
                for link in links {
                    prose.push(' ');
                    prose.push_str(link.split_once(')').map_or("", |(_, after)| after));
                }
                prose.push(' ');
            }
        }
        prose.push('\n');
    }
    prose
}

fn check_text(file: &File, prose: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (line, prose) in numbered(prose) {
        let words = words(prose).collect::<Vec<_>>();
        let one = words.iter().map(String::as_str);
        let two: Vec<String> = words.windows(2).map(|pair| pair.join(" ")).collect();
        for word in one.chain(two.iter().map(String::as_str)) {
            if PROSE.contains(&word) && !is_allowed(&file.text, line, word) {
                findings.push(file.finding(line, format!("`{word}`")));
            }
        }
    }
    findings
}

/// Finds words in the names of types, functions, constants and files.
pub(super) fn check_identifiers(file: &File, source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    let stem = file.path.rsplit('/').next().unwrap_or(&file.path);
    let stem = stem.strip_suffix(".rs").unwrap_or(stem);
    let named = names(&source.shipped_code).chain([(1, stem)]);
    for (line, name) in named {
        let joined = parts(name).join("_");
        let is_term = |word: &str| {
            TERMS
                .iter()
                .any(|term| term.contains(word) && joined.contains(term))
        };
        for word in parts(name).into_iter().filter(|word| !is_term(word)) {
            let is_listed = PROSE.contains(&&*word) || NAMES.contains(&&*word);
            if is_listed && !is_allowed(&file.text, line, &word) {
                findings.push(file.finding(line, format!("`{word}` in `{name}`")));
            }
        }
    }
    findings
}

/// Finds words in the names of tests. Other names in tests may contain them.
pub(in crate::tidy) fn check_test_names(file: &File, source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut is_test = false;
    for (line, text) in numbered(&source.code) {
        let text = text.trim();
        if text.starts_with("#[") {
            is_test |= text == "#[test]" || text.starts_with("#[tokio::test");
            continue;
        }
        for (_, name) in names(text).filter(|_| is_test) {
            for word in parts(name) {
                if PROSE.contains(&&*word) && !is_allowed(&file.text, line, &word) {
                    findings.push(file.finding(line, format!("`{word}` in `{name}`")));
                }
            }
        }
        is_test = false;
    }
    findings
}

/// Returns the words of a text, in lower case.
fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|character: char| !character.is_alphanumeric() && !"'_".contains(character))
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
}

/// Returns the names in item definitions.
fn names(code: &str) -> impl Iterator<Item = (usize, &str)> {
    const KEYWORDS: [&str; 8] = [
        "struct", "enum", "trait", "type", "fn", "const", "static", "mod",
    ];
    numbered(code).flat_map(|(line, text)| {
        let mut words = text
            .split(|character: char| !character.is_alphanumeric() && character != '_')
            .filter(|word| !word.is_empty())
            .peekable();
        let mut found = Vec::new();
        while let Some(word) = words.next() {
            if KEYWORDS.contains(&word)
                && let Some(name) = words.peek()
                && !KEYWORDS.contains(name)
            {
                found.push((line, *name));
            }
        }
        found
    })
}

/// Returns the words of a name: `SlotTable` and `slot_table` consist of `slot` and `table`.
fn parts(name: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut part = String::new();
    let mut was_lower = false;
    for character in name.chars() {
        let starts = character == '_' || (character.is_uppercase() && was_lower);
        if starts && !part.is_empty() {
            parts.push(std::mem::take(&mut part));
        }
        if character != '_' {
            part.extend(character.to_lowercase());
        }
        was_lower = character.is_lowercase() || character.is_ascii_digit();
    }
    if !part.is_empty() {
        parts.push(part);
    }
    parts
}

fn is_allowed(text: &str, line: usize, word: &str) -> bool {
    let allowed = format!("tidy: allow({word})");
    let line = text.lines().nth(line - 1);
    line.is_some_and(|line| line.contains(&allowed))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> File {
        File {
            path: "crates/toolwire/src/better_file.rs".to_owned(),
            text: text.to_owned(),
        }
    }

    #[test]
    fn prose_is_read_and_code_is_not() {
        fn check(text: &str, expected: &[&str]) {
            let findings = check_prose(&file(text), &Source::new(text));
            let rules: Vec<String> = findings.into_iter().map(|finding| finding.rule).collect();
            assert_eq!(rules, expected, "{text}");
        }
        check("/// Nobody is told.", &["`nobody`", "`told`"]);
        check("// A scope is none.", &["`is none`"]);
        check("f(\"refused\")", &["`refused`"]);
        check("let answer = 1;", &[]);
        check("// `Option::is_none` is code.", &[]);
        check("// The response. tidy: allow(told) a quotation: told", &[]);
        check("#[cfg(test)] mod tests { /* nobody */ }", &[]);
        check("// A responder answersheet.", &[]);
    }

    #[test]
    fn markdown_is_read_without_code_and_addresses() {
        let text = "# Who is told\n[a](b/answers.md) `question` refused\n```text\nnobody\n```\n[news]: answer.md\nkept";
        let found: Vec<(usize, String)> = check_markdown(&file(text))
            .into_iter()
            .map(|finding| (finding.line, finding.rule))
            .collect();
        let expected = [(1, "`told`"), (2, "`refused`"), (7, "`kept`")];
        assert_eq!(found, expected.map(|(line, rule)| (line, rule.to_owned())));
    }

    #[test]
    fn names_of_tests_are_read() {
        let text = "#[test]\nfn faults_are_told_apart() {}\n#[tokio::test(start_paused = true)]\nasync fn call_is_refused() {\n    fn answer() {}\n}\nfn news() {}\n";
        let found: Vec<(usize, String)> = check_test_names(&file(text), &Source::new(text))
            .into_iter()
            .map(|finding| (finding.line, finding.rule))
            .collect();
        let expected = [
            (2, "`told` in `faults_are_told_apart`"),
            (4, "`refused` in `call_is_refused`"),
        ];
        assert_eq!(found, expected.map(|(line, rule)| (line, rule.to_owned())));
    }

    #[test]
    fn names_are_split_into_words() {
        assert_eq!(parts("SlotTable"), ["slot", "table"]);
        assert_eq!(parts("slot_table"), ["slot", "table"]);
        assert_eq!(parts("MAX_HELD"), ["max", "held"]);
        assert_eq!(parts("Http2Link"), ["http2", "link"]);
        let text = "struct NotFound; struct Linked; fn take_turn() {} const LEG: u8 = 0; let found = place;";
        let findings = check_identifiers(&file(text), &Source::new(text));
        let rules: Vec<String> = findings.into_iter().map(|finding| finding.rule).collect();
        let expected = [
            "`turn` in `take_turn`",
            "`leg` in `LEG`",
            "`better` in `better_file`",
        ];
        assert_eq!(rules, expected);
    }
}
