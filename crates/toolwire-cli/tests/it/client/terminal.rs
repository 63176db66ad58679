//! Runs `toolwire` in a pseudo-terminal.
#![cfg(target_os = "linux")]

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::Stdio;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use tokio::process::Command;

use crate::process::within;

/// The size of the terminal.
const ROWS: u16 = 50;
pub(crate) const COLUMNS: u16 = 80;

/// The outcome of a command in a terminal.
#[derive(Debug)]
pub(crate) struct TerminalOutput {
    pub(crate) code: Option<i32>,
    /// Standard output, which is not the terminal.
    pub(crate) stdout: String,
    /// What the terminal showed.
    pub(crate) shown: String,
}

/// Runs a command with the terminal as standard input and standard error. Types each input when its prompt appears.
pub(crate) async fn run_at_terminal(
    mut command: Command,
    script: &[(&'static str, &'static str)],
) -> TerminalOutput {
    command.env("NO_COLOR", "1");
    run_with_colours(command, script).await
}

/// As [`run_at_terminal`], without `NO_COLOR`.
pub(crate) async fn run_with_colours(
    mut command: Command,
    script: &[(&'static str, &'static str)],
) -> TerminalOutput {
    let script = script.to_vec();
    let (terminal_end, program_end) = terminal();
    command
        .stdin(Stdio::from(
            program_end.try_clone().expect("Linux has pseudo-terminals"),
        ))
        .stderr(Stdio::from(program_end))
        .stdout(Stdio::piped())
        .kill_on_drop(true);
    let child = command.spawn().expect("the program under test starts");
    // The command has copies of the program's end.
    drop(command);
    let scripted = tokio::task::spawn_blocking(move || run_script(terminal_end, &script));
    let output = within(child.wait_with_output())
        .await
        .expect("the program exits");
    let shown = within(scripted).await.expect("the script does not panic");
    TerminalOutput {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("the output is UTF-8"),
        shown,
    }
}

/// Opens a pseudo-terminal and returns both ends.
fn terminal() -> (File, File) {
    let terminal_end: OwnedFd =
        openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("Linux has pseudo-terminals");
    grantpt(&terminal_end).expect("Linux has pseudo-terminals");
    unlockpt(&terminal_end).expect("Linux has pseudo-terminals");
    let name = ptsname(&terminal_end, Vec::new()).expect("Linux has pseudo-terminals");
    let program_end = File::options()
        .read(true)
        .write(true)
        .open(name.to_str().expect("the name is ASCII"))
        .expect("Linux has pseudo-terminals");
    let size = Winsize {
        ws_row: ROWS,
        ws_col: COLUMNS,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&terminal_end, size).expect("Linux has pseudo-terminals");
    (File::from(terminal_end), program_end)
}

/// Types responses when their prompts appear, and returns the text that was shown.
fn run_script(mut terminal_end: File, script: &[(&str, &str)]) -> String {
    let mut shown = String::new();
    let mut seen = 0;
    let mut script = script.iter();
    let mut next = script.next();
    let mut buffer = [0; 4096];
    loop {
        while let Some((prompt, input)) = next {
            let Some(position) = shown[seen..].find(prompt) else {
                break;
            };
            seen += position + prompt.len();
            terminal_end
                .write_all(format!("{input}\n").as_bytes())
                .expect("the program reads");
            next = script.next();
        }
        match terminal_end.read(&mut buffer) {
            // At the end of a terminal, a read fails.
            Ok(0) | Err(_) => return shown,
            Ok(length) => shown.push_str(&String::from_utf8_lossy(&buffer[..length])),
        }
    }
}
