//! Classifies addresses of the public internet.
//!
//! A client that fetches an untrusted URL must not give an attacker access to its own network (security best practices,
//! "Server-Side Request Forgery"). Check every address that a name resolves to, and connect to the checked address.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Returns `true` if an address belongs to one machine on the public internet.
///
/// Not public are loopback, private, shared, link-local, multicast, documentation and benchmark networks, protocol
/// assignments and all reserved ranges (IANA special-purpose registries). IPv6 addresses that embed such an IPv4
/// address are not public either: mapped, compatible, translated (NAT64), 6to4. All Teredo and ISATAP addresses are
/// rejected.
#[must_use]
pub fn is_global(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_global_v4(address),
        IpAddr::V6(address) => is_global_v6(address),
    }
}

/// Networks that are not public: the first address and the prefix length.
const NOT_GLOBAL_V4: [([u8; 4], u32); 16] = [
    ([0, 0, 0, 0], 8),       // this network
    ([10, 0, 0, 0], 8),      // private
    ([100, 64, 0, 0], 10),   // shared by carriers
    ([127, 0, 0, 0], 8),     // loopback
    ([169, 254, 0, 0], 16),  // link-local, including cloud metadata services
    ([172, 16, 0, 0], 12),   // private
    ([192, 0, 0, 0], 24),    // protocol assignments
    ([192, 0, 2, 0], 24),    // documentation
    ([192, 31, 196, 0], 24), // AS112
    ([192, 52, 193, 0], 24), // AMT
    ([192, 88, 99, 0], 24),  // 6to4 relays
    ([192, 168, 0, 0], 16),  // private
    ([192, 175, 48, 0], 24), // AS112
    ([198, 18, 0, 0], 15),   // benchmarks
    ([198, 51, 100, 0], 24), // documentation
    ([203, 0, 113, 0], 24),  // documentation
];

fn is_global_v4(address: Ipv4Addr) -> bool {
    let address = address.to_bits();
    let is_special = NOT_GLOBAL_V4.iter().any(|(network, length)| {
        let host_bits = 32 - length;
        (address ^ u32::from_be_bytes(*network)) >> host_bits == 0
    });
    // From 224.0.0.0 on, all addresses are multicast or reserved, including the broadcast address.
    !is_special && address < 0xe000_0000
}

