//! An identity provider with one user, who is always logged in.

use std::io;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use toolwire_auth::Upstream;
use toolwire_auth::testing::form;

/// The longest request that is read, in bytes.
const LONGEST_REQUEST: usize = 64 * 1024;

/// Starts the provider on a free port and returns the client that is registered there.
pub(crate) async fn start() -> io::Result<Upstream> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let issuer = format!("http://{}", listener.local_addr()?);
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            // A connection that is closed early is not an error.
            let _ = serve(socket).await;
        }
    });
    Ok(Upstream::new(&issuer, "conformance", "secret")
        .with_endpoints(format!("{issuer}/authorize"), format!("{issuer}/token"))
        .with_user_info(format!("{issuer}/user"), "sub"))
}

async fn serve(mut socket: TcpStream) -> io::Result<()> {
    let mut request = Vec::new();
    while !is_complete(&request) && request.len() < LONGEST_REQUEST {
        if socket.read_buf(&mut request).await? == 0 {
            return Ok(());
        }
    }
    let request = String::from_utf8_lossy(&request);
    let target = request.split(' ').nth(1).unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let (head, body) = match path {
        "/authorize" => (redirect(query), ""),
        "/token" => (
            "200 OK".to_owned(),
            r#"{"access_token":"upstream","token_type":"bearer"}"#,
        ),
        "/user" => ("200 OK".to_owned(), r#"{"sub":"ann"}"#),
        _ => ("404 Not Found".to_owned(), ""),
    };
    let length = body.len();
    let response =
        format!("HTTP/1.1 {head}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}");
    socket.write_all(response.as_bytes()).await
}

/// Returns the status and location that redirect the user back at once.
fn redirect(query: &str) -> String {
    let pairs = form::decode(query).unwrap_or_default();
    let find = |name: &str| {
        let found = pairs.iter().find(|(own, _)| own == name);
        found.map_or("", |(_, value)| value.as_str())
    };
    let parameters = form::encode([("code", "upstream-code"), ("state", find("state"))]);
    format!(
        "302 Found\r\nLocation: {}?{parameters}",
        find("redirect_uri")
    )
}

fn is_complete(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let lengths = head.lines().filter_map(|line| line.split_once(':'));
    let length = lengths
        .filter(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .find_map(|(_, value)| value.trim().parse().ok());
    body.len() >= length.unwrap_or(0)
}
