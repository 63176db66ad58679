//! The error type of toolwire's functions.
//!
//! It is opaque: use its methods (`is_timeout`, `is_closed`, `rpc`) instead of matching variants. A *peer* receives an
//! [`ErrorObject`]. A local error never looks like an error from the peer.

mod closure;

use std::error::Error as StdError;
use std::fmt;

use toolwire_types::{
    ElicitAction, ElicitRequestURLParams, ErrorObject, URLElicitationRequiredData, code,
};

pub(crate) use crate::error::closure::Closure;
pub use crate::error::closure::ServerExit;

/// The error of a call made through toolwire.
///
/// ```
/// use toolwire::{Error, types::ErrorObject};
///
/// let error = Error::from(ErrorObject::invalid_params("no such note"));
/// assert_eq!(error.rpc().unwrap().code, -32602);
/// assert!(!error.is_timeout());
/// ```
///
/// `Display` prints the message, and `Debug` the message with its sources. A program can therefore return the error from
/// `main`: `async fn main() -> Result<(), toolwire::Error>`.
pub struct Error(Box<ErrorInner>);

struct ErrorInner {
    kind: ErrorKind,
    /// The HTTP status of the failed response, if there was one.
    http_status: Option<u16>,
    /// Whether the response was the event stream of the HTTP+SSE transport, which has another endpoint for messages.
    #[cfg(feature = "client")]
    is_http_with_sse: bool,
    /// More text at the end of the message: the output of a server, or advice.
    detail: Option<String>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

#[derive(Debug)]
#[cfg_attr(
    not(feature = "client"),
    expect(dead_code, reason = "some variants occur only in a client")
)]
#[cfg_attr(
    all(feature = "client", not(feature = "input")),
    expect(dead_code, reason = "no handler asks for input")
)]
#[cfg_attr(
    all(feature = "client", feature = "input", not(feature = "tasks")),
    expect(dead_code, reason = "no call becomes a task")
)]
#[cfg_attr(
    all(
        feature = "client",
        feature = "input",
        feature = "tasks",
        not(feature = "skills")
    ),
    expect(dead_code, reason = "no skill is loaded")
)]
enum ErrorKind {
    /// A JSON-RPC error, from the peer or for the peer.
    Rpc(ErrorObject),
    /// No response within the timeout.
    Timeout,
    /// The connection is closed, with the reason if it is known.
    Closed(Option<Closure>),
    /// A value did not have the expected shape.
    Decode(String),
    /// Reading or writing failed.
    Io(String),
    /// The peer violated a rule of the protocol.
    Protocol(String),
    /// A local limit was reached.
    Limit(String),
    /// The call is invalid and was not sent.
    InvalidRequest(String),
    /// The server cannot start, because its parts do not fit together.
    Setup(String),
    /// The input request with this key has no response yet. The handler runs again with the response.
    InputRequired(String),
    /// The user did not accept the elicitation with this key.
    NotAccepted(String, ElicitAction),
    /// The task with this id was cancelled.
    TaskCancelled(String),
    /// The server does not know the task with this id, or does not know it any more.
    TaskGone(String),
    /// A skill differs from its entry.
    SkillMismatch(String),
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

    #[cfg(feature = "http-client")]
    pub(crate) fn http_with_sse() -> Self {
        let mut error = Self::protocol("the server uses the older HTTP+SSE transport");
        error.0.is_http_with_sse = true;
        error
    }

    /// Returns `true` if the server uses the HTTP+SSE transport and not Streamable HTTP.
    #[cfg(feature = "client")]
    pub(crate) fn is_http_with_sse(&self) -> bool {
        self.0.is_http_with_sse
    }

    /// Appends text to the message.
    #[cfg(feature = "client")]
    pub(crate) fn with_detail(mut self, detail: &str) -> Self {
        self.0.detail = Some(match self.0.detail {
            Some(before) => format!("{before}; {detail}"),
            None => detail.to_owned(),
        });
        self
    }

