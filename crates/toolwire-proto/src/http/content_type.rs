//! The `Content-Type` of a request: JSON and nothing else.
//!
//! This is a guard, too. A web page may send any other site a few content types without asking first; JSON is not among
//! them, so a browser asks, and the answer is no (Fetch, "CORS-safelisted request-header").

use crate::http::quoted;

/// Whether the body is declared as JSON in UTF-8; a missing header declares nothing.
#[must_use]
pub fn is_json(content_type: Option<&str>) -> bool {
    let Some(value) = content_type else {
        return false;
    };
    // As most clients write it.
    if value == "application/json" {
        return true;
    }
    let mut parts = quoted::split(value, b';');
    parts
        .next()
        .is_some_and(|essence| essence.eq_ignore_ascii_case("application/json"))
        && parts.filter_map(quoted::parameter).all(|(name, value)| {
            !name.eq_ignore_ascii_case("charset") || value.eq_ignore_ascii_case("utf-8")
        })
}

/// Whether the body of an answer is declared as a stream of events; its encoding is always UTF-8.
#[must_use]
pub fn is_event_stream(content_type: Option<&str>) -> bool {
    let essence = content_type.and_then(|value| quoted::split(value, b';').next());
    essence.is_some_and(|essence| essence.eq_ignore_ascii_case("text/event-stream"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn json_in_utf_8_is_taken() {
        for value in [
            "application/json",
            "Application/JSON",
            " application/json\t",
            "application/json;",
            "application/json; charset=utf-8",
            "application/json;charset=UTF-8",
            "application/json; charset=\"utf-8\"",
            "application/json; Charset=\"Utf-8\"; profile=x",
            "application/json; profile=\"; charset=latin1\"",
            "application/json; version",
        ] {
            assert!(is_json(Some(value)), "{value:?}");
        }
    }

    #[test]
    fn event_streams_are_told_by_their_type_alone() {
        assert!(is_event_stream(Some("text/event-stream")));
        assert!(is_event_stream(Some("Text/Event-Stream; charset=utf-8")));
        assert!(!is_event_stream(Some("text/event-streams")));
        assert!(!is_event_stream(Some("application/json")));
        assert!(!is_event_stream(None));
    }

    #[test]
    fn everything_else_is_not() {
        assert!(!is_json(None));
        for value in [
            "",
            ";",
            "application",
            "application/json-patch",
            "application/json-patch+json",
            "application/jsonl",
            "application/problem+json",
            "application/*",
            "*/*",
            "json",
            "text/json",
            "text/plain",
            "text/plain; application/json",
            "text/plain;charset=application/json",
            "multipart/form-data; boundary=a",
            "application/x-www-form-urlencoded",
            "application/json, text/plain",
            "text/plain, application/json",
            "application/json charset=utf-8",
            "application /json",
            "application/json; charset=latin1",
            "application/json; charset=utf-16",
            "application/json; charset=\"utf-8",
            "application/json; charset=",
            "application/json; charset=utf-8; charset=latin1",
            "\"application/json\"",
            "application/json\0",
        ] {
            assert!(!is_json(Some(value)), "{value:?}");
        }
    }

    proptest! {
        #[test]
        fn only_json_is_ever_taken(value in "(application/json)?[a-z;=\", /-]{0,12}") {
            if is_json(Some(&value)) {
                let essence = value.split(';').next().unwrap_or_default();
                prop_assert_eq!(essence.trim(), "application/json");
            }
        }

        #[test]
        fn reading_anything_does_not_panic(value in any::<String>()) {
            let _ = is_json(Some(&value));
        }
    }
}
