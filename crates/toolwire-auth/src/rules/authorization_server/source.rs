//! The source of a request, for limits per source.

use std::fmt;
use std::net::IpAddr;

use toolwire_proto::http::addresses::is_global;
use toolwire_proto::http::{client_network, forwarded_client};

/// The network address that unauthenticated requests are counted for: an IPv4 address, or an IPv6 network of 64 bits.
///
/// A subscriber has at least a whole IPv6 network of that size, so limits per IPv6 address would be ineffective.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Source(IpAddr);

impl Source {
    /// Returns the source of a request, or `None` if it is unknown.
    ///
    /// `peer` is the remote address of the connection. A non-public peer may be a reverse proxy, so it is not used.
    /// `forwarded_for` are the values of `X-Forwarded-For`, and `trusted_proxies` is the number of reverse proxies in
    /// front of the server that append to it. Entries further left are untrusted client input and are not used.
    #[must_use]
    pub(crate) fn of<'v>(
        peer: Option<IpAddr>,
        forwarded_for: impl DoubleEndedIterator<Item = &'v [u8]>,
        trusted_proxies: usize,
    ) -> Option<Self> {
        if trusted_proxies == 0 {
            return peer.filter(|peer| is_global(*peer)).map(Self::from_address);
        }
        forwarded_client(forwarded_for, trusted_proxies).map(Self::from_address)
    }

    fn from_address(address: IpAddr) -> Self {
        Self(client_network(address))
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            IpAddr::V4(address) => write!(f, "{address}"),
            IpAddr::V6(address) => write!(f, "{address}/64"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(peer: &str, forwarded_for: &[&str], trusted_proxies: usize) -> Option<String> {
        let peer = peer.parse().ok();
        let values = forwarded_for.iter().map(|value| value.as_bytes());
        Source::of(peer, values, trusted_proxies).map(|source| source.to_string())
    }

    #[test]
    fn public_peer_is_the_source() {
        let check = |peer: &str, expected: Option<&str>| {
            let spoofed = ["8.8.8.8"];
            assert_eq!(source(peer, &spoofed, 0).as_deref(), expected, "{peer}");
        };
        check("93.184.215.14", Some("93.184.215.14"));
        check(
            "2606:2800:21f:cb07:6820:80da:af6b:8b2c",
            Some("2606:2800:21f:cb07::/64"),
        );
        check("2606:2800:21f:cb07::1", Some("2606:2800:21f:cb07::/64"));
        for private in [
            "127.0.0.1",
            "10.0.0.1",
            "192.168.1.1",
            "::1",
            "fd00::1",
            "fe80::1",
            "",
        ] {
            check(private, None);
        }
    }

    #[test]
    fn only_entries_of_trusted_proxies_are_used() {
        let check = |values: &[&str], trusted: usize, expected: Option<&str>| {
            let source = source("10.0.0.1", values, trusted);
            assert_eq!(source.as_deref(), expected, "{values:?} {trusted}");
        };
        let spoofed = "6.6.6.6, 1.2.3.4";
        check(&[spoofed], 1, Some("1.2.3.4"));
        check(&["6.6.6.6", "1.2.3.4"], 1, Some("1.2.3.4"));
        check(&[spoofed, "10.0.0.7"], 2, Some("1.2.3.4"));
        check(&["1.2.3.4:5678"], 1, Some("1.2.3.4"));
        check(&["[2001:db8:1:2::9]:443"], 1, Some("2001:db8:1:2::/64"));
        check(&["[2001:db8:1:2::9]"], 1, Some("2001:db8:1:2::/64"));
        check(&["2001:db8:1:2::9"], 1, Some("2001:db8:1:2::/64"));
        check(&["::ffff:1.2.3.4"], 1, Some("1.2.3.4"));
        check(&["ü, 1.2.3.4"], 1, Some("1.2.3.4"));
        check(&["1.2.3.4", "ü"], 2, Some("1.2.3.4"));
        // Fewer entries than trusted proxies, and invalid entries.
        check(&[], 1, None);
        check(&["1.2.3.4"], 2, None);
        check(&["1.2.3.4, unknown"], 1, None);
        check(&[""], 1, None);
    }
}