    #[cfg(feature = "client")]
    pub(crate) fn limit(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Limit(what.into()))
    }

    #[cfg(any(feature = "client", feature = "events"))]
    pub(crate) fn invalid_request(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidRequest(what.into()))
    }

    /// Wraps an error of the HTTP client, whose text is sufficient.
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

    pub(crate) fn setup(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Setup(what.into()))
    }

    #[cfg(all(feature = "client", feature = "tasks"))]
    pub(crate) fn task_cancelled(id: &str) -> Self {
        Self::new(ErrorKind::TaskCancelled(id.to_owned()))
    }

    /// Creates the error for a task that the server does not know. `rejection` is the error of the server.
    #[cfg(all(feature = "client", feature = "tasks"))]
    pub(crate) fn task_gone(id: &str, rejection: Self) -> Self {
        let http_status = rejection.0.http_status;
        let mut error = Self::new(ErrorKind::TaskGone(id.to_owned())).with_source(rejection);
        error.0.http_status = http_status;
        error
    }

    /// Creates the error for a skill that differs from its entry, and must not be used.
    #[cfg(all(feature = "client", feature = "skills"))]
    pub(crate) fn skill_mismatch(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::SkillMismatch(what.into()))
    }

    pub(crate) fn decode(what: impl Into<String>, source: serde_json::Error) -> Self {
        Self::new(ErrorKind::Decode(what.into())).with_source(source)
    }

    pub(crate) fn io(what: impl Into<String>, source: std::io::Error) -> Self {
        Self::new(ErrorKind::Io(what.into())).with_source(source)
    }

    /// Returns `true` if the peer did not respond within the timeout.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        matches!(self.0.kind, ErrorKind::Timeout)
    }

    /// Returns `true` if the connection closed before the response arrived.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        matches!(self.0.kind, ErrorKind::Closed(_))
    }

    /// Returns `true` if reading or writing failed: the server cannot be reached, or its process cannot be started.
    #[must_use]
    pub fn is_io(&self) -> bool {
        matches!(self.0.kind, ErrorKind::Io(_))
    }

    /// Returns `true` if the peer violated the protocol and the call was abandoned.
    #[must_use]
    pub fn is_protocol_violation(&self) -> bool {
        matches!(self.0.kind, ErrorKind::Protocol(_) | ErrorKind::Decode(_))
    }

    /// Returns `true` if a local limit was reached: the size of a message, the number of pages, or the number of input
    /// rounds.
    #[must_use]
    pub fn is_limit(&self) -> bool {
        matches!(self.0.kind, ErrorKind::Limit(_))
    }

    /// Returns `true` if the call was invalid and nothing was sent.
    #[must_use]
    pub fn is_invalid_request(&self) -> bool {
        matches!(self.0.kind, ErrorKind::InvalidRequest(_))
    }

    /// Returns `true` if the handler needs input from the client first. Return this error, for example with `?`. The
    /// handler then runs again with the response. See [`RequestContext::ask`](crate::RequestContext::ask).
    #[must_use]
    pub fn is_input_required(&self) -> bool {
        matches!(self.0.kind, ErrorKind::InputRequired(_))
    }

    /// Returns the user's action if the user did not accept an elicitation: decline or cancel.
    #[must_use]
    pub fn elicit_action(&self) -> Option<ElicitAction> {
        match self.0.kind {
            ErrorKind::NotAccepted(_, action) => Some(action),
            _ => None,
        }
    }

    /// Returns `true` if the task of the call was cancelled, so that there is no result.
    #[must_use]
    pub fn is_task_cancelled(&self) -> bool {
        matches!(self.0.kind, ErrorKind::TaskCancelled(_))
    }

    /// Returns `true` if the server does not know the task: it never existed, belongs to another client, or has expired.
    #[must_use]
    pub fn is_task_gone(&self) -> bool {
        matches!(self.0.kind, ErrorKind::TaskGone(_))
    }

    /// Returns `true` if a skill must not be used: its entry is invalid, a file differs from the entry, or the entry does
    /// not list the file. Get the entry again with `Client::skill`. If it has changed, approvals of the old one are void.
    #[must_use]
    pub fn is_skill_mismatch(&self) -> bool {
        matches!(self.0.kind, ErrorKind::SkillMismatch(_))
    }

    /// Returns the HTTP status of the response, if the error came from a response without success.
    #[must_use]
    pub fn http_status(&self) -> Option<u16> {
        self.0.http_status
    }

    /// Returns how the server process ended, if that closed the connection.
    #[must_use]
    pub fn server_exit(&self) -> Option<&ServerExit> {
        match &self.0.kind {
            ErrorKind::Closed(Some(closure)) => closure.exit.as_ref(),
            _ => None,
        }
    }

    /// Returns the JSON-RPC error, if the call failed with one.
    #[must_use]
    pub fn rpc(&self) -> Option<&ErrorObject> {
        match &self.0.kind {
            ErrorKind::Rpc(error) => Some(error),
            _ => None,
        }
    }

    /// Returns the URLs that the user has to visit before the request can succeed (−32042, only in 2025-11-25).
    #[must_use]
    pub fn url_elicitations(&self) -> Option<Vec<ElicitRequestURLParams>> {
        let error = self
            .rpc()
            .filter(|error| error.code == code::URL_ELICITATION_REQUIRED)?;
        let data: URLElicitationRequiredData = error.data.as_ref()?.parse().ok()?;
        Some(data.elicitations)
    }

    /// Returns the error for a peer whose request failed with this error.
    pub(crate) fn into_error_object(self) -> ErrorObject {
        match self.0.kind {
            ErrorKind::Rpc(error) => error,
            ErrorKind::Timeout => ErrorObject::internal("the peer did not respond in time"),
            ErrorKind::Closed(_) => {
                ErrorObject::internal("the connection closed before a response arrived")
            }
            ErrorKind::Decode(what) => ErrorObject::internal(format!("unreadable {what}")),
            ErrorKind::Io(_) => ErrorObject::internal("input or output failed"),
            ErrorKind::Protocol(what)
            | ErrorKind::Limit(what)
            | ErrorKind::InvalidRequest(what)
            | ErrorKind::SkillMismatch(what)
            | ErrorKind::Setup(what) => ErrorObject::internal(what),
            ErrorKind::InputRequired(key) => ErrorObject::internal(missing_response(&key)),
            ErrorKind::NotAccepted(key, action) => {
                ErrorObject::internal(not_accepted(&key, action))
            }
            ErrorKind::TaskCancelled(id) => ErrorObject::internal(task_cancelled(&id)),
            ErrorKind::TaskGone(id) => ErrorObject::internal(task_gone(&id)),
        }
    }

    fn new(kind: ErrorKind) -> Self {
        Self(Box::new(ErrorInner {
            kind,
            http_status: None,
            #[cfg(feature = "client")]
            is_http_with_sse: false,
            detail: None,
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
            ErrorKind::Timeout => f.write_str("no response within the timeout"),
            ErrorKind::Closed(None) => f.write_str("the connection is closed"),
            ErrorKind::Closed(Some(closure)) => f.write_str(&closure.reason),
            ErrorKind::Decode(what) => write!(f, "unreadable {what}"),
            ErrorKind::Io(what)
            | ErrorKind::Protocol(what)
            | ErrorKind::Limit(what)
            | ErrorKind::InvalidRequest(what)
            | ErrorKind::SkillMismatch(what)
            | ErrorKind::Setup(what) => f.write_str(what),
            ErrorKind::InputRequired(key) => f.write_str(&missing_response(key)),
            ErrorKind::NotAccepted(key, action) => f.write_str(&not_accepted(key, *action)),
            ErrorKind::TaskCancelled(id) => f.write_str(&task_cancelled(id)),
            ErrorKind::TaskGone(id) => f.write_str(&task_gone(id)),
        }?;
        match &self.0.detail {
            Some(detail) => write!(f, "; {detail}"),
            None => Ok(()),
        }
    }
}

fn missing_response(key: &str) -> String {
    format!(
        "{key:?} has no response yet; return this error, and the handler runs again with the response"
    )
}

fn not_accepted(key: &str, action: ElicitAction) -> String {
    let what = match action {
        ElicitAction::Decline => "declined",
        ElicitAction::Accept | ElicitAction::Cancel => "cancelled",
    };
    format!("the user {what} {key:?}")
}

fn task_cancelled(id: &str) -> String {
    format!("the task {id:?} was cancelled")
}

fn task_gone(id: &str) -> String {
    format!("the server does not know the task {id:?}; it may have expired")
}

impl fmt::Debug for Error {
    /// Prints the message, its sources and the HTTP status on one line: a program whose `main` returns the error shows
    /// this text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = chain(self);
        f.write_str(&text)?;
        match self.0.http_status {
            Some(status) if !text.contains(&status.to_string()) => {
                write!(f, " (HTTP status {status})")
            }
            _ => Ok(()),
        }
    }
}

