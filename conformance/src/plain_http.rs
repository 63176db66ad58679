//! One request over a socket of its own, to somebody on this machine.

use std::{fmt, io};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::Problem;

/// How much is read of an answer.
const LARGEST_ANSWER: u64 = 256 * 1024;

/// A body to post.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Post<'a> {
    pub(crate) content_type: &'a str,
    pub(crate) body: &'a str,
}

/// An answer, whatever it says.
#[derive(Debug)]
pub(crate) struct Answer(String);

/// Asks for a URL, or posts something to it.
pub(crate) async fn ask(
    url: &str,
    cookies: &str,
    post: Option<Post<'_>>,
) -> Result<Answer, Problem> {
    let failed = |why: &dyn fmt::Display| Problem::new(format!("{url} does not answer: {why}"));
    let (authority, target) = place_of(url).ok_or_else(|| failed(&"it is no plain URL"))?;
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
        let mut answer = String::new();
        let mut limited = socket.take(LARGEST_ANSWER);
        limited.read_to_string(&mut answer).await?;
        Ok::<_, io::Error>(answer)
    };
    let answer = exchange.await.map_err(|error| failed(&error))?;
    Ok(Answer(answer))
}

impl Answer {
    fn parts(&self) -> (&str, &str) {
        self.0.split_once("\r\n\r\n").unwrap_or((&self.0, ""))
    }

    pub(crate) fn is_ok(&self) -> bool {
        self.0.starts_with("HTTP/1.1 200")
    }

    pub(crate) fn body(&self) -> &str {
        self.parts().1
    }

    /// All headers of a name.
    pub(crate) fn headers<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let lines = self.parts().0.lines();
        let headers = lines.filter_map(|line| line.split_once(": "));
        let found = headers.filter(move |(own, _)| own.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value)
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A path belongs to the place it was found at.
pub(crate) fn resolved(url: &str, next: &str) -> String {
    match place_of(url) {
        Some((authority, _)) if next.starts_with('/') => format!("http://{authority}{next}"),
        _ => next.to_owned(),
    }
}

/// Host and port of a plain URL, and what is asked for there.
fn place_of(url: &str) -> Option<(&str, &str)> {
    let rest = url.strip_prefix("http://")?;
    let path = rest.find('/')?;
    Some(rest.split_at(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_belong_to_where_they_were_found() {
        let check = |next: &str, expected: &str| {
            assert_eq!(resolved("http://127.0.0.1:1/a/b?c=/d", next), expected);
        };
        check("/consent", "http://127.0.0.1:1/consent");
        check("https://a/b", "https://a/b");
    }

    #[test]
    fn answers_are_read_in_parts() {
        let answer =
            Answer("HTTP/1.1 200 OK\r\nSet-Cookie: a\r\nset-cookie: b\r\n\r\nbody".to_owned());
        assert!(answer.is_ok());
        assert_eq!(answer.body(), "body");
        assert!(answer.headers("set-cookie").eq(["a", "b"]));
    }
}
