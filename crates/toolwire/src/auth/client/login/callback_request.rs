//! One request to the place where users come back. Browsers also ask for icons, and anybody on this machine may knock.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// How long a visitor may take to send a request, and to take the answer.
pub(super) const REQUEST_TIME: Duration = Duration::from_secs(5);

/// The longest head of a request that is read.
pub(super) const LONGEST_HEAD: usize = 32 * 1024;

/// Somebody who came to the right place, and waits for an answer.
#[derive(Debug)]
pub(super) struct CallbackRequest {
    stream: TcpStream,
    pub(super) query: String,
}

impl CallbackRequest {
    /// Reads the request; whoever wants anything but the redirect is told that there is nothing.
    ///
    /// `host` is what the redirect URI says: another one means that a name of somebody else leads to this machine.
    pub(super) async fn receive(mut stream: TcpStream, host: &str, path: &str) -> Option<Self> {
        let head = tokio::time::timeout(REQUEST_TIME, read_head(&mut stream)).await;
        let head = head.ok()??;
        match query_of(&head, host, path) {
            Some(query) => {
                let query = query.to_owned();
                Some(Self { stream, query })
            }
            None => {
                answer(stream, "404 Not Found", "There is nothing here.").await;
                None
            }
        }
    }

    /// The redirect that was waited for, with a code.
    pub(super) async fn respond_ok(self) {
        let text = "You are logged in. You can close this page and go back.";
        answer(self.stream, "200 OK", text).await;
    }

    /// The redirect that was waited for, with an error; the program knows more about it.
    pub(super) async fn respond_failed(self) {
        let text = "The login did not succeed. You can close this page and go back to see why.";
        answer(self.stream, "200 OK", text).await;
    }

    /// A redirect of somebody else.
    pub(super) async fn respond_not_found(self) {
        let text = "This is not the answer to the login that is waited for. Please begin anew.";
        answer(self.stream, "400 Bad Request", text).await;
    }
}

async fn read_head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    let mut piece = [0; 1024];
    while !head.windows(4).any(|window| window == b"\r\n\r\n") {
        let count = stream.read(&mut piece).await.ok()?;
        if count == 0 || head.len() + count > LONGEST_HEAD {
            return None;
        }
        head.extend_from_slice(piece.get(..count)?);
    }
    String::from_utf8(head).ok()
}

/// The query of the redirect, if this is one.
fn query_of<'a>(head: &'a str, host: &str, path: &str) -> Option<&'a str> {
    let mut lines = head.split("\r\n");
    let mut words = lines.next()?.split(' ');
    let (method, target) = (words.next()?, words.next()?);
    let (target_path, query) = target.split_once('?')?;
    let mut hosts = lines
        .filter_map(|line| line.split_once(':'))
        .filter(|(name, _)| name.eq_ignore_ascii_case("host"))
        .map(|(_, value)| value.trim());
    let is_for_us = hosts.next() == Some(host) && hosts.next().is_none();
    (method == "GET" && target_path == path && is_for_us).then_some(query)
}

/// Answers with a page that is the same for everybody: nothing of the request is in it.
async fn answer(mut stream: TcpStream, status: &str, text: &str) {
    let page = format!("<!doctype html><meta charset=utf-8><title>Login</title><p>{text}\n");
    let length = page.len();
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {length}\r\n\
         content-security-policy: default-src 'none'; frame-ancestors 'none'\r\nx-content-type-options: nosniff\r\n\
         cache-control: no-store\r\nreferrer-policy: no-referrer\r\nconnection: close\r\n\r\n{page}"
    );
    // A browser that has gone, or does not read, needs no answer.
    let _ = tokio::time::timeout(REQUEST_TIME, async {
        stream.write_all(answer.as_bytes()).await?;
        stream.shutdown().await
    })
    .await;
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_visitor_who_says_nothing_is_not_listened_to_for_long() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let _silent = TcpStream::connect(address).await.unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        let start = tokio::time::Instant::now();
        let visitor = CallbackRequest::receive(stream, "127.0.0.1:7", "/callback").await;
        assert!(visitor.is_none());
        assert_eq!(start.elapsed().as_secs(), 5);
    }

    #[test]
    fn only_the_redirect_is_let_in() {
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
