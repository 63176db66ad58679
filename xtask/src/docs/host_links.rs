//! Checks the links between the Markdown files of the repository, as a code host follows them.

use std::collections::BTreeMap;
use std::path::Path;

use super::item_links::LINKS_FILE;
use super::markdown::Document;
use super::page_list::joined;

/// Returns a finding for every link to a file or an anchor that does not exist. `files` are all Markdown files.
pub(super) fn check(root: &Path, files: &BTreeMap<String, String>) -> Vec<String> {
    let parsed = files
        .iter()
        .map(|(path, text)| (path.as_str(), Document::parse(text)));
    let documents: BTreeMap<&str, Document> = parsed.collect();
    let mut findings = Vec::new();
    for (path, document) in &documents {
        // These are Rust paths, which rustdoc checks.
        if path.ends_with(&format!("/{LINKS_FILE}")) {
            continue;
        }
        for link in &document.links {
            let problem = match document.address(&link.target) {
                Some(address) => problem(root, path, address, &documents),
                None => Some("the label is not defined".to_owned()),
            };
            if let Some(problem) = problem {
                findings.push(format!("{path}:{}: [{}]: {problem}", link.line, link.text));
            }
        }
    }
    findings
}

fn problem(
    root: &Path,
    from: &str,
    address: &str,
    documents: &BTreeMap<&str, Document>,
) -> Option<String> {
    if address.contains("://") || address.starts_with("mailto:") {
        return None;
    }
    let (file, anchor) = address.split_once('#').unwrap_or((address, ""));
    let target = if file.is_empty() {
        from.to_owned()
    } else {
        joined(from, file)
    };
    if !documents.contains_key(target.as_str()) && !root.join(&target).exists() {
        return Some(format!("there is no file {target}"));
    }
    if anchor.is_empty() {
        return None;
    }
    let has_anchor = documents.get(target.as_str()).is_some_and(|document| {
        let mut headings = document.headings.iter();
        headings.any(|heading| heading.anchor == anchor)
    });
    (!has_anchor).then(|| format!("{target} has no heading #{anchor}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let files = BTreeMap::from([("xtask/a.md".to_owned(), text.to_owned())]);
        let findings = super::check(&crate::workspace_root(), &files);
        assert_eq!(findings, expected, "{text}");
    }

    #[test]
    fn missing_files_and_anchors_are_found() {
        check(
            "[a](Cargo.toml) [b](../README.md) [d](https://x.y/z#q)",
            &[],
        );
        check(
            "[a](missing.md)",
            &["xtask/a.md:1: [a]: there is no file xtask/missing.md"],
        );
        check(
            "# Here\n[a](#here) [b](#gone)",
            &["xtask/a.md:2: [b]: xtask/a.md has no heading #gone"],
        );
        check(
            "[a](src/main.rs#x)",
            &["xtask/a.md:1: [a]: xtask/src/main.rs has no heading #x"],
        );
        check("[a][b]", &["xtask/a.md:1: [a]: the label is not defined"]);
        check(
            "[a](crate::Server)",
            &["xtask/a.md:1: [a]: there is no file xtask/crate::Server"],
        );
    }
}