/// Networks within the global unicast range that are not public.
const NOT_GLOBAL_V6: [([u16; 8], u32); 5] = [
    ([0x2001, 0, 0, 0, 0, 0, 0, 0], 23), // protocol assignments, among them Teredo
    ([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32), // documentation
    ([0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0], 48), // AS112
    ([0x3ffe, 0, 0, 0, 0, 0, 0, 0], 16), // 6bone
    ([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20), // documentation
];

fn is_global_v6(address: Ipv6Addr) -> bool {
    if let Some(embedded) = embedded_v4(address) {
        return is_global_v4(embedded);
    }
    let segments = address.segments();
    let bits = address.to_bits();
    let is_special = NOT_GLOBAL_V6.iter().any(|(network, length)| {
        let host_bits = 128 - length;
        (bits ^ Ipv6Addr::from(*network).to_bits()) >> host_bits == 0
    });
    // ISATAP: an interface identifier of 0000:5efe or 0200:5efe, followed by an IPv4 address.
    let [.., fifth, sixth, _, _] = segments;
    let is_isatap = matches!(fifth, 0 | 0x0200) && sixth == 0x5efe;
    // Only 2000::/3 is allocated for public use.
    let is_unicast = bits >> 125 == 1;
    is_unicast && !is_special && !is_isatap
}

/// Returns the IPv4 address that is the destination of packets to an IPv6 address.
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let low =
        |high: u16, low: u16| Some(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)));
    match address.segments() {
        // Mapped and compatible addresses. The unspecified address and loopback are among the latter, as 0.0.0.x.
        [0, 0, 0, 0, 0, 0 | 0xffff, a, b] => low(a, b),
        // Translated addresses with the old and the new prefix. The local prefix of NAT64 is rejected with all else
        // below 2000::/3.
        [0, 0, 0, 0, 0xffff, 0, a, b] | [0x64, 0xff9b, 0, 0, 0, 0, a, b] => low(a, b),
        [0x2002, a, b, ..] => low(a, b),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(address: &str, expected: bool) {
        let parsed: IpAddr = address.parse().unwrap();
        assert_eq!(is_global(parsed), expected, "{address}");
    }

    /// Checks that the first and last address of a range are not public, and that the adjacent addresses are.
    #[track_caller]
    fn check_range(before: &str, first: &str, last: &str, after: &str) {
        check(before, true);
        check(first, false);
        check(last, false);
        check(after, true);
    }

    #[test]
    fn ipv4_ranges_have_exact_bounds() {
        check("0.0.0.0", false);
        check("0.255.255.255", false);
        check("1.0.0.0", true);
        check_range("9.255.255.255", "10.0.0.0", "10.255.255.255", "11.0.0.0");
        check_range(
            "100.63.255.255",
            "100.64.0.0",
            "100.127.255.255",
            "100.128.0.0",
        );
        check_range(
            "126.255.255.255",
            "127.0.0.0",
            "127.255.255.255",
            "128.0.0.0",
        );
        check_range(
            "169.253.255.255",
            "169.254.0.0",
            "169.254.255.255",
            "169.255.0.0",
        );
        check_range(
            "172.15.255.255",
            "172.16.0.0",
            "172.31.255.255",
            "172.32.0.0",
        );
        check_range("191.255.255.255", "192.0.0.0", "192.0.0.255", "192.0.1.0");
        check_range("192.0.1.255", "192.0.2.0", "192.0.2.255", "192.0.3.0");
        check_range(
            "192.31.195.255",
            "192.31.196.0",
            "192.31.196.255",
            "192.31.197.0",
        );
        check_range(
            "192.52.192.255",
            "192.52.193.0",
            "192.52.193.255",
            "192.52.194.0",
        );
        check_range(
            "192.88.98.255",
            "192.88.99.0",
            "192.88.99.255",
            "192.88.100.0",
        );
        check_range(
            "192.167.255.255",
            "192.168.0.0",
            "192.168.255.255",
            "192.169.0.0",
        );
        check_range(
            "192.175.47.255",
            "192.175.48.0",
            "192.175.48.255",
            "192.175.49.0",
        );
        check_range(
            "198.17.255.255",
            "198.18.0.0",
            "198.19.255.255",
            "198.20.0.0",
        );
        check_range(
            "198.51.99.255",
            "198.51.100.0",
            "198.51.100.255",
            "198.51.101.0",
        );
        check_range(
            "203.0.112.255",
            "203.0.113.0",
            "203.0.113.255",
            "203.0.114.0",
        );
        check("223.255.255.255", true);
        for address in [
            "224.0.0.0",
            "239.255.255.255",
            "240.0.0.0",
            "255.255.255.255",
        ] {
            check(address, false);
        }
        check("169.254.169.254", false);
        check("100.100.100.200", false);
    }

    #[test]
    fn ipv6_ranges_have_exact_bounds() {
        let last = "ffff:ffff:ffff:ffff:ffff:ffff";
        for address in [
            "::",
            "::1",
            "100::1",
            "1fff:ffff::1",
            "4000::1",
            "5f00::1",
            "fc00::1",
            "fd00:ec2::254",
            "fdff::1",
            "fe80::1",
            "febf::1",
            "fec0::1",
            "ff02::1",
            "64:ff9b:1::808:808",
        ] {
            check(address, false);
        }
        check("2000::1", true);
        check("2000:ffff::1", true);
        check_range(
            "2000:ffff:ffff::1",
            "2001::",
            &format!("2001:1ff:{last}"),
            "2001:200::",
        );
        let (before, after) = (format!("2001:db7:{last}"), "2001:db9::");
        check_range(&before, "2001:db8::", &format!("2001:db8:{last}"), after);
        check_range(
            "2620:4f:7fff::1",
            "2620:4f:8000::",
            "2620:4f:8000:ffff::1",
            "2620:4f:8001::",
        );
        check_range(
            &format!("3ffd:ffff:{last}"),
            "3ffe::",
            &format!("3fff:fff:{last}"),
            "3fff:1000::",
        );
        check(&format!("3fff:ffff:{last}"), true);
        check("2606:2800:21f:cb07:6820:80da:af6b:8b2c", true);
    }

    #[test]
    fn embedded_ipv4_is_checked_as_ipv4() {
        for (address, expected) in [
            ("127.0.0.1", false),
            ("10.0.0.1", false),
            ("169.254.169.254", false),
            ("0.0.0.0", false),
            ("8.8.8.8", true),
        ] {
            let [a, b, c, d] = address.parse::<Ipv4Addr>().unwrap().octets();
            check(&format!("::ffff:{address}"), expected);
            check(&format!("::{address}"), expected);
            check(&format!("::ffff:0:{address}"), expected);
            check(&format!("64:ff9b::{address}"), expected);
            check(&format!("2002:{a:02x}{b:02x}:{c:02x}{d:02x}::1"), expected);
        }
        check("64:ff9b::1:808:808", false);
    }

    #[test]
    fn tunnel_addresses_are_rejected() {
        check("2001:0:4136:e378:8000:63bf:3fff:fdd2", false);
        check("2606:2800::5efe:808:808", false);
        check("2606:2800::200:5efe:a00:1", false);
        check("2606:2800::100:5efe:808:808", true);
    }

    proptest! {
        #[test]
        fn special_addresses_of_std_are_not_global(address: IpAddr) {
            let is_special = match address {
                IpAddr::V4(v4) => v4.is_private() || v4.is_link_local() || v4.is_documentation() || v4.is_broadcast(),
                IpAddr::V6(v6) => v6.is_unique_local() || v6.is_unicast_link_local(),
            };
            if is_special || address.is_loopback() || address.is_multicast() || address.is_unspecified() {
                prop_assert!(!is_global(address));
            }
        }

        #[test]
        fn mapped_address_equals_its_ipv4_address(address: Ipv4Addr) {
            prop_assert_eq!(is_global(address.to_ipv6_mapped().into()), is_global(address.into()));
        }
    }
}
