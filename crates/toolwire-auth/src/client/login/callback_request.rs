//! One HTTP request to the login callback. Browsers also request icons, and any local program can connect.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// The timeout for reading a request and for writing the response.
pub(super) const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// The maximum size of request headers, in bytes.
pub(super) const LONGEST_HEAD: usize = 32 * 1024;

/// A request to the login callback that waits for its response.
#[derive(Debug)]
pub(super) struct CallbackRequest {
    stream: TcpStream,
    pub(super) query: String,
}

impl CallbackRequest {
    /// Reads the request. Responds with 404 and returns `None` if it is not the redirect.
    ///
    /// `host` is the host of the redirect URI. Another host indicates DNS rebinding.
    pub(super) async fn receive(mut stream: TcpStream, host: &str, path: &str) -> Option<Self> {
        let head = tokio::time::timeout(REQUEST_TIMEOUT, read_head(&mut stream)).await;
        let head = head.ok()??;
        match query_of(&head, host, path) {
            Some(query) => {
                let query = query.to_owned();
                Some(Self { stream, query })
            }
            None => {
                respond(stream, "404 Not Found", "There is nothing here.").await;
                None
            }
        }
    }

    /// Responds to the expected redirect with a code.
    pub(super) async fn respond_ok(self) {
        let text = "You are logged in. You can close this page and go back.";
        respond(self.stream, "200 OK", text).await;
    }

    /// Responds to the expected redirect with an error. The program reports the details.
    pub(super) async fn respond_failed(self) {
        let text = "The login did not succeed. You can close this page and go back to see why.";
        respond(self.stream, "200 OK", text).await;
    }

    /// Responds to a redirect that belongs to another login.
    pub(super) async fn respond_not_found(self) {
        let text = "This redirect does not belong to the current login. Please start again.";
        respond(self.stream, "400 Bad Request", text).await;
    }
}

async fn read_head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    let mut buffer = [0; 1024];
    while !head.windows(4).any(|window| window == b"\r\n\r\n") {
        let count = stream.read(&mut buffer).await.ok()?;
        if count == 0 || head.len() + count > LONGEST_HEAD {
            return None;
        }
        head.extend_from_slice(buffer.get(..count)?);
    }
    String::from_utf8(head).ok()
}

/// Returns the query of the redirect, or `None` if the request is not the redirect.
fn query_of<'a>(head: &'a str, host: &str, path: &str) -> Option<&'a str> {
    let mut lines = head.split("\r\n");
    let mut words = lines.next()?.split(' ');
    let (method, target) = (words.next()?, words.next()?);
    let (target_path, query) = target.split_once('?')?;
    let mut hosts = lines
        .filter_map(|line| line.split_once(':'))
        .filter(|(name, _)| name.eq_ignore_ascii_case("host"))
        .map(|(_, value)| value.trim());
    let is_expected_host = hosts.next() == Some(host) && hosts.next().is_none();
    (method == "GET" && target_path == path && is_expected_host).then_some(query)
}

/// Responds with a page that contains nothing from the request.
async fn respond(mut stream: TcpStream, status: &str, text: &str) {
    let page = format!("<!doctype html><meta charset=utf-8><title>Login</title><p>{text}\n");
    let length = page.len();
    let response = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {length}\r\n\
         content-security-policy: default-src 'none'; frame-ancestors 'none'\r\nx-content-type-options: nosniff\r\n\
         cache-control: no-store\r\nreferrer-policy: no-referrer\r\nconnection: close\r\n\r\n{page}"
    );
    // A browser that disconnected or does not read needs no response.
    let _ = tokio::time::timeout(REQUEST_TIMEOUT, async {
        stream.write_all(response.as_bytes()).await?;
        stream.shutdown().await
    })
    .await;
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn silent_connection_times_out() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let _silent = TcpStream::connect(address).await.unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        let start = tokio::time::Instant::now();
        let request = CallbackRequest::receive(stream, "127.0.0.1:7", "/callback").await;
        assert!(request.is_none());
        assert_eq!(start.elapsed().as_secs(), 5);
    }

    #[test]
    fn only_the_redirect_is_accepted() {
        fn check(head: &str, expected: Option<&str>) {
            let head = head.replace('\n', "\r\n");
            assert_eq!(
                query_of(&head, "127.0.0.1:7", "/callback"),
                expected,
                "{head}"
            );
        }
        let host = "Host: 127.0.0.1:7\n\n";
        check(
            &format!("GET /callback?code=1 HTTP/1.1\n{host}"),
            Some("code=1"),
        );
        check(
            &format!("GET /callback?a?b HTTP/1.1\nAccept: */*\n{host}"),
            Some("a?b"),
        );
        check(
            "GET /callback?code=1 HTTP/1.1\nhOST:127.0.0.1:7\n\n",
            Some("code=1"),
        );
        for line in [
            "GET /favicon.ico",
            "GET /callback",
            "GET /callback/?code=1",
            "GET //callback?code=1",
            "POST /callback?code=1",
            "get /callback?code=1",
            "GET http://127.0.0.1:7/callback?code=1",
            "",
        ] {
            check(&format!("{line} HTTP/1.1\n{host}"), None);
        }
        for hosts in [
            "",
            "Host: evil.example:7\n",
            "Host: localhost:7\n",
            "Host: 127.0.0.1\n",
            "Host: 127.0.0.1:7\nHost: evil.example\n",
        ] {
            check(&format!("GET /callback?code=1 HTTP/1.1\n{hosts}\n"), None);
        }
    }
}
