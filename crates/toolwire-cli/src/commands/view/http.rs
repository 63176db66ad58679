//! The two origins of a view: the host page, and the frames.

use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, HeaderValue, ORIGIN,
};
use hyper::header::{REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS};
use hyper::{Method, Request, Response, StatusCode};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::commands::view::loaded_view::LoadedView;
use crate::page_server::{PageLimits, serve};

/// The maximum size of a message of the host page in bytes. It is that of a message of a view, and some more.
const MAX_BODY: usize = 4 * 1024 * 1024 + 1024;

/// The limits of an origin.
const LIMITS: PageLimits = PageLimits {
    connections: 64,
    header_timeout: Duration::from_secs(30),
    request_timeout: None,
};

type PageResponse = Response<Full<Bytes>>;

/// The listeners of the host page and of the frames.
pub(super) struct ViewListeners {
    host: TcpListener,
    frames: TcpListener,
    pages: Arc<Pages>,
}

impl ViewListeners {
    /// Listens on two free ports of the local machine.
    pub(super) async fn bind(view: &Arc<LoadedView>) -> io::Result<Self> {
        let host = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let frames = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let pages = Pages {
            view: Arc::clone(view),
            host: PageOrigin::new(&host)?,
            frames: PageOrigin::new(&frames)?,
        };
        Ok(Self {
            host,
            frames,
            pages: Arc::new(pages),
        })
    }

    /// Returns the address of the host page.
    pub(super) fn url(&self) -> String {
        self.pages.host.url("")
    }

    /// Serves both origins until the future is dropped.
    pub(super) async fn run(&self) {
        let (host, frames) = (Arc::clone(&self.pages), Arc::clone(&self.pages));
        tokio::join!(
            serve(&self.host, LIMITS, move |request, _| {
                let pages = Arc::clone(&host);
                async move { pages.host_response(request).await }
            }),
            serve(&self.frames, LIMITS, move |request, _| {
                let pages = Arc::clone(&frames);
                async move { pages.frame_response(&request) }
            }),
        );
    }
}

/// An origin on the local machine, with the random path of its pages.
struct PageOrigin {
    authority: String,
    path: String,
}

impl PageOrigin {
    fn new(listener: &TcpListener) -> io::Result<Self> {
        let mut token = [0; 16];
        getrandom::fill(&mut token).map_err(io::Error::other)?;
        Ok(Self {
            authority: listener.local_addr()?.to_string(),
            path: format!("/{}/", URL_SAFE_NO_PAD.encode(token)),
        })
    }

    fn origin(&self) -> String {
        format!("http://{}", self.authority)
    }

    fn url(&self, page: &str) -> String {
        format!("http://{}{}{page}", self.authority, self.path)
    }

    /// Returns the name of the requested page. Returns `None` if the request is not for this origin, or does not know
    /// the path.
    fn page_of<'r, B>(&self, request: &'r Request<B>) -> Option<&'r str> {
        let host = request.headers().get(HOST)?;
        if host.as_bytes() != self.authority.as_bytes() {
            return None;
        }
        request.uri().path().strip_prefix(self.path.as_str())
    }
}

/// The pages of both origins.
struct Pages {
    view: Arc<LoadedView>,
    host: PageOrigin,
    frames: PageOrigin,
}

impl Pages {
    async fn host_response(&self, request: Request<Incoming>) -> PageResponse {
        let Some(page) = self.host.page_of(&request) else {
            return status(StatusCode::NOT_FOUND);
        };
        let page = page.to_owned();
        match (request.method(), page.as_str()) {
            (&Method::GET, "") => {
                let html = include_str!("pages/host.html")
                    .replace("{allow}", &self.view.document.frame_permissions())
                    .replace("{frame}", &self.frames.url("proxy"));
                text("text/html", html, &self.host_policy())
            }
            (&Method::GET, "host.js") => script(include_str!("pages/host.js")),
            (&Method::GET, "host.css") => style(include_str!("pages/host.css")),
            (&Method::GET, "next") => match self.view.next_items(load_of(&request)).await {
                Some(items) => json_response(&Value::Array(items)),
                None => status(StatusCode::GONE),
            },
            (&Method::POST, "load" | "message" | "blocked") => self.posted(&page, request).await,
            _ => status(StatusCode::NOT_FOUND),
        }
    }

    /// Processes what the host page sends. Other pages cannot send it, because they have another origin.
    async fn posted(&self, page: &str, request: Request<Incoming>) -> PageResponse {
        let has = |name, value: &str| {
            let given = request.headers().get(name);
            given.is_some_and(|given| given.as_bytes() == value.as_bytes())
        };
        if !has(ORIGIN, &self.host.origin()) || !has(CONTENT_TYPE, "application/json") {
            return status(StatusCode::FORBIDDEN);
        }
        let load = load_of(&request);
        let body = Limited::new(request.into_body(), MAX_BODY).collect().await;
        let Ok(body) = body else {
            return status(StatusCode::PAYLOAD_TOO_LARGE);
        };
        let body = body.to_bytes();
        let Ok(message) = std::str::from_utf8(&body) else {
            return status(StatusCode::BAD_REQUEST);
        };
        match page {
            "load" => {
                let environment = serde_json::from_str(message).unwrap_or_default();
                let border = self.view.document.ui().prefers_border == Some(true);
                let load = self.view.load(&environment);
                json_response(&json!({"load": load, "border": border}))
            }
            "blocked" => {
                self.view.blocked(load, message);
                status(StatusCode::NO_CONTENT)
            }
            _ if self.view.receive(load, message) => status(StatusCode::NO_CONTENT),
            _ => status(StatusCode::GONE),
        }
    }

