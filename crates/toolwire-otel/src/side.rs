//! The side that records a request.

/// The side that records a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Side {
    Server,
    Client,
}
