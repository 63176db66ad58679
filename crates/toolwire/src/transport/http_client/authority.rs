//! The host and the port of a URL, as error messages name them.

use std::fmt;
use std::net::IpAddr;

use http::Uri;
use http::uri::Scheme;

use crate::client::http::{HttpError, HttpPhase};

/// A host and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HostPort {
    host: String,
    port: u16,
}

impl HostPort {
    /// Returns the host and the port of a URL.
    ///
    /// # Errors
    /// Returns an error if the URL is not absolute, or if its scheme is neither `http` nor `https`.
    pub(super) fn of(uri: &Uri) -> Result<Self, HttpError> {
        let (host, port) = parts(uri)?;
        Ok(Self {
            host: host.to_ascii_lowercase(),
            port,
        })
    }

    /// Checks a URL as [`of`](Self::of) does, without an allocation.
    pub(super) fn check(uri: &Uri) -> Result<(), HttpError> {
        parts(uri).map(|_| ())
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Returns the host name or the address, without the brackets of an IPv6 address.
    pub(super) fn name(&self) -> &str {
        self.host
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
            .unwrap_or(&self.host)
    }

    /// Returns the address, or `None` if the host is a name.
    pub(super) fn address(&self) -> Option<IpAddr> {
        self.name().parse().ok()
    }

    /// Returns `true` if the host is `localhost`, a name below it, or a loopback address. Names are not resolved.
    pub(super) fn is_loopback(&self) -> bool {
        let name = self.name();
        name == "localhost"
            || name.ends_with(".localhost")
            || self.address().is_some_and(|address| address.is_loopback())
    }
}

fn parts(uri: &Uri) -> Result<(&str, u16), HttpError> {
    let default_port = match uri.scheme() {
        Some(scheme) if *scheme == Scheme::HTTP => 80,
        Some(scheme) if *scheme == Scheme::HTTPS => 443,
        Some(other) => return Err(invalid(format!("`{other}` is not a scheme of HTTP"))),
        None => return Err(invalid("the URL has no scheme")),
    };
    match uri.host() {
        Some(host) if !host.is_empty() => Ok((host, uri.port_u16().unwrap_or(default_port))),
        _ => Err(invalid("the URL has no host")),
    }
}

fn invalid(what: impl Into<String>) -> HttpError {
    HttpError::new(HttpPhase::Prepare, what)
        .with_advice("give a whole URL, such as https://example.com/mcp")
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_and_port_are_named_without_credentials() {
        let check = |url: &str, expected: &str| {
            let named = match HostPort::of(&Uri::try_from(url).unwrap()) {
                Ok(host_port) => host_port.to_string(),
                Err(failure) => failure.message().to_owned(),
            };
            assert_eq!(named, expected, "{url}");
        };
        check("http://Example.com/mcp", "example.com:80");
        check("https://example.com", "example.com:443");
        check("https://example.com:8443/", "example.com:8443");
        check("http://[::1]:9/", "[::1]:9");
        check("http://someone:secret@example.com/", "example.com:80");
        check("/mcp", "the URL has no scheme");
        check("ftp://example.com/", "`ftp` is not a scheme of HTTP");
    }

    #[test]
    fn localhost_names_and_loopback_addresses_are_loopback() {
        let check = |url: &str, expected: bool| {
            let host_port = HostPort::of(&Uri::try_from(url).unwrap()).unwrap();
            assert_eq!(host_port.is_loopback(), expected, "{url}");
        };
        check("http://localhost/", true);
        check("http://LOCALHOST:3000/", true);
        check("http://app.localhost/", true);
        check("http://127.8.9.1/", true);
        check("http://[::1]/", true);
        check("http://localhost.example.com/", false);
        check("http://10.0.0.1/", false);
    }
}
