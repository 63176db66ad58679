//! Parses a redirect URL that a user pastes because the browser is on another machine.

/// The error for a pasted text without a query.
pub(super) const NO_QUERY: &str = "paste the complete URL of the page that the browser shows";

/// The error for a pasted URL of another login.
pub(super) const OTHER_LOGIN: &str =
    "the URL does not belong to this login; open the login URL again and paste the resulting URL";

/// Returns the query of a pasted text: a complete URL, or only its query.
pub(super) fn query_of(text: &str) -> Option<&str> {
    let text = text.trim().trim_matches(['"', '\'', '<', '>']);
    let query = match text.split_once('?') {
        Some((_, query)) => query,
        None if text.contains("://") => return None,
        None => text,
    };
    let query = query.split('#').next().unwrap_or_default();
    (query.contains('=') && !query.contains(char::is_whitespace)).then_some(query)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_and_queries_are_accepted() {
        fn check(text: &str, expected: Option<&str>) {
            assert_eq!(query_of(text), expected, "{text:?}");
        }
        let query = Some("code=a&state=b");
        check("http://127.0.0.1:7/callback?code=a&state=b", query);
        check("  http://127.0.0.1:7/callback?code=a&state=b\r\n", query);
        check("'http://127.0.0.1:7/callback?code=a&state=b#_=_'", query);
        check("127.0.0.1:7/callback?code=a&state=b", query);
        check("?code=a&state=b", query);
        check("code=a&state=b", query);
        check("", None);
        check("a-code-alone", None);
        check("http://127.0.0.1:7/callback", None);
        check("http://127.0.0.1:7/callback?", None);
        check("x = y ? z = w", None);
    }
}
