//! The proxy settings, and the choice of a proxy for a request.

use std::fmt;

use http::uri::Scheme;
use http::{HeaderValue, Uri};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};

use crate::client::http::{HttpError, HttpPhase};
use crate::transport::http_client::authority::HostPort;

/// Replaces an invalid proxy URL, so that requests through that proxy fail. Names below `.invalid` are reserved.
const INVALID_PROXY: &str = "http://unusable-proxy.invalid/";

/// The proxies of an HTTP client.
///
/// The URL of a proxy has the scheme `http` or `https`. HTTPS requests use a tunnel, so the proxy sees only the name
/// and the port of the server. The client sends the credentials in a proxy's URL to that proxy only, and never prints them.
///
/// ```
/// use toolwire::transport::http_client::{ProxySettings, HyperClient};
///
/// let proxies = ProxySettings::none()
///     .with_https("http://proxy.example.com:3128")
///     .with_no_proxy("internal.example.com,10.0.0.0/8");
/// let http = HyperClient::new().with_proxies(proxies);
/// ```
#[derive(Clone, Default)]
pub struct ProxySettings {
    http: ProxySetting,
    https: ProxySetting,
    exceptions: String,
    /// Requests to loopback addresses use no proxy.
    excludes_loopback: bool,
}

/// The URL of a proxy, and the variable or method that set it, for error messages.
#[derive(Clone, Default)]
struct ProxySetting {
    url: String,
    source: &'static str,
}

impl ProxySettings {
    /// Creates settings without a proxy.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Reads the variables `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`, or their lower-case names.
    ///
    /// Requests to `localhost` and to loopback addresses use no proxy. If `REQUEST_METHOD` is set, as in a CGI program,
    /// `HTTP_PROXY` may come from a request and is not read.
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
                    Some(ProxySetting { url, source: name })
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
            excludes_loopback: true,
        }
    }

    /// Sets the proxy for `http://` URLs.
    #[must_use]
    pub fn with_http(mut self, url: impl Into<String>) -> Self {
        self.http = ProxySetting {
            url: url.into(),
            source: "with_http",
        };
        self
    }

    /// Sets the proxy for `https://` URLs.
    #[must_use]
    pub fn with_https(mut self, url: impl Into<String>) -> Self {
        self.https = ProxySetting {
            url: url.into(),
            source: "with_https",
        };
        self
    }

    /// Sets the servers that are used without a proxy, in the form of `NO_PROXY`.
    ///
    /// The list has names, addresses and networks, separated by commas. A name includes the names below it. `*` matches
    /// every server.
    #[must_use]
    pub fn with_no_proxy(mut self, exceptions: impl Into<String>) -> Self {
        self.exceptions = exceptions.into();
        self
    }

    /// Returns `true` if requests to this URL use a proxy, or fail because the URL of their proxy is invalid.
    ///
    /// ```
    /// use toolwire::transport::http_client::ProxySettings;
    ///
    /// let proxies = ProxySettings::none()
    ///     .with_https("http://proxy.example.com:3128")
    ///     .with_no_proxy("internal.example.com");
    /// assert!(proxies.applies_to(&"https://example.com/mcp".parse()?));
    /// assert!(!proxies.applies_to(&"https://internal.example.com/mcp".parse()?));
    /// assert!(!proxies.applies_to(&"http://example.com/mcp".parse()?));
    /// # Ok::<(), http::uri::InvalidUri>(())
    /// ```
    #[must_use]
    pub fn applies_to(&self, uri: &Uri) -> bool {
        !matches!(self.rules().proxy_for(uri), Ok(None))
    }

    pub(super) fn rules(&self) -> ProxyRules {
        let checked = |setting: &ProxySetting| {
            if setting.url.is_empty() || is_accepted(&setting.url) {
                setting.url.clone()
            } else {
                INVALID_PROXY.to_owned()
            }
        };
        ProxyRules {
            matcher: Matcher::builder()
                .http(checked(&self.http))
                .https(checked(&self.https))
                .no(self.exceptions.clone())
                .build(),
            has_http_proxy: !self.http.url.is_empty(),
            http_source: self.http.source,
            https_source: self.https.source,
            excludes_loopback: self.excludes_loopback,
        }
    }
}

/// Returns `true` if the matcher accepts the URL of a proxy. It ignores others.
fn is_accepted(url: &str) -> bool {
    let any = Uri::from_static("http://any.invalid/");
    Matcher::builder()
        .all(url.to_owned())
        .build()
        .intercept(&any)
        .is_some()
}