    fn frame_response<B>(&self, request: &Request<B>) -> PageResponse {
        match self.frames.page_of(request) {
            _ if request.method() != Method::GET => status(StatusCode::NOT_FOUND),
            Some("proxy") => {
                let html = include_str!("pages/proxy.html")
                    .replace("{allow}", &self.view.document.frame_permissions())
                    .replace("{view}", &self.frames.url("view"))
                    .replace("{host}", &self.host.origin());
                text("text/html", html, &self.proxy_policy())
            }
            Some("proxy.js") => script(include_str!("pages/proxy.js")),
            Some("proxy.css") => style(include_str!("pages/proxy.css")),
            Some("view") => {
                let html = self.view.document.html().to_owned();
                text("text/html", html, &self.view_policy())
            }
            _ => status(StatusCode::NOT_FOUND),
        }
    }

    fn host_policy(&self) -> String {
        format!(
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; frame-src {}; \
             frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
            self.frames.url("proxy")
        )
    }

    /// Returns the policy of the proxy frame. It also stops the view from loading another page into its frame.
    fn proxy_policy(&self) -> String {
        format!(
            "default-src 'none'; script-src 'self'; style-src 'self'; frame-src {}; frame-ancestors {}; \
             base-uri 'none'; form-action 'none'",
            self.frames.url("view"),
            self.host.origin()
        )
    }

    /// Returns the policy of the view. The sandbox gives it an opaque origin, also if it is opened without its frame.
    fn view_policy(&self) -> String {
        format!(
            "{}; frame-ancestors {} {}; sandbox allow-scripts",
            self.view.document.content_security_policy(),
            self.frames.origin(),
            self.host.origin()
        )
    }
}

/// Returns the number of the load in the query of a request.
fn load_of<B>(request: &Request<B>) -> u64 {
    let query = request.uri().query().unwrap_or_default();
    let load = query.strip_prefix("load=").unwrap_or_default();
    load.parse().unwrap_or_default()
}

fn script(source: &'static str) -> PageResponse {
    text("text/javascript", source.to_owned(), "default-src 'none'")
}

fn style(source: &'static str) -> PageResponse {
    text("text/css", source.to_owned(), "default-src 'none'")
}

fn json_response(value: &Value) -> PageResponse {
    text("application/json", value.to_string(), "default-src 'none'")
}

fn status(status: StatusCode) -> PageResponse {
    let mut response = text("text/plain", String::new(), "default-src 'none'");
    *response.status_mut() = status;
    response
}

fn text(mime_type: &str, text: String, policy: &str) -> PageResponse {
    let mut response = Response::new(Full::new(Bytes::from(text)));
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_TYPE, format!("{mime_type}; charset=utf-8")),
        (CONTENT_SECURITY_POLICY, policy.to_owned()),
        (CACHE_CONTROL, "no-store".to_owned()),
        (REFERRER_POLICY, "no-referrer".to_owned()),
        (X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
    ] {
        // Policies contain only checked origins and text of this file.
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(name, value);
        }
    }
    response
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderName;

    use super::*;

    fn origin() -> PageOrigin {
        PageOrigin {
            authority: "127.0.0.1:8000".to_owned(),
            path: "/token/".to_owned(),
        }
    }

    #[test]
    fn only_requests_with_the_host_and_the_token_reach_a_page() {
        let check = |host: Option<&str>, path: &str, expected: Option<&str>| {
            let mut request = Request::builder().uri(path);
            if let Some(host) = host {
                request = request.header(HOST, host);
            }
            let request = request.body(()).expect("a valid request");
            assert_eq!(origin().page_of(&request), expected, "{host:?} {path}");
        };
        let host = Some("127.0.0.1:8000");
        check(host, "/token/", Some(""));
        check(host, "/token/next?load=1", Some("next"));
        check(host, "/", None);
        check(host, "/token", None);
        check(host, "/other/", None);
        check(Some("attacker.example:8000"), "/token/", None);
        check(Some("localhost:8000"), "/token/", None);
        check(Some("127.0.0.1"), "/token/", None);
        check(None, "/token/", None);
    }

    #[test]
    fn every_response_has_a_policy() {
        for response in [
            status(StatusCode::NOT_FOUND),
            script(""),
            json_response(&Value::Null),
        ] {
            let header = |name: HeaderName| response.headers().get(name).cloned();
            assert!(header(CONTENT_SECURITY_POLICY).is_some());
            assert_eq!(
                header(CACHE_CONTROL),
                Some(HeaderValue::from_static("no-store"))
            );
            assert_eq!(
                header(X_CONTENT_TYPE_OPTIONS),
                Some(HeaderValue::from_static("nosniff"))
            );
        }
    }

    #[test]
    fn load_is_read_from_the_query() {
        let check = |uri: &str, expected: u64| {
            let request = Request::builder()
                .uri(uri)
                .body(())
                .expect("a valid request");
            assert_eq!(load_of(&request), expected, "{uri}");
        };
        check("/t/next?load=7", 7);
        check("/t/next?load=-1", 0);
        check("/t/next", 0);
    }
}
