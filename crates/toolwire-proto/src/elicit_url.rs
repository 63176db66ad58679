//! URL elicitations of a server: the URLs to which it may send a user, and the ids that name them.

use std::fmt;

use toolwire_types::ElicitRequestURLParams;

use crate::elicitation_ids::MAX_ELICITATION_ID_BYTES;
use crate::web_url::WebUrl;

/// Checks the elicitations of the error −32042: there is at least one, and each has an id and a web URL.
///
/// Spec 2025-11-25, client/elicitation, "URL Elicitation Required Error": the error includes a list of the elicitations
/// that are required, and each of them has an `elicitationId`.
///
/// # Errors
/// Returns an error for an empty list, and for the first elicitation that violates the rules.
pub fn check_required_elicitations(
    elicitations: &[ElicitRequestURLParams],
) -> Result<(), InvalidUrlElicitation> {
    if elicitations.is_empty() {
        return Err(InvalidUrlElicitation::EmptyList);
    }
    elicitations.iter().try_for_each(|elicitation| {
        check_elicitation(elicitation)?;
        match elicitation.elicitation_id {
            Some(_) => Ok(()),
            None => Err(InvalidUrlElicitation::Id),
        }
    })
}

/// Checks an elicitation that a server sends: its URL, and its id if it has one. Clients store ids of up to
/// [`MAX_ELICITATION_ID_BYTES`].
///
/// Spec 2025-11-25, client/elicitation, "URL Mode Elicitation Requests": `url` is a valid URL, and `elicitationId`
/// identifies the elicitation.
///
/// # Errors
/// Returns an error if the URL is not one that [`is_web_url`] accepts, or if the id is empty or too long.
pub fn check_elicitation(
    elicitation: &ElicitRequestURLParams,
) -> Result<(), InvalidUrlElicitation> {
    if !is_web_url(&elicitation.url) {
        return Err(InvalidUrlElicitation::Url(elicitation.url.clone()));
    }
    match &elicitation.elicitation_id {
        Some(id) if id.is_empty() || id.len() > MAX_ELICITATION_ID_BYTES => {
            Err(InvalidUrlElicitation::Id)
        }
        _ => Ok(()),
    }
}

/// A URL elicitation that a server must not send.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidUrlElicitation {
    /// The error −32042 has no elicitation.
    EmptyList,
    /// This URL is not one that [`is_web_url`] accepts.
    Url(String),
    /// The id is missing, empty or longer than [`MAX_ELICITATION_ID_BYTES`].
    Id,
}

impl fmt::Display for InvalidUrlElicitation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EmptyList => f.write_str("−32042 needs at least one URL elicitation"),
            Self::Url(url) => write!(
                f,
                "{url:?} is not an absolute http or https URL in ASCII without user information"
            ),
            Self::Id => write!(
                f,
                "a URL elicitation needs an id of 1 to {MAX_ELICITATION_ID_BYTES} bytes; set it with \
                 `with_elicitation_id`"
            ),
        }
    }
}

impl std::error::Error for InvalidUrlElicitation {}

/// Returns `true` for an absolute `http` or `https` URL that all parsers parse alike. Such a URL is ASCII and has a
/// host. It has no user info, which users mistake for the host.
///
/// Spec 2025-11-25, client/elicitation: the `url` of an elicitation must be a valid URL.
///
/// ```
/// use toolwire_proto::elicit_url::is_web_url;
///
/// assert!(is_web_url("https://example.com/consent"));
/// assert!(!is_web_url("javascript:alert(1)"));
/// ```
#[must_use]
pub fn is_web_url(url: &str) -> bool {
    WebUrl::parse(url).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_absolute_web_urls_may_be_shown() {
        let check = |url: &str, expected: bool| assert_eq!(is_web_url(url), expected, "{url}");
        check("https://example.test/consent?x=1#y", true);
        check("http://[::1]:8080/", true);
        check("https://bank.example@evil.test", false);
        check("https://", false);
        check("https://:80/", false);
        check("/relative", false);
        check("javascript:alert(1)", false);
        check("https://exa mple.test", false);
        check("https://example.test/gr\u{f6}\u{df}e", false);
        check("file:///etc/passwd", false);
    }

    fn elicitation(url: &str, id: Option<&str>) -> ElicitRequestURLParams {
        let mut elicitation = ElicitRequestURLParams::new("Visit.", url);
        elicitation.elicitation_id = id.map(str::to_owned);
        elicitation
    }

    #[test]
    fn id_of_an_elicitation_has_1_to_1024_bytes() {
        const URL: &str = "https://example.test";
        let longest = "x".repeat(MAX_ELICITATION_ID_BYTES);
        let longer = format!("{longest}x");
        let invalid = Err(InvalidUrlElicitation::Id);
        for (id, sent, required) in [
            (Some("1"), Ok(()), Ok(())),
            (Some(&*longest), Ok(()), Ok(())),
            (Some(&*longer), invalid.clone(), invalid.clone()),
            (Some(""), invalid.clone(), invalid.clone()),
            // toolwire adds an id where the revision needs one, but only the author can complete it later.
            (None, Ok(()), invalid),
        ] {
            let elicitation = elicitation(URL, id);
            assert_eq!(check_elicitation(&elicitation), sent, "{id:?}");
            let list = [elicitation];
            assert_eq!(check_required_elicitations(&list), required, "{id:?}");
        }
    }

    #[test]
    fn every_required_elicitation_is_checked() {
        let valid = elicitation("https://example.test", Some("1"));
        let script = elicitation("javascript:alert(1)", Some("2"));
        let invalid = InvalidUrlElicitation::Url(script.url.clone());
        assert_eq!(check_elicitation(&script), Err(invalid.clone()));
        assert_eq!(
            check_required_elicitations(&[valid.clone(), script]),
            Err(invalid)
        );
        assert_eq!(check_required_elicitations(&[valid]), Ok(()));
        assert_eq!(
            check_required_elicitations(&[]),
            Err(InvalidUrlElicitation::EmptyList)
        );
    }

    #[test]
    fn error_states_the_remedy() {
        let check = |invalid: InvalidUrlElicitation, expected: &str| {
            let text = invalid.to_string();
            assert!(text.contains(expected), "{text}");
        };
        check(InvalidUrlElicitation::EmptyList, "at least one");
        check(InvalidUrlElicitation::Id, "1 to 1024 bytes");
        check(InvalidUrlElicitation::Url("a".to_owned()), "absolute http");
    }
}
