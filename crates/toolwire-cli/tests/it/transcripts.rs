//! Runs the sessions that the documentation shows.
//!
//! A `console` block after the comment `<!-- transcript -->` is a session. Every line that starts with `$ ` is run, and
//! the lines after it are its output. `UPDATE_TRANSCRIPTS=1 cargo test -p toolwire-cli transcripts` updates the output.
//! All sessions run in one directory, which is empty at the start.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::process::Command;

use crate::client::TempDirectory;
use crate::process::{remove_log_variables, within};

const MARK: &str = "<!-- transcript -->\n```console\n";
const END: &str = "\n```\n";

/// The page with sessions.
const PAGE: &str = "docs/tour.md";

#[tokio::test]
async fn documented_sessions_match_the_output() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = root.join(PAGE);
    let text = std::fs::read_to_string(&path).expect("there is a page");
    let updating = std::env::var_os("UPDATE_TRANSCRIPTS").is_some();
    let scratch = TempDirectory::new("transcripts");
    let mut updated = String::new();
    let mut rest = text.as_str();
    let mut sessions = 0;
    while let Some(start) = rest.find(MARK) {
        let (before, after) = rest.split_at(start + MARK.len());
        let end = after.find(END).expect("a session has an end");
        let session = replay(&after[..end], &scratch.0).await;
        let session = session.trim_end();
        assert!(
            updating || session == &after[..end],
            "run with UPDATE_TRANSCRIPTS=1 to update the session:\n{session}"
        );
        updated.push_str(before);
        updated.push_str(session);
        rest = &after[end..];
        sessions += 1;
    }
    updated.push_str(rest);
    assert!(sessions > 0, "the page shows no session");
    if updating {
        std::fs::write(&path, &updated).expect("the page is writable");
    }
}

/// Runs the commands of a session in a directory, and returns the session with their output.
async fn replay(session: &str, scratch: &Path) -> String {
    let mut text = String::new();
    let mut code = 0;
    for line in session.lines().filter_map(|line| line.strip_prefix("$ ")) {
        text.push_str(&format!("$ {line}\n"));
        if line == "echo $?" {
            text.push_str(&format!("{code}\n"));
            continue;
        }
        let words = words(line);
        let (program, arguments) = words.split_first().expect("a command has a name");
        assert_eq!(program, "toolwire", "sessions run only toolwire");
        let program_path = PathBuf::from(env!("CARGO_BIN_EXE_toolwire"));
        let mut command = Command::new(&program_path);
        remove_log_variables(&mut command);
        let directory = program_path
            .parent()
            .expect("the program is in a directory");
        let output = command
            .args(arguments)
            .stdin(Stdio::null())
            .kill_on_drop(true)
            // A child named `toolwire` is the program under test.
            .env("PATH", directory)
            .env_remove("HOME")
            .env_remove("XDG_CONFIG_HOME")
            .current_dir(scratch)
            .output();
        let output = within(output).await.expect("the program under test starts");
        code = output.status.code().unwrap_or(-1);
        let printed = [output.stdout, output.stderr].concat();
        let printed = with_fixed_ports(&String::from_utf8_lossy(&printed));
        let printed = printed.replace(&directory.display().to_string(), "/usr/local/bin");
        text.push_str(&with_fixed_times(&printed));
    }
    text
}

/// Replaces random port numbers.
fn with_fixed_ports(text: &str) -> String {
    const HOST: &str = "http://127.0.0.1:";
    let mut replaced = String::new();
    let mut pieces = text.split(HOST);
    replaced.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let digits = piece
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(piece.len());
        let port = match piece[..digits].len() {
            5.. => "54321",
            _ => &piece[..digits],
        };
        replaced.push_str(HOST);
        replaced.push_str(port);
        replaced.push_str(&piece[digits..]);
    }
    replaced
}

/// Replaces the durations of the steps of `toolwire doctor`, which are in a column of their own.
fn with_fixed_times(text: &str) -> String {
    const COLUMN: std::ops::Range<usize> = 18..26;
    let lines = text.split_inclusive('\n').map(|line| {
        let time = line.get(COLUMN).unwrap_or_default();
        if time.ends_with(" ms") && (line.starts_with("ok ") || line.starts_with("FAILED ")) {
            format!("{}    5 ms{}", &line[..COLUMN.start], &line[COLUMN.end..])
        } else {
            line.to_owned()
        }
    });
    lines.collect()
}

/// Splits a command line into words, with quotes as in a shell.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    for c in line.chars() {
        match (c, quote) {
            ('\'' | '"', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            (' ', None) => words.push(std::mem::take(&mut word)),
            _ => word.push(c),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

#[test]
fn words_are_split_as_in_a_shell() {
    assert_eq!(words("a  'b c' d=\"e'f\""), ["a", "b c", "d=e'f"]);
}
