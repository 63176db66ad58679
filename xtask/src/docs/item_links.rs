//! Links of the guides to items and to other guides.
//!
//! A guide is read on docs.rs, on a code host and on the site, and its links work in all three. A page defines its labels
//! with addresses that a code host understands. Its module includes the file `links.md` of the crate first, which defines
//! the same labels as Rust paths. Markdown uses the first definition, so rustdoc resolves and checks the paths.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::markdown::{Document, Target};
use super::published::{self, DOCS_RS};
use super::{files_below, read};
use crate::steps::Outcome;

/// The file of a crate with the Rust path of each label.
pub(super) const LINKS_FILE: &str = "links.md";

/// The files in which rustdoc describes an item.
const ITEM_KINDS: [&str; 10] = [
    "struct", "enum", "trait", "fn", "attr", "derive", "macro", "type", "constant", "static",
];

/// The kinds of items that a Rust path names with a prefix: `macro@crate::tool`.
const NAMED_KINDS: [(&str, &[&str]); 2] = [("macro", &["attr", "macro"]), ("derive", &["derive"])];

/// The ids of the parts of an item.
const MEMBER_KINDS: [&str; 6] = [
    "method",
    "tymethod",
    "variant",
    "structfield",
    "associatedconstant",
    "associatedtype",
];

/// The guides of one crate.
#[derive(Debug)]
pub(super) struct GuideDirectory {
    /// The name of the crate in Rust paths.
    crate_name: String,
    directory: PathBuf,
}

impl GuideDirectory {
    /// Finds the directories with guides.
    pub(super) fn all(root: &Path) -> Outcome<Vec<Self>> {
        let crates = root.join("crates");
        let mut found = Vec::new();
        let cannot_read = |error| format!("cannot read {}: {error}", crates.display());
        for entry in fs::read_dir(&crates).map_err(cannot_read)? {
            let entry = entry.map_err(cannot_read)?;
            let directory = entry.path().join("src").join("guide");
            if directory.is_dir() {
                let name = entry.file_name().to_string_lossy().replace('-', "_");
                found.push(Self {
                    crate_name: name,
                    directory,
                });
            }
        }
        found.sort_by(|one, other| one.crate_name.cmp(&other.crate_name));
        Ok(found)
    }

    /// Returns the files of the pages, ordered by name.
    pub(super) fn pages(&self) -> Outcome<Vec<PathBuf>> {
        let cannot_read = |error| format!("cannot read {}: {error}", self.directory.display());
        let mut pages = Vec::new();
        for entry in fs::read_dir(&self.directory).map_err(cannot_read)? {
            let path = entry.map_err(cannot_read)?.path();
            let is_page = path.extension().is_some_and(|extension| extension == "md");
            if is_page && !path.ends_with(LINKS_FILE) {
                pages.push(path);
            }
        }
        pages.sort();
        Ok(pages)
    }

    /// Returns the Rust path of each label.
    fn paths(&self) -> Outcome<BTreeMap<String, String>> {
        let text = read(&self.directory.join(LINKS_FILE))?;
        let definitions = Document::parse(&text).definitions;
        Ok(definitions
            .into_iter()
            .map(|definition| (definition.label, definition.address))
            .collect())
    }

    /// Returns the findings of the modules and pages of this crate that need no built documentation.
    pub(super) fn check(&self, repository: &str) -> Outcome<Vec<String>> {
        let paths = self.paths()?;
        let modules = read(&self.directory.join("mod.rs"))?;
        let mut findings = Vec::new();
        for (label, path) in &paths {
            if published::is_elsewhere(path, repository) {
                findings.push(format!(
                    "{}: [{label}] is not below {repository}, the repository in Cargo.toml",
                    self.directory.join(LINKS_FILE).display()
                ));
            }
        }
        let labels: Vec<String> = paths.keys().map(|label| label.to_lowercase()).collect();
        for (index, label) in labels.iter().enumerate() {
            if labels[..index].contains(label) {
                findings.push(format!(
                    "{}: two labels differ only in case: {label}",
                    self.directory.join(LINKS_FILE).display()
                ));
            }
        }
        for page in self.pages()? {
            let name = file_name(&page);
            let included = format!(
                "#[doc = include_str!(\"{LINKS_FILE}\")]\n#[doc = include_str!(\"{name}\")]"
            );
            if !modules.contains(&included) {
                findings.push(format!(
                    "{}: mod.rs does not include {LINKS_FILE} in the line before {name}",
                    page.display()
                ));
            }
            let document = Document::parse(&read(&page)?);
            for link in &document.links {
                let defined = match &link.target {
                    Target::Inline(address) => !is_rust_path(address) && !is_page_address(address),
                    Target::Label(label) => {
                        let address = document.address(&link.target).unwrap_or_default();
                        !is_internal(address) || paths.contains_key(label)
                    }
                };
                if !defined {
                    findings.push(format!(
                        "{}:{}: the link `{}` works on docs.rs or on code hosts only; run `cargo xtask docs links`",
                        page.display(),
                        link.line,
                        link.text
                    ));
                }
            }
        }
        Ok(findings)
    }

