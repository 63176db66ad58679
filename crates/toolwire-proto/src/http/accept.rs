//! The `Accept` header: whether a client accepts the media type of a response.
//!
//! Preferences are ignored. The request determines the media type of the response, and the header can only exclude it.

use crate::http::quoted;

/// Returns `true` if the values of the `Accept` headers allow `media_type`, such as `text/event-stream`.
///
/// The most specific matching range decides, and `q=0` forbids. Without the header, or with an empty one, everything is
/// allowed. Malformed ranges are ignored.
///
/// ```
/// use toolwire_proto::http::accepts;
///
/// let header = ["application/json, text/*;q=0.5"];
/// assert!(accepts(header, "text/event-stream"));
/// assert!(!accepts(header, "image/png"));
/// ```
#[must_use]
pub fn accepts<'h>(header_values: impl IntoIterator<Item = &'h str>, media_type: &str) -> bool {
    let mut is_empty = true;
    let mut decision: Option<(RangeSpecificity, bool)> = None;
    let members = header_values
        .into_iter()
        .flat_map(|value| quoted::split(value, b','))
        .filter(|member| !member.is_empty());
    for member in members {
        is_empty = false;
        let mut parts = quoted::split(member, b';');
        let Some(specificity) = parts.next().and_then(|range| matches(range, media_type)) else {
            continue;
        };
        let allowed = !parts.filter_map(quoted::parameter).any(is_zero_weight);
        // Equally specific ranges differ only in parameters that are ignored here. The allowing one wins.
        decision = decision.max(Some((specificity, allowed)));
    }
    match decision {
        Some((_, allowed)) => allowed,
        None => is_empty,
    }
}

/// Returns `true` if a client accepts both media types.
#[must_use]
pub fn accepts_both<'h, V>(header_values: impl Fn() -> V, one: &str, other: &str) -> bool
where
    V: IntoIterator<Item = &'h str>,
{
    let mut values = header_values().into_iter();
    // Most clients send exactly both types. This form needs no parsing.
    let plainly = match (values.next(), values.next()) {
        (Some(value), None) => value
            .strip_prefix(one)
            .and_then(|rest| rest.strip_prefix(", "))
            .is_some_and(|rest| rest == other),
        _ => false,
    };
    plainly || accepts(header_values(), one) && accepts(header_values(), other)
}

/// Returns `true` if the values of the `Accept` headers name `media_type` itself. Ranges such as `*/*`, which most
/// clients send, do not count.
///
/// ```
/// use toolwire_proto::http::lists_media_type;
///
/// let header = ["text/html, */*;q=0.8"];
/// assert!(lists_media_type(header, "text/html"));
/// assert!(!lists_media_type(header, "text/event-stream"));
/// ```
#[must_use]
pub fn lists_media_type<'h>(
    header_values: impl IntoIterator<Item = &'h str>,
    media_type: &str,
) -> bool {
    let values = header_values.into_iter();
    let mut members = values.flat_map(|value| quoted::split(value, b','));
    members.any(|member| {
        let mut parts = quoted::split(member, b';');
        let range = parts.next().and_then(|range| matches(range, media_type));
        range == Some(RangeSpecificity::Exact)
            && !parts.filter_map(quoted::parameter).any(is_zero_weight)
    })
}

/// How closely a range matches a media type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum RangeSpecificity {
    Anything,
    Type,
    Exact,
}

fn matches(range: &str, media_type: &str) -> Option<RangeSpecificity> {
    if range == "*/*" {
        return Some(RangeSpecificity::Anything);
    }
    if range.eq_ignore_ascii_case(media_type) {
        return Some(RangeSpecificity::Exact);
    }
    let range_type = range.strip_suffix("/*")?;
    let (kind, _) = media_type.split_once('/')?;
    kind.eq_ignore_ascii_case(range_type)
        .then_some(RangeSpecificity::Type)
}

