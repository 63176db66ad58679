//! The names that users of other SDKs search for: each one is an item of the workspace, or an alias of one.

use std::collections::BTreeSet;
use std::path::Path;

use super::{files_below, read};
use crate::steps::Outcome;

/// The page whose tables have the names of rmcp in the left column.
const PAGE: &str = "crates/toolwire/src/guide/coming_from_rmcp.md";

/// Names of the SDKs for TypeScript and Python, and of FastMCP. Most names on their pages are members or options, which
/// have no item of their own here.
const OTHER_NAMES: [&str; 16] = [
    "add_tool",
    "AuthSettings",
    "create_message",
    "elicit",
    "FastMCP",
    "list_roots",
    "McpServer",
    "registerPrompt",
    "registerResource",
    "registerTool",
    "sample",
    "setRequestHandler",
    "StreamableHttp",
    "streamable_http_app",
    "ToolTransform",
    "Transport",
];

/// Returns a finding for each name that a search in the reference does not find.
pub(super) fn check(root: &Path) -> Outcome<Vec<String>> {
    let mut known = BTreeSet::new();
    let crates = root.join("crates");
    for file in files_below(&crates)? {
        if file.ends_with(".rs") {
            known.extend(searchable(&read(&crates.join(&file))?));
        }
    }
    let names = names_of(&read(&root.join(PAGE))?);
    let names = names.iter().map(String::as_str).chain(OTHER_NAMES);
    let missing = names.filter(|name| !known.contains(&normal(name)));
    Ok(missing
        .map(|name| format!("no item has the name or the alias `{name}` of another SDK"))
        .collect())
}

/// Returns the names of items and aliases in a source file, as the search of rustdoc compares them.
fn searchable(source: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for line in source.lines() {
        let line = line.trim_start();
        let aliases = line.split("alias = \"").skip(1);
        found.extend(
            aliases
                .filter_map(|rest| rest.split('"').next())
                .map(normal),
        );
        if let Some(item) = line.strip_prefix("pub ") {
            let words = item.split(|c: char| !is_of_name(c));
            let mut words = words.skip_while(|word| ["async", "const"].contains(word));
            found.extend(words.nth(1).map(normal));
        }
    }
    found
}

/// Returns the type names and the names with underscores in the left columns, without type parameters and texts.
fn names_of(page: &str) -> BTreeSet<String> {
    let rows = page.lines().filter_map(|line| line.strip_prefix("| "));
    let cells = rows.filter_map(|row| row.split(" | ").next());
    let codes = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    codes.flat_map(names_of_code).collect()
}

fn names_of_code(code: &str) -> Vec<String> {
    let mut depth = 0_u32;
    let mut in_text = false;
    let outside = code.chars().map(|c| {
        match c {
            '"' => in_text = !in_text,
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if in_text || depth > 0 { ' ' } else { c }
    });
    let text: String = outside.collect();
    // Shorter words are those of Rust itself: `Ok`, `Err`.
    let is_name = |word: &&str| {
        word.len() > 3 && (word.contains('_') || word.starts_with(|c: char| c.is_uppercase()))
    };
    let words = text.split(|c: char| !is_of_name(c)).filter(is_name);
    words.map(str::to_owned).collect()
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn normal(name: &str) -> String {
    name.replace('_', "").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_left_columns_are_found() {
        let page = "| rmcp | here |\n| `Json<T>`, `peer.notify_all(…)` | `Other` |\n| `#[tool(text = \"A\")]` | |\n";
        let names: Vec<String> = names_of(page).into_iter().collect();
        assert_eq!(names, ["Json", "notify_all"]);
    }

    #[test]
    fn items_and_aliases_are_found() {
        let source = "#[doc(alias = \"OneName\", alias = \"two\")]\npub async fn third_name() {}\nstruct Private;\n";
        let found: Vec<String> = searchable(source).into_iter().collect();
        assert_eq!(found, ["onename", "thirdname", "two"]);
    }
}