    /// Rewrites links with Rust paths into links that work everywhere, and the definitions of all pages.
    pub(super) fn rewrite(&self, documentation: &Documentation) -> Outcome {
        let mut paths = self.paths().unwrap_or_default();
        let mut used = BTreeSet::new();
        let mut texts = Vec::new();
        for page in self.pages()? {
            let text = self.with_labels(&read(&page)?, &mut paths);
            texts.push((page, text));
        }
        // Nothing is written if an item is missing.
        for (_, text) in &mut texts {
            *text = self.with_definitions(text, &paths, documentation, &mut used)?;
        }
        for (page, text) in &texts {
            write(page, text)?;
        }
        let lines: String = paths
            .iter()
            .filter(|(label, _)| used.contains(*label))
            .map(|(label, path)| format!("[{label}]: {path}\n"))
            .collect();
        write(&self.directory.join(LINKS_FILE), &lines)
    }

    /// Replaces inline links to Rust paths by labels, and adds the labels to `paths`.
    fn with_labels(&self, text: &str, paths: &mut BTreeMap<String, String>) -> String {
        let mut rewritten = String::new();
        let mut copied = 0;
        for link in Document::parse(text).links {
            let Target::Inline(path) = &link.target else {
                continue;
            };
            if !is_rust_path(path) {
                continue;
            }
            let label = label(&link.text, path, paths);
            rewritten.push_str(&text[copied..link.range.start]);
            rewritten.push_str(&format!("[{}]", link.text));
            if label != link.text {
                rewritten.push_str(&format!("[{label}]"));
            }
            copied = link.range.end;
            paths.insert(label, path.clone());
        }
        rewritten.push_str(&text[copied..]);
        rewritten
    }

    /// Replaces the definitions at the end of a page.
    fn with_definitions(
        &self,
        text: &str,
        paths: &BTreeMap<String, String>,
        documentation: &Documentation,
        used: &mut BTreeSet<String>,
    ) -> Outcome<String> {
        let is_ours = |line: &str| {
            let label = line
                .strip_prefix('[')
                .and_then(|rest| rest.split_once("]: "));
            label.is_some_and(|(label, _)| paths.contains_key(label))
        };
        let kept: Vec<&str> = text.lines().filter(|line| !is_ours(line)).collect();
        let mut text = kept.join("\n").trim_end().to_owned() + "\n";
        let all: String = paths
            .keys()
            .map(|label| format!("[{label}]: x\n"))
            .collect();
        let with_all = format!("{text}\n{all}");
        let mut labels = BTreeSet::new();
        for link in Document::parse(&with_all).links {
            if let Target::Label(label) = link.target
                && paths.contains_key(&label)
            {
                labels.insert(label);
            }
        }
        for (index, label) in labels.iter().enumerate() {
            let address = self.address(&paths[label], documentation)?;
            if index == 0
                && !text
                    .trim_end()
                    .lines()
                    .last()
                    .is_some_and(|line| line.starts_with('[') && line.contains("]: "))
            {
                text.push('\n');
            }
            text.push_str(&format!("[{label}]: {address}\n"));
        }
        used.extend(labels);
        Ok(text)
    }

    /// Compares the definitions of the pages with the built documentation.
    pub(super) fn check_addresses(&self, documentation: &Documentation) -> Outcome<Vec<String>> {
        let paths = self.paths()?;
        let mut findings = Vec::new();
        for page in self.pages()? {
            for definition in Document::parse(&read(&page)?).definitions {
                let Some(path) = paths.get(&definition.label) else {
                    continue;
                };
                let expected = self.address(path, documentation)?;
                if definition.address != expected {
                    findings.push(format!(
                        "{}:{}: {path} is at {expected}; run `cargo xtask docs links`",
                        page.display(),
                        definition.line
                    ));
                }
            }
        }
        Ok(findings)
    }

