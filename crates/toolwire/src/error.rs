//! The error a caller of toolwire gets.
//!
//! It is opaque: ask it what happened (`is_timeout`, `is_closed`, `rpc`) instead of matching variants.
//! What a *peer* sees is an [`ErrorObject`]; errors raised on this side never look like one from the other side.

use std::error::Error as StdError;
use std::fmt;

use toolwire_types::ErrorObject;

/// What went wrong in a call made through toolwire.
///
/// ```
/// use toolwire::{Error, types::ErrorObject};
///
/// let error = Error::from(ErrorObject::invalid_params("no such note"));
/// assert_eq!(error.rpc().unwrap().code, -32602);
/// assert!(!error.is_timeout());
/// ```
pub struct Error(Box<Inner>);

struct Inner {
    kind: Kind,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

#[derive(Debug)]
enum Kind {
    /// A JSON-RPC error, from the peer or meant for it.
    Rpc(ErrorObject),
    /// No answer within the deadline.
    Timeout,
    /// The connection is gone.
    Closed,
    /// A value did not have the expected shape.
    Decode(String),
    /// Reading or writing failed.
    Io(String),
}

impl Error {
    pub(crate) fn timeout() -> Self {
        Self::new(Kind::Timeout)
    }

    pub(crate) fn closed() -> Self {
        Self::new(Kind::Closed)
    }

    pub(crate) fn decode(what: impl Into<String>, source: serde_json::Error) -> Self {
        Self::new(Kind::Decode(what.into())).with_source(source)
    }

    pub(crate) fn io(what: impl Into<String>, source: std::io::Error) -> Self {
        Self::new(Kind::Io(what.into())).with_source(source)
    }

    /// No answer came within the deadline.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        matches!(self.0.kind, Kind::Timeout)
    }

    /// The connection ended before the answer came.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        matches!(self.0.kind, Kind::Closed)
    }

    /// The JSON-RPC error, when that is what happened.
    #[must_use]
    pub fn rpc(&self) -> Option<&ErrorObject> {
        match &self.0.kind {
            Kind::Rpc(error) => Some(error),
            _ => None,
        }
    }

    /// What to tell a peer whose request failed with this error.
    pub(crate) fn into_error_object(self) -> ErrorObject {
        match self.0.kind {
            Kind::Rpc(error) => error,
            Kind::Timeout => ErrorObject::internal("the other side did not answer in time"),
            Kind::Closed => ErrorObject::internal("the connection closed before an answer came"),
            Kind::Decode(what) => ErrorObject::internal(format!("unreadable {what}")),
            Kind::Io(_) => ErrorObject::internal("input or output failed"),
        }
    }

    fn new(kind: Kind) -> Self {
        Self(Box::new(Inner { kind, source: None }))
    }

    fn with_source(mut self, source: impl StdError + Send + Sync + 'static) -> Self {
        self.0.source = Some(Box::new(source));
        self
    }
}

impl From<ErrorObject> for Error {
    fn from(error: ErrorObject) -> Self {
        Self::new(Kind::Rpc(error))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.kind {
            Kind::Rpc(error) => write!(f, "{error}"),
            Kind::Timeout => f.write_str("no answer within the deadline"),
            Kind::Closed => f.write_str("the connection is closed"),
            Kind::Decode(what) => write!(f, "unreadable {what}"),
            Kind::Io(what) => f.write_str(what),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.0.kind)
            .field("source", &self.0.source)
            .finish()
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0
            .source
            .as_deref()
            .map(|source| source as &(dyn StdError + 'static))
    }
}
