//! The listeners: HTTP/1.1, HTTP/2 with prior knowledge, and HTTP/1.1 over TLS. A listener has one of them, so it does
//! not detect any.

use std::convert::Infallible;
use std::io::{self, Write as _};
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;

use super::http::{AnyBody, Limit};
use crate::certificate;

/// Serves HTTP/1.1 on this port, and prints the URL.
///
/// # Errors
/// Returns an error if the port is not available.
pub async fn serve_http(port: u16, tools: usize) -> io::Result<()> {
    let limit = Arc::new(Limit::new(tools));
    let listener = listen("http", port).await?;
    loop {
        let (socket, _) = listener.accept().await?;
        socket.set_nodelay(true)?;
        let connection =
            http1::Builder::new().serve_connection(TokioIo::new(socket), service(&limit));
        tokio::spawn(connection);
    }
}

/// Serves HTTP/2 on this port, and prints the URL.
///
/// # Errors
/// Returns an error if the port is not available.
pub async fn serve_http2(port: u16, tools: usize) -> io::Result<()> {
    let limit = Arc::new(Limit::new(tools));
    let listener = listen("http", port).await?;
    loop {
        let (socket, _) = listener.accept().await?;
        socket.set_nodelay(true)?;
        let connection = http2::Builder::new(TokioExecutor::new())
            .serve_connection(TokioIo::new(socket), service(&limit));
        tokio::spawn(connection);
    }
}

/// Serves HTTP/1.1 over TLS on this port with the certificate and key of these PEM files, and prints the URL.
///
/// # Errors
/// Returns an error if the port is not available, or the files cannot be used.
pub async fn serve_https(
    port: u16,
    tools: usize,
    certificate: &Path,
    key: &Path,
) -> io::Result<()> {
    let limit = Arc::new(Limit::new(tools));
    let acceptor = certificate::acceptor(certificate, key)?;
    let listener = listen("https", port).await?;
    loop {
        let (socket, _) = listener.accept().await?;
        socket.set_nodelay(true)?;
        let service = service(&limit);
        let handshake = acceptor.accept(socket);
        tokio::spawn(async move {
            if let Ok(stream) = handshake.await {
                let connection =
                    http1::Builder::new().serve_connection(TokioIo::new(stream), service);
                // The load closes connections without a `close_notify` alert.
                let _ = connection.await;
            }
        });
    }
}

async fn listen(scheme: &str, port: u16) -> io::Result<TcpListener> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    let address = listener.local_addr()?;
    writeln!(io::stdout(), "{scheme}://{address}/mcp")?;
    Ok(listener)
}

fn service(
    limit: &Arc<Limit>,
) -> impl Service<
    Request<Incoming>,
    Response = Response<AnyBody>,
    Error = Infallible,
    Future: Send + 'static,
> + Send
+ use<> {
    let limit = Arc::clone(limit);
    service_fn(move |request| {
        let limit = Arc::clone(&limit);
        async move { Ok::<_, Infallible>(limit.respond(request).await) }
    })
}
