//! Runs other programs, and prints the command, the duration and the error, if any.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Instant;

/// The outcome of a step. The error is text for the user: one line, and before it the reports of failed tests, if any.
pub(crate) type Outcome<T = ()> = Result<T, String>;

/// Returns the cargo command of the toolchain that runs this task.
pub(crate) fn cargo(root: &Path, arguments: &[&str]) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.current_dir(root).args(arguments);
    // Cargo's variables about this package must not reach another cargo, because build scripts that read them would run
    // again.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command
}

/// Runs a command to the end with this terminal.
pub(crate) fn run(command: &mut Command) -> Outcome {
    let start = announce(command);
    let status = command
        .status()
        .map_err(|error| cannot_start(command, &error))?;
    finish(command, status, start)
}

/// Runs a command to the end, prints its output, and returns the output and the outcome.
pub(crate) fn run_and_capture(command: &mut Command) -> Outcome<(Vec<String>, Outcome)> {
    let start = announce(command);
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| cannot_start(command, &error))?;
    let stdout = child.stdout.take().expect("stdout is piped");
    let mut lines = Vec::new();
    for line in BufReader::new(stdout).split(b'\n') {
        let line =
            line.map_err(|error| format!("cannot read from {}: {error}", command_line(command)))?;
        let line = String::from_utf8_lossy(&line).into_owned();
        // A closed terminal must not stop the tests.
        let _ = writeln!(std::io::stdout(), "{line}");
        lines.push(line);
    }
    let status = child
        .wait()
        .map_err(|error| format!("cannot wait for {}: {error}", command_line(command)))?;
    Ok((lines, finish(command, status, start)))
}

/// Runs a command to the end beside other steps, then prints its output, which is not mixed with theirs.
pub(crate) fn run_and_print_after(command: &mut Command) -> Outcome {
    let (_, outcome) = capture_and_print_after(command)?;
    outcome
}

/// Does what [`run_and_print_after`] does, and returns the lines of the output, without the errors, and the outcome.
pub(crate) fn capture_and_print_after(command: &mut Command) -> Outcome<(Vec<String>, Outcome)> {
    let start = Instant::now();
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| cannot_start(command, &error))?;
    let mut stderr = std::io::stderr().lock();
    // A closed terminal must not stop the tests.
    let _ = writeln!(stderr, "\n==> {}", command_line(command));
    let _ = stderr.write_all(&output.stdout);
    let _ = stderr.write_all(&output.stderr);
    drop(stderr);
    let text = String::from_utf8_lossy(&output.stdout);
    let lines = text.lines().map(str::to_owned).collect();
    Ok((lines, finish(command, output.status, start)))
}

/// Programs that run another one with the lowest priority. The first gives it only time that no other program uses.
const LOW_PRIORITY: [&[&str]; 2] = [&["chrt", "--idle", "0"], &["nice", "-n", "19"]];

/// Returns the command with the lowest priority, if this system has a program for it.
pub(crate) fn with_low_priority(command: &Command) -> Command {
    let works =
        |words: &&&[&str]| output_of(words[0], &[&words[1..], &["true"]].concat()).is_some();
    let Some(words) = LOW_PRIORITY.iter().find(works) else {
        return copy(command, Command::new(command.get_program()));
    };
    let mut low = Command::new(words[0]);
    low.args(&words[1..]).arg(command.get_program());
    copy(command, low)
}

/// Adds the arguments, the variables and the directory of `from` to `to`.
fn copy(from: &Command, mut to: Command) -> Command {
    to.args(from.get_args());
    for (name, value) in from.get_envs() {
        match value {
            Some(value) => to.env(name, value),
            None => to.env_remove(name),
        };
    }
    if let Some(directory) = from.get_current_dir() {
        to.current_dir(directory);
    }
    to
}

/// Returns the output of a program, or `None` if it is missing or fails.
pub(crate) fn output_of(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

/// Prints a message about a step without a command.
pub(crate) fn note(text: &str) {
    eprintln!("\n==> {text}");
}

fn announce(command: &Command) -> Instant {
    note(&command_line(command));
    Instant::now()
}

fn finish(command: &Command, status: ExitStatus, start: Instant) -> Outcome {
    eprintln!("    {} s", start.elapsed().as_secs());
    if status.success() {
        Ok(())
    } else {
        Err(format!("failed ({status}): {}", command_line(command)))
    }
}

fn cannot_start(command: &Command, error: &std::io::Error) -> String {
    format!("cannot start {}: {error}", command_line(command))
}

/// Returns the command as a user would type it.
fn command_line(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(command.get_program());
    let mut text = name.to_string_lossy().into_owned();
    for argument in command.get_args() {
        text.push(' ');
        text.push_str(&argument.to_string_lossy());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_with_low_priority_runs_as_without() {
        let command = cargo(Path::new("."), &["--version"]);
        let output = with_low_priority(&command).output().expect("cargo runs");
        let text = String::from_utf8(output.stdout).expect("text");
        assert!(text.starts_with("cargo "), "{text}");
    }
}
