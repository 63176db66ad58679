//! Checks the built site: every internal link and anchor exists, and no page requests anything from another host.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::page_list::joined;
use super::{files_below, read};
use crate::steps::Outcome;

/// What one HTML file refers to and offers.
#[derive(Debug, Default)]
struct HtmlPage {
    ids: BTreeSet<String>,
    /// The addresses of links.
    links: BTreeSet<String>,
    /// The addresses of scripts, styles and pictures, which the browser requests.
    requests: BTreeSet<String>,
}

/// The directory with the output of rustdoc, whose own links are not checked.
pub(super) const REFERENCE: &str = "api/";

/// Returns the number of checked links. The error lists the findings.
pub(super) fn check(site: &Path) -> Outcome<usize> {
    let mut pages = BTreeMap::new();
    for file in files_below(site)? {
        if file.ends_with(".html") {
            let text = read(&site.join(&file))?;
            pages.insert(file, HtmlPage::parse(&text));
        }
    }
    let mut findings = Vec::new();
    let mut checked = 0;
    for (path, page) in &pages {
        if path.starts_with(REFERENCE) {
            continue;
        }
        for address in page.links.union(&page.requests) {
            checked += 1;
            findings.extend(problem(site, path, address, &pages));
        }
        let is_external =
            |address: &&String| address.contains("//") && !address.starts_with("data:");
        for address in page.requests.iter().filter(is_external) {
            findings.push(format!("{path} requests {address} from another host"));
        }
    }
    if findings.is_empty() {
        return Ok(checked);
    }
    Err(format!(
        "{}\nsite: {} dead links or requests",
        findings.join("\n"),
        findings.len()
    ))
}

fn problem(
    site: &Path,
    from: &str,
    address: &str,
    pages: &BTreeMap<String, HtmlPage>,
) -> Option<String> {
    if address.contains("://") || address.starts_with("data:") || address.starts_with("mailto:") {
        return None;
    }
    let (file, id) = address.split_once('#').unwrap_or((address, ""));
    let file = file.split('?').next().unwrap_or_default();
    let target = if file.is_empty() {
        from.to_owned()
    } else {
        joined(from, file)
    };
    let path: PathBuf = site.join(&target);
    if !path.is_file() && !path.join("index.html").is_file() {
        return Some(format!("{from}: there is no {target}"));
    }
    let has_id = id.is_empty() || pages.get(&target).is_none_or(|page| page.ids.contains(id));
    (!has_id).then(|| format!("{from}: {target} has no anchor #{id}"))
}

impl HtmlPage {
    fn parse(text: &str) -> Self {
        let mut page = Self::default();
        for tag in text.split('<').skip(1) {
            let tag = tag.split('>').next().unwrap_or_default();
            let name = tag.split_whitespace().next().unwrap_or_default();
            if let Some(id) = attribute(tag, "id") {
                page.ids.insert(id);
            }
            let is_request = match name {
                "script" | "img" | "iframe" | "source" => true,
                "link" => attribute(tag, "rel")
                    .is_some_and(|rel| rel.contains("stylesheet") || rel.contains("icon")),
                "a" => false,
                _ => continue,
            };
            let address = attribute(tag, "src").or_else(|| attribute(tag, "href"));
            let Some(address) = address else { continue };
            if is_request {
                page.requests.insert(address);
            } else {
                page.links.insert(address);
            }
        }
        page
    }
}

/// Returns the value of an attribute in double quotes.
fn attribute(tag: &str, name: &str) -> Option<String> {
    let start = tag.find(&format!(" {name}=\""))? + name.len() + 3;
    let value = tag[start..].split('"').next()?;
    Some(value.replace("&amp;", "&").replace("&#x27;", "'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_links_and_requests_are_found() {
        let page = HtmlPage::parse(
            "<h1 id=\"a\">A</h1><a class=\"b\" href=\"c.html#d\">C</a><script src=\"//e/f.js\"></script><link rel=\"stylesheet\" href=\"g.css\">",
        );
        assert!(page.ids.contains("a"));
        assert!(page.links.contains("c.html#d"));
        assert_eq!(page.requests.len(), 2);
    }

    #[test]
    fn dead_links_are_found() {
        let site = crate::workspace_root().join("xtask");
        let page = HtmlPage {
            ids: BTreeSet::from(["here".to_owned()]),
            ..HtmlPage::default()
        };
        let pages = BTreeMap::from([("Cargo.toml".to_owned(), page)]);
        let problem = |address: &str| problem(&site, "Cargo.toml", address, &pages);
        assert_eq!(problem("src/main.rs"), None);
        assert_eq!(problem("#here"), None);
        assert_eq!(problem("https://example.com"), None);
        assert!(problem("gone.html").is_some());
        assert!(problem("#gone").is_some());
    }
}
