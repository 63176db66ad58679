//! Recognizes a server that listens on an address instead of standard input and output.

/// Returns the address that a line of standard error announces, as in `listening on http://127.0.0.1:3000/mcp`.
pub(super) fn listening_address(line: &str) -> Option<&str> {
    if !line.to_ascii_lowercase().contains("listening") {
        return None;
    }
    let words = line.split(|c: char| c.is_whitespace() || "\"'`()<>,".contains(c));
    let is_address = |word: &&str| word.starts_with("http://") || word.starts_with("https://");
    words
        .map(|word| word.trim_end_matches('.'))
        .find(is_address)
}

/// Returns what the user can do with a server that listens on this address.
pub(super) fn advice(address: &str) -> String {
    format!(
        "the server listens on {address}, but this command connects to standard input and output; pass an argument for \
         stdio, as in `toolwire dev -- cargo run -- --stdio`, or start the server yourself and run `toolwire dev {address}`"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn announced_addresses_are_recognized() {
        let check = |line: &str, expected: Option<&str>| {
            assert_eq!(listening_address(line), expected, "{line}");
        };
        let address = Some("http://127.0.0.1:3000/mcp");
        check("listening on http://127.0.0.1:3000/mcp", address);
        check("INFO Listening (http://127.0.0.1:3000/mcp).", address);
        check(
            "server listening at \"https://[::1]:1/\"",
            Some("https://[::1]:1/"),
        );
        check("request to http://127.0.0.1:3000/mcp", None);
        check("listening on port 3000", None);
    }
}
