//! The guard against untrusted web pages: which origins may call the server from a browser.
//!
//! Programs other than browsers send no `Origin`. The caller handles that case. An origin is compared as scheme, host
//! and port. Opaque origins (`null`) are always rejected.

use std::borrow::Cow;
use std::fmt;

use crate::http::authority::{Authority, Host};
use crate::http::host::ServedHost;
use crate::http::truncated_for_display;
use crate::uri_scheme::is_scheme;

/// The origins that may call a server, besides its own.
#[derive(Debug, Clone)]
pub struct OriginPolicy {
    allowed: Vec<Origin<'static>>,
    allows_loopback: bool,
}

impl OriginPolicy {
    /// Creates a policy that allows the listed origins, such as `https://app.example.com` or `vscode-webview://…`.
    ///
    /// # Errors
    /// Returns an error if an entry is not a scheme, a host and an optional port. Wildcards are not supported.
    pub fn new(allowed_origins: &[String]) -> Result<Self, InvalidOrigin> {
        let allowed = allowed_origins.iter().map(|entry| {
            Origin::parse(entry)
                .map(Origin::into_owned)
                .ok_or_else(|| InvalidOrigin {
                    entry: entry.clone(),
                })
        });
        Ok(Self {
            allowed: allowed.collect::<Result<_, _>>()?,
            allows_loopback: true,
        })
    }

    /// Rejects pages of this machine that are neither listed nor of the server's own origin.
    #[must_use]
    pub fn without_loopback(mut self) -> Self {
        self.allows_loopback = false;
        self
    }

    /// Checks the value of an `Origin` header.
    ///
    /// The following origins are allowed:
    /// - the listed origins;
    /// - pages of this machine if the request is for this machine, on any port, unless
    ///   [`without_loopback`](Self::without_loopback) was called;
    /// - pages of the server itself, that is, of the host and port of the request.
    ///
    /// If the host policy accepts every host, the server's own pages are those of its public hosts instead. A name that
    /// any client can choose proves nothing.
    ///
    /// # Errors
    /// Returns an error if the origin is not allowed.
    pub fn check(&self, origin_header: &str, host: &ServedHost<'_>) -> Result<(), OriginError> {
        let origin = Origin::parse(origin_header);
        let is_allowed = origin.as_ref().is_some_and(|origin| {
            self.allowed.contains(origin)
                || match origin {
                    Origin::Web {
                        is_secure,
                        host: page,
                        port,
                    } => {
                        (self.allows_loopback && page.is_loopback() && host.is_loopback())
                            || host.is_origin_of(page, *port, default_port(*is_secure))
                    }
                    Origin::Other(_) => false,
                }
        });
        if is_allowed {
            return Ok(());
        }
        Err(OriginError {
            header: truncated_for_display(origin_header),
            is_malformed: origin.is_none(),
        })
    }
}

/// The origin of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Origin<'a> {
    /// `http` or `https`, with the explicit or default port.
    Web {
        is_secure: bool,
        host: Host<'a>,
        port: u16,
    },
    /// Another scheme, as browser extensions and editors use. Compared as written.
    Other(Cow<'a, str>),
}

impl<'a> Origin<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let (scheme, authority) = text.split_once("://")?;
        let is_secure = match scheme {
            _ if scheme.eq_ignore_ascii_case("https") => true,
            _ if scheme.eq_ignore_ascii_case("http") => false,
            _ => {
                let is_origin = is_scheme(scheme) && is_opaque_authority(authority);
                return is_origin.then_some(Self::Other(text.into()));
            }
        };
        let Authority { host, port } = Authority::parse(authority)?;
        Some(Self::Web {
            is_secure,
            host,
            port: port.unwrap_or(default_port(is_secure)),
        })
    }

    fn into_owned(self) -> Origin<'static> {
        match self {
            Self::Web {
                is_secure,
                host,
                port,
            } => Origin::Web {
                is_secure,
                host: host.into_owned(),
                port,
            },
            Self::Other(text) => Origin::Other(text.into_owned().into()),
        }
    }
}

fn default_port(is_secure: bool) -> u16 {
    if is_secure { 443 } else { 80 }
}

/// Checks the authority of another scheme, which is not parsed. It has neither user info nor a path.
fn is_opaque_authority(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b':'))
}

/// An entry of the list of allowed origins that is not a valid origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidOrigin {
    entry: String,
}

impl fmt::Display for InvalidOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} is not an origin: write scheme://host or scheme://host:port, without path, trailing slash or wildcard",
            self.entry
        )
    }
}

impl std::error::Error for InvalidOrigin {}

/// A request from a web page that may not call the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginError {
    header: String,
    is_malformed: bool,
}

impl fmt::Display for OriginError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "origin {:?} is rejected: ", self.header)?;
        if self.is_malformed {
            f.write_str("it names no page that HttpOptions::with_allowed_origins could allow")
        } else {
            write!(
                f,
                "to allow it, add HttpOptions::with_allowed_origins([{:?}])",
                self.header
            )
        }
    }
}

impl std::error::Error for OriginError {}

#[cfg(test)]
mod tests;
