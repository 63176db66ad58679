//! The list of pages, `docs/README.md`: sections, and in each the pages with a summary. It is the index on a code host, and
//! the order of the site.

use std::path::{Component, Path, PathBuf};

use super::markdown::{Document, Target, anchor, heading};
use super::read;
use crate::steps::Outcome;

/// The file with the list.
pub(super) const LIST: &str = "docs/README.md";

/// The pages of the site, by section.
#[derive(Debug)]
pub(super) struct PageList {
    /// The text before the first section.
    pub(super) introduction: String,
    pub(super) sections: Vec<Section>,
}

/// A group of pages.
#[derive(Debug)]
pub(super) struct Section {
    pub(super) title: String,
    pub(super) pages: Vec<Page>,
    /// The links to the documentation of crates, which rustdoc writes.
    pub(super) crates: Vec<CrateLink>,
}

/// A line of the list with an address instead of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CrateLink {
    pub(super) title: String,
    pub(super) summary: String,
    pub(super) address: String,
}

/// A page of the site.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Page {
    pub(super) title: String,
    /// What follows the link in the list.
    pub(super) summary: String,
    /// The Markdown file, relative to the repository.
    pub(super) source: String,
    /// The path on the site, without an extension.
    pub(super) site_path: String,
}

impl PageList {
    /// Reads the list of the repository.
    pub(super) fn read(root: &Path) -> Outcome<Self> {
        Self::parse(&read(&root.join(LIST))?)
    }

    fn parse(text: &str) -> Outcome<Self> {
        let mut list = Self {
            introduction: String::new(),
            sections: Vec::new(),
        };
        for line in text.lines() {
            if line.starts_with("## ") {
                let title = heading(line).unwrap_or_default().to_owned();
                list.sections.push(Section {
                    title,
                    pages: Vec::new(),
                    crates: Vec::new(),
                });
            } else if let Some(section) = list.sections.last_mut() {
                if line.starts_with("- [") && line.contains("](https://") {
                    section.crates.push(crate_link(line)?);
                } else if line.starts_with("- ") {
                    section.pages.push(page(line, &section.title)?);
                }
            } else {
                list.introduction.push_str(line);
                list.introduction.push('\n');
            }
        }
        Ok(list)
    }

    pub(super) fn pages(&self) -> impl Iterator<Item = &Page> {
        self.sections.iter().flat_map(|section| &section.pages)
    }

    pub(super) fn crates(&self) -> impl Iterator<Item = &CrateLink> {
        self.sections.iter().flat_map(|section| &section.crates)
    }

    /// Returns the page of a file.
    pub(super) fn find(&self, source: &str) -> Option<&Page> {
        self.pages().find(|page| page.source == source)
    }
}

/// Parses `- [title](address): summary`.
fn crate_link(line: &str) -> Outcome<CrateLink> {
    let wrong = || format!("{LIST}: expected `- [title](file.md): summary`, found `{line}`");
    let document = Document::parse(line);
    let link = document.links.first().ok_or_else(wrong)?;
    let Target::Inline(address) = &link.target else {
        return Err(wrong());
    };
    let summary = line[link.range.end..]
        .strip_prefix(": ")
        .ok_or_else(wrong)?;
    Ok(CrateLink {
        title: link.text.clone(),
        summary: summary.to_owned(),
        address: address.clone(),
    })
}

/// Parses `- [title](../file.md): summary`.
fn page(line: &str, section: &str) -> Outcome<Page> {
    let wrong = || format!("{LIST}: `{line}` is not a link to a Markdown file");
    let parts = crate_link(line)?;
    let source = joined(LIST, &parts.address);
    let stem = source.strip_suffix(".md").ok_or_else(wrong)?;
    let mut names = stem.rsplit('/');
    let name = match names.next() {
        Some("README") => names.next().unwrap_or("readme"),
        Some(name) => name,
        None => return Err(wrong()),
    };
    Ok(Page {
        title: parts.title,
        summary: parts.summary,
        site_path: format!("{}/{}", anchor(section), name.to_lowercase()),
        source,
    })
}

/// Returns the path of `address`, which is relative to the file `from`, both relative to the repository.
pub(super) fn joined(from: &str, address: &str) -> String {
    let directory = Path::new(from).parent().unwrap_or(Path::new(""));
    let mut path = PathBuf::new();
    for component in directory.join(address).components() {
        match component {
            Component::ParentDir => {
                path.pop();
            }
            Component::CurDir => {}
            other => path.push(other),
        }
    }
    path.to_string_lossy().replace('\\', "/")
}

/// Returns the address of `to` for a page at `from`, both relative to one directory.
pub(super) fn relative(from: &str, to: &str) -> String {
    let depth = from.matches('/').count();
    format!("{}{to}", "../".repeat(depth))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_has_sections_and_pages() {
        let list = PageList::parse(
            "# Documentation\n\nText.\n\n## Coming from\n\n- [A b](../crates/a/src/guide/a_b.md): what it is\n",
        );
        let list = list.unwrap();
        assert_eq!(list.introduction.trim(), "# Documentation\n\nText.");
        assert_eq!(list.sections[0].title, "Coming from");
        let expected = Page {
            title: "A b".to_owned(),
            summary: "what it is".to_owned(),
            source: "crates/a/src/guide/a_b.md".to_owned(),
            site_path: "coming-from/a_b".to_owned(),
        };
        assert_eq!(list.sections[0].pages, [expected]);
        assert!(list.sections[0].crates.is_empty());
    }

    #[test]
    fn file_readme_has_the_name_of_its_directory() {
        let page = page(
            "- [Performance](../bench/README.md): numbers",
            "Performance",
        )
        .unwrap();
        assert_eq!(page.site_path, "performance/bench");
    }

    #[test]
    fn crates_have_addresses_instead_of_files() {
        let list = PageList::parse(
            "## Reference\n\n- [`a`](https://docs.rs/a/latest/a/index.html): items\n",
        );
        let section = &list.unwrap().sections[0];
        assert!(section.pages.is_empty());
        assert_eq!(section.crates[0].title, "`a`");
        assert_eq!(
            section.crates[0].address,
            "https://docs.rs/a/latest/a/index.html"
        );
    }

    #[test]
    fn line_without_a_summary_is_an_error() {
        assert!(PageList::parse("## A\n- [b](c.md)\n").is_err());
    }

    #[test]
    fn paths_are_joined() {
        assert_eq!(joined("a/b/c.md", "../d.md"), "a/d.md");
        assert_eq!(joined("c.md", "./d.md"), "d.md");
        assert_eq!(relative("a/b", "c/d.md"), "../c/d.md");
    }
}
