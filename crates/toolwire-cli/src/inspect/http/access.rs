//! Decides which requests may use the HTTP interface.
//!
//! A page on another site can make the browser send requests to this machine. Such a request has another `Host` (DNS
//! rebinding) or another `Origin`, and it does not have the token. Another user of the machine does not have it either.

use std::io;
use std::sync::Mutex;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hyper::StatusCode;
use hyper::header::{AUTHORIZATION, HOST, HeaderMap, ORIGIN};
use sha2::{Digest as _, Sha256};

use crate::inspect::http::response::{PageResponse, error};
use crate::opened_page::OpenedPage;
use crate::sync::lock;

/// The header in which browsers state the relation of a page to the address that it requests.
const FETCH_SITE: &str = "sec-fetch-site";

/// The secrets of this command and the port of the page.
pub(super) struct Access {
    port: u16,
    /// The secret in the printed address.
    secret: String,
    /// `true` until the secret was exchanged for the token.
    is_unused: Mutex<bool>,
    token: String,
    /// The file with the secret that a browser opened, until the secret is exchanged.
    opened: Mutex<Option<OpenedPage>>,
}

/// Why a request is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rejection {
    Host,
    Origin,
    Token,
    UsedAddress,
}

impl Access {
    /// Creates random secrets.
    pub(super) fn new(port: u16) -> io::Result<Self> {
        Ok(Self {
            port,
            secret: random()?,
            is_unused: Mutex::new(true),
            token: random()?,
            opened: Mutex::new(None),
        })
    }

    pub(super) fn secret(&self) -> &str {
        &self.secret
    }

    pub(super) fn token(&self) -> &str {
        &self.token
    }

    /// Deletes the file of a browser as soon as it is not needed any more.
    pub(super) fn set_opened(&self, opened: Option<OpenedPage>) {
        *lock(&self.opened) = opened;
    }

    /// Accepts the names of this machine with our port.
    pub(super) fn check_host(&self, headers: &HeaderMap) -> Result<(), Rejection> {
        let mut hosts = headers.get_all(HOST).iter();
        match (hosts.next(), hosts.next()) {
            (Some(host), None) if self.is_own_host(host.as_bytes()) => Ok(()),
            _ => Err(Rejection::Host),
        }
    }

    /// Accepts requests of our own page, and of programs, which state no origin.
    pub(super) fn check_origin(&self, headers: &HeaderMap) -> Result<(), Rejection> {
        let host = headers.get(HOST).map_or(&b""[..], |host| host.as_bytes());
        let is_own = |origin: &[u8]| origin.strip_prefix(b"http://") == Some(host);
        let mut origins = headers.get_all(ORIGIN).iter();
        let mut sites = headers.get_all(FETCH_SITE).iter();
        let accepted = origins.all(|origin| is_own(origin.as_bytes()))
            && sites.all(|site| site.as_bytes() == b"same-origin");
        accepted.then_some(()).ok_or(Rejection::Origin)
    }

    /// Accepts `Authorization: Bearer` with the token.
    pub(super) fn check_token(&self, headers: &HeaderMap) -> Result<(), Rejection> {
        let given = headers.get(AUTHORIZATION).and_then(|value| {
            let value = value.to_str().ok()?;
            let (scheme, token) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then_some(token)
        });
        match given {
            Some(token) if is_equal(token, &self.token) => Ok(()),
            _ => Err(Rejection::Token),
        }
    }

    /// Exchanges the secret of the address for the token, once.
    pub(super) fn exchange(&self, secret: &str) -> Result<&str, Rejection> {
        if !is_equal(secret, &self.secret) {
            return Err(Rejection::Token);
        }
        let mut is_unused = lock(&self.is_unused);
        if std::mem::replace(&mut *is_unused, false) {
            self.set_opened(None);
            Ok(&self.token)
        } else {
            Err(Rejection::UsedAddress)
        }
    }

    fn is_own_host(&self, host: &[u8]) -> bool {
        let port = self.port;
        ["127.0.0.1", "localhost", "[::1]"]
            .iter()
            .any(|name| host == format!("{name}:{port}").as_bytes())
    }
}

