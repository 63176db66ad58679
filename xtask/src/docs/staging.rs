//! Writes the sources of the site: the pages of the list with plain code blocks and the addresses of the site.

use std::fs;
use std::path::Path;

use super::markdown::{Document, Target, opening_fence};
use super::page_list::{LIST, Page, PageList, joined, relative};
use super::read;
use crate::steps::Outcome;

/// The directory of pictures on the site.
const PICTURES: &str = "pictures";

/// Writes all sources into an empty directory.
pub(super) fn write_sources(
    root: &Path,
    list: &PageList,
    repository: &str,
    into: &Path,
) -> Outcome {
    write(&into.join("index.md"), &index(list, repository))?;
    copy_pictures(root, LIST, &list.introduction, into)?;
    for page in list.pages() {
        let text = read(&root.join(&page.source))?;
        let stage = Stage {
            page,
            list,
            repository,
        };
        let staged = stage.rewrite(&text);
        write(&into.join(format!("{}.md", page.site_path)), &staged)?;
        copy_pictures(root, &page.source, &text, into)?;
    }
    Ok(())
}

/// Copies the pictures that the file `page` with this text shows.
fn copy_pictures(root: &Path, page: &str, text: &str, into: &Path) -> Outcome {
    for picture in pictures(text) {
        let source = root.join(joined(page, &picture));
        let target = into.join(picture_path(&picture));
        make_parent(&target)?;
        fs::copy(&source, &target)
            .map_err(|error| format!("cannot copy {}: {error}", source.display()))?;
    }
    Ok(())
}

/// Returns the first page: the list itself, and the order of the pages for the sidebar.
fn index(list: &PageList, repository: &str) -> String {
    let page = Page {
        title: "toolwire".to_owned(),
        summary: String::new(),
        source: LIST.to_owned(),
        site_path: "index".to_owned(),
    };
    let stage = Stage {
        page: &page,
        list,
        repository,
    };
    let introduction = stage.rewrite(&list.introduction);
    let mut text = introduction.replacen("# Documentation", "# toolwire", 1);
    for section in &list.sections {
        text.push_str(&format!("\n## {}\n\n", section.title));
        for page in &section.pages {
            text.push_str(&format!(
                "- [{}]({}.md): {}\n",
                page.title, page.site_path, page.summary
            ));
        }
        for link in &section.crates {
            text.push_str(&format!(
                "- [{}]({}): {}\n",
                link.title, link.address, link.summary
            ));
        }
        text.push_str(&format!(
            "\n```{{toctree}}\n:hidden:\n:caption: {}\n",
            section.title
        ));
        for page in &section.pages {
            text.push_str(&format!("\n{} <{}>", page.title, page.site_path));
        }
        for link in &section.crates {
            text.push_str(&format!("\n{} <{}>", link.title, link.address));
        }
        text.push_str("\n```\n");
    }
    text
}

/// One page on its way to the site.
struct Stage<'a> {
    page: &'a Page,
    list: &'a PageList,
    /// The address of the repository.
    repository: &'a str,
}

impl Stage<'_> {
    fn rewrite(&self, text: &str) -> String {
        let is_guide = self.page.source.contains("/src/guide/");
        with_plain_blocks(&self.with_addresses(text), is_guide)
    }

    /// Replaces the addresses of inline links and of definitions.
    fn with_addresses(&self, text: &str) -> String {
        let document = Document::parse(text);
        let mut rewritten = String::new();
        let mut copied = 0;
        for link in &document.links {
            let Target::Inline(address) = &link.target else {
                continue;
            };
            let end = link.range.end - 1;
            // An image within the text of a link was copied with it.
            if end < copied + address.len() {
                continue;
            }
            let start = end
                - text[link.range.start..end]
                    .rfind(address.as_str())
                    .map_or(0, |at| end - link.range.start - at);
            rewritten.push_str(&text[copied..start]);
            rewritten.push_str(&self.site_address(address));
            copied = start + address.len();
        }
        rewritten.push_str(&text[copied..]);
        let definition_line = |line: &str| {
            let (label, address) = line.strip_prefix('[')?.split_once("]: ")?;
            Some(format!("[{label}]: {}", self.site_address(address)))
        };
        let mut lines = Vec::new();
        for (index, line) in rewritten.lines().enumerate() {
            let mut definitions = document.definitions.iter();
            let is_definition = definitions.any(|definition| definition.line == index + 1);
            let replaced = is_definition.then(|| definition_line(line)).flatten();
            lines.push(replaced.unwrap_or_else(|| line.to_owned()));
        }
        lines.join("\n") + "\n"
    }

    /// Returns the address on the site: of a page, of a picture, or of a file that only the repository has.
    fn site_address(&self, address: &str) -> String {
        if address.contains("://") || address.starts_with('#') || address.starts_with("mailto:") {
            return address.to_owned();
        }
        let (file, anchor) = match address.split_once('#') {
            Some((file, anchor)) => (file, format!("#{anchor}")),
            None => (address, String::new()),
        };
        if is_picture(file) {
            return relative(&self.page.site_path, &picture_path(file));
        }
        let source = joined(&self.page.source, file);
        match self.list.find(&source) {
            Some(page) => {
                let target = format!("{}.md", page.site_path);
                relative(&self.page.site_path, &target) + &anchor
            }
            None => format!("{}/blob/main/{source}{anchor}", self.repository),
        }
    }
}

