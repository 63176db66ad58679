//! A server whose responses a test writes byte by byte.

use std::net::SocketAddr;

use bytes::Bytes;
use http::Request;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use toolwire::transport::http_client::HyperClient;

use crate::peer::within;

/// Creates a client that ignores the proxy variables of the environment.
pub fn client() -> HyperClient {
    HyperClient::new().without_proxy()
}

/// Returns a GET request without headers.
pub fn get(url: impl AsRef<str>) -> Request<Bytes> {
    Request::get(url.as_ref()).body(Bytes::new()).unwrap()
}

/// Returns a POST request without headers.
pub fn post(url: impl AsRef<str>, body: &'static str) -> Request<Bytes> {
    Request::post(url.as_ref())
        .body(Bytes::from_static(body.as_bytes()))
        .unwrap()
}

/// A complete response with the body "fine".
pub const FINE: &str = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine";

/// A listening socket.
#[derive(Debug)]
pub struct RawServer {
    listener: TcpListener,
    /// The address of the socket.
    pub address: SocketAddr,
}

impl RawServer {
    /// Binds a socket to a free local port.
    pub async fn bind() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        Self { listener, address }
    }

    /// Returns the URL of a path on this server.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Accepts the next connection.
    pub async fn accept(&self) -> RawConnection<TcpStream> {
        let (stream, _) = within(self.listener.accept()).await.unwrap();
        RawConnection { stream }
    }

    /// Returns `true` if no connection waits to be accepted.
    pub async fn has_no_connection(&self) -> bool {
        let accepting = std::pin::pin!(self.listener.accept());
        let mut accepting = Some(accepting);
        std::future::poll_fn(|context| {
            let waiting = accepting.as_mut().unwrap().as_mut().poll(context);
            std::task::Poll::Ready(waiting.is_pending())
        })
        .await
    }

    /// Accepts a connection, reads one request and sends this response. Returns the request.
    pub async fn respond_once(&self, response: &str) -> (String, RawConnection<TcpStream>) {
        let mut connection = self.accept().await;
        let request = connection.respond(response).await;
        (request, connection)
    }
}

/// The server's end of a connection.
#[derive(Debug)]
#[non_exhaustive]
pub struct RawConnection<S> {
    /// The accepted stream.
    pub stream: S,
}

impl<S: AsyncRead + AsyncWrite + Unpin> RawConnection<S> {
    /// Reads a request: its headers, and a body of the length that they declare.
    pub async fn request(&mut self) -> String {
        let mut text = self.header_text().await;
        let length = text
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))
            .map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; length];
        within(self.stream.read_exact(&mut body)).await.unwrap();
        text.push_str(std::str::from_utf8(&body).unwrap());
        text
    }

    /// Reads the headers, up to the empty line.
    pub async fn header_text(&mut self) -> String {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(within(self.stream.read_u8()).await.unwrap());
        }
        String::from_utf8(head).unwrap()
    }

    /// Writes and flushes bytes.
    pub async fn write(&mut self, text: impl AsRef<[u8]>) {
        within(self.stream.write_all(text.as_ref())).await.unwrap();
        within(self.stream.flush()).await.unwrap();
    }

    /// Reads one request, sends this response, and returns the request.
    pub async fn respond(&mut self, response: &str) -> String {
        let request = self.request().await;
        self.write(response).await;
        request
    }

    /// Waits until the client closes the connection. Panics if the client sends more bytes.
    pub async fn closed(&mut self) {
        let mut byte = [0];
        match within(self.stream.read(&mut byte)).await {
            Ok(0) => {}
            Ok(_) => panic!("the client sent more bytes"),
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset),
        }
    }
}

/// Lets the runtime of this thread process the pending events of all sockets. Sends bytes over a new connection: the
/// runtime processes the events of older sockets before it delivers these bytes.
pub async fn process_socket_events() {
    let (mut client, mut peer) = {
        let server = RawServer::bind().await;
        let (client, peer) = tokio::join!(TcpStream::connect(server.address), server.accept());
        (client.unwrap(), peer.stream)
    };
    for _ in 0..3 {
        client.write_all(b"!").await.unwrap();
        within(peer.read_u8()).await.unwrap();
    }
}
