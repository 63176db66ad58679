//! The error a caller of toolwire gets.
//!
//! It is opaque: ask it what happened (`is_timeout`, `is_closed`, `rpc`) instead of matching variants.
//! What a *peer* sees is an [`ErrorObject`]; errors raised on this side never look like one from the other side.

use std::error::Error as StdError;
use std::fmt;

use toolwire_types::{
    ElicitAction, ElicitRequestURLParams, ErrorObject, URLElicitationRequiredData, code,
};

/// What went wrong in a call made through toolwire.
///
/// ```
/// use toolwire::{Error, types::ErrorObject};
///
/// let error = Error::from(ErrorObject::invalid_params("no such note"));
/// assert_eq!(error.rpc().unwrap().code, -32602);
/// assert!(!error.is_timeout());
/// ```
pub struct Error(Box<ErrorInner>);

struct ErrorInner {
    kind: ErrorKind,
    /// The HTTP status that came with it, when one did.
    http_status: Option<u16>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

#[derive(Debug)]
#[cfg_attr(
    not(feature = "client"),
    expect(dead_code, reason = "some things go wrong only in a client")
)]
#[cfg_attr(
    all(feature = "client", not(feature = "input")),
    expect(dead_code, reason = "nobody asks for input")
)]
enum ErrorKind {
    /// A JSON-RPC error, from the peer or meant for it.
    Rpc(ErrorObject),
    /// No answer within the deadline.
    Timeout,
    /// The connection is gone; the sentence says why, when that is known.
    Closed(Option<Closure>),
    /// A value did not have the expected shape.
    Decode(String),
    /// Reading or writing failed.
    Io(String),
    /// The other side broke a rule of the protocol.
    Protocol(String),
    /// A bound of this side was reached.
    Limit(String),
    /// What was asked for cannot be sent.
    Refused(String),
    /// The question under this key is not answered yet; the handler runs again when it is.
    InputRequired(String),
    /// The user did not accept what was asked under this key.
    NotAccepted(String, ElicitAction),
}

/// Why a connection is gone. Everybody who waits on it gets the same reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Closure {
    pub(crate) reason: String,
    pub(crate) exit: Option<ServerExit>,
}

#[cfg(feature = "client")]
impl Closure {
    /// The client itself ended the connection.
    pub(crate) fn by_this_side() -> Self {
        Self {
            reason: "the client was closed".to_owned(),
            exit: None,
        }
    }
}

/// How a server process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerExit {
    /// The exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// The last of what it wrote to its error output, at most 4 KiB.
    pub stderr: String,
}

impl Error {
    #[cfg(any(feature = "client", feature = "input"))]
    pub(crate) fn timeout() -> Self {
        Self::new(ErrorKind::Timeout)
    }

    pub(crate) fn closed() -> Self {
        Self::new(ErrorKind::Closed(None))
    }

    #[cfg(feature = "client")]
    pub(crate) fn closed_because(closure: Closure) -> Self {
        Self::new(ErrorKind::Closed(Some(closure)))
    }

