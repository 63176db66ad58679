//! A small HTTP/1.1 server for the pages of this program, with limits.

use std::convert::Infallible;
use std::error::Error as StdError;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// The limits of a page server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageLimits {
    /// The maximum number of connections at a time. Others wait.
    pub(crate) connections: usize,
    /// How long a client may take to send the headers of a request.
    pub(crate) header_timeout: Duration,
    /// How long a connection with one request may take. `None` serves many requests on a connection, without a limit.
    pub(crate) request_timeout: Option<Duration>,
}

/// Accepts connections until the future is dropped, which also closes them. `respond` gets each request and the address of
/// its client.
pub(crate) async fn serve<F, Fut, B>(listener: &TcpListener, limits: PageLimits, respond: F)
where
    F: Fn(Request<Incoming>, SocketAddr) -> Fut + Clone + Send + 'static,
    Fut: Future<Output = Response<B>> + Send + 'static,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    let permits = Arc::new(Semaphore::new(limits.connections));
    let mut connections = JoinSet::new();
    loop {
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else {
            return;
        };
        let Ok((stream, peer)) = listener.accept().await else {
            // The process has too many open files. Another connection may end meanwhile.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        while connections.try_join_next().is_some() {}
        let respond = respond.clone();
        connections.spawn(async move {
            let service = service_fn(move |request| {
                let response = respond(request, peer);
                async move { Ok::<_, Infallible>(response.await) }
            });
            let mut server = http1::Builder::new();
            server
                .timer(TokioTimer::new())
                .header_read_timeout(limits.header_timeout)
                .keep_alive(limits.request_timeout.is_none());
            let serving = server.serve_connection(TokioIo::new(stream), service);
            // A client closes connections at any time.
            match limits.request_timeout {
                Some(timeout) => drop(tokio::time::timeout(timeout, serving).await),
                None => drop(serving.await),
            }
            drop(permit);
        });
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http_body_util::Full;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpStream;

    use super::*;

    const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n";

    /// Serves a page of this size in the background.
    async fn page(bytes: usize, limits: PageLimits) -> (std::net::SocketAddr, JoinSet<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let respond =
                move |_, _| async move { Response::new(Full::new(Bytes::from(vec![b'x'; bytes]))) };
            serve(&listener, limits, respond).await;
        });
        (address, serving)
    }

    #[tokio::test]
    async fn client_that_does_not_read_is_disconnected() {
        let limits = PageLimits {
            connections: 1,
            header_timeout: Duration::from_secs(60),
            request_timeout: Some(Duration::from_secs(2)),
        };
        // The response does not fit into the buffers of the sockets.
        let (address, _serving) = page(64 * 1024 * 1024, limits).await;
        let mut slow = TcpStream::connect(address).await.expect("a connection");
        slow.write_all(REQUEST).await.expect("a request");
        // The only permit becomes free, although the first client still has its connection.
        let mut next = TcpStream::connect(address).await.expect("a connection");
        next.write_all(REQUEST).await.expect("a request");
        let mut first = [0; 12];
        next.read_exact(&mut first).await.expect("a response");
        assert_eq!(&first, b"HTTP/1.1 200");
        drop(slow);
    }

    #[tokio::test]
    async fn connection_without_a_request_timeout_serves_many_requests() {
        let limits = PageLimits {
            connections: 1,
            header_timeout: Duration::from_secs(60),
            request_timeout: None,
        };
        let (address, _serving) = page(1, limits).await;
        let mut stream = TcpStream::connect(address).await.expect("a connection");
        for _ in 0..2 {
            stream.write_all(REQUEST).await.expect("a request");
            let mut response = Vec::new();
            while !response.ends_with(b"\r\n\r\nx") {
                response.push(stream.read_u8().await.expect("a response"));
            }
        }
    }
}
