//! The address of the client of a request.

use std::net::{IpAddr, SocketAddr};

use http::HeaderValue;
use http::request::Parts;
use toolwire_proto::http::forwarded_client;

use crate::transport::http::request::peer_address::PeerAddress;

const X_FORWARDED_FOR: &str = "x-forwarded-for";

/// The address of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClientAddress {
    pub(crate) address: IpAddr,
    /// `None` behind a reverse proxy.
    pub(crate) port: Option<u16>,
}

/// Returns the address of the client: the peer of the connection, or what the outermost trusted proxy saw. `peer` is what
/// the listener knows; otherwise a layer in front may have inserted a [`PeerAddress`].
pub(crate) fn client_address(
    parts: &Parts,
    peer: Option<SocketAddr>,
    trusted_proxies: usize,
) -> Option<ClientAddress> {
    if trusted_proxies > 0 {
        let values = parts.headers.get_all(X_FORWARDED_FOR).iter();
        let values = values.map(HeaderValue::as_bytes);
        let address = forwarded_client(values, trusted_proxies)?;
        return Some(ClientAddress {
            address,
            port: None,
        });
    }
    let from_layer = || parts.extensions.get::<PeerAddress>();
    let peer = peer.or_else(|| from_layer().map(|peer| peer.socket_address()))?;
    Some(ClientAddress {
        address: peer.ip().to_canonical(),
        port: Some(peer.port()),
    })
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    #[test]
    fn forwarded_addresses_are_used_only_behind_trusted_proxies() {
        let peer: SocketAddr = "10.0.0.1:5000".parse().unwrap();
        let check = |trusted: usize, expected: Option<(&str, Option<u16>)>| {
            // A client may send any bytes, to which a proxy appends.
            let request = Request::builder()
                .header(X_FORWARDED_FOR, "ü".as_bytes())
                .header(X_FORWARDED_FOR, "ü, 6.6.6.6, 1.2.3.4".as_bytes());
            let (parts, ()) = request.body(()).unwrap().into_parts();
            let client = client_address(&parts, Some(peer), trusted);
            let client = client.map(|client| (client.address.to_string(), client.port));
            let expected = expected.map(|(address, port)| (address.to_owned(), port));
            assert_eq!(client, expected, "{trusted}");
        };
        check(0, Some(("10.0.0.1", Some(5000))));
        check(1, Some(("1.2.3.4", None)));
        check(2, Some(("6.6.6.6", None)));
        check(3, None);
    }
}
