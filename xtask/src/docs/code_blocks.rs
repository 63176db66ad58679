//! Checks that every code block of a page is compiled, run or parsed, or says why not.
//!
//! | Block | Check |
//! |---|---|
//! | Rust in a guide of a crate | compiled by rustdoc, and run if it terminates |
//! | `json`, `toml` | parsed when the site is built |
//! | `text` | none: output, a diagram or a fragment |
//! | after `<!-- transcript -->` | run by the tests of the command |
//! | after `<!-- run -->` or `<!-- write: PATH -->` | executed by `cargo xtask first-hour` |
//! | after `<!-- file: PATH -->` | equal to this file of the repository |
//! | after `<!-- checked by: TEST -->` | the named test |
//! | after `<!-- not run: REASON -->` | none |

use std::fs;
use std::path::Path;

use super::markdown::{Block, Document};

/// The words after an opening fence of Rust code that rustdoc compiles.
const COMPILED: [&str; 6] = [
    "",
    "rust",
    "no_run",
    "should_panic",
    "compile_fail",
    "edition2024",
];

/// Languages that the build of the site parses, and text.
const PARSED_OR_TEXT: [&str; 3] = ["json", "toml", "text"];

/// Returns a finding for each block without a check.
pub(super) fn check(root: &Path, path: &str, text: &str) -> Vec<String> {
    let in_crate = path.contains("/src/guide/");
    let blocks = Document::parse(text).blocks;
    let found = blocks.iter().filter_map(|block| {
        let problem = problem(root, block, in_crate)?;
        Some(format!("{path}:{}: {problem}", block.line))
    });
    found.collect()
}

fn problem(root: &Path, block: &Block, in_crate: bool) -> Option<String> {
    let comment = block.comment.as_deref().unwrap_or_default();
    if let Some(file) = comment.strip_prefix("file: ") {
        let same = fs::read_to_string(root.join(file)).is_ok_and(|text| text == block.code);
        return (!same).then(|| format!("the block differs from the file {file}"));
    }
    let explained = ["not run: ", "checked by: ", "write: "];
    if ["transcript", "run"].contains(&comment)
        || explained.iter().any(|prefix| comment.starts_with(prefix))
    {
        return None;
    }
    let mut words = block.language.split(',').map(str::trim);
    if in_crate && words.all(|word| COMPILED.contains(&word)) {
        return None;
    }
    if PARSED_OR_TEXT.contains(&block.language.as_str()) {
        return None;
    }
    Some(format!(
        "a block `{}` without a check: add `<!-- not run: REASON -->` in the line before it",
        block.language
    ))
}

#[cfg(test)]
mod tests {

    fn check(path: &str, text: &str, is_checked: bool) {
        let findings = super::check(&crate::workspace_root(), path, text);
        assert_eq!(findings.is_empty(), is_checked, "{text}: {findings:?}");
    }

    #[test]
    fn blocks_without_a_check_are_found() {
        const GUIDE: &str = "crates/toolwire/src/guide/a.md";
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
}
