//! What identifies a caller whose requests are counted.

use std::net::IpAddr;
use std::sync::Arc;

use toolwire_proto::http::client_network;

use crate::engine::{Principal, TransportContext};

/// What identifies a caller.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum CallerKey {
    /// The address of a client, or its IPv6 network.
    Network(IpAddr),
    Principal(Principal),
    Session(String),
    /// The address of the state of a connection without a name.
    Connection(usize),
    Unknown,
    /// All callers together.
    Everyone,
}

impl CallerKey {
    /// Returns the key of the client's address, if it is known.
    pub(crate) fn of_address(client: &dyn TransportContext) -> Option<Self> {
        let connection = client.connection_info()?;
        let address: IpAddr = connection.peer_address.as_deref()?.parse().ok()?;
        Some(Self::Network(client_network(address)))
    }

    /// Returns the key of the principal, or without one that of the session or connection.
    pub(crate) fn of(client: &dyn TransportContext) -> Self {
        let principal = Principal::of(client.auth());
        if principal != Principal::anonymous() {
            return Self::Principal(principal);
        }
        match (client.connection_token(), client.connection_state()) {
            (Some(session), _) => Self::Session(session.to_owned()),
            (None, Some(state)) => Self::Connection(Arc::as_ptr(state).addr()),
            (None, None) => Self::Unknown,
        }
    }
}
