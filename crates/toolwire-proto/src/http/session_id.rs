//! The form of a session id, up to 2025-11-25. This module does not know which sessions exist.

/// The maximum length of a session id in bytes.
const LONGEST: usize = 128;

/// Returns `true` if a text is a well-formed session id: visible ASCII of limited length.
///
/// Spec 2025-11-25, basic/transports, "Session Management".
#[must_use]
pub fn is_session_id(text: &str) -> bool {
    // The loop checks all bytes, because a loop that can end early is slower.
    let is_visible = |text: &str| {
        text.bytes()
            .fold(true, |all, byte| all & byte.is_ascii_graphic())
    };
    (1..=LONGEST).contains(&text.len()) && is_visible(text)
}

/// Returns `true` if a status means that the server does not know the session of the request. The client must then open
/// a new one.
///
/// Spec 2025-11-25, basic/transports, "Session Management".
#[must_use]
pub fn is_session_lost(status: u16) -> bool {
    status == 404
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_404_loses_a_session() {
        let lost: Vec<u16> = (100..600)
            .filter(|status| is_session_lost(*status))
            .collect();
        assert_eq!(lost, [404]);
    }

    #[test]
    fn session_ids_are_visible_ascii_of_bounded_length() {
        let longest = "a".repeat(128);
        let all: String = ('!'..='~').collect();
        for id in ["a", "1868a90c-5f2a", all.as_str(), longest.as_str()] {
            assert!(is_session_id(id), "{id:?}");
        }
        let too_long = "a".repeat(129);
        for id in [
            "",
            " ",
            "a b",
            " a",
            "a\t",
            "a\n",
            "\0",
            "\u{7f}",
            "ü",
            too_long.as_str(),
        ] {
            assert!(!is_session_id(id), "{id:?}");
        }
    }
}
