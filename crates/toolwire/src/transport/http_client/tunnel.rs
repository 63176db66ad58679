//! The tunnel through a proxy that HTTPS needs: `CONNECT` of HTTP/1.1.
//!
//! `Tunnel` of hyper-util is not used: it hides the status of the response, and drops bytes that follow the response.

use std::future::poll_fn;
use std::pin::pin;

use bytes::Bytes;
use http::header::{HOST, PROXY_AUTHORIZATION};
use http::{Request, Response, StatusCode};
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::rt::{Read, Write};

use crate::client::http::{HttpError, HttpPhase};
use crate::transport::http_client::authority::HostPort;
use crate::transport::http_client::proxy::Proxy;

/// The maximum number of bytes of a proxy's response headers.
const MAX_HEADER_BYTES: usize = 16 * 1024;

/// Asks the proxy at the other end of a stream for a tunnel to a server.
///
/// # Errors
/// Returns an error if the response is not a success, or if bytes follow it: the client sends first through the tunnel.
pub(super) async fn open<T>(stream: T, proxy: &Proxy, server: &HostPort) -> Result<T, HttpError>
where
    T: Read + Write + Unpin,
{
    let proxy_error = |problem: &str| {
        let proxy = proxy.host();
        let what = format!("the proxy {proxy} {problem} when asked for a tunnel to {server}");
        HttpError::new(HttpPhase::Proxy, what)
    };
    let (response, stream, early) =
        exchange(stream, request(proxy, server)?)
            .await
            .map_err(|error| {
                let problem = if error.is_parse() {
                    proxy_error("did not send valid HTTP")
                        .with_advice("check the address of the proxy")
                } else {
                    proxy_error("closed the connection").with_advice("check the log of the proxy")
                };
                problem.with_source(error)
            })?;
    match response.status() {
        status if status.is_success() && early.is_empty() => Ok(stream),
        status if status.is_success() => {
            Err(proxy_error("sent more than a response")
                .with_advice("check the address of the proxy"))
        }
        StatusCode::PROXY_AUTHENTICATION_REQUIRED => Err(proxy_error("requires other credentials")
            .with_advice("put them into the URL of the proxy: http://user:password@host:port")),
        status => Err(
            proxy_error(&format!("responded with status {}", status.as_u16())).with_advice(
                "check that the proxy may reach this server, or exclude the server with NO_PROXY",
            ),
        ),
    }
}

fn request(proxy: &Proxy, server: &HostPort) -> Result<Request<Empty<Bytes>>, HttpError> {
    let server = server.to_string();
    let mut request = Request::connect(&server).header(HOST, &server);
    if let Some(credentials) = proxy.credentials() {
        request = request.header(PROXY_AUTHORIZATION, credentials);
    }
    request.body(Empty::new()).map_err(|error| {
        HttpError::new(HttpPhase::Prepare, format!("{server} is not a valid host"))
            .with_source(error)
    })
}

/// Sends the request. Returns the response, the stream, and the bytes that followed the response.
async fn exchange<T>(
    stream: T,
    request: Request<Empty<Bytes>>,
) -> Result<(Response<Incoming>, T, Bytes), hyper::Error>
where
    T: Read + Write + Unpin,
{
    let (mut sender, mut connection) = http1::Builder::new()
        .title_case_headers(true)
        .max_header_size(MAX_HEADER_BYTES)
        .handshake(stream)
        .await?;
    let mut response = pin!(sender.send_request(request));
    let mut is_open = true;
    // The connection delivers its own errors to the response, too.
    let response = poll_fn(|context| {
        if is_open {
            is_open = connection.poll_without_shutdown(context).is_pending();
        }
        response.as_mut().poll(context)
    })
    .await?;
    let parts = connection.into_parts();
    Ok((response, parts.io, parts.read_buf))
}