    #[cfg(any(feature = "client", feature = "input"))]
    pub(crate) fn protocol(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Protocol(what.into()))
    }

    #[cfg(feature = "client")]
    pub(crate) fn limit(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Limit(what.into()))
    }

    #[cfg(feature = "client")]
    pub(crate) fn refused(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Refused(what.into()))
    }

    /// An error of the edge below, whose own words say enough.
    #[cfg(feature = "http-client")]
    pub(crate) fn caused_by(source: impl StdError + Send + Sync + 'static) -> Self {
        Self::new(ErrorKind::Io(source.to_string())).with_source(source)
    }

    #[cfg(feature = "http-client")]
    pub(crate) fn with_http_status(mut self, status: u16) -> Self {
        self.0.http_status = Some(status);
        self
    }

    #[cfg(feature = "input")]
    pub(crate) fn input_required(key: &str) -> Self {
        Self::new(ErrorKind::InputRequired(key.to_owned()))
    }

    #[cfg(feature = "input")]
    pub(crate) fn not_accepted(key: &str, action: ElicitAction) -> Self {
        Self::new(ErrorKind::NotAccepted(key.to_owned(), action))
    }

    #[cfg(any(feature = "client", feature = "input"))]
    pub(crate) fn decode(what: impl Into<String>, source: serde_json::Error) -> Self {
        Self::new(ErrorKind::Decode(what.into())).with_source(source)
    }

    pub(crate) fn io(what: impl Into<String>, source: std::io::Error) -> Self {
        Self::new(ErrorKind::Io(what.into())).with_source(source)
    }

    /// No answer came within the deadline.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        matches!(self.0.kind, ErrorKind::Timeout)
    }

    /// The connection ended before the answer came.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        matches!(self.0.kind, ErrorKind::Closed(_))
    }

    /// The other side sent something the protocol does not allow, and the call was given up.
    #[must_use]
    pub fn is_protocol_violation(&self) -> bool {
        matches!(self.0.kind, ErrorKind::Protocol(_) | ErrorKind::Decode(_))
    }

    /// A bound of this side was reached: the size of a message, the number of pages, the rounds of questions.
    #[must_use]
    pub fn is_limit(&self) -> bool {
        matches!(self.0.kind, ErrorKind::Limit(_))
    }

    /// Nothing was sent, because what was asked for cannot be: the mistake is on this side.
    #[must_use]
    pub fn is_invalid_request(&self) -> bool {
        matches!(self.0.kind, ErrorKind::Refused(_))
    }

    /// The handler cannot go on before the client has answered: return this error (`?` does), and the handler runs again
    /// with the answer. See [`RequestContext::ask`](crate::RequestContext::ask).
    #[must_use]
    pub fn is_input_required(&self) -> bool {
        matches!(self.0.kind, ErrorKind::InputRequired(_))
    }

    /// What the user did instead of accepting what a handler asked: decline, or cancel.
    #[must_use]
    pub fn elicit_action(&self) -> Option<ElicitAction> {
        match self.0.kind {
            ErrorKind::NotAccepted(_, action) => Some(action),
            _ => None,
        }
    }

    /// The HTTP status of the answer, when the error came from one that was not a success.
    #[must_use]
    pub fn http_status(&self) -> Option<u16> {
        self.0.http_status
    }

    /// How the server process ended, when that is why the connection is gone.
    #[must_use]
    pub fn server_exit(&self) -> Option<&ServerExit> {
        match &self.0.kind {
            ErrorKind::Closed(Some(closure)) => closure.exit.as_ref(),
            _ => None,
        }
    }

    /// The JSON-RPC error, when that is what happened.
    #[must_use]
    pub fn rpc(&self) -> Option<&ErrorObject> {
        match &self.0.kind {
            ErrorKind::Rpc(error) => Some(error),
            _ => None,
        }
    }

    /// The addresses the user has to visit before the request can succeed (−32042, in 2025-11-25 only).
    #[must_use]
    pub fn url_elicitations(&self) -> Option<Vec<ElicitRequestURLParams>> {
        let error = self
            .rpc()
            .filter(|error| error.code == code::URL_ELICITATION_REQUIRED)?;
        let data: URLElicitationRequiredData = error.data.as_ref()?.parse().ok()?;
        Some(data.elicitations)
    }

    /// What to tell a peer whose request failed with this error.
    pub(crate) fn into_error_object(self) -> ErrorObject {
        match self.0.kind {
            ErrorKind::Rpc(error) => error,
            ErrorKind::Timeout => ErrorObject::internal("the other side did not answer in time"),
            ErrorKind::Closed(_) => {
                ErrorObject::internal("the connection closed before an answer came")
            }
            ErrorKind::Decode(what) => ErrorObject::internal(format!("unreadable {what}")),
            ErrorKind::Io(_) => ErrorObject::internal("input or output failed"),
            ErrorKind::Protocol(what) | ErrorKind::Limit(what) | ErrorKind::Refused(what) => {
                ErrorObject::internal(what)
            }
            ErrorKind::InputRequired(key) => ErrorObject::internal(unanswered(&key)),
            ErrorKind::NotAccepted(key, action) => {
                ErrorObject::internal(not_accepted(&key, action))
            }
        }
    }

    fn new(kind: ErrorKind) -> Self {
        Self(Box::new(ErrorInner {
            kind,
            http_status: None,
            source: None,
        }))
    }

    pub(crate) fn with_source(mut self, source: impl StdError + Send + Sync + 'static) -> Self {
        self.0.source = Some(Box::new(source));
        self
    }
}

impl From<ErrorObject> for Error {
    fn from(error: ErrorObject) -> Self {
        Self::new(ErrorKind::Rpc(error))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.kind {
            ErrorKind::Rpc(error) => write!(f, "{error}"),
            ErrorKind::Timeout => f.write_str("no answer within the deadline"),
            ErrorKind::Closed(None) => f.write_str("the connection is closed"),
            ErrorKind::Closed(Some(closure)) => f.write_str(&closure.reason),
            ErrorKind::Decode(what) => write!(f, "unreadable {what}"),
            ErrorKind::Io(what)
            | ErrorKind::Protocol(what)
            | ErrorKind::Limit(what)
            | ErrorKind::Refused(what) => f.write_str(what),
            ErrorKind::InputRequired(key) => f.write_str(&unanswered(key)),
            ErrorKind::NotAccepted(key, action) => f.write_str(&not_accepted(key, *action)),
        }
    }
}

fn unanswered(key: &str) -> String {
    format!(
        "{key:?} is not answered yet; return this error, and the handler runs again with the answer"
    )
}

fn not_accepted(key: &str, action: ElicitAction) -> String {
    let what = match action {
        ElicitAction::Decline => "declined",
        ElicitAction::Accept | ElicitAction::Cancel => "cancelled",
    };
    format!("the user {what} {key:?}")
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.0.kind)
            .field("http_status", &self.0.http_status)
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
