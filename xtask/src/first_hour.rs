//! Does what the page `getting_started` says: writes its files, runs its commands, and compares their output. Then creates a
//! server with `toolwire new` and calls it as a host does.
//!
//! A block after `<!-- write: PATH -->` is a file. A block after `<!-- run -->` has one command per line, and `=> text` is the
//! output of the command before it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::docs::markdown::Document;
use crate::processor_time;
use crate::steps::{Outcome, cargo, note, run};
use crate::suite;

const PAGE: &str = "crates/toolwire/src/guide/getting_started.md";

/// The commands from a new server to its response in a host, which starts it by the entry in its file.
const NEW_SERVER: &str = "\
toolwire new greeter --toolwire-path toolwire
cd greeter
cargo build
toolwire install --host cursor --scope project -- ./target/debug/greeter
toolwire call --config .cursor/mcp.json greeter add a=1 b=2
=> 3
";

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

/// Executes the page in an empty directory beside a link to this repository, then creates and installs another server.
pub(crate) fn run_page(root: &Path) -> Outcome {
    let page = fs::read_to_string(root.join(PAGE))
        .map_err(|error| format!("cannot read {PAGE}: {error}"))?;
    run(&mut cargo(root, &["build", "--package", "toolwire-cli"]))?;
    let commands = suite::target_directory()?.join("debug");
    // A crate below this repository would become a part of its workspace.
    let name = format!("toolwire-first-hour-{}", std::process::id());
    let directory = std::env::temp_dir().join(name);
    prepare(root, &directory)?;
    perform("the page", page_steps(&page), &directory, &commands)?;
    let new_server = command_steps(NEW_SERVER);
    perform("a new server in a host", new_server, &directory, &commands)?;
    // The directory of a page that fails remains, for the person who looks for the reason.
    fs::remove_dir_all(&directory)
        .map_err(|error| format!("cannot remove {}: {error}", directory.display()))
}

/// Performs the steps from an empty directory, and prints how long they took together.
fn perform(name: &str, steps: Vec<Step>, directory: &Path, commands: &Path) -> Outcome {
    let watch = StopWatch::start();
    let mut at = directory.to_owned();
    for step in steps {
        match step {
            Step::Write { path, text } => write(&at.join(path), &text)?,
            Step::Run { command, output } => match command.strip_prefix("cd ") {
                Some(below) => {
                    at = at.join(below);
                    // All packages share a target directory, so that dependencies are built once.
                    link(&directory.join("target"), &at.join("target"))?;
                }
                None => execute(&command, output.as_deref(), &at, commands)?,
            },
        }
    }
    note(&format!("{name}: {}", watch.read()));
    Ok(())
}

/// Elapsed time, and CPU time of child processes.
struct StopWatch {
    start: Instant,
    processor_start: Option<f64>,
}

impl StopWatch {
    fn start() -> Self {
        Self {
            start: Instant::now(),
            processor_start: processor_time::of_children(),
        }
    }

    fn read(&self) -> String {
        let elapsed = self.start.elapsed().as_secs_f64();
        let processor = processor_time::of_children().zip(self.processor_start);
        match processor {
            Some((now, start)) => format!("{elapsed:.1} s, {:.1} CPU s", now - start),
            None => format!("{elapsed:.1} s"),
        }
    }
}

/// Returns the steps of a page in their order.
fn page_steps(page: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    for block in Document::parse(page).blocks {
        let comment = block.comment.unwrap_or_default();
        if let Some(path) = comment.strip_prefix("write: ") {
            steps.push(Step::Write {
                path: path.to_owned(),
                text: block.code,
            });
        } else if comment == "run" {
            steps.extend(command_steps(&block.code));
        }
    }
    steps
}

/// Returns the commands with their expected output.
fn command_steps(text: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix("=> "), steps.last_mut()) {
            (Some(text), Some(Step::Run { output, .. })) => *output = Some(text.to_owned()),
            _ => steps.push(Step::Run {
                command: line.to_owned(),
                output: None,
            }),
        }
    }
    steps
}

/// Creates an empty directory with a link `toolwire` to the repository, and with a target directory.
fn prepare(root: &Path, directory: &Path) -> Outcome {
    let cannot = |error| format!("cannot create {}: {error}", directory.display());
    if directory.exists() {
        fs::remove_dir_all(directory).map_err(cannot)?;
    }
    fs::create_dir_all(directory.join("target")).map_err(cannot)?;
    link(root, &directory.join("toolwire"))
}

/// Creates a link to a directory.
fn link(directory: &Path, link: &Path) -> Outcome {
    #[cfg(unix)]
    let linked = std::os::unix::fs::symlink(directory, link);
    #[cfg(windows)]
    let linked = std::os::windows::fs::symlink_dir(directory, link);
    linked.map_err(|error| format!("cannot create {}: {error}", link.display()))
}

fn write(path: &Path, text: &str) -> Outcome {
    let parent = path.parent().unwrap_or(path);
    fs::create_dir_all(parent)
        .and_then(|()| fs::write(path, text))
        .map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// Runs a command of the page with the built `toolwire` on its path, and compares its output.
fn execute(line: &str, expected: Option<&str>, directory: &Path, commands: &Path) -> Outcome {
    let watch = StopWatch::start();
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
    note(&format!("{line}: {}", watch.read()));
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
        assert_eq!(page_steps(page), expected);
    }

    #[test]
    fn getting_started_ends_with_a_response() {
        let page = fs::read_to_string(crate::workspace_root().join(PAGE)).unwrap();
        let steps = page_steps(&page);
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
