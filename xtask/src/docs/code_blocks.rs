//! Checks that every code block of a page is compiled, run or parsed, or says why not.
//!
//! | Block | Check |
//! |---|---|
//! | Rust in a guide of a crate | compiled by rustdoc, and run if it terminates |
//! | `json`, `toml` | parsed when the site is built |
//! | `text` | has neither Rust nor commands of other programs: output, a diagram or a fragment |
//! | after `<!-- transcript -->`, on the page with the sessions | run by the tests of the command |
//! | after `<!-- run -->`, `<!-- write: PATH -->` or `<!-- shown: PATH -->`, on the page Getting started | executed by `cargo xtask first-hour` |
//! | after `<!-- file: PATH -->` | equal to this file of the repository |
//! | after `<!-- compiled in: PATH -->` | equal to a block of this guide, without the lines that rustdoc hides |
//! | after `<!-- checked by: TEST -->` | the named test |
//! | after `<!-- not run: REASON -->` | none |
//!
//! Lines `toolwire …` in all blocks are parsed by a test of the command.

use std::fs;
use std::path::Path;

use super::markdown::{Block, Document};
use super::recording;
use crate::first_hour;

/// The words after an opening fence of Rust code that rustdoc compiles.
const COMPILED: [&str; 7] = [
    "",
    "rust",
    "no_run",
    "should_panic",
    "compile_fail",
    "edition2024",
    "test_harness",
];

/// Languages that the build of the site parses.
const PARSED: [&str; 2] = ["json", "toml"];

/// The starts of lines that are Rust code.
const RUST: [&str; 7] = ["fn ", "async fn ", "pub ", "let ", "impl ", "use ", "#["];

/// The starts of lines that run other programs than `toolwire`.
const PROGRAMS: [&str; 12] = [
    "cargo ",
    "cd ",
    "chmod ",
    "curl ",
    "docker ",
    "git ",
    "head ",
    "helm ",
    "kubectl ",
    "npm ",
    "npx ",
    "redis-server ",
];

/// Comments that only one page may use, by the check that reads this page.
const MARKS_OF_PAGES: [(&str, &str); 4] = [
    ("transcript", recording::PAGE),
    ("run", first_hour::PAGE),
    ("write: ", first_hour::PAGE),
    ("shown: ", first_hour::PAGE),
];

/// Returns a finding for each block without a check.
pub(super) fn check(root: &Path, path: &str, text: &str) -> Vec<String> {
    let blocks = Document::parse(text).blocks;
    let found = blocks.iter().filter_map(|block| {
        let problem = problem(root, path, block)?;
        Some(format!("{path}:{}: {problem}", block.line))
    });
    found.collect()
}

fn problem(root: &Path, path: &str, block: &Block) -> Option<String> {
    let comment = block.comment.as_deref().unwrap_or_default();
    if let Some(file) = comment.strip_prefix("file: ") {
        let same = fs::read_to_string(root.join(file)).is_ok_and(|text| text == block.code);
        return (!same).then(|| format!("the block differs from the file {file}"));
    }
    if let Some(guide) = comment.strip_prefix("compiled in: ") {
        let same = is_guide(guide) && has_equal_block(root, guide, &block.code);
        return (!same).then(|| format!("no compiled block of {guide} is equal"));
    }
    if let Some((mark, page)) = mark_of_page(comment) {
        return (path != page).then(|| format!("nothing reads `{mark}` outside of {page}"));
    }
    let explained = ["not run: ", "checked by: "];
    if explained.iter().any(|prefix| comment.starts_with(prefix)) {
        return None;
    }
    if is_compiled(path, block) || PARSED.contains(&block.language.as_str()) {
        return None;
    }
    if block.language == "text" {
        return problem_of_text(&block.code);
    }
    Some(format!(
        "a block `{}` without a check: add `<!-- not run: REASON -->` in the line before it",
        block.language
    ))
}

fn mark_of_page(comment: &str) -> Option<(&'static str, &'static str)> {
    let is_used = |mark: &str| {
        let has_value = mark.ends_with(": ");
        comment == mark || (has_value && comment.starts_with(mark))
    };
    MARKS_OF_PAGES.into_iter().find(|(mark, _)| is_used(mark))
}

