//! Does all that the page `getting_started` says, from the clone of the repository on: writes its files, runs its commands,
//! and compares their output. Then creates a server with `toolwire new` and calls it as a host does.
//!
//! A block after `<!-- write: PATH -->` is a file. A block after `<!-- shown: PATH -->` is a file that a command wrote, in
//! which `/path/to` is the directory. A block after `<!-- run -->` has one command per line, and `=> text` is the output of the
//! command before it. `REPOSITORY` in a command is this repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::docs::markdown::Document;
use crate::processor_time;
use crate::steps::{Outcome, note};

pub(crate) const PAGE: &str = "crates/toolwire/src/guide/getting_started.md";

/// The address of the repository in the commands of the page.
const REPOSITORY: &str = "REPOSITORY";

/// The directory of the reader in files that a command wrote.
const DIRECTORY: &str = "/path/to";

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
    Compare {
        path: String,
        text: String,
    },
    Run {
        command: String,
        output: Option<String>,
    },
}

/// The places in which the steps of a page run.
#[derive(Debug)]
struct Place<'a> {
    /// The repository that is cloned.
    root: &'a Path,
    /// The directory of the reader, which is empty at first.
    directory: PathBuf,
}

impl Place<'_> {
    /// Returns the directory into which the page installs the command.
    fn installed(&self) -> PathBuf {
        self.directory.join("installed")
    }
}

/// Executes the page in an empty directory, then creates and installs another server.
///
/// The clone has the last commit of this repository, without changes that are not committed.
pub(crate) fn run_page(root: &Path) -> Outcome {
    let page = fs::read_to_string(root.join(PAGE))
        .map_err(|error| format!("cannot read {PAGE}: {error}"))?;
    // A crate below this repository would become a part of its workspace.
    let name = format!("toolwire-first-hour-{}", std::process::id());
    let place = Place {
        root,
        directory: prepare(&std::env::temp_dir().join(name))?,
    };
    perform("the page", page_steps(&page), &place)?;
    perform("a new server in a host", command_steps(NEW_SERVER), &place)?;
    // The directory of a page that fails remains, for the person who looks for the reason.
    fs::remove_dir_all(&place.directory)
        .map_err(|error| format!("cannot remove {}: {error}", place.directory.display()))
}

/// Performs the steps, and prints how long they took together.
fn perform(name: &str, steps: Vec<Step>, place: &Place<'_>) -> Outcome {
    let watch = StopWatch::start();
    let mut at = place.directory.clone();
    for step in steps {
        match step {
            Step::Write { path, text } => write(&at.join(path), &text)?,
            Step::Compare { path, text } => compare(&at.join(path), &text, &place.directory)?,
            Step::Run { command, output } => match command.strip_prefix("cd ") {
                Some(below) => {
                    at = at.join(below);
                    // All packages share a target directory, so that dependencies are built once.
                    link(&place.directory.join("target"), &at.join("target"))?;
                }
                None => execute(&command, output.as_deref(), &at, place)?,
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
                text: if path.ends_with(".rs") {
                    without_hidden_marks(&block.code)
                } else {
                    block.code
                },
            });
        } else if let Some(path) = comment.strip_prefix("shown: ") {
            steps.push(Step::Compare {
                path: path.to_owned(),
                text: block.code,
            });
        } else if comment == "run" {
            steps.extend(command_steps(&block.code));
        }
    }
    steps
}