/// Formats an error and its sources as one line. A source whose text the line already contains is omitted.
pub(crate) fn chain(error: &(dyn StdError + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0
            .source
            .as_deref()
            .map(|source| source as &(dyn StdError + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_prints_the_message_with_its_sources() {
        let check = |error: &Error, expected: &str| {
            assert_eq!(format!("{error:?}"), expected);
            assert_eq!(format!("{error:#?}"), expected);
        };
        let rpc = Error::from(ErrorObject::invalid_params("no such note"));
        check(&rpc, &rpc.to_string());
        let denied = || std::io::Error::other("access denied");
        check(
            &Error::io("cannot listen on 127.0.0.1:80", denied()),
            "cannot listen on 127.0.0.1:80: access denied",
        );
        // The message contains the text of its source.
        check(
            &Error::io("cannot listen: access denied", denied()),
            "cannot listen: access denied",
        );
        let inner = std::io::Error::other(Error::io("the upload failed", denied()));
        check(
            &Error::io("the call failed", inner),
            "the call failed: the upload failed: access denied",
        );
    }

    #[cfg(feature = "http-client")]
    #[test]
    fn debug_prints_the_http_status_once() {
        let check = |message: &str, expected: &str| {
            let error = Error::protocol(message).with_http_status(404);
            assert_eq!(format!("{error:?}"), expected);
        };
        check("no session", "no session (HTTP status 404)");
        check("the server returned 404", "the server returned 404");
    }
}