    /// Returns the address of a Rust path for the pages of this crate.
    fn address(&self, path: &str, documentation: &Documentation) -> Outcome<String> {
        let (path, fragment) = match path.split_once('#') {
            Some((path, fragment)) => (path, format!("#{fragment}")),
            None => (path, String::new()),
        };
        if let Some(address) = published::relative_address(path) {
            return Ok(address + &fragment);
        }
        let (kind, path) = path.split_once('@').unwrap_or(("", path));
        let named = NAMED_KINDS.iter().find(|(name, _)| *name == kind);
        let kinds = named.map_or(&ITEM_KINDS[..], |(_, kinds)| kinds);
        let mut segments: Vec<&str> = path.split("::").collect();
        if segments[0] == "crate" {
            segments[0] = &self.crate_name;
        }
        if let [owner, "guide", page] = segments.as_slice() {
            let directory = if *owner == self.crate_name {
                String::new()
            } else {
                format!("../../../{}/src/guide/", owner.replace('_', "-"))
            };
            return Ok(format!("{directory}{page}.md{fragment}"));
        }
        let found = documentation.find(&segments, kinds);
        found
            .map(|address| format!("{address}{fragment}"))
            .ok_or_else(|| format!("the documentation has no item {path}"))
    }
}

/// The output of rustdoc.
#[derive(Debug)]
pub(super) struct Documentation {
    directory: PathBuf,
}

impl Documentation {
    pub(super) fn new(directory: PathBuf) -> Self {
        Self { directory }
    }

    /// Returns the address of an item on docs.rs.
    fn find(&self, segments: &[&str], kinds: &[&str]) -> Option<String> {
        // The wire types are a crate of their own, which the facade names `types`.
        if let ["toolwire", "types", rest @ ..] = segments {
            return self.find(&[&["toolwire_types"], rest].concat(), kinds);
        }
        let (crate_name, rest) = segments.split_first()?;
        let base = format!("{DOCS_RS}{}/latest/", crate_name.replace('_', "-"));
        let mut at = (*crate_name).to_owned();
        for (index, segment) in rest.iter().enumerate() {
            let module = format!("{at}/{segment}");
            if self.directory.join(&module).join("index.html").exists() {
                at = module;
                continue;
            }
            let in_module = kinds.iter().find_map(|kind| {
                let file = format!("{at}/{kind}.{segment}.html");
                self.directory.join(&file).exists().then_some(file)
            });
            let file = in_module.or_else(|| self.in_other_module(crate_name, segment, kinds))?;
            return match &rest[index + 1..] {
                [] => Some(format!("{base}{file}")),
                [member] => {
                    let id = self.member_id(&file, member)?;
                    Some(format!("{base}{file}#{id}"))
                }
                _ => None,
            };
        }
        Some(format!("{base}{at}/index.html"))
    }

    /// Returns the only page of an item of this name. An item of a public module that another one exports has one page.
    fn in_other_module(&self, crate_name: &str, name: &str, kinds: &[&str]) -> Option<String> {
        let names: Vec<String> = kinds
            .iter()
            .map(|kind| format!("/{kind}.{name}.html"))
            .collect();
        let directory = self.directory.join(crate_name);
        let files = files_below(&directory).ok()?.into_iter();
        let mut found = files
            .map(|file| format!("{crate_name}/{file}"))
            .filter(|file| names.iter().any(|name| file.ends_with(name)))
            // The pages of private modules only direct to the public ones.
            .filter(|file| {
                read(&self.directory.join(file))
                    .is_ok_and(|text| !text.contains("http-equiv=\"refresh\""))
            });
        let first = found.next()?;
        found.next().is_none().then_some(first)
    }

    fn member_id(&self, file: &str, member: &str) -> Option<String> {
        let text = fs::read_to_string(self.directory.join(file)).ok()?;
        let ids = MEMBER_KINDS.map(|kind| format!("{kind}.{member}"));
        ids.into_iter()
            .find(|id| text.contains(&format!("id=\"{id}\"")))
    }

