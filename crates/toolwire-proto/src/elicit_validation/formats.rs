//! The four formats of a text field, checked as JSON Schema defines them.
//!
//! Formats of later revisions are not checked, and their texts are accepted.

use toolwire_types::StringFormat;

use crate::date_time::{date_time_ms, is_date};
use crate::uri_scheme::is_scheme;

/// A format that can be checked.
pub(super) struct Rule {
    /// The phrase that completes "must be …".
    pub(super) description: &'static str,
    pub(super) holds: fn(&str) -> bool,
}

/// Returns the rule of a format. Returns `None` if the format is unknown.
pub(super) fn rule(format: &StringFormat) -> Option<Rule> {
    let (description, holds): (_, fn(&str) -> bool) = match format {
        StringFormat::Email => ("an e-mail address such as name@example.com", is_email),
        StringFormat::Uri => ("a URI such as https://example.com", is_uri),
        StringFormat::Date => ("a date such as 2025-12-31", is_date),
        StringFormat::DateTime => (
            "a date and time with offset such as 2025-12-31T23:59:59Z",
            is_date_time,
        ),
        _ => return None,
    };
    Some(Rule { description, holds })
}

/// Checks for an RFC 5321 "Mailbox" without quoted local parts and address literals, which users do not type into
/// forms.
fn is_email(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else {
        return false;
    };
    let is_atom = |atom: &str| {
        let in_atom =
            |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~".contains(&byte);
        !atom.is_empty() && atom.bytes().all(in_atom)
    };
    let is_label = |label: &str| {
        let in_label = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        (1..=63).contains(&label.len())
            && label.bytes().all(in_label)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    local.len() <= 64
        && domain.len() <= 255
        && local.split('.').all(is_atom)
        && domain.split('.').all(is_label)
}

/// Checks for an RFC 3986 "URI": a scheme and allowed characters. A relative reference is not a URI.
fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    // Brackets enclose the address of an IPv6 host and are not allowed anywhere else.
    let (authority, path) = match rest.strip_prefix("//") {
        Some(rest) => rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len())),
        None => ("", rest),
    };
    is_scheme(scheme)
        && are_uri_characters(authority, b"[]")
        && [path, fragment]
            .iter()
            .all(|part| are_uri_characters(part, b""))
}

fn are_uri_characters(text: &str, also: &[u8]) -> bool {
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let allowed = match byte {
            b'%' => (0..2).all(|_| bytes.next().is_some_and(|digit| digit.is_ascii_hexdigit())),
            _ => {
                byte.is_ascii_alphanumeric()
                    || b"-._~:/?@!$&'()*+,;=".contains(&byte)
                    || also.contains(&byte)
            }
        };
        if !allowed {
            return false;
        }
    }
    true
}