/// Returns `true` for `q=0`, `q=0.000` and similar weights.
fn is_zero_weight((name, value): (&str, &str)) -> bool {
    name.eq_ignore_ascii_case("q")
        && value.contains('0')
        && value.bytes().all(|byte| matches!(byte, b'0' | b'.'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(values: &[&str], json: bool, stream: bool) {
        let accepts = |media_type| accepts(values.iter().copied(), media_type);
        let found = (accepts("application/json"), accepts("text/event-stream"));
        assert_eq!(found, (json, stream), "{values:?}");
        let both = accepts_both(
            || values.iter().copied(),
            "application/json",
            "text/event-stream",
        );
        assert_eq!(both, json && stream, "{values:?}");
    }

    #[test]
    fn no_header_allows_everything() {
        check(&[], true, true);
        check(&[""], true, true);
        check(&["", " ", ","], true, true);
    }

    #[test]
    fn ranges_allow_the_types_they_match() {
        check(&["application/json, text/event-stream"], true, true);
        check(&["application/json", "text/event-stream"], true, true);
        check(&["Application/JSON,TEXT/Event-Stream"], true, true);
        check(&["application/json"], true, false);
        check(&["text/event-stream"], false, true);
        check(&["*/*"], true, true);
        check(&["text/*"], false, true);
        check(&["Application/*"], true, false);
        check(&["text/html"], false, false);
        check(&["application/json; charset=utf-8"], true, false);
        check(&["application/json-patch"], false, false);
        check(&["application/jso"], false, false);
        check(&["text/event-stream2, xtext/event-stream"], false, false);
    }

    #[test]
    fn media_type_is_listed_only_by_its_name() {
        let check = |values: &[&str], expected: bool| {
            let listed = lists_media_type(values.iter().copied(), "text/html");
            assert_eq!(listed, expected, "{values:?}");
        };
        check(
            &["text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"],
            true,
        );
        check(&["a/b", "*/*, Text/HTML ;q=0.1"], true);
        check(&["text/html;q=0"], false);
        check(&["*/*", "text/*"], false);
        check(&["text/html2", "xtext/html", ""], false);
        check(&[], false);
    }

    #[test]
    fn only_a_weight_of_zero_forbids() {
        check(&["*/*;q=0.1"], true, true);
        check(&["*/*;q=0"], false, false);
        check(
            &["application/json;q=0.0, text/event-stream;q=0.001"],
            false,
            true,
        );
        check(&["application/json;Q=0.000"], false, false);
        check(&["application/json; q = 0"], false, false);
        check(&["application/json;q=1;q=0"], false, false);
        check(&["application/json;q=many"], true, false);
        check(&["application/json;q="], true, false);
        check(&["application/json;q=."], true, false);
        check(&["application/json;q"], true, false);
        check(&["application/json;quality=0"], true, false);
        check(&["application/json;a=\";q=0\""], true, false);
        check(&["application/json;a=\"\\\";q=0;\";b"], true, false);
    }

    #[test]
    fn most_specific_range_decides() {
        check(&["*/*, text/event-stream;q=0"], true, false);
        check(&["text/event-stream;q=0, */*"], true, false);
        check(&["*/*", "text/*;q=0"], true, false);
        check(&["*/*;q=0, text/*"], false, true);
        check(&["text/*;q=0, text/event-stream"], false, true);
        check(&["text/*, text/event-stream;q=0, */*"], true, false);
        check(&["application/json;v=1;q=0, application/json"], true, false);
    }

    #[test]
    fn malformed_ranges_are_ignored() {
        check(&["garbage, application/json"], true, false);
        check(&["*, text/event-stream"], false, true);
        check(&["*/json, /, ;q=0, text/event-stream"], false, true);
        check(&["a=\"b,application/json"], false, false);
        check(&["garbage"], false, false);
        check(&["ü/ü, */*"], true, true);
    }

    proptest! {
        #[test]
        fn parsing_any_values_does_not_panic(values in any::<Vec<String>>()) {
            let _ = accepts(values.iter().map(String::as_str), "text/event-stream");
        }

        #[test]
        fn named_type_is_accepted_among_others(
            before in "[a-z/*;=., ]{0,20}",
            after in "[a-z/*;=., ]{0,20}",
        ) {
            let header = format!("{before},application/json,{after}");
            prop_assert!(accepts([header.as_str()], "application/json"));
        }
    }
}
