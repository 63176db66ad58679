//! The `Content-Type` header: JSON bodies and event streams.
//!
//! The check is also a guard. A web page may send some content types to any site without a CORS preflight. JSON is not
//! among them, so the browser sends a preflight, which fails (Fetch, "CORS-safelisted request-header").

use crate::http::quoted;

/// Returns `true` if the body is declared as JSON in UTF-8. Returns `false` if the header is missing.
#[must_use]
pub fn is_json(content_type: Option<&str>) -> bool {
    let Some(value) = content_type else {
        return false;
    };
    // Most clients send this form.
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

/// Returns `true` if a response body is declared as an event stream. Its encoding is always UTF-8.
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
    fn json_in_utf_8_is_accepted() {
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
    fn event_streams_are_recognized_by_their_type_alone() {
        assert!(is_event_stream(Some("text/event-stream")));
        assert!(is_event_stream(Some("Text/Event-Stream; charset=utf-8")));
        assert!(!is_event_stream(Some("text/event-streams")));
        assert!(!is_event_stream(Some("application/json")));
        assert!(!is_event_stream(None));
    }

    #[test]
    fn other_content_types_are_rejected() {
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
        fn only_json_is_accepted(value in "(application/json)?[a-z;=\", /-]{0,12}") {
            if is_json(Some(&value)) {
                let essence = value.split(';').next().unwrap_or_default();
                prop_assert_eq!(essence.trim(), "application/json");
            }
        }

        #[test]
        fn parsing_any_text_does_not_panic(value in any::<String>()) {
            let _ = is_json(Some(&value));
        }
    }
}
