//! A browser that stores cookies and sends them back. It does not follow redirects.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use toolwire_auth::testing::form;
use toolwire_tests::http::request::Request;
use toolwire_tests::http::socket::{Connection, Response};

use super::fixture::{HOST, ORIGIN};

/// The browser of one user.
#[derive(Debug, Clone)]
pub(crate) struct Browser {
    address: SocketAddr,
    pub(crate) cookies: BTreeMap<String, String>,
    /// The `X-Forwarded-For` header that a reverse proxy sets for this browser.
    pub(crate) forwarded_for: Option<String>,
}

impl Browser {
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self {
            address,
            cookies: BTreeMap::new(),
            forwarded_for: None,
        }
    }

    /// Opens a page.
    pub(crate) async fn open(&mut self, target: &str) -> Response {
        self.send(Request::new("GET").with_target(target)).await
    }

    /// Submits the form of a page of this server.
    pub(crate) async fn submit(&mut self, target: &str, pairs: &[(&str, &str)]) -> Response {
        let form = Request::new("POST")
            .with_target(target)
            .with("Origin", ORIGIN)
            .with("Sec-Fetch-Site", "same-origin")
            .with("Content-Type", "application/x-www-form-urlencoded")
            .with_body(form::encode(pairs.iter().copied()));
        self.send(form).await
    }

    /// Sends a request with the cookies, and stores the cookies of the response.
    pub(crate) async fn send(&mut self, request: Request) -> Response {
        let mut request = request.replacing("Host", HOST);
        if !self.cookies.is_empty() {
            let pairs = self.cookies.iter();
            let pairs: Vec<String> = pairs
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            request = request.with("Cookie", pairs.join("; "));
        }
        if let Some(address) = &self.forwarded_for {
            request = request.with("X-Forwarded-For", address);
        }
        let mut connection = Connection::connect(self.address).await;
        connection.send(request.bytes()).await;
        let response = connection.response().await;
        for cookie in response.headers.all("set-cookie") {
            let (name, value) = cookie.split(';').next().unwrap().split_once('=').unwrap();
            if cookie.ends_with("Max-Age=0") {
                self.cookies.remove(name);
            } else {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        response
    }
}

/// Returns the sealed request in the form of the consent page.
#[track_caller]
pub(crate) fn sealed_request(page: &Response) -> String {
    assert_eq!(page.status(), 200, "{}", page.text());
    let (_, rest) = page.text().split_once("name=\"request\" value=\"").unwrap();
    rest.split('"').next().unwrap().to_owned()
}

/// Returns the `Location` of a redirect.
#[track_caller]
pub(crate) fn location(response: &Response) -> String {
    assert_eq!(response.status(), 303, "{}", response.text());
    response.header("location").unwrap().to_owned()
}
