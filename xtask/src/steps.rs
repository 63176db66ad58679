//! Running other programs, with one line that says what is run and one that says how long it took or what went wrong.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Instant;

/// How an outcome travels up: the problem is one line for a person.
pub(crate) type Outcome<T = ()> = Result<T, String>;

/// A cargo of the toolchain that runs this task.
pub(crate) fn cargo(root: &Path, arguments: &[&str]) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.current_dir(root).args(arguments);
    // What cargo told this task about its package must not reach another cargo: build scripts that look at it would run anew.
    for (name, _) in std::env::vars_os() {
        let told = name.to_string_lossy();
        if told.starts_with("CARGO_PKG_") || told.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command
}

/// Runs to the end with this terminal.
pub(crate) fn run(command: &mut Command) -> Outcome {
    let start = announce(command);
    let status = command
        .status()
        .map_err(|error| cannot_start(command, &error))?;
    finish(command, status, start)
}

/// Runs to the end, shows what is printed, and gives it back whether the program succeeded or not.
pub(crate) fn run_and_keep(command: &mut Command) -> Outcome<(Vec<String>, Outcome)> {
    let start = announce(command);
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| cannot_start(command, &error))?;
    let stdout = child.stdout.take().expect("stdout is piped");
    let mut lines = Vec::new();
    for line in BufReader::new(stdout).split(b'\n') {
        let line = line.map_err(|error| format!("cannot read from {}: {error}", shown(command)))?;
        let line = String::from_utf8_lossy(&line).into_owned();
        // A closed terminal is no reason to stop the tests.
        let _ = writeln!(std::io::stdout(), "{line}");
        lines.push(line);
    }
    let status = child
        .wait()
        .map_err(|error| format!("cannot wait for {}: {error}", shown(command)))?;
    Ok((lines, finish(command, status, start)))
}

/// What the program prints, or nothing when it is not there or fails.
pub(crate) fn ask(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

/// Says what a person may want to know about a step that runs nothing.
pub(crate) fn note(text: &str) {
    eprintln!("\n==> {text}");
}

fn announce(command: &Command) -> Instant {
    note(&shown(command));
    Instant::now()
}

fn finish(command: &Command, status: ExitStatus, start: Instant) -> Outcome {
    eprintln!("    {} s", start.elapsed().as_secs());
    if status.success() {
        Ok(())
    } else {
        Err(format!("failed ({status}): {}", shown(command)))
    }
}

fn cannot_start(command: &Command, error: &std::io::Error) -> String {
    format!("cannot start {}: {error}", shown(command))
}

/// The command as a person would type it.
fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(command.get_program());
    let mut text = name.to_string_lossy().into_owned();
    for argument in command.get_args() {
        text.push(' ');
        text.push_str(&argument.to_string_lossy());
    }
    text
}