/// Returns what `text` may not contain.
fn problem_of_text(code: &str) -> Option<String> {
    let starts = |starts: &[&str]| {
        code.lines().find(|line| {
            let line = line.trim_start();
            let line = line.strip_prefix("$ ").unwrap_or(line);
            starts.iter().any(|start| line.starts_with(start))
        })
    };
    if let Some(line) = starts(&RUST) {
        return Some(format!("Rust code in a block `text`: `{line}`"));
    }
    let line = starts(&PROGRAMS)?;
    Some(format!(
        "nothing runs `{line}`: add `<!-- not run: REASON -->` in the line before the block"
    ))
}

fn is_guide(path: &str) -> bool {
    path.contains("/src/guide/")
}

/// Returns `true` if rustdoc compiles the block.
fn is_compiled(path: &str, block: &Block) -> bool {
    let mut words = block.language.split(',').map(str::trim);
    is_guide(path) && words.all(|word| COMPILED.contains(&word))
}

/// Returns `true` if a compiled block of a guide shows the same code.
fn has_equal_block(root: &Path, guide: &str, code: &str) -> bool {
    let text = fs::read_to_string(root.join(guide)).unwrap_or_default();
    let blocks = Document::parse(&text).blocks;
    blocks
        .iter()
        .any(|block| is_compiled(guide, block) && shown(&block.code) == code)
}

/// Returns the lines of Rust code that rustdoc shows.
fn shown(code: &str) -> String {
    let lines = code
        .lines()
        .filter(|line| *line != "#" && !line.starts_with("# "));
    lines.map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GUIDE: &str = "crates/toolwire/src/guide/a.md";

    fn check(path: &str, text: &str, is_checked: bool) {
        let findings = super::check(&crate::workspace_root(), path, text);
        assert_eq!(findings.is_empty(), is_checked, "{text}: {findings:?}");
    }

    #[test]
    fn blocks_without_a_check_are_found() {
        check(GUIDE, "```\nlet a = 1;\n```\n", true);
        check(GUIDE, "```rust,no_run\nlet a = 1;\n```\n", true);
        check(GUIDE, "```ignore\nlet a = 1;\n```\n", false);
        check("README.md", "```rust\nlet a = 1;\n```\n", false);
        check("README.md", "```json\n{}\n```\n", true);
        check("README.md", "```sh\nls\n```\n", false);
        check(
            "README.md",
            "<!-- not run: needs Docker -->\n```sh\nls\n```\n",
            true,
        );
        check(
            "README.md",
            "<!-- file: rust.txt -->\n```sh\nls\n```\n",
            false,
        );
    }

    #[test]
    fn text_has_neither_rust_nor_commands_of_other_programs() {
        check(GUIDE, "```text\noutput = 3\n```\n", true);
        check(GUIDE, "```text\n$ toolwire demo\nlet us see\n```\n", false);
        check(GUIDE, "```text\nasync fn invoke() {}\n```\n", false);
        check(GUIDE, "```text\n$ toolwire demo\n```\n", true);
        check(GUIDE, "```text\n$ cargo build\n```\n", false);
        check(
            GUIDE,
            "<!-- not run: builds a crate -->\n```text\ncargo build\n```\n",
            true,
        );
    }

    #[test]
    fn marks_count_only_on_the_page_that_a_check_reads() {
        let text = "<!-- run -->\n```text\ncargo build\n```\n";
        check(first_hour::PAGE, text, true);
        check(GUIDE, text, false);
        let text = "<!-- transcript -->\n```console\n$ toolwire demo\n```\n";
        check(recording::PAGE, text, true);
        check("README.md", text, false);
    }

    #[test]
    fn compiled_blocks_are_equal_without_their_hidden_lines() {
        assert_eq!(
            shown("# fn main() {\nlet a = 1;\n#\n# }\n#[b]\n"),
            "let a = 1;\n#[b]\n"
        );
        let other = format!(
            "<!-- compiled in: {} -->\n```rust\nother();\n```\n",
            first_hour::PAGE
        );
        check("README.md", &other, false);
        let page = fs::read_to_string(crate::workspace_root().join(first_hour::PAGE)).unwrap();
        let blocks = Document::parse(&page).blocks;
        let server = blocks
            .iter()
            .find(|block| block.language == "no_run")
            .unwrap();
        let same = format!(
            "<!-- compiled in: {} -->\n```rust\n{}```\n",
            first_hour::PAGE,
            shown(&server.code)
        );
        check("README.md", &same, true);
    }
}
