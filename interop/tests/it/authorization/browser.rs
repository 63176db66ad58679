//! A browser and its user: follows redirects, stores cookies and fills in forms.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, COOKIE, LOCATION, SET_COOKIE};
use http::{HeaderMap, Request, StatusCode, Uri};
use http_body_util::{BodyExt as _, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use toolwire_auth::client::LoopbackLogin;
use toolwire_auth::testing::form;

/// More pages than a login has.
const MAX_PAGES: usize = 20;

/// The timeout of a login, longer than a busy machine needs.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(20);

/// The user's decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    Consent,
    Deny,
}

/// The browser of one user at one authorization server.
#[derive(Debug)]
pub(crate) struct Browser {
    http: Client<HttpConnector, Full<Bytes>>,
    issuer: String,
    user: &'static str,
    choice: Mutex<Choice>,
    cookies: Mutex<Vec<Cookie>>,
    opened: Mutex<Vec<String>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Cookie {
    name: String,
    path: String,
    value: String,
}

/// An HTTP response.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Browser {
    /// Creates a browser whose user consents to everything.
    pub(crate) fn new(issuer: &str, user: &'static str) -> Arc<Self> {
        Arc::new(Self {
            http: Client::builder(TokioExecutor::new()).build_http(),
            issuer: issuer.to_owned(),
            user,
            choice: Mutex::new(Choice::Consent),
            cookies: Mutex::default(),
            opened: Mutex::default(),
        })
    }

    /// Changes the user's decision.
    pub(crate) fn choose(&self, choice: Choice) {
        *self.choice.lock().expect("no test panics with the lock") = choice;
    }

    fn choice(&self) -> Choice {
        *self.choice.lock().expect("no test panics with the lock")
    }

    /// Returns a login that opens this browser. Its loopback listener is real.
    pub(crate) fn login(self: &Arc<Self>) -> LoopbackLogin {
        let browser = Arc::clone(self);
        LoopbackLogin::new()
            .without_browser()
            .with_timeout(LOGIN_TIMEOUT)
            .with_url_display(move |url| {
                let (browser, url) = (Arc::clone(&browser), url.to_owned());
                tokio::spawn(async move { browser.log_in(&url).await });
            })
    }

    /// Returns the addresses that were opened.
    pub(crate) fn opened(&self) -> Vec<String> {
        self.opened
            .lock()
            .expect("no test panics with the lock")
            .clone()
    }

    /// Returns a parameter of the last opened address.
    pub(crate) fn last_parameter(&self, parameter: &str) -> Option<String> {
        let opened = self.opened();
        let (_, query) = opened.last()?.split_once('?')?;
        let pairs = form::decode(query)?;
        let value = pairs.into_iter().find(|(name, _)| name == parameter);
        value.map(|(_, value)| value)
    }

    /// Follows the pages of the authorization server until it redirects to another server, and returns the page there.
    pub(crate) async fn log_in(&self, url: &str) -> Page {
        self.record(url);
        let mut page = self.get(url).await;
        for _ in 0..MAX_PAGES {
            if let Some(location) = page.location() {
                let target = self.absolute(&location);
                page = self.get(&target).await;
                if !target.starts_with(&self.issuer) {
                    return page;
                }
                continue;
            }
            let Some(action) = attribute(&page.text, "action") else {
                return page;
            };
            page = match self.choice() {
                Choice::Deny => {
                    let cancel = attribute(&page.text, "href").expect("the page has a cancel link");
                    self.get(&self.absolute(&cancel)).await
                }
                Choice::Consent => {
                    let prompt = attribute(&page.text, "value").expect("the form has a name");
                    let fields = match prompt.as_str() {
                        "login" => vec![
                            ("prompt", "login"),
                            ("login", self.user),
                            ("password", "any"),
                        ],
                        other => vec![("prompt", other)],
                    };
                    self.post(&self.absolute(&action), &fields).await
                }
            };
        }
        panic!("the login does not end: {page:?}");
    }

    fn record(&self, url: &str) {
        let mut opened = self.opened.lock().expect("no test panics with the lock");
        opened.push(url.to_owned());
    }

    pub(crate) async fn get(&self, url: &str) -> Page {
        self.send(Request::get(url), url, Bytes::new()).await
    }

    pub(crate) async fn post(&self, url: &str, fields: &[(&str, &str)]) -> Page {
        let request = Request::post(url).header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        let body = form::encode(fields.iter().copied());
        self.send(request, url, Bytes::from(body)).await
    }

    async fn send(&self, request: http::request::Builder, url: &str, body: Bytes) -> Page {
        let url: Uri = url.parse().expect("the URL is valid");
        let request = match self.cookies_for(&url) {
            Some(cookies) => request.header(COOKIE, cookies),
            None => request,
        };
        let request = request.body(Full::new(body)).expect("the request is valid");
        let response = self
            .http
            .request(request)
            .await
            .expect("the server responds");
        let (parts, body) = response.into_parts();
        self.store_cookies(&url, &parts.headers);
        let text = body
            .collect()
            .await
            .expect("the body is complete")
            .to_bytes();
        Page {
            status: parts.status,
            headers: parts.headers,
            text: String::from_utf8_lossy(&text).into_owned(),
        }
    }

    fn absolute(&self, target: &str) -> String {
        if target.starts_with('/') {
            format!("{}{target}", self.issuer)
        } else {
            target.to_owned()
        }
    }

    /// Returns the cookies for the authorization server only.
    fn cookies_for(&self, url: &Uri) -> Option<String> {
        let is_own = url.to_string().starts_with(&self.issuer);
        let cookies = self.cookies();
        let cookies = cookies
            .iter()
            .filter(|cookie| is_own && url.path().starts_with(&cookie.path))
            .map(|cookie| format!("{}={}", cookie.name, cookie.value));
        let cookies: Vec<String> = cookies.collect();
        (!cookies.is_empty()).then(|| cookies.join("; "))
    }

    fn store_cookies(&self, url: &Uri, headers: &HeaderMap) {
        if !url.to_string().starts_with(&self.issuer) {
            return;
        }
        let mut cookies = self.cookies();
        for header in headers.get_all(SET_COOKIE) {
            let mut parts = header.to_str().expect("the header is text").split("; ");
            let pair = parts.next().and_then(|pair| pair.split_once('='));
            let (name, value) = pair.expect("a cookie has a value");
            let path = parts.find_map(|part| part.strip_prefix("path="));
            let cookie = Cookie {
                name: name.to_owned(),
                path: path.unwrap_or("/").to_owned(),
                value: value.to_owned(),
            };
            cookies.retain(|old| (&old.name, &old.path) != (&cookie.name, &cookie.path));
            // An empty value deletes the cookie.
            if !cookie.value.is_empty() {
                cookies.push(cookie);
            }
        }
    }

    fn cookies(&self) -> MutexGuard<'_, Vec<Cookie>> {
        self.cookies.lock().expect("no test panics with the lock")
    }
}

impl Page {
    fn location(&self) -> Option<String> {
        let location = self.headers.get(LOCATION)?.to_str();
        Some(location.expect("the header is text").to_owned())
    }
}

/// Returns the first value of an attribute on a page.
fn attribute(page: &str, name: &str) -> Option<String> {
    let (_, rest) = page.split_once(&format!(" {name}=\""))?;
    let (value, _) = rest.split_once('"')?;
    Some(value.replace("&amp;", "&"))
}
