//! A browser: it keeps cookies and sends them back, and does nothing by itself.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use toolwire_auth::testing::form;

use super::stage::{HOST, ORIGIN};
use crate::http::request::Request;
use crate::http::socket::{Answer, Wire};

/// A browser of one user.
#[derive(Debug, Clone)]
pub(crate) struct Browser {
    address: SocketAddr,
    pub(crate) cookies: BTreeMap<String, String>,
    /// What a reverse proxy in front of the server says about the address of this browser.
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
    pub(crate) async fn open(&mut self, target: &str) -> Answer {
        self.send(Request::new("GET").with_target(target)).await
    }

    /// Sends the form of a page of this server.
    pub(crate) async fn submit(&mut self, target: &str, pairs: &[(&str, &str)]) -> Answer {
        let form = Request::new("POST")
            .with_target(target)
            .with("Origin", ORIGIN)
            .with("Sec-Fetch-Site", "same-origin")
            .with("Content-Type", "application/x-www-form-urlencoded")
            .with_body(form::encode(pairs.iter().copied()));
        self.send(form).await
    }

    /// Sends a request with the cookies, and keeps those of the answer.
    pub(crate) async fn send(&mut self, request: Request) -> Answer {
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
        let mut wire = Wire::connect(self.address).await;
        wire.send(request.bytes()).await;
        let answer = wire.answer().await;
        for cookie in answer.head.all("set-cookie") {
            let (name, value) = cookie.split(';').next().unwrap().split_once('=').unwrap();
            if cookie.ends_with("Max-Age=0") {
                self.cookies.remove(name);
            } else {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        answer
    }
}

/// The sealed request in the form of the question.
#[track_caller]
pub(crate) fn sealed_request(page: &Answer) -> String {
    assert_eq!(page.status(), 200, "{}", page.text());
    let (_, rest) = page.text().split_once("name=\"request\" value=\"").unwrap();
    rest.split('"').next().unwrap().to_owned()
}

/// Where an answer sends the browser.
#[track_caller]
pub(crate) fn location(answer: &Answer) -> String {
    assert_eq!(answer.status(), 303, "{}", answer.text());
    answer.header("location").unwrap().to_owned()
}
