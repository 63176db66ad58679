//! The peer address of a connection.

use std::net::SocketAddr;

/// The peer address of a connection: the address of the client, or of a reverse proxy in front of the server.
///
/// Requests to a [`public_route`](crate::transport::http::Authorizer::public_route) contain it in their extensions. If
/// [`HttpService`](crate::transport::http::HttpService) is part of another HTTP stack, a layer in front inserts it, or
/// [`HttpService::with_peer_address`](crate::transport::http::HttpService::with_peer_address) sets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerAddress(SocketAddr);

impl PeerAddress {
    /// Wraps an address.
    #[must_use]
    pub const fn new(address: SocketAddr) -> Self {
        Self(address)
    }

    /// Returns the address.
    #[must_use]
    pub const fn socket_address(self) -> SocketAddr {
        self.0
    }
}
