//! The normal form of a URL whose scheme browsers know (WHATWG URL, section 4.2, "special scheme").
//!
//! Readers accept many forms of such a URL: `https:/host`, `https:///host`, `https://user@host`, `https://host:443`,
//! `https://host.`. The normal form has two slashes, a host without user information and without a dot at its end, a port only
//! if it is not the default one, and a path.

use std::net::{Ipv4Addr, Ipv6Addr};

/// The schemes and their default ports.
const SCHEMES: [(&str, u16); 5] = [
    ("http", 80),
    ("https", 443),
    ("ws", 80),
    ("wss", 443),
    ("ftp", 21),
];

/// The characters that separate the parts of an authority from each other and from the path.
const SEPARATORS: [char; 6] = ['/', '\\', '?', '#', '@', ':'];

/// What a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextKind {
    /// A whole URI or path.
    Whole,
    /// The start of a URI or path.
    Start,
    /// A pattern with the wildcards `*` and `?`.
    Pattern,
}

/// Returns the default port of a scheme in lower case. Returns `None` if browsers do not know the scheme.
pub(super) fn default_port(scheme: &str) -> Option<u16> {
    let known = SCHEMES.iter().find(|(known, _)| *known == scheme);
    known.map(|(_, port)| *port)
}

/// Returns the authority in its normal form, and the path with all that follows. `rest` is what follows the scheme and its
/// colon. Backslashes are slashes there, and escapes are decoded.
pub(super) fn authority_and_path(rest: &str, port: u16, kind: TextKind) -> (String, String) {
    let rest = rest.trim_start_matches('/');
    let ends = |c: char| match c {
        '/' | '#' => true,
        '?' => kind != TextKind::Pattern,
        _ => false,
    };
    let (authority, tail) = rest.split_at(rest.find(ends).unwrap_or(rest.len()));
    let authority = normal_authority(authority, port);
    let has_wildcard = kind == TextKind::Pattern && authority.contains(['*', '?']);
    let is_whole = kind != TextKind::Start && !has_wildcard && !authority.is_empty();
    let path = if is_whole && !tail.starts_with('/') {
        format!("/{tail}")
    } else {
        tail.to_owned()
    };
    (authority, path)
}

fn normal_authority(authority: &str, default_port: u16) -> String {
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    let (host, port) = split_port(host);
    let mut normal = host.trim_end_matches('.').to_ascii_lowercase();
    let number: Option<u16> = port.parse().ok();
    if !port.is_empty() && number != Some(default_port) {
        normal.push(':');
        match number {
            Some(number) => normal.push_str(&number.to_string()),
            None => normal.push_str(port),
        }
    }
    normal
}

fn split_port(host: &str) -> (&str, &str) {
    match host.rsplit_once(':') {
        // An IPv6 address has colons and is in brackets.
        Some((host, port)) if !port.contains(']') => (host, port),
        _ => (host, ""),
    }
}

/// Returns `true` if readers may use another form of the host of a URL than `normal`, its normal form, has. This holds for
/// a name that is not ASCII. It also holds for an address that is not written in its usual form (WHATWG URL, section 3.5).
pub(super) fn has_ambiguous_host(normal: &str) -> bool {
    let Some(host) = host_of(normal) else {
        return false;
    };
    if !host.is_ascii() {
        return true;
    }
    if let Some(address) = host.strip_prefix('[') {
        let address = address.strip_suffix(']').unwrap_or("");
        let parsed = address.parse::<Ipv6Addr>();
        return !parsed.is_ok_and(|parsed| {
            parsed.to_ipv4_mapped().is_none() && parsed.to_string() == address
        });
    }
    let last = host.rsplit('.').next().unwrap_or(host);
    is_number(last) && host.parse::<Ipv4Addr>().is_err()
}

/// Returns `true` if the host of a URL stands for a name that is not ASCII (RFC 5890, section 2.3.2.1). `normal` is a URL in its
/// normal form.
pub(super) fn has_encoded_host(normal: &str) -> bool {
    let host = host_of(normal);
    host.is_some_and(|host| host.split('.').any(|label| label.starts_with("xn--")))
}

/// Returns `true` if a pattern, or the start of a URL, may have a host that is not ASCII. `normal` is its normal form.
pub(super) fn may_have_unicode_host(normal: &str) -> bool {
    if normal.is_ascii() {
        return false;
    }
    let authority = match normal.split_once("://") {
        Some((_, rest)) => rest.split('/').next().unwrap_or(rest),
        // The pattern may have its host at any place.
        None => normal,
    };
    !authority.is_ascii()
}

/// Returns the host of a URL in its normal form.
fn host_of(normal: &str) -> Option<&str> {
    let (_, rest) = normal.split_once("://")?;
    let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    Some(split_port(authority).0)
}

/// Returns `true` if readers take a host whose last label is this one for an IPv4 address.
fn is_number(label: &str) -> bool {
    match label.strip_prefix("0x") {
        Some(digits) => digits.bytes().all(|byte| byte.is_ascii_hexdigit()),
        None => !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_digit()),
    }
}

/// Returns `true` if readers disagree about the host of a URL as it is written: if an escape stands for a character that
/// separates parts, or if a backslash is before an `@`. `rest` is what follows the scheme and its colon.
pub(super) fn is_ambiguous(rest: &str, decode: impl Fn(&str) -> Option<String>) -> bool {
    let rest = rest.trim_start_matches(['/', '\\']);
    let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    if authority.contains('\\') && authority.contains('@') {
        return true;
    }
    let separators = |text: &str| text.matches(SEPARATORS).count();
    let decoded = decode(authority);
    decoded.is_none_or(|decoded| separators(&decoded) != separators(authority))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authorities_have_one_normal_form() {
        let check = |authority: &str, expected: &str| {
            assert_eq!(normal_authority(authority, 443), expected, "{authority}");
        };
        check("x", "x");
        check("X.Example", "x.example");
        check("x.", "x");
        check("x:443", "x");
        check("x:", "x");
        check("x.:0443", "x");
        check("x:8443", "x:8443");
        check("x:08443", "x:8443");
        check("user@x", "x");
        check("user:password@x:443", "x");
        check("a@b@x", "x");
        check("[::1]", "[::1]");
        check("[::1]:443", "[::1]");
        check("x:*", "x:*");
        check("*.x", "*.x");
    }

    #[test]
    fn path_begins_with_a_slash_where_it_is_known() {
        let check = |rest: &str, kind: TextKind, expected: (&str, &str)| {
            let (authority, path) = authority_and_path(rest, 443, kind);
            assert_eq!((&*authority, &*path), expected, "{rest} {kind:?}");
        };
        check("//x/a", TextKind::Whole, ("x", "/a"));
        check("/x/a", TextKind::Whole, ("x", "/a"));
        check("x/a", TextKind::Whole, ("x", "/a"));
        check("////x/a", TextKind::Whole, ("x", "/a"));
        check("//x", TextKind::Whole, ("x", "/"));
        check("//x?q", TextKind::Whole, ("x", "/?q"));
        check("//x#f", TextKind::Whole, ("x", "/#f"));
        check("//", TextKind::Whole, ("", ""));
        check("//x", TextKind::Start, ("x", ""));
        check("//x", TextKind::Pattern, ("x", "/"));
        check("//x*", TextKind::Pattern, ("x*", ""));
        check("//x?/*", TextKind::Pattern, ("x?", "/*"));
        check("/*", TextKind::Pattern, ("*", ""));
    }
}
