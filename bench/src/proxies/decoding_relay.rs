//! A relay as one would first write it: hyper in front, reqwest behind, and every message decoded into a value.
//!
//! It forwards requests whose response is JSON. It has no streams, no sessions and no cancellation.

use std::convert::Infallible;
use std::io;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use reqwest::redirect::Policy;
use serde_json::Value;
use tokio::net::TcpListener;

/// Serves on this address, and forwards to the server at this URL.
///
/// # Errors
/// Returns an error if the address is not available.
pub async fn serve(address: &str, server_url: &str) -> io::Result<()> {
    let client = reqwest::Client::builder()
        .no_proxy()
        .redirect(Policy::none())
        .build()
        .map_err(io::Error::other)?;
    let server_url: &'static str = server_url.to_owned().leak();
    let listener = TcpListener::bind(address).await?;
    loop {
        let (socket, _) = listener.accept().await?;
        socket.set_nodelay(true)?;
        let client = client.clone();
        let service = service_fn(move |request| {
            let client = client.clone();
            async move {
                let forwarded = forward(&client, server_url, request).await;
                Ok::<_, Infallible>(forwarded.unwrap_or_else(|error| {
                    let mut failed = Response::new(Full::from(error.to_string()));
                    *failed.status_mut() = StatusCode::BAD_GATEWAY;
                    failed
                }))
            }
        });
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(socket), service));
    }
}

async fn forward(
    client: &reqwest::Client,
    server_url: &str,
    request: Request<Incoming>,
) -> io::Result<Response<Full<Bytes>>> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
    let message: Value = serde_json::from_slice(&body)?;
    let mut forwarded = client
        .post(server_url)
        .header(CONTENT_TYPE, "application/json")
        .body(serde_json::to_vec(&message)?);
    for (name, value) in &head.headers {
        if *name == ACCEPT || name.as_str().starts_with("mcp-") {
            forwarded = forwarded.header(name, value);
        }
    }
    let response = forwarded.send().await.map_err(io::Error::other)?;
    let status = response.status();
    let body = response.bytes().await.map_err(io::Error::other)?;
    let message: Value = serde_json::from_slice(&body)?;
    Response::builder()
        .status(status)
        .header(CONTENT_TYPE, "application/json")
        .body(Full::from(serde_json::to_vec(&message)?))
        .map_err(io::Error::other)
}
