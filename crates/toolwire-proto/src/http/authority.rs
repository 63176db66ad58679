//! A host and an optional port, as in the `Host` header and in origins.
//!
//! Parsing is strict: each address has one spelling, so that this module and a resolver see the same host. Every name
//! that browsers treat as a number (`2130706433`, `0x7f.1`, `0177.0.0.1`) is rejected, and so is user info.

use std::borrow::Cow;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The maximum length of a domain name and of a label.
const LONGEST_NAME: usize = 253;
const LONGEST_LABEL: usize = 63;

/// A host and the port written after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Authority<'a> {
    pub(crate) host: Host<'a>,
    pub(crate) port: Option<u16>,
}

/// A name without its trailing dot, or an address. An IPv4-mapped IPv6 address counts as the IPv4 address.
#[derive(Debug, Clone)]
pub(crate) enum Host<'a> {
    Name(Cow<'a, str>),
    Address(IpAddr),
}

impl<'a> Authority<'a> {
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (address, port) = rest.split_once(']')?;
                let address: Ipv6Addr = address.parse().ok()?;
                let host = Host::Address(IpAddr::V6(address).to_canonical());
                let port = match port {
                    "" => None,
                    _ => Some(port.strip_prefix(':')?),
                };
                (host, port)
            }
            None => match text.split_once(':') {
                Some((host, port)) => (Host::parse(host)?, Some(port)),
                None => (Host::parse(text)?, None),
            },
        };
        let port = match port {
            Some(digits) => Some(parse_port(digits)?),
            None => None,
        };
        Some(Self { host, port })
    }

    pub(crate) fn into_owned(self) -> Authority<'static> {
        Authority {
            host: self.host.into_owned(),
            port: self.port,
        }
    }
}

impl<'a> Host<'a> {
    /// Parses a name or an IPv4 address.
    fn parse(text: &'a str) -> Option<Self> {
        let name = text.strip_suffix('.').unwrap_or(text);
        let last_label = name.rsplit('.').next()?;
        if is_number(last_label) {
            // An address has no trailing dot, so the whole text is parsed.
            let address: Ipv4Addr = text.parse().ok()?;
            return Some(Self::Address(address.into()));
        }
        let is_name = name.len() <= LONGEST_NAME && name.split('.').all(is_label);
        is_name.then_some(Self::Name(Cow::Borrowed(name)))
    }

    pub(crate) fn into_owned(self) -> Host<'static> {
        match self {
            Self::Name(name) => Host::Name(Cow::Owned(name.to_ascii_lowercase())),
            Self::Address(address) => Host::Address(address),
        }
    }

    pub(crate) fn is_loopback(&self) -> bool {
        match self {
            Self::Name(name) => name.eq_ignore_ascii_case("localhost"),
            Self::Address(address) => address.is_loopback(),
        }
    }
}

impl PartialEq for Host<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Name(one), Self::Name(other)) => one.eq_ignore_ascii_case(other),
            (Self::Address(one), Self::Address(other)) => one == other,
            _ => false,
        }
    }
}

impl Eq for Host<'_> {}

impl fmt::Display for Authority<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) => write!(f, "{}:{port}", self.host),
            None => self.host.fmt(f),
        }
    }
}

impl fmt::Display for Host<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(IpAddr::V4(address)) => address.fmt(f),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

/// Parses a decimal port. A sign, leading zeros and the empty text are invalid.
fn parse_port(digits: &str) -> Option<u16> {
    let port: u16 = digits.parse().ok()?;
    let is_plain = digits == "0" || digits.starts_with(|first| matches!(first, '1'..='9'));
    is_plain.then_some(port)
}

/// Returns `true` if browsers treat a name that ends with this label as an IPv4 address (WHATWG URL, "ends in a
/// number").
fn is_number(label: &str) -> bool {
    let is_decimal = !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_digit());
    let is_hexadecimal = label
        .strip_prefix("0x")
        .or_else(|| label.strip_prefix("0X"))
        .is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
    is_decimal || is_hexadecimal
}