    /// Returns `true` if an address on docs.rs is a file of this output, with its anchor.
    pub(super) fn has(&self, address: &str) -> bool {
        let Some((_, path)) = address
            .strip_prefix(DOCS_RS)
            .and_then(|rest| rest.split_once("/latest/"))
        else {
            return false;
        };
        let (file, id) = path.split_once('#').unwrap_or((path, ""));
        let file = if file.ends_with('/') {
            format!("{file}index.html")
        } else {
            file.to_owned()
        };
        fs::read_to_string(self.directory.join(file))
            .is_ok_and(|text| id.is_empty() || text.contains(&format!("id=\"{id}\"")))
    }
}

/// Returns `true` for addresses of the published documentation of this workspace.
pub(super) fn is_item_address(address: &str) -> bool {
    address
        .strip_prefix(DOCS_RS)
        .is_some_and(|rest| rest.starts_with("toolwire") && rest.contains("/latest/"))
}

/// Returns the label of a link to a Rust path: its text if that names the item and no other one, or the path.
fn label(text: &str, path: &str, paths: &BTreeMap<String, String>) -> String {
    if let Some((_, page)) = path.split_once("::guide::") {
        let (page, fragment) = page.split_once('#').unwrap_or((page, ""));
        let separator = if fragment.is_empty() { "" } else { "#" };
        return format!("{page}.md{separator}{fragment}");
    }
    let named = text.trim_matches('`');
    let names_item =
        text.starts_with('`') && (path == named || path.ends_with(&format!("::{named}")));
    // Labels that differ only in case are one label.
    let is_free = paths
        .iter()
        .all(|(known, at)| !known.eq_ignore_ascii_case(text) || at == path);
    if names_item && is_free {
        return text.to_owned();
    }
    format!("`{}`", path.replacen("crate::", "", 1))
}

/// Returns `true` for `crate::Server` and `toolwire_proto`.
fn is_rust_path(address: &str) -> bool {
    let path = address.split('#').next().unwrap_or_default();
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_:@".contains(c);
    !path.is_empty() && path.chars().all(is_name) && (path.contains("::") || path.contains('_'))
}

/// Returns `true` for another Markdown file of the repository.
fn is_page_address(address: &str) -> bool {
    let file = address.split('#').next().unwrap_or_default();
    file.ends_with(".md") && !address.contains("://")
}

/// Returns `true` for addresses that `links.md` must replace on docs.rs.
fn is_internal(address: &str) -> bool {
    is_page_address(address) || is_item_address(address)
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

fn write(path: &Path, text: &str) -> Outcome {
    fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn label_is_the_text_that_names_one_item() {
        fn check(text: &str, path: &str, expected: &str) {
            let known = BTreeMap::from([("`Taken`".to_owned(), "crate::a::Taken".to_owned())]);
            assert_eq!(label(text, path, &known), expected, "{text}");
        }
        check("`Server`", "crate::Server", "`Server`");
        check(
            "`HttpOptions`",
            "crate::transport::http::HttpOptions",
            "`HttpOptions`",
        );
        check("a server", "crate::Server", "`Server`");
        check("`Taken`", "crate::a::Taken", "`Taken`");
        check("`Taken`", "crate::b::Taken", "`b::Taken`");
        check("`taken`", "crate::b::taken", "`b::taken`");
        check("`#[tool]`", "macro@crate::tool", "`macro@tool`");
        check("Tools", "crate::guide::tools", "tools.md");
        check("Tools", "toolwire::guide::tools#errors", "tools.md#errors");
    }

    #[test]
    fn rust_paths_are_recognized() {
        for path in [
            "crate::Server",
            "toolwire_proto",
            "crate::Server#x",
            "macro@crate::tool",
        ] {
            assert!(is_rust_path(path), "{path}");
        }
        for address in ["#limits", "tools.md", "https://docs.rs/a", "../a_b/c.png"] {
            assert!(!is_rust_path(address), "{address}");
        }
    }

    #[test]
    fn rewritten_links_are_labels() {
        let guides = GuideDirectory {
            crate_name: "toolwire".to_owned(),
            directory: PathBuf::new(),
        };
        let mut paths = BTreeMap::new();
        let text = "See [`Server`](crate::Server), [tools](crate::guide::tools) and [a](b.png).\n";
        let rewritten = guides.with_labels(text, &mut paths);
        assert_eq!(
            rewritten,
            "See [`Server`], [tools][tools.md] and [a](b.png).\n"
        );
        assert_eq!(paths["tools.md"], "crate::guide::tools");
    }
}
