//! The documentation site, built by Sphinx from the Markdown files that `docs/README.md` lists.
//!
//! The checks that need only the files run as tests of this crate. `cargo xtask docs --check` also builds the site, checks
//! its links, and opens it in a browser.

mod aliases;
mod code_blocks;
mod code_paths;
mod diagrams;
mod examples;
mod feature_tables;
mod host_links;
mod item_links;
mod limits;
pub(crate) mod markdown;
mod options;
mod page_list;
mod published;
mod recording;
mod reference;
mod site_links;
mod staging;
mod values;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) use self::diagrams::write as write_diagrams;
use self::item_links::{Documentation, GuideDirectory, is_item_address};
use self::markdown::Document;
pub(crate) use self::options::write as write_options;
use self::page_list::{LIST, PageList};
pub(crate) use self::recording::record;
use crate::page;
use crate::peers::{self, Toolchain};
use crate::plots;
use crate::programs;
use crate::steps::{Outcome, cargo, note, run};
use crate::suite::{self, DOCUMENTED};

/// Directories of built, installed or recorded files.
const SKIPPED_DIRECTORIES: [&str; 4] = [".git", "target", "node_modules", ".venv"];

/// Builds the site with the reference of all crates into `target/site`.
pub(crate) fn build(root: &Path) -> Outcome {
    let site = build_pages(root, &Toolchain::find()?)?;
    document_crates(root)?;
    let documentation = suite::target_directory()?.join("doc");
    check_item_links(root, &documentation)?;
    add_reference(&documentation, &site)?;
    // Now the links to the reference lead to files of the site.
    site_links::check(&site)?;
    note(&format!(
        "the site is {}",
        site.join("index.html").display()
    ));
    Ok(())
}

/// Builds the site without the reference, and opens it in a browser.
pub(crate) fn check(root: &Path, toolchain: &Toolchain) -> Outcome {
    let site = build_pages(root, toolchain)?;
    page::install(root, toolchain)?;
    run(Command::new("node")
        .current_dir(root)
        .arg("page/tests/site.mjs")
        .arg(&site)
        .env("TOOLWIRE_CHROMIUM", programs::chromium()?))
}

/// Rewrites links of guides that are Rust paths, so that they also work on code hosts and on the site.
pub(crate) fn rewrite_links(root: &Path) -> Outcome {
    document_crates(root)?;
    let documentation = Documentation::new(suite::target_directory()?.join("doc"));
    for guides in GuideDirectory::all(root)? {
        guides.rewrite(&documentation)?;
    }
    Ok(())
}

/// Checks that every link to an item leads to a page and an anchor of the built documentation.
pub(crate) fn check_item_links(root: &Path, documentation: &Path) -> Outcome {
    let documentation = Documentation::new(documentation.to_owned());
    let mut findings = Vec::new();
    for guides in GuideDirectory::all(root)? {
        findings.extend(guides.check_addresses(&documentation)?);
    }
    for (path, text) in markdown_files(root)? {
        let document = Document::parse(&text);
        for link in &document.links {
            let address = document.address(&link.target).unwrap_or_default();
            if is_item_address(address) && !documentation.has(address) {
                findings.push(format!("{path}:{}: there is no {address}", link.line));
            }
        }
    }
    outcome(findings)
}

/// Checks the list of pages, the links between files, the code blocks, and the pictures that are drawn from pages.
fn check_files(root: &Path) -> Outcome {
    let list = PageList::read(root)?;
    let files = markdown_files(root)?;
    let repository = repository(root)?;
    let mut findings = host_links::check(root, &files);
    let all_files = files_below(root)?;
    findings.extend(code_paths::check(&files, &all_files));
    findings.extend(examples::check(&files, &all_files));
    findings.extend(reference::check(root)?);
    findings.extend(feature_tables::check(root)?);
    findings.extend(plots::check(root)?);
    findings.extend(recording::check(root)?);
    findings.extend(diagrams::check(root)?);
    findings.extend(options::check(root)?);
    findings.extend(limits::check(root)?);
    findings.extend(aliases::check(root)?);
    for package in DOCUMENTED {
        let address = reference_of(package);
        if !list.crates().any(|link| link.address == address) {
            findings.push(format!("{LIST} has no link to {address}"));
        }
    }
    for page in list.pages() {
        match files.get(&page.source) {
            Some(text) => {
                if !text.starts_with("# ") {
                    findings.push(format!("{}: the first line is not a title", page.source));
                }
                findings.extend(code_blocks::check(root, &page.source, text));
            }
            None => findings.push(format!("{LIST}: there is no file {}", page.source)),
        }
    }
    for (path, text) in &files {
        if list.find(path).is_none() && has_checked_blocks(path) {
            findings.extend(code_blocks::check(root, path, text));
        }
    }
    for guides in GuideDirectory::all(root)? {
        findings.extend(guides.check(&repository)?);
        for page in guides.pages()? {
            let path = relative_path(root, &page);
            if list.find(&path).is_none() {
                findings.push(format!("{path} is not in the list of pages, {LIST}"));
            }
        }
    }
    outcome(findings)
}

/// Returns `true` for the pages outside of the site whose code blocks are checked.
fn has_checked_blocks(path: &str) -> bool {
    let of_crate = path
        .strip_prefix("crates/")
        .and_then(|rest| rest.strip_suffix("/README.md"));
    ["README.md", LIST, "examples/fleet/README.md"].contains(&path)
        || of_crate.is_some_and(|name| !name.contains('/'))
}

fn outcome(findings: Vec<String>) -> Outcome {
    if findings.is_empty() {
        return Ok(());
    }
    Err(format!(
        "{}\ndocs: {} findings",
        findings.join("\n"),
        findings.len()
    ))
}