/// Checks for a "date-time", leap seconds included.
fn is_date_time(text: &str) -> bool {
    date_time_ms(text).is_some()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(holds: fn(&str) -> bool, valid: &[&str], invalid: &[&str]) {
        for text in valid {
            assert!(holds(text), "{text} is valid");
        }
        for text in invalid {
            assert!(!holds(text), "{text} is invalid");
        }
    }

    #[test]
    fn e_mail_addresses() {
        let long_local = format!("{}@example.com", "a".repeat(64));
        let too_long_local = format!("{}@example.com", "a".repeat(65));
        let long_label = format!("a@{}.com", "b".repeat(63));
        let too_long_label = format!("a@{}.com", "b".repeat(64));
        let long_domain = format!("a@{}", "b.".repeat(127) + "b");
        let too_long_domain = format!("a@{}", "b.".repeat(127) + "bb");
        check(
            is_email,
            &[
                "a@b.c",
                "first.last+tag@sub-domain.example.com",
                "o'neil@example.com",
                "root@localhost",
                &long_local,
                &long_label,
                &long_domain,
            ],
            &[
                "",
                "@",
                "a@",
                "@b",
                "a b@c.d",
                "a@b@c",
                ".a@b.c",
                "a.@b.c",
                "a..b@c.d",
                "a@b..c",
                "a@-b.c",
                "a@b-.c",
                "a@b.c\n",
                "é@b.c",
                "a@é.c",
                "plain",
                &too_long_local,
                &too_long_label,
                &too_long_domain,
            ],
        );
    }

    #[test]
    fn uris() {
        check(
            is_uri,
            &[
                "https://example.com",
                "https://user@[::1]:8080/a?b=c/d?#e",
                "mailto:a@b.c",
                "urn:isbn:1",
                "file:///a%20b",
                "a:",
                "x+y-z.1:a",
            ],
            &[
                "",
                "example.com",
                "/path",
                "//host",
                ":a",
                "1a:b",
                "a b:c",
                "https://a b",
                "https://a/%2",
                "https://a/%zz",
                "https://é",
                "https://a/[b]",
                "https://a#b#c",
                "https://a\n",
                "https://a/<b>",
                "https://a/\"",
            ],
        );
    }

    #[test]
    fn dates() {
        check(
            is_date,
            &["2025-12-31", "2024-02-29", "2000-02-29", "0000-01-01"],
            &[
                "",
                "2025-13-01",
                "2025-00-01",
                "2025-01-00",
                "2025-01-32",
                "2025-04-31",
                "2025-02-29",
                "1900-02-29",
                "2025-1-1",
                "2025/01/01",
                "20250101",
                "2025-01-01T",
                "+025-01-01",
                "2025-01-0é",
            ],
        );
    }

    #[test]
    fn dates_with_times() {
        check(
            is_date_time,
            &[
                "2025-12-31T23:59:59Z",
                "2025-12-31t00:00:00z",
                "2025-12-31T12:00:00.123456789+23:59",
                "2025-12-31T12:00:00-08:00",
                "1998-12-31T23:59:60Z",
                "1998-12-31T15:59:60.5-08:00",
            ],
            &[
                "",
                "2025-12-31",
                "2025-12-31T23:59:59",
                "2025-12-31 23:59:59Z",
                "2025-12-31T24:00:00Z",
                "2025-12-31T23:60:00Z",
                "2025-12-31T23:59:61Z",
                "2025-12-31T22:59:60Z",
                "1998-12-31T23:59:60-08:00",
                "2025-12-31T12:00:00.Z",
                "2025-12-31T12:00:00.aZ",
                "2025-12-31T12:00Z",
                "2025-12-31T12:00:00+24:00",
                "2025-12-31T12:00:00+08:60",
                "2025-12-31T12:00:00+0800",
                "2025-12-31T12:00:00+08",
                "2025-02-30T12:00:00Z",
                "2025-12-31T12:00:00Zé",
                "2025-12-31Té",
            ],
        );
    }

    #[test]
    fn other_formats_are_not_checked() {
        assert!(rule(&StringFormat::Other("hostname".to_owned())).is_none());
        for format in [
            StringFormat::Email,
            StringFormat::Uri,
            StringFormat::Date,
            StringFormat::DateTime,
        ] {
            let rule = rule(&format).expect("a format of the specification");
            let example = rule.description.split(' ').next_back().expect("an example");
            assert!((rule.holds)(example), "{example}");
        }
    }

    proptest! {
        #[test]
        fn checks_of_any_text_do_not_panic(text in ".{0,40}", shaped in "[0-9Tt:.+Z-]{0,30}") {
            for holds in [is_email, is_uri, is_date, is_date_time] {
                let _checked = (holds(&text), holds(&shaped));
            }
        }

        /// A year from 2001 to 2099 has as many valid dates as days.
        #[test]
        fn year_has_as_many_valid_dates_as_days(year in 2001_u32..=2099) {
            let days = (0..=13).flat_map(|month| (0..=32).map(move |day| (month, day)));
            let valid = days.filter(|(month, day)| is_date(&format!("{year}-{month:02}-{day:02}"))).count();
            prop_assert_eq!(valid, if year % 4 == 0 { 366 } else { 365 });
        }
    }
}
