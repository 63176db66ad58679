//! Entity tags: whether a client has a document already (RFC 9110, section 13.1.2).

use crate::http::quoted;

/// Returns `true` if the values of the `If-None-Match` headers contain `etag`, or `*`. Weak tags match too.
///
/// ```
/// use toolwire_proto::http::etag_matches;
///
/// assert!(etag_matches([r#""old", W/"new""#], r#""new""#));
/// assert!(!etag_matches([r#""old""#], r#""new""#));
/// ```
#[must_use]
pub fn etag_matches<'h>(header_values: impl IntoIterator<Item = &'h str>, etag: &str) -> bool {
    let mut known = header_values
        .into_iter()
        .flat_map(|value| quoted::split(value, b','));
    known.any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known) == etag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_match_as_a_whole() {
        fn check(values: &[&str], expected: bool) {
            let matches = etag_matches(values.iter().copied(), r#""a,b""#);
            assert_eq!(matches, expected, "{values:?}");
        }
        check(&[], false);
        check(&[""], false);
        check(&[r#""a""#], false);
        check(&["a,b"], false);
        check(&[r#""a,b""#], true);
        check(&[r#"W/"a,b""#], true);
        check(&[r#""x" , "a,b""#], true);
        check(&[r#""x""#, r#""a,b""#], true);
        check(&["*"], true);
    }
}
