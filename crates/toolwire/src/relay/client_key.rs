//! What the requests of one client have in common.

use std::sync::Arc;

use crate::engine::{ConnectionState, TransportContext};

/// Names the session of a client.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum ClientKey {
    /// The id of an HTTP session.
    Token(String),
    /// The address of the state of a connection, or of an HTTP session that has no id yet.
    Connection(usize),
}

impl ClientKey {
    /// Returns the key of the session that a request belongs to. Returns `None` for requests without a session.
    pub(super) fn of(client: &dyn TransportContext) -> Option<Self> {
        match client.connection_token() {
            Some(token) => Some(Self::Token(token.to_owned())),
            None => connection_number(client).map(Self::Connection),
        }
    }
}

/// Returns a number that the requests of one connection have in common.
pub(super) fn connection_number(client: &dyn TransportContext) -> Option<usize> {
    let state = client.connection_state()?;
    Some(number_of(state))
}

/// Returns the number of a connection.
pub(super) fn number_of(state: &Arc<ConnectionState>) -> usize {
    Arc::as_ptr(state).addr()
}