/// Returns the host and the port of a proxy, without the credentials of its URL.
fn host_without_credentials(setting: &ProxySetting) -> Option<String> {
    if setting.url.is_empty() {
        return None;
    }
    let host = Uri::try_from(setting.url.as_str())
        .ok()
        .and_then(|uri| HostPort::of(&uri).ok());
    Some(host.map_or_else(|| "unusable".to_owned(), |host| host.to_string()))
}

impl fmt::Debug for ProxySettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProxySettings")
            .field("http", &host_without_credentials(&self.http))
            .field("https", &host_without_credentials(&self.https))
            .field("exceptions", &self.exceptions)
            .finish_non_exhaustive()
    }
}

/// The settings, prepared for matching.
pub(super) struct ProxyRules {
    matcher: Matcher,
    has_http_proxy: bool,
    http_source: &'static str,
    https_source: &'static str,
    excludes_loopback: bool,
}

impl ProxyRules {
    /// Returns the proxy for requests to this URL, or `None` if they use no proxy.
    ///
    /// # Errors
    /// Returns an error if the URL of the proxy is invalid.
    pub(super) fn proxy_for(&self, uri: &Uri) -> Result<Option<Proxy>, HttpError> {
        if self.excludes_loopback && HostPort::of(uri)?.is_loopback() {
            return Ok(None);
        }
        let Some(matched) = self.matcher.intercept(uri) else {
            return Ok(None);
        };
        let source = if uri.scheme() == Some(&Scheme::HTTPS) {
            self.https_source
        } else {
            self.http_source
        };
        if *matched.uri() == INVALID_PROXY {
            return Err(invalid(source, "is not the URL of a proxy"));
        }
        let host = HostPort::of(matched.uri())
            .map_err(|_| invalid(source, "names a proxy that does not use HTTP"))?;
        Ok(Some(Proxy { matched, host }))
    }

    /// Returns the credentials that a request to this URL needs for its proxy.
    ///
    /// HTTPS requests need none: they would reach the server through the tunnel.
    pub(super) fn credentials_for(&self, uri: &Uri) -> Result<Option<HeaderValue>, HttpError> {
        if !self.has_http_proxy || uri.scheme() != Some(&Scheme::HTTP) {
            return Ok(None);
        }
        let proxy = self.proxy_for(uri)?;
        Ok(proxy.and_then(|proxy| proxy.credentials().cloned()))
    }
}

fn invalid(source: &str, problem: &str) -> HttpError {
    HttpError::new(HttpPhase::Prepare, format!("{source} {problem}")).with_advice(
        "give an http:// or https:// URL, exclude the server with NO_PROXY, or use no proxy",
    )
}

/// A proxy.
pub(super) struct Proxy {
    matched: Intercept,
    host: HostPort,
}

impl Proxy {
    pub(super) fn host(&self) -> &HostPort {
        &self.host
    }

    pub(super) fn uses_tls(&self) -> bool {
        self.matched.uri().scheme() == Some(&Scheme::HTTPS)
    }

    pub(super) fn credentials(&self) -> Option<&HeaderValue> {
        self.matched.basic_auth()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxy(variables: &[(&str, &str)], url: &str) -> String {
        let read = |name: &str| {
            let (_, value) = variables.iter().find(|(known, _)| *known == name)?;
            Some((*value).to_owned())
        };
        let rules = ProxySettings::from_variables(read).rules();
        match rules.proxy_for(&Uri::try_from(url).unwrap()) {
            Ok(Some(proxy)) => proxy.host().to_string(),
            Ok(None) => "none".to_owned(),
            Err(failure) => failure.message().to_owned(),
        }
    }

    #[test]
    fn environment_names_the_proxies() {
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
    fn loopback_servers_need_no_proxy() {
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
    fn cgi_program_ignores_http_proxy() {
        let cgi = [
            ("REQUEST_METHOD", "GET"),
            ("HTTP_PROXY", "http://evil.invalid"),
        ];
        assert_eq!(proxy(&cgi, "http://example.com/"), "none");
    }

    #[test]
    fn invalid_variable_is_named_in_the_error() {
        let broken = [("HTTPS_PROXY", "http://"), ("NO_PROXY", "near.invalid")];
        assert_eq!(
            proxy(&broken, "https://example.com/"),
            "HTTPS_PROXY is not the URL of a proxy"
        );
        assert_eq!(proxy(&broken, "https://near.invalid/"), "none");
        assert_eq!(proxy(&broken, "http://example.com/"), "none");
    }
}
