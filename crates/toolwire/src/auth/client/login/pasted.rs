//! What users bring back by hand, when their browser is on another machine than the program.

/// Why a pasted text is not taken.
pub(super) const NO_QUERY: &str = "paste the whole address that the browser ended up at";

/// Why a pasted address is not taken.
pub(super) const NOT_OURS: &str =
    "that address does not belong to this login; open the link anew and paste where it ends";

/// The query in a pasted text: a whole address, or only what comes after its question mark.
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
    fn addresses_and_queries_are_taken() {
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
