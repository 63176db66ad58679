//! Checks that every command line `toolwire …` in a code block of the documentation is valid.
//!
//! Lines that describe a syntax, with `<name>`, `[option]`, `a|b` or `…`, are not command lines.

use std::fs;
use std::path::{Path, PathBuf};

use clap::CommandFactory as _;

use crate::arguments::Arguments;
use crate::shell_words::split_words;

/// Directories with pages.
const DIRECTORIES: [&str; 4] = ["docs", "crates", "examples", "deploy"];

/// Directories without pages.
const SKIPPED: [&str; 5] = ["target", "node_modules", ".venv", "tests", "pictures"];

/// Fewer would mean that the pages are not found.
const FEWEST: usize = 60;

#[test]
fn documented_commands_are_valid() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages = vec![root.join("README.md")];
    for directory in DIRECTORIES {
        find_pages(&root.join(directory), &mut pages);
    }
    let mut count = 0;
    let mut problems = Vec::new();
    for page in pages {
        let text = fs::read_to_string(&page).expect("the page is readable");
        for line in command_lines(&text) {
            count += 1;
            let words = split_words(&line).expect("quotation marks are closed");
            if let Err(error) = Arguments::command().try_get_matches_from(words) {
                problems.push(format!("{}: {line}\n{error}", page.display()));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(count >= FEWEST, "only {count} commands");
}

fn find_pages(directory: &Path, pages: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("the directory is readable") {
        let path = entry.expect("the directory is readable").path();
        if path.is_dir() {
            let name = path.file_name().unwrap_or_default();
            if !SKIPPED.iter().any(|skipped| name == *skipped) {
                find_pages(&path, pages);
            }
        } else if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
}

/// Returns the command lines in the code blocks of a page, without prompts, comments and redirections.
fn command_lines(page: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let mut is_code = false;
    let mut continued = String::new();
    for line in page.lines().map(str::trim) {
        if line.starts_with("```") {
            is_code = !is_code;
        } else if is_code {
            continued.push_str(line.strip_prefix("$ ").unwrap_or(line));
            if let Some(start) = continued.strip_suffix('\\') {
                continued = start.to_owned();
                continue;
            }
            commands.extend(command(&std::mem::take(&mut continued)));
        }
    }
    commands
}

fn command(line: &str) -> Option<String> {
    let line = line.split(" #").next().unwrap_or_default();
    let line = line.split(" > ").next().unwrap_or_default();
    // A line of a manifest starts with the name of the crate.
    let is_command = line.starts_with("toolwire ") && !line.starts_with("toolwire = ");
    let is_syntax = line.contains(['<', '[', '|', '…']);
    (is_command && !is_syntax).then(|| line.trim().to_owned())
}

#[test]
fn only_code_blocks_have_command_lines() {
    let page = "toolwire is prose\n```console\n$ toolwire tools a # lists\ntoolwire call \\\n  b c=1 > file\n\
                toolwire proxy <server>\ntoolwire: error\ntoolwire = \"1\"\n```\ntoolwire again\n";
    assert_eq!(
        command_lines(page),
        ["toolwire tools a", "toolwire call b c=1"]
    );
}
