//! Hints for a server that was not recognized: an address without its scheme, or a command without `--` before it.

use std::path::Path;

use crate::shell_words::command_line;

/// The commands whose first word is not the server if the server is a command.
const COMMANDS_WITH_A_NAME: [&str; 4] = ["call", "read", "prompt", "complete"];

/// Endings of file names, which are not endings of host names.
const FILE_EXTENSIONS: [&str; 10] = [
    "py", "js", "mjs", "ts", "json", "sh", "exe", "rb", "jar", "toml",
];

/// The programs that run files with these extensions.
const INTERPRETERS: [(&str, &str); 3] = [("py", "python3"), ("js", "node"), ("mjs", "node")];

/// Returns a hint for a name that is neither an address nor in a configuration file.
pub(crate) fn for_unknown_server(name: &str, later_words: &[String]) -> Option<String> {
    unknown_server(name, later_words, &is_program)
}

/// Returns the intended command line if an unknown option follows the command of a server.
pub(crate) fn for_unknown_option(arguments: &[String], option: &str) -> Option<String> {
    unknown_option(arguments, option, &is_program)
}

fn unknown_server(
    name: &str,
    later_words: &[String],
    is_program: &dyn Fn(&str) -> bool,
) -> Option<String> {
    let words: Vec<&str> = [name]
        .into_iter()
        .chain(later_words.iter().map(String::as_str))
        .collect();
    if let Some(interpreter) = interpreter(name) {
        let words = [interpreter].into_iter().chain(words);
        return Some(after_separator(&command_line(words)));
    }
    if !is_program(name)
        && let Some(address) = corrected_address(name)
    {
        return Some(format!("for an address, write {address}"));
    }
    let is_address = |word: &&&str| word.starts_with("http://") || word.starts_with("https://");
    if let Some(address) = words.iter().find(is_address) {
        return Some(format!("write the server first: {address} {name} …"));
    }
    let is_start = |(index, word): &(usize, &&str)| {
        // A name before `name=value` is a tool with its arguments.
        let is_tool = words.get(index + 1).is_some_and(|next| is_assignment(next));
        is_program(word) && !is_assignment(word) && !is_tool
    };
    let (start, _) = words.iter().enumerate().find(is_start)?;
    Some(after_separator(&command_line(
        words[start..].iter().copied(),
    )))
}

fn after_separator(command: &str) -> String {
    format!("to start a server with a command, write the command last, after --: -- {command}")
}

fn unknown_option(
    arguments: &[String],
    option: &str,
    is_program: &dyn Fn(&str) -> bool,
) -> Option<String> {
    let end = arguments
        .iter()
        .position(|argument| argument.starts_with(option))?;
    let subcommand = arguments.first()?;
    // The name of the tool may also be the name of a program, such as `echo`.
    let has_name = COMMANDS_WITH_A_NAME.contains(&subcommand.as_str());
    let first = if has_name { 2 } else { 1 };
    let assigned = arguments[..end]
        .iter()
        .rposition(|word| is_assignment(word));
    let first = assigned.map_or(first, |assigned| first.max(assigned + 1));
    let start = (first..end).find(|index| is_program(&arguments[*index]))?;
    let (before, command) = arguments.split_at(start);
    let words = ["toolwire"]
        .into_iter()
        .chain(before.iter().map(String::as_str))
        .chain(["--"])
        .chain(command.iter().map(String::as_str));
    Some(command_line(words))
}

fn is_assignment(word: &str) -> bool {
    word.contains('=') && !word.starts_with('-')
}

/// Returns the program that runs this file, if the word is a file.
fn interpreter(word: &str) -> Option<&'static str> {
    let path = Path::new(word);
    let extension = path.extension()?.to_str()?;
    let (_, program) = INTERPRETERS.iter().find(|(known, _)| *known == extension)?;
    path.is_file().then_some(program)
}

/// Returns `true` if the word is the path of a file, or the name of a program in `PATH`.
fn is_program(word: &str) -> bool {
    if word.is_empty() || word.starts_with('-') {
        return false;
    }
    if word.contains(std::path::is_separator) {
        return Path::new(word).is_file();
    }
    let extensions: &[&str] = if cfg!(windows) {
        &["", "exe", "cmd", "bat"]
    } else {
        &[""]
    };
    let directories = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&directories).any(|directory| {
        let path = directory.join(word);
        extensions.iter().any(|extension| match *extension {
            "" => path.is_file(),
            extension => path.with_extension(extension).is_file(),
        })
    })
}

/// Returns the intended address, if the text is one without its scheme or with a mistyped scheme.
fn corrected_address(text: &str) -> Option<String> {
    if let Some((scheme, rest)) = mistyped_scheme(text) {
        return looks_like_host(rest).then(|| format!("{scheme}://{rest}"));
    }
    let is_scheme = text.starts_with("http:") || text.starts_with("https:");
    if is_scheme || text.contains("://") || !looks_like_host(text) {
        return None;
    }
    let scheme = if is_local(text) { "http" } else { "https" };
    Some(format!("{scheme}://{text}"))
}

