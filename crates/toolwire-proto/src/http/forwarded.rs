//! The address of a client behind reverse proxies.

use std::net::{IpAddr, SocketAddr};

/// Returns the address that the outermost trusted proxy saw, from the values of `X-Forwarded-For`.
///
/// `trusted_proxies` is the number of reverse proxies in front of the server that append to the header. Entries further
/// left are untrusted input of the client and are not used, so they may be any bytes. Returns `None` without a trusted
/// proxy, if there are fewer entries, and if the entry is not an address.
#[must_use]
pub fn forwarded_client<'v>(
    values: impl DoubleEndedIterator<Item = &'v [u8]>,
    trusted_proxies: usize,
) -> Option<IpAddr> {
    let skipped = trusted_proxies.checked_sub(1)?;
    let mut entries = values
        .rev()
        .flat_map(|value| value.rsplit(|byte| *byte == b','));
    address(str::from_utf8(entries.nth(skipped)?).ok()?)
}

/// Parses an address, with or without a port.
fn address(entry: &str) -> Option<IpAddr> {
    let entry = entry.trim();
    let bare = entry
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    let address = bare.unwrap_or(entry).parse();
    let with_port = || entry.parse::<SocketAddr>().map(|address| address.ip());
    address.or_else(|_| with_port()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_entries_of_trusted_proxies_are_used() {
        let check = |values: &[&str], trusted: usize, expected: Option<&str>| {
            let client = forwarded_client(values.iter().map(|value| value.as_bytes()), trusted);
            let client = client.map(|client| client.to_string());
            assert_eq!(client.as_deref(), expected, "{values:?} {trusted}");
        };
        let spoofed = "6.6.6.6, 1.2.3.4";
        check(&[spoofed], 0, None);
        check(&[spoofed], 1, Some("1.2.3.4"));
        check(&["6.6.6.6", "1.2.3.4"], 1, Some("1.2.3.4"));
        check(&[spoofed, "10.0.0.7"], 2, Some("1.2.3.4"));
        check(&["1.2.3.4:5678"], 1, Some("1.2.3.4"));
        check(&["[2001:db8::9]:443"], 1, Some("2001:db8::9"));
        check(&["[2001:db8::9]"], 1, Some("2001:db8::9"));
        check(&["2001:db8::9"], 1, Some("2001:db8::9"));
        check(&[], 1, None);
        check(&["1.2.3.4"], 2, None);
        check(&["1.2.3.4, unknown"], 1, None);
        check(&[""], 1, None);
        check(&["ü, 1.2.3.4"], 1, Some("1.2.3.4"));
        check(&["ü", "1.2.3.4"], 2, None);
    }
}
