//! Where a request goes, in the form that messages name it.

use std::fmt;
use std::net::IpAddr;

use http::Uri;
use http::uri::Scheme;

use crate::transport::http_client::{HttpFailure, HttpStep};

/// A host and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    host: String,
    port: u16,
}

impl Place {
    /// The place that a URI names, which must be an absolute one of a scheme we speak.
    pub(super) fn of(uri: &Uri) -> Result<Self, HttpFailure> {
        let usual = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTP => 80,
            Some(scheme) if *scheme == Scheme::HTTPS => 443,
            Some(other) => return Err(unusable(format!("`{other}` is not a scheme of HTTP"))),
            None => return Err(unusable("the URL has no scheme")),
        };
        match uri.host() {
            Some(host) if !host.is_empty() => Ok(Self {
                host: host.to_ascii_lowercase(),
                port: uri.port_u16().unwrap_or(usual),
            }),
            _ => Err(unusable("the URL has no host")),
        }
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// The name or the address, without the brackets that the URL of an IPv6 address has.
    pub(super) fn name(&self) -> &str {
        self.host
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
            .unwrap_or(&self.host)
    }

    /// The address, when the URL has one in the place of a name.
    pub(super) fn address(&self) -> Option<IpAddr> {
        self.name().parse().ok()
    }

    /// Whether this is the machine we run on, by its name alone.
    pub(super) fn is_this_machine(&self) -> bool {
        let name = self.name();
        name == "localhost"
            || name.ends_with(".localhost")
            || self.address().is_some_and(|address| address.is_loopback())
    }
}

fn unusable(what: impl Into<String>) -> HttpFailure {
    HttpFailure::new(HttpStep::Prepare, what)
        .with_advice("give a whole URL, such as https://example.com/mcp")
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_named_with_its_port() {
        let check = |url: &str, expected: &str| {
            let place = Place::of(&Uri::try_from(url).unwrap());
            let named = match place {
                Ok(place) => place.to_string(),
                Err(failure) => failure.what().to_owned(),
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
    fn loopback_names_and_addresses_are_this_machine() {
        let check = |url: &str, expected: bool| {
            let place = Place::of(&Uri::try_from(url).unwrap()).unwrap();
            assert_eq!(place.is_this_machine(), expected, "{url}");
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