/// Returns the intended scheme and the text after it: `htps://x`, `http:/x`, `https//x`.
fn mistyped_scheme(text: &str) -> Option<(&'static str, &str)> {
    let end = text.find(|c: char| !c.is_ascii_alphabetic())?;
    let (scheme, rest) = text.split_at(end);
    let address = rest.trim_start_matches([':', '/', ';']);
    let separator = &rest[..rest.len() - address.len()];
    let scheme = scheme.to_ascii_lowercase();
    let intended = match scheme.as_str() {
        "http" | "htp" | "htt" | "hhtp" | "htttp" | "ttp" | "hppt" | "htpp" => "http",
        "https" | "htps" | "htts" | "hhtps" | "htttps" | "ttps" | "hppts" | "htpps" | "httpss" => {
            "https"
        }
        _ => return None,
    };
    // A host may have such a name, followed by its port.
    let is_port = separator == ":" && address.starts_with(|c: char| c.is_ascii_digit());
    (!separator.is_empty() && separator != "/" && !is_port).then_some((intended, address))
}

/// Returns `true` if the text is a host, and optionally a port.
pub(crate) fn is_host(text: &str) -> bool {
    !text.contains(['/', '?']) && looks_like_host(text)
}

/// Returns `true` if the text starts with a host, and optionally a port: `example.com/mcp`, `localhost:3000`.
fn looks_like_host(text: &str) -> bool {
    let authority = text.split(['/', '?']).next().unwrap_or_default();
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (authority, None),
    };
    let is_number = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    if port.is_some_and(|port| !is_number(port)) {
        return false;
    }
    let is_ipv6 = host.starts_with('[') && host.ends_with(']');
    let is_label = |label: &str| {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
        !label.is_empty() && label.chars().all(is_part)
    };
    let is_file = FILE_EXTENSIONS
        .iter()
        .any(|extension| host.ends_with(&format!(".{extension}")));
    let is_name = host.split('.').all(is_label) && !is_file;
    is_ipv6 || (is_name && (host.contains('.') || port.is_some() || host == "localhost"))
}

fn is_local(text: &str) -> bool {
    ["localhost", "127.", "[::1]", "0.0.0.0"]
        .iter()
        .any(|host| text.starts_with(host))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn programs(word: &str) -> bool {
        ["npx", "python", "echo", "./server", "server.py"].contains(&word)
    }

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn addresses_get_the_scheme_that_is_missing_or_mistyped() {
        fn check(text: &str, expected: Option<&str>) {
            assert_eq!(corrected_address(text).as_deref(), expected, "{text}");
        }
        check("example.com/mcp", Some("https://example.com/mcp"));
        check("localhost:3000/mcp", Some("http://localhost:3000/mcp"));
        check("127.0.0.1:3000", Some("http://127.0.0.1:3000"));
        check("[::1]:3000/mcp", Some("http://[::1]:3000/mcp"));
        check(
            "htp://localhost:3000/mcp",
            Some("http://localhost:3000/mcp"),
        );
        check("htps://example.com", Some("https://example.com"));
        check("https//example.com/mcp", Some("https://example.com/mcp"));
        check("http:/example.com", Some("http://example.com"));
        check("https:example.com", Some("https://example.com"));
        for text in [
            "http:3000/mcp",
            "server.py",
            "mcp.json",
            "weather",
            "1=1",
            "ftp://example.com",
            "ws://example.com",
            "a b.c",
            "./server",
            "/usr/bin/server",
            "x:y",
            "@scope/server",
            "C:\\server",
            "http",
            "a..b",
            "me@host.com",
        ] {
            check(text, None);
        }
    }

    #[test]
    fn command_without_the_separator_is_recognized() {
        fn check(line: &str, expected: Option<&str>) {
            let words = words(line);
            let (name, later) = words.split_first().expect("a line has words");
            let hint = unknown_server(name, later, &programs);
            match (&hint, expected) {
                (Some(hint), Some(command)) => {
                    assert!(
                        hint.ends_with(&format!(" after --: -- {command}")),
                        "{hint}"
                    );
                }
                _ => assert_eq!(hint.as_deref(), expected, "{line}"),
            }
        }
        check("npx some-server /tmp", Some("npx some-server /tmp"));
        check("./server", Some("./server"));
        check("add a=1 npx some-server", Some("npx some-server"));
        check("echo text=hi", None);
        check("weather", None);
        check("weather forecast", None);
    }

    #[test]
    fn address_after_the_tool_is_recognized() {
        let later = words("https://example.com/mcp a=1");
        assert_eq!(
            unknown_server("add", &later, &programs).as_deref(),
            Some("write the server first: https://example.com/mcp add …")
        );
    }

    #[test]
    fn option_of_the_command_is_recognized() {
        fn check(line: &str, option: &str, expected: Option<&str>) {
            let hint = unknown_option(&words(line), option, &programs);
            assert_eq!(hint.as_deref(), expected, "{line}");
        }
        check(
            "tools npx -y some-server",
            "-y",
            Some("toolwire tools -- npx -y some-server"),
        );
        check(
            "call echo text=hi npx -y some-server",
            "-y",
            Some("toolwire call echo text=hi -- npx -y some-server"),
        );
        check(
            "tools --json python server.py --port=3",
            "--port",
            Some("toolwire tools --json -- python server.py --port=3"),
        );
        check("call echo --loud", "--loud", None);
        check("tools https://example.com --jsn", "--jsn", None);
    }
}
