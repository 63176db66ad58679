//! The scheme of a URI (RFC 3986, section 3.1).

/// Returns `true` if the text is a valid scheme: a letter, and then letters, digits, `+`, `-` and `.`.
pub(crate) fn is_scheme(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scheme_starts_with_a_letter() {
        for valid in ["https", "vscode-webview", "A", "coap+tcp", "a.1"] {
            assert!(is_scheme(valid), "{valid}");
        }
        for invalid in ["", "1a", "+a", "a_b", "a b", "ä", "a/b"] {
            assert!(!is_scheme(invalid), "{invalid}");
        }
    }
}
