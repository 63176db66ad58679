//! The recording of a terminal: a picture that shows the first session of the tour line by line.
//!
//! A test of the command runs the session of the page and compares the output. The check of the documentation compares the
//! picture with the session. So the picture shows what the commands print.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use super::markdown::Document;
use super::read;
use crate::steps::{Outcome, cargo, note, run};
use crate::svg::{Description, escape, picture};

pub(super) const PAGE: &str = "docs/tour.md";
const PICTURE: &str = "docs/pictures/terminal.svg";

/// The comment before a session.
const SESSION: &str = "transcript";

/// The width of the terminal, in characters. Longer lines continue in the next one.
const COLUMNS: usize = 100;

const MARGIN: usize = 20;
const LINE_HEIGHT: usize = 19;
/// The space for 100 characters in the widest of the usual fonts.
const WIDTH: usize = 900;

/// The time before a command appears, and before each line of its output, in milliseconds.
const BEFORE_COMMAND: u32 = 1200;
const BEFORE_LINE: u32 = 120;

const STYLE: &str = "\
    text { font: 14px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace; white-space: pre; }
    .command { fill: var(--accent); font-weight: 600; }
    @media (prefers-reduced-motion: no-preference) {
      text { animation: appear 1ms both; }
    }
    @keyframes appear { from { opacity: 0; } to { opacity: 1; } }
";

/// Runs the commands of the session, updates their output in the page, and writes the picture.
pub(crate) fn record(root: &Path) -> Outcome {
    let arguments = [
        "test",
        "--package",
        "toolwire-cli",
        "--all-features",
        "--test",
        "it",
        "documented_sessions_match_the_output",
    ];
    run(cargo(root, &arguments).env("UPDATE_TRANSCRIPTS", "1"))?;
    let drawn = draw(&session(root)?);
    let path = root.join(PICTURE);
    let parent = path.parent().unwrap_or(root);
    fs::create_dir_all(parent)
        .and_then(|()| fs::write(&path, drawn))
        .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    note(&format!("wrote {}", path.display()));
    Ok(())
}

/// Returns a finding if the picture differs from the session.
pub(super) fn check(root: &Path) -> Outcome<Vec<String>> {
    let drawn = draw(&session(root)?);
    if fs::read_to_string(root.join(PICTURE)).is_ok_and(|text| text == drawn) {
        return Ok(Vec::new());
    }
    Ok(vec![format!(
        "{PICTURE} differs from the first session of {PAGE}: run `cargo xtask docs recording`"
    )])
}

fn session(root: &Path) -> Outcome<String> {
    let blocks = Document::parse(&read(&root.join(PAGE))?).blocks;
    let mut sessions = blocks
        .into_iter()
        .filter(|block| block.comment.as_deref() == Some(SESSION));
    let first = sessions.next().map(|block| block.code);
    first.ok_or_else(|| format!("{PAGE} has no session"))
}

fn draw(session: &str) -> String {
    let mut content = String::new();
    let (mut y, mut delay) = (MARGIN, 0);
    let mut commands = Vec::new();
    for line in session.lines() {
        let command = line.strip_prefix("$ ");
        commands.extend(command);
        let class = if command.is_some() {
            " class=\"command\""
        } else {
            ""
        };
        delay += if command.is_some() && y > MARGIN {
            BEFORE_COMMAND
        } else {
            BEFORE_LINE
        };
        for part in rows(line) {
            y += LINE_HEIGHT;
            if !part.is_empty() {
                let _ = writeln!(
                    content,
                    "  <text{class} x=\"{MARGIN}\" y=\"{}\" style=\"animation-delay: {delay}ms\" xml:space=\"preserve\">{}</text>",
                    y - 5,
                    escape(&part)
                );
            }
        }
    }
    let description = Description {
        title: "The command toolwire in a terminal",
        text: &format!(
            "The output of these commands, which the page A tour of the command has as text: {}",
            commands.join("; ")
        ),
    };
    picture((WIDTH, y + MARGIN), &description, STYLE, &content)
}

/// Divides a line as a terminal does. An empty line has one row.
fn rows(line: &str) -> Vec<String> {
    let characters: Vec<char> = line.chars().collect();
    if characters.is_empty() {
        return vec![String::new()];
    }
    let rows = characters.chunks(COLUMNS);
    rows.map(|row| row.iter().collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_session_is_in_the_picture() {
        let long = "x".repeat(COLUMNS + 1);
        let drawn = draw(&format!("$ toolwire a\n<1>\n\n{long}\n$ toolwire b\n"));
        let texts: Vec<&str> = drawn
            .lines()
            .filter_map(|line| line.trim().strip_prefix("<text")?.strip_suffix("</text>"))
            .filter_map(|line| Some(line.split_once("preserve\">")?.1))
            .collect();
        let full = "x".repeat(COLUMNS);
        assert_eq!(
            texts,
            [
                "$ toolwire a",
                "&lt;1&gt;",
                full.as_str(),
                "x",
                "$ toolwire b"
            ]
        );
        assert!(drawn.contains("as text: toolwire a; toolwire b</desc>"));
    }

    #[test]
    fn commands_appear_after_the_output_before_them() {
        let drawn = draw("$ a\nb\n$ c\n");
        let delays: Vec<u32> = drawn
            .split("animation-delay: ")
            .skip(1)
            .map(|rest| rest.split("ms").next().unwrap().parse().unwrap())
            .collect();
        assert_eq!(
            delays,
            [
                BEFORE_LINE,
                2 * BEFORE_LINE,
                2 * BEFORE_LINE + BEFORE_COMMAND
            ]
        );
    }
}