/// Returns the whole program of a block. rustdoc does not show its lines that start with `# `.
fn without_hidden_marks(code: &str) -> String {
    code.lines()
        .map(|line| format!("{}\n", line.strip_prefix("# ").unwrap_or(line)))
        .collect()
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

/// Creates an empty directory with a target directory, and returns its path without links.
fn prepare(directory: &Path) -> Outcome<PathBuf> {
    let cannot = |error| format!("cannot create {}: {error}", directory.display());
    if directory.exists() {
        fs::remove_dir_all(directory).map_err(cannot)?;
    }
    fs::create_dir_all(directory.join("target")).map_err(cannot)?;
    directory.canonicalize().map_err(cannot)
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

/// Compares a file that a command wrote with the page.
fn compare(path: &Path, shown: &str, directory: &Path) -> Outcome {
    let text = fs::read_to_string(path)
        .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let text = text.replace(&directory.display().to_string(), DIRECTORY);
    if text.trim() == shown.trim() {
        return Ok(());
    }
    Err(format!("{} differs from the page:\n{text}", path.display()))
}

/// A command of the page: its words, and the file from which it reads.
#[derive(Debug, PartialEq, Eq)]
struct ParsedCommand {
    words: Vec<String>,
    input: Option<String>,
}

impl ParsedCommand {
    fn parse(line: &str, root: &Path) -> Self {
        let (command, input) = line
            .split_once(" < ")
            .map_or((line, None), |(command, file)| {
                (command, Some(file.trim().to_owned()))
            });
        let words = command.split_whitespace().map(|word| match word {
            REPOSITORY => root.display().to_string(),
            _ => word.to_owned(),
        });
        Self {
            words: words.collect(),
            input,
        }
    }
}

/// Runs a command of the page with the installed `toolwire` on its path, and compares its output.
fn execute(line: &str, expected: Option<&str>, directory: &Path, place: &Place<'_>) -> Outcome {
    let watch = StopWatch::start();
    let parsed = ParsedCommand::parse(line, place.root);
    let (program, arguments) = parsed.words.split_first().ok_or("an empty command")?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let installed = place.installed();
    let paths = std::iter::once(installed.join("bin")).chain(std::env::split_paths(&path));
    let path = std::env::join_paths(paths).map_err(|error| error.to_string())?;
    let input = match &parsed.input {
        Some(file) => fs::File::open(directory.join(file))
            .map_err(|error| format!("cannot open {file}: {error}"))?
            .into(),
        None => Stdio::null(),
    };
    let output = Command::new(program)
        .args(arguments)
        .current_dir(directory)
        .stdin(input)
        .env("PATH", path)
        .env("CARGO_INSTALL_ROOT", installed)
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
    fn hidden_lines_are_written_and_shown_files_are_compared() {
        let page = "<!-- write: a.rs -->\n```no_run\n# fn main() {\nb();\n# }\n```\n\n<!-- shown: c.json -->\n```json\n{}\n```\n";
        let expected = [
            Step::Write {
                path: "a.rs".to_owned(),
                text: "fn main() {\nb();\n}\n".to_owned(),
            },
            Step::Compare {
                path: "c.json".to_owned(),
                text: "{}\n".to_owned(),
            },
        ];
        assert_eq!(page_steps(page), expected);
    }

    #[test]
    fn commands_name_the_repository_and_their_input() {
        let check = |line: &str, words: &[&str], input: Option<&str>| {
            let expected = ParsedCommand {
                words: words.iter().map(|word| (*word).to_owned()).collect(),
                input: input.map(str::to_owned),
            };
            assert_eq!(ParsedCommand::parse(line, Path::new("root")), expected);
        };
        let clone = ["git", "clone", "root", "toolwire"];
        check("git clone REPOSITORY toolwire", &clone, None);
        check("./calc < a.json", &["./calc"], Some("a.json"));
    }

    #[test]
    fn every_block_of_getting_started_is_a_step() {
        let page = fs::read_to_string(crate::workspace_root().join(PAGE)).unwrap();
        for block in Document::parse(&page).blocks {
            let comment = block.comment.as_deref().unwrap_or_default();
            let prefixes = ["write: ", "shown: "];
            let is_step =
                comment == "run" || prefixes.iter().any(|prefix| comment.starts_with(prefix));
            assert!(is_step, "{PAGE}:{}: not executed", block.line);
        }
        let steps = page_steps(&page);
        let command = |step: &Step| match step {
            Step::Run { command, .. } => Some(command.clone()),
            _ => None,
        };
        let commands: Vec<String> = steps.iter().filter_map(command).collect();
        for start in [
            "git clone ",
            "cargo install ",
            "toolwire install ",
            "cargo test ",
        ] {
            let runs = commands.iter().any(|command| command.starts_with(start));
            assert!(runs, "no `{start}`: {commands:?}");
        }
        let outputs = steps.iter().filter(|step| {
            matches!(
                step,
                Step::Run {
                    output: Some(_),
                    ..
                }
            )
        });
        assert!(outputs.count() >= 5, "{steps:?}");
    }
}
