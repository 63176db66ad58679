//! Proxies: which requests go through one, and the tunnel that HTTPS needs.

use std::fmt;

use http::uri::Scheme;
use http::{HeaderValue, Uri};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::transport::http_client::deadline::Deadline;
use crate::transport::http_client::place::Place;
use crate::transport::http_client::wire::Wire;
use crate::transport::http_client::{HttpFailure, HttpStep};

/// What stands for a proxy whose URL cannot be used, so that asking for it is noticed. Nobody can own this name.
const BROKEN: &str = "http://unusable-proxy.invalid/";

/// How long the head of a proxy's answer may be.
const MAX_HEAD: usize = 16 * 1024;

/// Which requests go through a proxy.
///
/// A proxy is reached by `http://` or `https://`; HTTPS goes through it in a tunnel, so that it sees the name of the
/// server and nothing else. Credentials in a proxy's URL go to that proxy only and are never printed.
///
/// ```
/// use toolwire::transport::http_client::{HttpProxies, HyperHttp};
///
/// let proxies = HttpProxies::none()
///     .with_https("http://proxy.example.com:3128")
///     .with_exceptions("internal.example.com,10.0.0.0/8");
/// let http = HyperHttp::new().with_proxies(proxies);
/// ```
#[derive(Clone, Default)]
pub struct HttpProxies {
    http: Setting,
    https: Setting,
    exceptions: String,
    /// Whether servers on this machine are always asked directly.
    spares_this_machine: bool,
}

/// The URL of a proxy and who gave it, for messages.
#[derive(Clone, Default)]
struct Setting {
    url: String,
    origin: &'static str,
}

impl HttpProxies {
    /// No proxy.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// What the variables `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` say, or the same in lower case.
    ///
    /// Servers on this machine (`localhost` and loopback addresses) are always asked directly. Where `REQUEST_METHOD`
    /// is set, as in a CGI program, `HTTP_PROXY` may come from a request and is not read.
    #[must_use]
    pub fn from_environment() -> Self {
        Self::from_variables(|name| std::env::var(name).ok())
    }

    fn from_variables(read: impl Fn(&str) -> Option<String>) -> Self {
        let first = |names: &[&'static str]| {
            names
                .iter()
                .find_map(|name| {
                    let url = read(name).filter(|url| !url.trim().is_empty())?;
                    let url = url.trim().to_owned();
                    Some(Setting { url, origin: name })
                })
                .unwrap_or_default()
        };
        let http: &[_] = if read("REQUEST_METHOD").is_some() {
            &["http_proxy", "ALL_PROXY", "all_proxy"]
        } else {
            &["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"]
        };
        Self {
            http: first(http),
            https: first(&["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]),
            exceptions: first(&["NO_PROXY", "no_proxy"]).url,
            spares_this_machine: true,
        }
    }

    /// The proxy for `http://` servers.
    #[must_use]
    pub fn with_http(mut self, url: impl Into<String>) -> Self {
        self.http = Setting {
            url: url.into(),
            origin: "with_http",
        };
        self
    }

    /// The proxy for `https://` servers.
    #[must_use]
    pub fn with_https(mut self, url: impl Into<String>) -> Self {
        self.https = Setting {
            url: url.into(),
            origin: "with_https",
        };
        self
    }

    /// Servers that are asked directly, in the form of `NO_PROXY`: names, which cover the names below them, addresses
    /// and networks, separated by commas; `*` is all.
    #[must_use]
    pub fn with_exceptions(mut self, exceptions: impl Into<String>) -> Self {
        self.exceptions = exceptions.into();
        self
    }

    pub(super) fn rules(&self) -> Rules {
        let usable = |setting: &Setting| {
            if setting.url.is_empty() || intercepts_all(&setting.url) {
                setting.url.clone()
            } else {
                BROKEN.to_owned()
            }
        };
        Rules {
            matcher: Matcher::builder()
                .http(usable(&self.http))
                .https(usable(&self.https))
                .no(self.exceptions.clone())
                .build(),
            http_origin: self.http.origin,
            https_origin: self.https.origin,
            spares_this_machine: self.spares_this_machine,
        }
    }
}

/// Whether the matcher understands the URL; it passes over one that it does not.
fn intercepts_all(url: &str) -> bool {
    let any = Uri::from_static("http://any.invalid/");
    Matcher::builder()
        .all(url.to_owned())
        .build()
        .intercept(&any)
        .is_some()
}

/// Where a proxy is, without the credentials that its URL may have.
fn shown(setting: &Setting) -> Option<String> {
    if setting.url.is_empty() {
        return None;
    }
    let place = Uri::try_from(setting.url.as_str())
        .ok()
        .and_then(|uri| Place::of(&uri).ok());
    Some(place.map_or_else(|| "unusable".to_owned(), |place| place.to_string()))
}

impl fmt::Debug for HttpProxies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpProxies")
            .field("http", &shown(&self.http))
            .field("https", &shown(&self.https))
            .field("exceptions", &self.exceptions)
            .finish_non_exhaustive()
    }
}