/// Names the language of Rust blocks, and removes the lines that rustdoc hides.
fn with_plain_blocks(text: &str, is_guide: bool) -> String {
    let mut lines = Vec::new();
    let mut fence: Option<(String, bool)> = None;
    for line in text.lines() {
        let trimmed = line.trim_start();
        match fence.take() {
            Some((marks, is_rust)) => {
                let ends = trimmed.trim_end() == marks;
                let is_hidden = is_rust && (trimmed == "#" || trimmed.starts_with("# "));
                if !is_hidden {
                    lines.push(line.to_owned());
                }
                if !ends {
                    fence = Some((marks, is_rust));
                }
            }
            None => match opening_fence(trimmed) {
                Some(marks) => {
                    let language = site_language(trimmed[marks.len()..].trim(), is_guide);
                    let indent = &line[..line.len() - trimmed.len()];
                    lines.push(format!("{indent}{marks}{language}"));
                    fence = Some((marks.to_owned(), language == "rust" && is_guide));
                }
                None => lines.push(line.to_owned()),
            },
        }
    }
    lines.join("\n") + "\n"
}

/// Returns the language of a block for the highlighter.
fn site_language(words: &str, is_guide: bool) -> &str {
    let first = words.split(',').next().unwrap_or_default();
    match first {
        "" if is_guide => "rust",
        "no_run" | "should_panic" | "compile_fail" | "rust" | "test_harness" => "rust",
        "" => "text",
        other => other,
    }
}

fn pictures(text: &str) -> Vec<String> {
    let document = Document::parse(text);
    let addresses = document.links.iter().filter_map(|link| {
        let address = document.address(&link.target)?;
        (is_picture(address) && !address.contains("://")).then(|| address.to_owned())
    });
    addresses.collect()
}

fn is_picture(address: &str) -> bool {
    [".png", ".svg"].iter().any(|end| address.ends_with(end))
}

fn picture_path(address: &str) -> String {
    let name = address.rsplit('/').next().unwrap_or_default();
    format!("{PICTURES}/{name}")
}

fn write(path: &Path, text: &str) -> Outcome {
    make_parent(path)?;
    fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

fn make_parent(path: &Path) -> Outcome {
    let parent = path.parent().unwrap_or(path);
    fs::create_dir_all(parent)
        .map_err(|error| format!("cannot create {}: {error}", parent.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::docs::page_list::{CrateLink, Section};

    fn list() -> PageList {
        let page = |title: &str, source: &str, site_path: &str| Page {
            title: title.to_owned(),
            summary: "s".to_owned(),
            source: source.to_owned(),
            site_path: site_path.to_owned(),
        };
        PageList {
            introduction: "# Documentation\n\n![p](pictures/p.svg) [s](../SECURITY.md)\n"
                .to_owned(),
            sections: vec![Section {
                title: "Guides".to_owned(),
                pages: vec![
                    page("Tools", "crates/a/src/guide/tools.md", "guides/tools"),
                    page("Security", "SECURITY.md", "security/security"),
                ],
                crates: vec![CrateLink {
                    title: "Crate a".to_owned(),
                    summary: "items".to_owned(),
                    address: "https://docs.rs/a/latest/a/index.html".to_owned(),
                }],
            }],
        }
    }

    fn check(source: &str, text: &str, expected: &str) {
        let list = list();
        let stage = Stage {
            page: list.find(source).unwrap(),
            list: &list,
            repository: "https://host/toolwire",
        };
        assert_eq!(stage.rewrite(text), expected);
    }

    #[test]
    fn guide_shows_only_visible_code() {
        check(
            "crates/a/src/guide/tools.md",
            "# Tools\n\nText.\n\n## Errors\n\n```no_run\n# hidden\nshown\n```\n",
            "# Tools\n\nText.\n\n## Errors\n\n```rust\nshown\n```\n",
        );
    }

    #[test]
    fn addresses_are_those_of_the_site() {
        check(
            "SECURITY.md",
            "# S\n[a](crates/a/src/guide/tools.md#errors) ![p](x/p.png) [b][l] [c](LICENSE-MIT)\n\n[l]: crates/a/src/guide/tools.md\n",
            "# S\n[a](../guides/tools.md#errors) ![p](../pictures/p.png) [b][l] [c](https://host/toolwire/blob/main/LICENSE-MIT)\n\n[l]: ../guides/tools.md\n",
        );
    }

    #[test]
    fn first_page_lists_all_pages() {
        let text = index(&list(), "https://host/toolwire");
        assert!(text.starts_with("# toolwire\n"), "{text}");
        assert!(text.contains("- [Tools](guides/tools.md): s\n"), "{text}");
        assert!(text.contains("\nSecurity <security/security>\n"), "{text}");
        let introduction = "![p](pictures/p.svg) [s](security/security.md)";
        assert!(text.contains(introduction), "{text}");
        let address = "https://docs.rs/a/latest/a/index.html";
        assert!(
            text.contains(&format!("- [Crate a]({address}): items\n")),
            "{text}"
        );
        assert!(text.contains(&format!("\nCrate a <{address}>\n")), "{text}");
    }
}
