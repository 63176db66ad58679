//! Sends one HTTP request to a server on this machine, on its own connection.

use std::{fmt, io};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::Problem;

/// The largest response that is read, in bytes.
const MAX_RESPONSE: u64 = 256 * 1024;

/// A request body with its content type.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Post<'a> {
    pub(crate) content_type: &'a str,
    pub(crate) body: &'a str,
}

/// An HTTP response with any status.
#[derive(Debug)]
pub(crate) struct Response(String);

/// Sends a GET request, or a POST request if there is a body.
pub(crate) async fn send(
    url: &str,
    cookies: &str,
    post: Option<Post<'_>>,
) -> Result<Response, Problem> {
    let failed = |why: &dyn fmt::Display| Problem::new(format!("{url} does not respond: {why}"));
    let (authority, target) =
        split_url(url).ok_or_else(|| failed(&"it is not a plain HTTP URL"))?;
    let method = if post.is_some() { "POST" } else { "GET" };
    let Post { content_type, body } = post.unwrap_or(Post {
        content_type: "text/plain",
        body: "",
    });
    let request = format!(
        "{method} {target} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\nCookie: {cookies}\r\n\
         Content-Type: {content_type}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len(),
    );
    let exchange = async {
        let mut socket = TcpStream::connect(authority).await?;
        socket.write_all(request.as_bytes()).await?;
        let mut response = String::new();
        let mut limited = socket.take(MAX_RESPONSE);
        limited.read_to_string(&mut response).await?;
        Ok::<_, io::Error>(response)
    };
    let response = exchange.await.map_err(|error| failed(&error))?;
    Ok(Response(response))
}

impl Response {
    fn parts(&self) -> (&str, &str) {
        self.0.split_once("\r\n\r\n").unwrap_or((&self.0, ""))
    }

    pub(crate) fn is_ok(&self) -> bool {
        self.0.starts_with("HTTP/1.1 200")
    }

    pub(crate) fn body(&self) -> &str {
        self.parts().1
    }

    /// Returns all values of a header.
    pub(crate) fn headers<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let lines = self.parts().0.lines();
        let headers = lines.filter_map(|line| line.split_once(": "));
        let found = headers.filter(move |(own, _)| own.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value)
    }
}

impl fmt::Display for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Resolves a location relative to the URL of its page.
pub(crate) fn resolved(url: &str, next: &str) -> String {
    match split_url(url) {
        Some((authority, _)) if next.starts_with('/') => format!("http://{authority}{next}"),
        _ => next.to_owned(),
    }
}

/// Splits a plain HTTP URL into authority and target.
fn split_url(url: &str) -> Option<(&str, &str)> {
    let rest = url.strip_prefix("http://")?;
    let path = rest.find('/')?;
    Some(rest.split_at(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_resolved_against_their_page() {
        let check = |next: &str, expected: &str| {
            assert_eq!(resolved("http://127.0.0.1:1/a/b?c=/d", next), expected);
        };
        check("/consent", "http://127.0.0.1:1/consent");
        check("https://a/b", "https://a/b");
    }

    #[test]
    fn response_has_status_headers_and_body() {
        let response =
            Response("HTTP/1.1 200 OK\r\nSet-Cookie: a\r\nset-cookie: b\r\n\r\nbody".to_owned());
        assert!(response.is_ok());
        assert_eq!(response.body(), "body");
        assert!(response.headers("set-cookie").eq(["a", "b"]));
    }
}
