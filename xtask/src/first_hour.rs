//! Does what the page `getting_started` says: writes its files, runs its commands, and compares their output.
//!
//! A block after `<!-- write: PATH -->` is a file. A block after `<!-- run -->` has one command per line, and `=> text` is the
//! output of the command before it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::docs::markdown::Document;
use crate::steps::{Outcome, cargo, note, run};
use crate::suite;

const PAGE: &str = "crates/toolwire/src/guide/getting_started.md";

/// A step of the page.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    Write {
        path: String,
        text: String,
    },
    Run {
        command: String,
        output: Option<String>,
    },
}

/// Executes the page in an empty directory beside a link to this repository.
pub(crate) fn run_page(root: &Path) -> Outcome {
    let page = fs::read_to_string(root.join(PAGE))
        .map_err(|error| format!("cannot read {PAGE}: {error}"))?;
    run(&mut cargo(root, &["build", "--package", "toolwire-cli"]))?;
    let commands = suite::target_directory()?.join("debug");
    // A crate below this repository would become a part of its workspace.
    let name = format!("toolwire-first-hour-{}", std::process::id());
    let directory = std::env::temp_dir().join(name);
    prepare(root, &directory)?;
    let start = Instant::now();
    let mut at = directory.clone();
    for step in steps(&page) {
        match step {
            Step::Write { path, text } => write(&at.join(path), &text)?,
            Step::Run { command, output } => match command.strip_prefix("cd ") {
                Some(below) => at = at.join(below),
                None => execute(&command, output.as_deref(), &at, &commands)?,
            },
        }
    }
    // The directory of a page that fails remains, for the person who looks for the reason.
    fs::remove_dir_all(&directory)
        .map_err(|error| format!("cannot remove {}: {error}", directory.display()))?;
    note(&format!(
        "the page took {} s from an empty directory",
        start.elapsed().as_secs()
    ));
    Ok(())
}

/// Returns the steps of a page in their order.
fn steps(page: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    for block in Document::parse(page).blocks {
        let comment = block.comment.unwrap_or_default();
        if let Some(path) = comment.strip_prefix("write: ") {
            steps.push(Step::Write {
                path: path.to_owned(),
                text: block.code,
            });
        } else if comment == "run" {
            for line in block.code.lines() {
                match (line.strip_prefix("=> "), steps.last_mut()) {
                    (Some(text), Some(Step::Run { output, .. })) => *output = Some(text.to_owned()),
                    _ => steps.push(Step::Run {
                        command: line.to_owned(),
                        output: None,
                    }),
                }
            }
        }
    }
    steps
}

/// Creates an empty directory with a link `toolwire` to the repository.
fn prepare(root: &Path, directory: &Path) -> Outcome {
    let cannot = |error| format!("cannot create {}: {error}", directory.display());
    if directory.exists() {
        fs::remove_dir_all(directory).map_err(cannot)?;
    }
    fs::create_dir_all(directory).map_err(cannot)?;
    #[cfg(unix)]
    std::os::unix::fs::symlink(root, directory.join("toolwire")).map_err(cannot)?;
    #[cfg(windows)]
    std::os::windows::fs::symlink_dir(root, directory.join("toolwire")).map_err(cannot)?;
    Ok(())
}

fn write(path: &Path, text: &str) -> Outcome {
    let parent = path.parent().unwrap_or(path);
    fs::create_dir_all(parent)
        .and_then(|()| fs::write(path, text))
        .map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// Runs a command of the page with the built `toolwire` on its path, and compares its output.
fn execute(line: &str, expected: Option<&str>, directory: &Path, commands: &Path) -> Outcome {
    let start = Instant::now();
    let mut words = line.split_whitespace();
    let program = words.next().unwrap_or_default();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let paths = std::iter::once(PathBuf::from(commands)).chain(std::env::split_paths(&path));
    let path = std::env::join_paths(paths).map_err(|error| error.to_string())?;
    let output = Command::new(program)
        .args(words)
        .current_dir(directory)
        .env("PATH", path)
        .env_remove("CARGO_TARGET_DIR")
        .output()
        .map_err(|error| format!("cannot start `{line}`: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    note(&format!("{} ms: {line}", start.elapsed().as_millis()));
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(format!("`{line}` failed:\n{text}{stderr}"));
    }
    match expected {
        Some(expected) if text.trim() != expected => Err(format!(
            "`{line}` printed `{}`, not `{expected}`",
            text.trim()
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_has_steps_and_outputs() {
        let page = "<!-- write: a.txt -->\n```text\nx\n```\n\n<!-- run -->\n```text\ncat a.txt\n=> x\n```\n\n```text\nnot a step\n```\n";
        let expected = [
            Step::Write {
                path: "a.txt".to_owned(),
                text: "x\n".to_owned(),
            },
            Step::Run {
                command: "cat a.txt".to_owned(),
                output: Some("x".to_owned()),
            },
        ];
        assert_eq!(steps(page), expected);
    }

    #[test]
    fn getting_started_ends_with_a_response() {
        let page = fs::read_to_string(crate::workspace_root().join(PAGE)).unwrap();
        let steps = steps(&page);
        let has_output = |step: &Step| {
            matches!(
                step,
                Step::Run {
                    output: Some(_),
                    ..
                }
            )
        };
        assert!(steps.iter().any(has_output), "{steps:?}");
    }
}
