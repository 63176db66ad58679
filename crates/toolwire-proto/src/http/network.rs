//! The network by which clients are counted.

use std::net::{IpAddr, Ipv6Addr};

/// Returns the network to which a client's address belongs: an IPv4 address itself, or an IPv6 network of 64 bits.
///
/// One subscriber has at least a whole IPv6 network of that size, so limits on single IPv6 addresses have no effect.
#[must_use]
pub fn client_network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ipv6_addresses_are_grouped_by_their_first_64_bits() {
        let check = |address: &str, expected: &str| {
            let network = client_network(address.parse().expect("an address"));
            assert_eq!(network.to_string(), expected, "{address}");
        };
        check("192.0.2.7", "192.0.2.7");
        check("::ffff:192.0.2.7", "192.0.2.7");
        check("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::");
        check("::1", "::");
    }
}
