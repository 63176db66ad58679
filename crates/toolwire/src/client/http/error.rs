//! The errors of an [`HttpClient`](crate::client::http::HttpClient), each with the phase that failed.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

/// The phases of an HTTP exchange, in the order in which they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum HttpPhase {
    /// Checking the request and the options, before a connection is opened.
    Prepare,
    /// Resolving the host name.
    Resolve,
    /// Connecting to an address.
    Connect,
    /// Opening a tunnel through a proxy.
    Proxy,
    /// The TLS handshake.
    Tls,
    /// Obtaining an access token, after the server rejected a request without a valid token.
    Authorize,
    /// Sending the request and waiting for the response headers.
    Send,
    /// Reading the response headers or the response body.
    Receive,
    /// Following a redirect that is not permitted.
    Redirect,
}

impl HttpPhase {
    /// Returns `true` if the server may have received the request. If `false`, sending it again is safe.
    #[must_use]
    pub fn may_have_arrived(self) -> bool {
        self >= Self::Send
    }
}

impl fmt::Display for HttpPhase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Prepare => "prepare",
            Self::Resolve => "resolve",
            Self::Connect => "connect",
            Self::Proxy => "proxy",
            Self::Tls => "tls",
            Self::Authorize => "authorize",
            Self::Send => "send",
            Self::Receive => "receive",
            Self::Redirect => "redirect",
        })
    }
}

/// The error of an HTTP request without a complete response: the phase that failed, a message, and advice.
///
/// ```
/// use toolwire::transport::http_client::{HttpError, HttpPhase};
///
/// let failure = HttpError::new(HttpPhase::Connect, "example.com:443 cannot be reached")
///     .with_advice("check that the server runs");
/// assert_eq!(
///     failure.to_string(),
///     "example.com:443 cannot be reached; check that the server runs"
/// );
/// assert!(!failure.may_have_arrived());
/// ```
#[derive(Clone)]
pub struct HttpError(Box<HttpErrorInner>);

#[derive(Clone)]
struct HttpErrorInner {
    phase: HttpPhase,
    message: String,
    advice: Option<String>,
    arrived: bool,
    is_timeout: bool,
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

impl HttpError {
    /// Creates an error of this phase. `message` describes the failure, with the host and the port if they matter.
    #[must_use]
    pub fn new(phase: HttpPhase, message: impl Into<String>) -> Self {
        Self(Box::new(HttpErrorInner {
            phase,
            message: message.into(),
            advice: None,
            arrived: phase.may_have_arrived(),
            is_timeout: false,
            source: None,
        }))
    }

    /// Sets the advice: what the user can do about the error.
    #[must_use]
    pub fn with_advice(mut self, advice: impl Into<String>) -> Self {
        self.0.advice = Some(advice.into());
        self
    }

    /// Sets the underlying error.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(Arc::from(source.into()));
        self
    }

    /// Marks the request as not received by the server, although the phase is [`HttpPhase::Send`] or a later one.
    pub(crate) fn before_arrival(mut self) -> Self {
        self.0.arrived = false;
        self
    }

    /// Marks the error as a timeout.
    pub(crate) fn timed_out(mut self) -> Self {
        self.0.is_timeout = true;
        self
    }

    /// Returns the phase that failed.
    #[must_use]
    pub fn phase(&self) -> HttpPhase {
        self.0.phase
    }

    /// Returns the advice, or `None` if there is no advice.
    #[must_use]
    pub fn advice(&self) -> Option<&str> {
        self.0.advice.as_deref()
    }

    /// Returns the description of the failure, without the advice.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns `true` if a connection or a response took longer than its timeout.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        self.0.is_timeout
    }

    /// Returns `true` if the server may have received the request. If `false`, sending it again is safe.
    #[must_use]
    pub fn may_have_arrived(&self) -> bool {
        self.0.arrived
    }
}

impl fmt::Display for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)?;
        match &self.0.advice {
            Some(advice) => write!(f, "; {advice}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpError")
            .field("phase", &self.0.phase)
            .field("message", &self.0.message)
            .field("advice", &self.0.advice)
            .field("source", &self.0.source)
            .finish()
    }
}

impl StdError for HttpError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0
            .source
            .as_deref()
            .map(|source| source as &(dyn StdError + 'static))
    }
}
