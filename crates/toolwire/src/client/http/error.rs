//! What went wrong on the way to a server and back, and at which step.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

/// The step of an exchange at which it failed, in the order in which they come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum HttpPhase {
    /// The request or the options cannot be used; nothing was tried.
    Prepare,
    /// Finding the addresses of a name.
    Resolve,
    /// Reaching an address.
    Connect,
    /// Asking a proxy for a way to the server.
    Proxy,
    /// The TLS handshake.
    Tls,
    /// Getting an access token, after the server refused the request without one.
    Authorize,
    /// From the first byte of the request to the head of the answer.
    Send,
    /// Reading the answer: its head, or its body.
    Receive,
    /// The server named another place, and that place may not be asked.
    Redirect,
}

impl HttpPhase {
    /// Whether the server may have seen the request. If not, sending it again is safe.
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

/// Why there is no answer over HTTP: the step that failed, what was meant to happen, and what to try.
///
/// ```
/// use toolwire::transport::http_client::{HttpError, HttpPhase};
///
/// let failure = HttpError::new(HttpPhase::Connect, "example.com:443 refused the connection")
///     .with_advice("check that the server runs");
/// assert_eq!(
///     failure.to_string(),
///     "example.com:443 refused the connection; check that the server runs"
/// );
/// assert!(!failure.may_have_arrived());
/// ```
#[derive(Clone)]
pub struct HttpError(Box<HttpErrorInner>);

#[derive(Clone)]
struct HttpErrorInner {
    step: HttpPhase,
    what: String,
    advice: Option<String>,
    arrived: bool,
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

impl HttpError {
    /// A failure at this step; `what` says what failed, with the host and the port where they matter.
    #[must_use]
    pub fn new(step: HttpPhase, what: impl Into<String>) -> Self {
        Self(Box::new(HttpErrorInner {
            step,
            what: what.into(),
            advice: None,
            arrived: step.may_have_arrived(),
            source: None,
        }))
    }

    /// Says what to try.
    #[must_use]
    pub fn with_advice(mut self, advice: impl Into<String>) -> Self {
        self.0.advice = Some(advice.into());
        self
    }

    /// Names the error below this one.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(Arc::from(source.into()));
        self
    }

    /// Says that the request, though its time had come, was never given to the connection.
    pub(crate) fn before_arrival(mut self) -> Self {
        self.0.arrived = false;
        self
    }

    /// The step that failed.
    #[must_use]
    pub fn step(&self) -> HttpPhase {
        self.0.step
    }

    /// What to try, where something can be named.
    #[must_use]
    pub fn advice(&self) -> Option<&str> {
        self.0.advice.as_deref()
    }

    /// What failed, without the advice.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.what
    }

    /// Whether the server may have seen the request. If not, sending it again is safe.
    #[must_use]
    pub fn may_have_arrived(&self) -> bool {
        self.0.arrived
    }
}

impl fmt::Display for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.what)?;
        match &self.0.advice {
            Some(advice) => write!(f, "; {advice}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpError")
            .field("step", &self.0.step)
            .field("what", &self.0.what)
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
