//! Browsers of the users.

use std::sync::Mutex;

use http::{Method, StatusCode};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::super::*;
use super::PUBLIC;

/// A browser with the cookie of the gateway.
#[derive(Debug, Clone)]
pub(super) struct Browser {
    /// The address that the public one stands for.
    pub(super) gateway: String,
    pub(super) cookie: Arc<Mutex<Option<String>>>,
}

pub(super) struct PageResponse {
    pub(super) status: StatusCode,
    pub(super) location: String,
    pub(super) text: String,
}

impl Browser {
    pub(super) async fn send(&self, method: Method, url: &str, body: String) -> PageResponse {
        let (target, is_gateway) = match url.strip_prefix(PUBLIC) {
            Some(path) => (format!("{}{path}", self.gateway), true),
            None => (url.to_owned(), false),
        };
        let target: http::Uri = target.parse().expect("it is a URL");
        let address = target.authority().expect("it has a host").as_str();
        let path = target.path_and_query().expect("it has a path");
        let host = if is_gateway {
            "tools.example.com"
        } else {
            address
        };
        let mut request =
            format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n");
        if let Some(cookie) = self.cookie.lock().unwrap().as_ref().filter(|_| is_gateway) {
            request += &format!("Cookie: {cookie}\r\n");
        }
        if method == Method::POST {
            let length = body.len();
            request += &format!("Origin: {PUBLIC}\r\nContent-Length: {length}\r\n");
            request += "Content-Type: application/x-www-form-urlencoded\r\n";
        }
        request += &format!("\r\n{body}");
        let response = within(async {
            let mut socket = TcpStream::connect(address).await?;
            socket.write_all(request.as_bytes()).await?;
            let mut response = String::new();
            socket.read_to_string(&mut response).await?;
            Ok::<_, std::io::Error>(response)
        });
        let response = response.await.expect("it is served");
        let (head, text) = response.split_once("\r\n\r\n").expect("it has a head");
        let field = |name: &str| {
            let mut fields = head.lines().filter_map(|line| line.split_once(": "));
            let found = fields.find(|(own, _)| own.eq_ignore_ascii_case(name));
            found.map(|(_, value)| value)
        };
        if let Some(cookie) = field("set-cookie").filter(|_| is_gateway) {
            for attribute in ["__Host-", "HttpOnly", "Secure", "SameSite=Lax"] {
                assert!(cookie.contains(attribute), "{cookie}");
            }
            let pair = cookie.split(';').next().map(str::to_owned);
            *self.cookie.lock().unwrap() = pair;
        }
        let status = head.split(' ').nth(1).expect("it has a status");
        PageResponse {
            status: status.parse().expect("a status"),
            location: field("location").unwrap_or_default().to_owned(),
            text: text.to_owned(),
        }
    }

    pub(super) async fn get(&self, url: &str) -> PageResponse {
        self.send(Method::GET, url, String::new()).await
    }

    /// Sends the form of a page.
    pub(super) async fn submit(&self, page: &PageResponse) -> PageResponse {
        let part = |start: &str| {
            let (_, rest) = page.text.split_once(start).expect("the page has a form");
            rest.split('"').next().expect("it is quoted").to_owned()
        };
        let url = format!("{PUBLIC}{}", part("action=\""));
        let form = format!("form={}", part("name=\"form\" value=\""));
        self.send(Method::POST, &url, form).await
    }

    /// Opens a link and agrees. Returns the URL of the authorization server.
    pub(super) async fn agree(&self, link: &str) -> String {
        let page = self.get(link).await;
        assert_eq!(page.status, StatusCode::OK, "{}", page.text);
        let redirect = self.submit(&page).await;
        assert_eq!(redirect.status, StatusCode::SEE_OTHER, "{}", redirect.text);
        redirect.location
    }

    /// Logs in with a link. Returns the last page.
    pub(super) async fn log_in(&self, link: &str) -> PageResponse {
        let authorization = self.agree(link).await;
        let redirect = self.get(&authorization).await;
        self.get(&redirect.location).await
    }
}