/// Builds the pages into an empty directory, checks their links, and returns the directory.
fn build_pages(root: &Path, toolchain: &Toolchain) -> Outcome<PathBuf> {
    check_files(root)?;
    let python = install_sphinx(root, toolchain)?;
    let target = suite::target_directory()?;
    let (sources, site) = (target.join("site-sources"), target.join("site"));
    for directory in [&sources, &site] {
        if directory.exists() {
            fs::remove_dir_all(directory)
                .map_err(|error| format!("cannot remove {}: {error}", directory.display()))?;
        }
    }
    staging::write_sources(root, &PageList::read(root)?, &repository(root)?, &sources)?;
    run(Command::new(python)
        .args([
            "-m",
            "sphinx",
            "--quiet",
            "--fail-on-warning",
            "--keep-going",
        ])
        .args(["--builder", "html", "--conf-dir"])
        .arg(root.join("docs").join("site"))
        .arg(&sources)
        .arg(&site))?;
    let links = site_links::check(&site)?;
    note(&format!("{links} links of the site are checked"));
    Ok(site)
}

/// Installs Sphinx into `docs/.venv` if needed, with the `uv` of the peers.
fn install_sphinx(root: &Path, toolchain: &Toolchain) -> Outcome<PathBuf> {
    let environment = root.join("docs").join(".venv");
    let requirements = root.join("docs").join("requirements.txt");
    let python = peers::install_python_packages(&peers::directory(root), toolchain)?;
    let uv = python.with_file_name(format!("uv{}", std::env::consts::EXE_SUFFIX));
    peers::install_with_uv(&environment, &requirements, toolchain, &uv)?;
    Ok(peers::environment_python(&environment))
}

fn document_crates(root: &Path) -> Outcome {
    let packages = DOCUMENTED.iter().flat_map(|package| ["--package", package]);
    let arguments: Vec<&str> = ["doc", "--no-deps", "--all-features"]
        .into_iter()
        .chain(packages)
        .collect();
    run(&mut cargo(root, &arguments))
}

/// Copies the output of rustdoc into the site, and directs the links to it.
fn add_reference(documentation: &Path, site: &Path) -> Outcome {
    for file in files_below(site)? {
        if file.ends_with(".html") {
            let path = site.join(&file);
            let text = read(&path)?;
            let up = "../".repeat(file.matches('/').count());
            let text = with_local_reference(&text, &up);
            fs::write(&path, text)
                .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        }
    }
    let api = site.join(site_links::REFERENCE);
    for file in files_below(documentation)? {
        let target = api.join(&file);
        let parent = target.parent().unwrap_or(&api);
        fs::create_dir_all(parent)
            .and_then(|()| fs::copy(documentation.join(&file), &target))
            .map_err(|error| format!("cannot write {}: {error}", target.display()))?;
    }
    Ok(())
}

/// Returns the address of the first page of a crate's documentation.
fn reference_of(package: &str) -> String {
    format!(
        "https://docs.rs/{package}/latest/{}/index.html",
        package.replace('-', "_")
    )
}

/// Replaces the addresses of docs.rs by those of the site.
fn with_local_reference(text: &str, up: &str) -> String {
    let mut local = text.to_owned();
    for package in DOCUMENTED {
        let published = format!("https://docs.rs/{package}/latest/");
        local = local.replace(&published, &format!("{up}api/"));
    }
    local
}

/// Returns the address of the repository, a line of the workspace's manifest.
fn repository(root: &Path) -> Outcome<String> {
    let manifest = read(&root.join("Cargo.toml"))?;
    let mut lines = manifest.lines();
    let line = lines.find_map(|line| line.strip_prefix("repository = \""));
    let address = line.and_then(|rest| rest.split('"').next());
    address
        .map(str::to_owned)
        .ok_or_else(|| "Cargo.toml has no repository".to_owned())
}

/// Returns the text of every Markdown file, by its path in the repository.
fn markdown_files(root: &Path) -> Outcome<BTreeMap<String, String>> {
    let mut files = BTreeMap::new();
    for file in files_below(root)? {
        if file.ends_with(".md") {
            let text = read(&root.join(&file))?;
            files.insert(file, text);
        }
    }
    Ok(files)
}

/// Returns the relative paths of all files below a directory, with `/`.
fn files_below(root: &Path) -> Outcome<Vec<String>> {
    let mut files = Vec::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        let cannot_read = |error| format!("cannot read {}: {error}", directory.display());
        for entry in fs::read_dir(&directory).map_err(cannot_read)? {
            let entry = entry.map_err(cannot_read)?;
            let path = entry.path();
            if path.is_dir() {
                let name = entry.file_name();
                if !SKIPPED_DIRECTORIES.iter().any(|skipped| name == *skipped) {
                    directories.push(path);
                }
            } else {
                files.push(relative_path(root, &path));
            }
        }
    }
    files.sort();
    Ok(files)
}

fn relative_path(root: &Path, path: &Path) -> String {
    let relative = path.strip_prefix(root).unwrap_or(path);
    relative.to_string_lossy().replace('\\', "/")
}

fn read(path: &Path) -> Outcome<String> {
    fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_links_and_code_blocks_of_the_repository_are_right() {
        if let Err(findings) = check_files(&crate::workspace_root()) {
            panic!("{findings}");
        }
    }

    #[test]
    fn links_to_the_reference_stay_on_the_site() {
        let text = "<a href=\"https://docs.rs/toolwire/latest/toolwire/struct.Server.html\">";
        let expected = "<a href=\"../api/toolwire/struct.Server.html\">";
        assert_eq!(with_local_reference(text, "../"), expected);
    }
}
