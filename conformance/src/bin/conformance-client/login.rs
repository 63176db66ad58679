//! A simulated user: opens the page of the authorization server, which redirects without a login form.

use std::io;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use toolwire::BoxFuture;
use toolwire_auth::client::{AuthError, CheckCallback, Login, PendingLogin};

/// The redirect URI of the suite's servers. No process listens there, because the query is read from the redirect.
const REDIRECT_URI: &str = "http://localhost:3000/callback";

/// A user who consents to everything.
#[derive(Debug)]
pub(crate) struct ConsentingUser;

impl Login for ConsentingUser {
    fn begin<'a>(
        &'a self,
        _: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Box<dyn PendingLogin>, AuthError>> {
        Box::pin(async { Ok(Box::new(Self) as Box<dyn PendingLogin>) })
    }
}

impl PendingLogin for ConsentingUser {
    fn redirect_uri(&self) -> &str {
        REDIRECT_URI
    }

    fn finish<'a>(
        self: Box<Self>,
        url: &'a str,
        _: CheckCallback<'a>,
    ) -> BoxFuture<'a, Result<String, AuthError>> {
        Box::pin(async move {
            let location = location_of(url)
                .await
                .map_err(|error| AuthError::new("the page does not open").with_source(error))?;
            match location.split_once('?') {
                Some((REDIRECT_URI, query)) => Ok(query.to_owned()),
                _ => Err(AuthError::new("the page does not redirect")),
            }
        })
    }
}

/// Requests a page like a browser and returns the redirect location.
async fn location_of(url: &str) -> io::Result<String> {
    let parts = url
        .strip_prefix("http://")
        .and_then(|rest| rest.split_once('/'));
    let (authority, path) =
        parts.ok_or_else(|| io::Error::other("the URL is not a page of the suite"))?;
    let mut stream = TcpStream::connect(authority).await?;
    let request = format!("GET /{path} HTTP/1.1\r\nhost: {authority}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut lines = BufReader::new(stream).lines();
    while let Some(line) = lines.next_line().await? {
        match line.split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case("location") => {
                return Ok(value.to_owned());
            }
            _ if line.is_empty() => break,
            _ => {}
        }
    }
    Err(io::Error::other("the page does not redirect"))
}