/// The settings in the form in which they are asked.
pub(super) struct Rules {
    matcher: Matcher,
    http_origin: &'static str,
    https_origin: &'static str,
    spares_this_machine: bool,
}

impl Rules {
    /// The proxy through which a request to this URI goes.
    pub(super) fn proxy_for(&self, uri: &Uri) -> Result<Option<Proxy>, HttpFailure> {
        if self.spares_this_machine && Place::of(uri)?.is_this_machine() {
            return Ok(None);
        }
        let Some(found) = self.matcher.intercept(uri) else {
            return Ok(None);
        };
        let origin = if uri.scheme() == Some(&Scheme::HTTPS) {
            self.https_origin
        } else {
            self.http_origin
        };
        if *found.uri() == BROKEN {
            return Err(unusable(origin, "is not the URL of a proxy"));
        }
        let place = Place::of(found.uri())
            .map_err(|_| unusable(origin, "names a proxy that does not speak HTTP"))?;
        Ok(Some(Proxy { found, place }))
    }
}

fn unusable(origin: &str, problem: &str) -> HttpFailure {
    HttpFailure::new(HttpStep::Prepare, format!("{origin} {problem}")).with_advice(
        "give an http:// or https:// URL, except the server with NO_PROXY, or use no proxy",
    )
}

/// One proxy.
pub(super) struct Proxy {
    found: Intercept,
    place: Place,
}

impl Proxy {
    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    pub(super) fn speaks_tls(&self) -> bool {
        self.found.uri().scheme() == Some(&Scheme::HTTPS)
    }

    pub(super) fn credentials(&self) -> Option<&HeaderValue> {
        self.found.basic_auth()
    }

    /// Asks the proxy at the other end of the connection for a tunnel to the target.
    pub(super) async fn tunnel(
        &self,
        mut wire: Wire,
        target: &Place,
        deadline: Deadline,
    ) -> Result<Wire, HttpFailure> {
        let mut request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n").into_bytes();
        if let Some(credentials) = self.credentials() {
            request.extend_from_slice(b"Proxy-Authorization: ");
            request.extend_from_slice(credentials.as_bytes());
            request.extend_from_slice(b"\r\n");
        }
        request.extend_from_slice(b"\r\n");
        let asking = || format!("asking the proxy {} for a tunnel to {target}", self.place);
        let exchange = async {
            wire.write_all(&request).await?;
            wire.flush().await?;
            read_head(&mut wire).await
        };
        let head = deadline
            .bound(HttpStep::Proxy, asking, exchange)
            .await?
            .map_err(|error| self.refusal("broke off", target).with_source(error))?;
        match status(&head) {
            Some(200..=299) => Ok(wire),
            Some(407) => Err(self
                .refusal("wants credentials, or others,", target)
                .with_advice("put them into the URL of the proxy: http://user:password@host:port")),
            Some(code) => Err(self
                .refusal(&format!("answered with status {code}"), target)
                .with_advice(
                    "check that the proxy may reach this server, or except it with NO_PROXY",
                )),
            None => Err(self
                .refusal("did not answer in HTTP", target)
                .with_advice("check the address of the proxy")),
        }
    }

