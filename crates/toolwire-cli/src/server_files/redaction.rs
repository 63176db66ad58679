//! Removes secrets from commands and URLs before they are listed.
//!
//! Secrets in arguments are guessed from the name beside them and from their form. Variables (`${KEY}`) are no secrets
//! and stay.

/// Stands for a secret.
pub(crate) const HIDDEN: &str = "***";

/// Parts of names that indicate a secret value.
const SECRET_NAMES: [&str; 9] = [
    "key",
    "token",
    "secret",
    "passw",
    "pwd",
    "auth",
    "credential",
    "bearer",
    "cookie",
];

/// Options whose value is an environment variable or a header.
const VARIABLE_OPTIONS: [&str; 2] = ["-e", "--env"];
const HEADER_OPTIONS: [&str; 2] = ["-H", "--header"];

/// The shortest text that may be a random token.
const MIN_TOKEN: usize = 20;

/// Random tokens have at least this many digits, and names have fewer.
const MIN_DIGITS: usize = 4;

/// Returns the arguments of a command without secrets.
pub(super) fn arguments(arguments: &[String]) -> Vec<String> {
    let before = [""].into_iter().chain(arguments.iter().map(String::as_str));
    let pairs = before.zip(arguments);
    pairs
        .map(|(option, argument)| one_argument(option, argument))
        .collect()
}

/// Returns a URL without credentials, query, and path segments that look like tokens.
pub(crate) fn url(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let end = rest.find(['?', '#']).unwrap_or(rest.len());
    let (address, query) = rest.split_at(end);
    let (authority, path) = match address.split_once('/') {
        Some((authority, path)) => (authority, Some(path)),
        None => (address, None),
    };
    let authority = match authority.rsplit_once('@') {
        Some((_, host)) => format!("{HIDDEN}@{host}"),
        None => authority.to_owned(),
    };
    let mut shown = format!("{scheme}://{authority}");
    for segment in path.into_iter().flat_map(|path| path.split('/')) {
        shown.push('/');
        shown.push_str(if is_token(segment) { HIDDEN } else { segment });
    }
    if query.len() > 1 {
        shown.push_str(&query[..1]);
        shown.push_str(HIDDEN);
    }
    shown
}

fn one_argument(option: &str, argument: &str) -> String {
    if is_variable(argument) {
        return argument.to_owned();
    }
    let is_option = argument.starts_with('-');
    if HEADER_OPTIONS.contains(&option)
        && let Some((name, value)) = argument.split_once(':')
    {
        return format!("{name}: {}", hidden_unless_variable(value.trim()));
    }
    if let Some((name, value)) = argument.split_once('=')
        && (is_secret_name(name) || VARIABLE_OPTIONS.contains(&option))
    {
        return format!("{name}={}", hidden_unless_variable(value));
    }
    let follows_secret_name =
        option.starts_with('-') && !option.contains('=') && is_secret_name(option);
    if follows_secret_name && !is_option {
        HIDDEN.to_owned()
    } else if argument.contains("://") {
        url(argument)
    } else if is_token(argument) || argument.to_ascii_lowercase().starts_with("bearer ") {
        HIDDEN.to_owned()
    } else {
        argument.to_owned()
    }
}

fn hidden_unless_variable(value: &str) -> &str {
    if is_variable(value) { value } else { HIDDEN }
}

/// Returns `true` if the text is only a variable.
fn is_variable(text: &str) -> bool {
    let inside = text
        .strip_prefix("${")
        .and_then(|text| text.strip_suffix('}'));
    // The default of a variable may be a secret.
    inside.is_some_and(|inside| !inside.contains(['}', '$']) && !inside.contains(":-"))
}

/// Returns `true` if a name indicates a secret value.
pub(crate) fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_NAMES.iter().any(|part| name.contains(part))
}

/// Returns `true` if the text looks like a random token.
pub(crate) fn is_token(text: &str) -> bool {
    let digits = text.chars().filter(char::is_ascii_digit).count();
    let has_letters = text.contains(|c: char| c.is_ascii_alphabetic());
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_-=+".contains(c);
    text.len() >= MIN_TOKEN && digits >= MIN_DIGITS && has_letters && text.chars().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_in_arguments_are_hidden() {
        fn check(words: &[&str], expected: &str) {
            let words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(arguments(&words).join(" "), expected, "{words:?}");
        }
        check(
            &["-y", "@scope/server", "/tmp/notes"],
            "-y @scope/server /tmp/notes",
        );
        check(&["--api-key", "hunter2", "-v"], "--api-key *** -v");
        check(&["--token=hunter2", "x"], "--token=*** x");
        check(&["--token", "${TOKEN}"], "--token ${TOKEN}");
        check(&["--token", "${TOKEN:-hunter2}"], "--token ***");
        check(&["--auth", "--verbose"], "--auth --verbose");
        check(
            &["run", "-e", "GITHUB_PAT=hunter2", "-e", "NAME", "image"],
            "run -e GITHUB_PAT=*** -e NAME image",
        );
        check(
            &["mcp-remote", "https://x/mcp", "--header", "X-Id: hunter2"],
            "mcp-remote https://x/mcp --header X-Id: ***",
        );
        check(
            &["postgres://me:hunter2@db/notes"],
            "postgres://***@db/notes",
        );
        check(&["sk-ant-9012345678901234567890"], "***");
        check(&["mcp-server-kubernetes-v2"], "mcp-server-kubernetes-v2");
        // The shortest token, one that is too short, and one with too few digits.
        check(&["abcdefghijklmnop1234"], "***");
        check(&["abcdefghijklmno1234"], "abcdefghijklmno1234");
        check(&["abcdefghijklmnopq123"], "abcdefghijklmnopq123");
    }

    #[test]
    fn secrets_in_urls_are_hidden() {
        fn check(text: &str, expected: &str) {
            assert_eq!(url(text), expected);
        }
        check("https://example.com/mcp", "https://example.com/mcp");
        check("https://example.com", "https://example.com");
        check("https://x/mcp?key=hunter2", "https://x/mcp?***");
        check("https://me:hunter2@x:8443/", "https://***@x:8443/");
        check(
            "https://x/s/a1b2c3d4e5f6a7b8c9d0/mcp",
            "https://x/s/***/mcp",
        );
        check("https://x/${KEY}/mcp", "https://x/${KEY}/mcp");
    }
}