/// Returns `true` for letters, digits and hyphens, and for underscores, which container networks use.
fn is_label(label: &str) -> bool {
    (1..=LONGEST_LABEL).contains(&label.len())
        && label
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_spelling_per_host() {
        #[track_caller]
        fn check(text: &str, expected: &str) {
            let authority = Authority::parse(text).expect("well formed");
            assert_eq!(authority.to_string(), expected);
        }
        check("localhost", "localhost");
        check("localhost:80", "localhost:80");
        check("localhost.", "localhost");
        check("localhost.:80", "localhost:80");
        check("mcp.example.com:65535", "mcp.example.com:65535");
        check("my_service:0", "my_service:0");
        check("xn--bcher-kva.example", "xn--bcher-kva.example");
        check("1.example", "1.example");
        check("127.0.0.1.nip.io", "127.0.0.1.nip.io");
        check("0xyz", "0xyz");
        check("127.0.0.1:8080", "127.0.0.1:8080");
        check("[::1]", "[::1]");
        check("[0:0::1]:80", "[::1]:80");
        check("[2001:DB8::1]", "[2001:db8::1]");
        check("[::ffff:127.0.0.1]:80", "127.0.0.1:80");
        check("[::ffff:7f00:1]", "127.0.0.1");
    }

    #[test]
    fn invalid_authorities_are_rejected() {
        for text in [
            "",
            ".",
            "..",
            ":80",
            ".example.com",
            "example..com",
            "example.com..",
            "localhost:",
            "localhost:abc",
            "localhost:080",
            "localhost:+80",
            "localhost:65536",
            "localhost:80:80",
            "localhost:８０",
            " localhost",
            "localhost ",
            "local host",
            "localhost\t",
            "localhost\0",
            "evil@localhost",
            "user:password@localhost",
            "localhost/",
            "localhost?a",
            "localhost#a",
            "localhost,evil.test",
            "localhost;a",
            "local%68ost",
            "*.example.com",
            "http://localhost",
            "bücher.example",
            "ｌocalhost",
            "2130706433",
            "0x7f000001",
            "0X7F000001",
            "0x",
            "0177.0.0.1",
            "127.1",
            "127.0.1",
            "127.0.0.01",
            "127.0.0.0x1",
            "127.0.0.1.",
            "127.0.0.256",
            "１２７.0.0.1",
            "127。0。0。1",
            "1.2.3.4.5",
            "example.1",
            "::1",
            "[::1",
            "::1]",
            "[::1]80",
            "[::1]:",
            "[::1]]",
            "[::1%eth0]",
            "[::1%25eth0]",
            "[127.0.0.1]",
            "[localhost]",
            "[]",
            "[[::1]]",
        ] {
            assert_eq!(Authority::parse(text), None, "{text:?}");
        }
        assert!(Authority::parse(&"a".repeat(63)).is_some());
        assert!(Authority::parse(&"a".repeat(64)).is_none());
        let longest = format!("{}a", "aa.".repeat(84));
        assert!(Authority::parse(&longest).is_some());
        assert!(Authority::parse(&format!("{longest}a")).is_none());
    }

    proptest! {
        #[test]
        fn parsed_authority_round_trips(text in "[\\[\\]a-zA-Z0-9.:_-]{0,24}") {
            if let Some(authority) = Authority::parse(&text) {
                let written = authority.to_string();
                prop_assert_eq!(Authority::parse(&written), Some(authority.clone()));
                prop_assert_eq!(authority.clone().into_owned(), authority);
            }
        }

        #[test]
        fn every_address_is_parsed_back(address in any::<IpAddr>(), port in any::<Option<u16>>()) {
            let authority = Authority { host: Host::Address(address.to_canonical()), port };
            let written = authority.to_string();
            prop_assert_eq!(Authority::parse(&written), Some(authority));
        }

        #[test]
        fn parsing_any_text_does_not_panic(text in any::<String>()) {
            let _ = Authority::parse(&text);
        }
    }
}