    fn refusal(&self, did: &str, target: &Place) -> HttpFailure {
        let what = format!(
            "the proxy {} {did} when asked for a tunnel to {target}",
            self.place
        );
        HttpFailure::new(HttpStep::Proxy, what)
    }
}

/// Reads up to the empty line. Nothing may come after it before we speak, so nothing is lost.
async fn read_head(wire: &mut Wire) -> std::io::Result<Vec<u8>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() >= MAX_HEAD || head.windows(4).any(|window| window == b"\r\n\r\n") {
            return Err(std::io::Error::other(
                "the answer of the proxy does not end",
            ));
        }
        let room = MAX_HEAD - head.len();
        if (&mut *wire).take(room as u64).read_buf(&mut head).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(head)
}

fn status(head: &[u8]) -> Option<u16> {
    let line = head.split(|byte| *byte == b'\r').next()?;
    let line = std::str::from_utf8(line).ok()?;
    let mut words = line.split(' ');
    words.next().filter(|word| word.starts_with("HTTP/1."))?;
    words.next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxy(variables: &[(&str, &str)], url: &str) -> String {
        let read = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name)?;
            Some(found.1.to_owned())
        };
        let rules = HttpProxies::from_variables(read).rules();
        match rules.proxy_for(&Uri::try_from(url).unwrap()) {
            Ok(Some(proxy)) => proxy.place().to_string(),
            Ok(None) => "none".to_owned(),
            Err(failure) => failure.what().to_owned(),
        }
    }

    #[test]
    fn the_environment_names_the_proxies() {
        let both = [
            ("HTTP_PROXY", "http://plain.invalid:1"),
            ("https_proxy", "secure.invalid:2"),
            ("no_proxy", "near.invalid,10.0.0.0/8"),
        ];
        let check = |url: &str, expected: &str| assert_eq!(proxy(&both, url), expected, "{url}");
        check("http://example.com/", "plain.invalid:1");
        check("https://example.com/", "secure.invalid:2");
        check("https://near.invalid/", "none");
        check("https://deep.near.invalid/", "none");
        check("http://10.1.2.3/", "none");
        check("http://11.1.2.3/", "plain.invalid:1");

        let all = [("ALL_PROXY", "http://all.invalid:3"), ("HTTP_PROXY", " ")];
        assert_eq!(proxy(&all, "http://example.com/"), "all.invalid:3");
        assert_eq!(proxy(&all, "https://example.com/"), "all.invalid:3");
        assert_eq!(proxy(&[], "https://example.com/"), "none");
    }

    #[test]
    fn servers_on_this_machine_need_no_proxy() {
        let all = [("ALL_PROXY", "http://all.invalid:3")];
        for url in [
            "http://localhost:3000/",
            "https://127.0.0.1/",
            "http://[::1]/",
        ] {
            assert_eq!(proxy(&all, url), "none", "{url}");
        }
    }

    #[test]
    fn in_a_cgi_program_a_request_names_no_proxy() {
        let cgi = [
            ("REQUEST_METHOD", "GET"),
            ("HTTP_PROXY", "http://evil.invalid"),
        ];
        assert_eq!(proxy(&cgi, "http://example.com/"), "none");
    }

    #[test]
    fn a_variable_that_cannot_be_used_is_named() {
        let broken = [("HTTPS_PROXY", "http://"), ("NO_PROXY", "near.invalid")];
        assert_eq!(
            proxy(&broken, "https://example.com/"),
            "HTTPS_PROXY is not the URL of a proxy"
        );
        assert_eq!(proxy(&broken, "https://near.invalid/"), "none");
        assert_eq!(proxy(&broken, "http://example.com/"), "none");
    }
}
