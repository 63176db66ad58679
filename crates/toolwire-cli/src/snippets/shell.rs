//! Words of a POSIX shell, and the request as a command of `toolwire`.

use std::fmt::Write;

use clap::ValueEnum;

use crate::connection_arguments::Era;
use crate::snippets::hidden_characters::{has_hidden, is_hidden};
use crate::snippets::json_text::compact;
use crate::snippets::{Address, Exchange, ExchangeKind, SnippetServer};

/// What is shown instead of a command with a word that no form of [`word`] keeps.
pub(super) const LOST_LINE_BREAK: &str =
    "# A shell removes a line break at the end of a word. Copy the call in another form.";

/// What is shown instead of a command with the name of an option.
const OPTION: &str =
    "# The command takes a name that begins with - as an option. Copy the call in another form.";

/// Returns the request as a command of `toolwire`.
pub(super) fn command(exchange: &Exchange, server: &SnippetServer) -> String {
    // A server could name a tool like an option, and so change what the command does.
    if exchange.name.starts_with('-') {
        return OPTION.to_owned();
    }
    let command = match exchange.kind {
        ExchangeKind::Tools => "call",
        ExchangeKind::Prompts => "prompt",
        ExchangeKind::Resources => "read",
    };
    let mut words = vec!["toolwire".to_owned(), command.to_owned()];
    if let Address::Url(url) = &server.address {
        words.push(url.clone());
    }
    words.push(exchange.name.clone());
    if exchange.kind != ExchangeKind::Resources {
        words.extend(["--args".to_owned(), compact(&exchange.arguments)]);
    }
    let era = server.era.to_possible_value();
    if let Some(era) = era.filter(|_| server.era != Era::Auto) {
        words.extend(["--era".to_owned(), era.get_name().to_owned()]);
    }
    if let Address::Command { program, arguments } = &server.address {
        words.extend(["--".to_owned(), program.clone()]);
        words.extend(arguments.iter().cloned());
    }
    line(words.iter().map(String::as_str)).unwrap_or_else(|| LOST_LINE_BREAK.to_owned())
}

/// Returns a line of these words, or `None` if a shell would change one.
pub(super) fn line<'w>(words: impl IntoIterator<Item = &'w str>) -> Option<String> {
    let words: Option<Vec<_>> = words.into_iter().map(word).collect();
    Some(words?.join(" "))
}

/// Returns a word that a shell reads as the text. Hidden characters are written as bytes. Returns `None` for a text with a
/// line break at the end, because the shell removes it from what `printf` writes.
pub(super) fn word(text: &str) -> Option<String> {
    if text.ends_with('\n') {
        return None;
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return Some(text.to_owned());
    }
    if !has_hidden(text) && !text.contains(['\n', '\t']) {
        return Some(quoted(text));
    }
    let mut format = String::new();
    for (index, character) in text.chars().enumerate() {
        match character {
            '\\' => format.push_str("\\\\"),
            '%' => format.push_str("%%"),
            // At the start, it would begin an option of `printf`.
            '-' if index == 0 => format.push_str("\\055"),
            '\n' | '\t' => write_bytes(character, &mut format),
            _ if is_hidden(character) => write_bytes(character, &mut format),
            _ => format.push(character),
        }
    }
    Some(format!("\"$(printf {})\"", quoted(&format)))
}

fn write_bytes(character: char, format: &mut String) {
    for byte in character.encode_utf8(&mut [0; 4]).bytes() {
        let _ = write!(format, "\\{byte:03o}");
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::snippets::samples::{HOSTILE, assert_visible, call, of_command, of_url, resource};

    #[cfg(unix)]
    #[test]
    fn shell_reads_every_word_as_it_was() {
        let texts = [
            "",
            "plain",
            "two words",
            "it's",
            "$HOME",
            "%s",
            "\\n",
            "-\n-",
            HOSTILE,
        ];
        let words = line(texts).expect("no text ends with a line break");
        assert_visible(&words);
        let script = format!("printf '%s\\0' {words}");
        let output = std::process::Command::new("sh")
            .args(["-c", &script])
            .output();
        let printed = String::from_utf8(output.expect("sh runs").stdout).expect("text");
        let expected: String = texts.iter().map(|text| format!("{text}\0")).collect();
        assert_eq!(printed, expected, "{script}");
    }

    #[test]
    fn line_break_at_the_end_of_a_word_has_no_command() {
        for server in [of_command(&["server.mjs"]), of_url()] {
            assert_eq!(
                command(&call("line\n", json!({})), &server),
                LOST_LINE_BREAK
            );
        }
        let echo = call("echo", json!({}));
        assert_eq!(command(&echo, &of_command(&["line\n"])), LOST_LINE_BREAK);
    }

    #[test]
    fn name_of_a_server_is_no_option() {
        for name in ["-H", "--config=/tmp/file", "-"] {
            for server in [of_command(&[]), of_url()] {
                assert_eq!(command(&call(name, json!({})), &server), OPTION, "{name}");
            }
        }
    }

    #[test]
    fn command_has_the_server_and_the_era() {
        let echo = call("echo", json!({"text": "it's"}));
        assert_eq!(
            command(&echo, &of_command(&["a b"])),
            r#"toolwire call echo --args '{"text":"it'\''s"}' -- node 'a b'"#
        );
        let legacy = SnippetServer {
            era: Era::Legacy,
            ..of_url()
        };
        assert_eq!(
            command(&resource("demo://a"), &legacy),
            "toolwire read http://127.0.0.1:1/mcp demo://a --era legacy"
        );
    }
}
