//! The line that a server writes to standard error when a user starts it in a terminal.
//!
//! Without the line, a server on stdio looks as if it hangs, and the URL of a server on HTTP is unknown. A client that
//! starts a server, and a service manager, use pipes or files, where nothing is written. Nothing is ever written to
//! standard output.

use std::ffi::OsString;
use std::io::{self, IsTerminal as _, Write as _};

use toolwire_types::Implementation;

/// Writes the line of a server on stdio, if standard input and standard error are terminals.
pub(crate) fn write_for_stdio(server: &Implementation) {
    if io::stdin().is_terminal() && io::stderr().is_terminal() {
        write(&stdio_message(server, &command_line()));
    }
}

/// Writes the line of a server on HTTP, if standard error is a terminal.
#[cfg(feature = "http-server")]
pub(crate) fn write_for_http(server: &Implementation, url: &str) {
    if io::stderr().is_terminal() {
        write(&http_message(server, url));
    }
}

/// Writes a line to standard error. The server also runs if that fails.
fn write(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// The keys that end the input of a terminal.
const END_OF_INPUT: &str = if cfg!(windows) { "Ctrl+Z" } else { "Ctrl+D" };

fn stdio_message(server: &Implementation, command: &str) -> String {
    format!(
        "{} {} waits for MCP messages on standard input ({END_OF_INPUT} ends it); an MCP client starts it with the \
         command: {command}",
        server.name, server.version
    )
}

#[cfg(feature = "http-server")]
fn http_message(server: &Implementation, url: &str) -> String {
    format!(
        "{} {} listens on {url} (Ctrl+C stops it)",
        server.name, server.version
    )
}

/// Returns the command line of this process, with the complete path of the program.
fn command_line() -> String {
    let mut words = std::env::args_os();
    let first = words.next();
    let program = std::env::current_exe().map(OsString::from);
    let program = program.ok().or(first).unwrap_or_default();
    let words = std::iter::once(program).chain(words);
    let words: Vec<String> = words.map(|word| quoted(&word.to_string_lossy())).collect();
    words.join(" ")
}

/// Returns a word of a command line, in quotes if it has other characters than those of plain words.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./\\:=@%+,".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("{word:?}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_names_the_server_and_how_clients_reach_it() {
        let server = Implementation::new("notes", "1.2.3");
        assert_eq!(
            stdio_message(&server, "/bin/notes --all"),
            format!(
                "notes 1.2.3 waits for MCP messages on standard input ({END_OF_INPUT} ends it); an MCP client starts \
                 it with the command: /bin/notes --all"
            )
        );
        #[cfg(feature = "http-server")]
        assert_eq!(
            http_message(&server, "http://127.0.0.1:3000/mcp"),
            "notes 1.2.3 listens on http://127.0.0.1:3000/mcp (Ctrl+C stops it)"
        );
    }

    #[test]
    fn words_of_the_command_line_are_quoted_if_necessary() {
        for (word, expected) in [
            ("--port=80", "--port=80"),
            ("/opt/a_b/né.x", "/opt/a_b/né.x"),
            ("", "\"\""),
            ("two words", "\"two words\""),
            ("a\nb", "\"a\\nb\""),
            ("$(x)", "\"$(x)\""),
        ] {
            assert_eq!(quoted(word), expected);
        }
        assert!(!command_line().is_empty());
    }
}