impl Rejection {
    pub(super) fn response(self) -> PageResponse {
        let (status, message, advice) = match self {
            Self::Host => (
                StatusCode::FORBIDDEN,
                "the host is not this machine",
                "use 127.0.0.1 or localhost, and the printed port",
            ),
            Self::Origin => (
                StatusCode::FORBIDDEN,
                "the request comes from another page",
                "use the page at the printed address",
            ),
            Self::Token => (
                StatusCode::UNAUTHORIZED,
                "the token is missing or wrong",
                "open the printed address, or send `Authorization: Bearer` with the token that --json prints",
            ),
            Self::UsedAddress => (
                StatusCode::FORBIDDEN,
                "this address was used already",
                "continue in the browser that opened it, or start the command again",
            ),
        };
        error(status, message, Some(advice))
    }
}

/// Compares digests, so that the duration does not depend on the position of the first difference.
fn is_equal(given: &str, expected: &str) -> bool {
    Sha256::digest(given) == Sha256::digest(expected)
}

fn random() -> io::Result<String> {
    let mut bytes = [0; 24];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use hyper::header::{HeaderName, HeaderValue};

    use super::*;

    fn access() -> Access {
        Access::new(6280).expect("random bytes")
    }

    fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
        let pairs = pairs.iter().map(|(name, value)| {
            let name = HeaderName::try_from(*name).expect("a name");
            (name, HeaderValue::from_str(value).expect("a value"))
        });
        pairs.collect()
    }

    #[test]
    fn only_names_of_this_machine_are_accepted() {
        let check = |host: &str, expected: bool| {
            let checked = access().check_host(&headers(&[("host", host)]));
            assert_eq!(checked.is_ok(), expected, "{host}");
        };
        check("127.0.0.1:6280", true);
        check("localhost:6280", true);
        check("[::1]:6280", true);
        check("127.0.0.1:6281", false);
        check("127.0.0.1", false);
        check("attacker.example:6280", false);
        check("localhost.attacker.example:6280", false);
        assert!(access().check_host(&headers(&[])).is_err());
    }

    #[test]
    fn requests_of_other_pages_are_rejected() {
        let check = |pairs: &[(&str, &str)], expected: bool| {
            let mut all = vec![("host", "localhost:6280")];
            all.extend(pairs);
            let checked = access().check_origin(&headers(&all));
            assert_eq!(checked.is_ok(), expected, "{pairs:?}");
        };
        check(&[], true);
        check(&[("origin", "http://localhost:6280")], true);
        check(&[("sec-fetch-site", "same-origin")], true);
        // Another name or port of this machine is another origin.
        check(&[("origin", "http://127.0.0.1:6280")], false);
        check(&[("origin", "http://localhost:3000")], false);
        check(&[("origin", "https://localhost:6280")], false);
        check(&[("origin", "https://attacker.example")], false);
        check(&[("origin", "null")], false);
        check(&[("sec-fetch-site", "same-site")], false);
        check(&[("sec-fetch-site", "cross-site")], false);
        check(&[("sec-fetch-site", "none")], false);
    }

    #[test]
    fn token_is_required() {
        let access = access();
        let check = |value: &str, expected: bool| {
            let checked = access.check_token(&headers(&[("authorization", value)]));
            assert_eq!(checked.is_ok(), expected, "{value}");
        };
        check(&format!("Bearer {}", access.token()), true);
        check(&format!("Bearer {}", access.secret()), false);
        check("Bearer ", false);
        check(access.token(), false);
        assert!(access.check_token(&headers(&[])).is_err());
    }

    #[test]
    fn secret_of_the_address_works_once() {
        let access = access();
        assert_eq!(access.exchange("wrong"), Err(Rejection::Token));
        assert_eq!(access.exchange(access.secret()), Ok(access.token()));
        let again = access.exchange(access.secret());
        assert_eq!(again, Err(Rejection::UsedAddress));
    }
}
