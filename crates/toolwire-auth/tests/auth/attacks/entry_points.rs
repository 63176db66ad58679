//! The entry points by which a request reaches a server. The list contains all that the crate exports.

use std::error::Error as StdError;
use std::net::SocketAddr;
use std::pin::Pin;

use bytes::Bytes;
use http::Response;
use http::header::HOST;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use toolwire::transport::http::HttpService;
use toolwire_tests::http::request::Request;
use toolwire_tests::peer::within;
use tower_service::Service as _;

pub(crate) type Body = UnsyncBoxBody<Bytes, Box<dyn StdError + Send + Sync>>;

/// An entry point for requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryPoint {
    /// `HttpService::respond`.
    Respond,
    /// `HttpService` as a `tower` service.
    Tower,
    /// `HttpListener`, HTTP/1.1.
    Http1,
    /// `HttpListener`, HTTP/2.
    Http2,
    /// `HttpListener`, HTTP/1.1 over TLS.
    Tls,
}

impl EntryPoint {
    /// Returns `true` if a request can have two `Host` headers.
    pub(crate) fn allows_two_hosts(self) -> bool {
        self != Self::Http2
    }

    /// Sends a request. Entry points with connections use a new connection.
    pub(crate) async fn send(
        self,
        service: &HttpService,
        address: SocketAddr,
        request: &Request,
    ) -> Response<Body> {
        let request = request.to_http().map(|body| Full::new(Bytes::from(body)));
        match self {
            Self::Respond => boxed(within(service.respond(request)).await),
            Self::Tower => boxed(within(service.clone().call(request)).await.unwrap()),
            Self::Http1 => over_http1(connect(address).await, request).await,
            Self::Tls => over_http1(super::tls::connect(address).await, request).await,
            Self::Http2 => {
                let io = TokioIo::new(connect(address).await);
                let (mut client, connection) =
                    hyper::client::conn::http2::handshake(TokioExecutor::new(), io)
                        .await
                        .unwrap();
                tokio::spawn(connection);
                let request = with_authority(request);
                boxed(within(client.send_request(request)).await.unwrap())
            }
        }
    }
}

async fn over_http1<S>(socket: S, request: http::Request<Full<Bytes>>) -> Response<Body>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut client, connection) = hyper::client::conn::http1::handshake(TokioIo::new(socket))
        .await
        .unwrap();
    tokio::spawn(connection);
    boxed(within(client.send_request(request)).await.unwrap())
}

async fn connect(address: SocketAddr) -> TcpStream {
    within(TcpStream::connect(address)).await.unwrap()
}

fn boxed<B>(response: Response<B>) -> Response<Body>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    response.map(|body| body.map_err(Into::into).boxed_unsync())
}

/// Moves the host to the request target, as HTTP/2 requires.
fn with_authority(mut request: http::Request<Full<Bytes>>) -> http::Request<Full<Bytes>> {
    if request.uri().authority().is_none() {
        let host = request.headers_mut().remove(HOST).unwrap();
        let target = format!("http://{}{}", host.to_str().unwrap(), request.uri());
        *request.uri_mut() = target.parse().unwrap();
    }
    request
}

/// Returns the next bytes of a response body, or `None` at its end.
pub(crate) async fn next_chunk(body: &mut Pin<Box<Body>>) -> Option<String> {
    let frame = within(body.frame()).await?.unwrap();
    let data = frame.into_data().unwrap_or_default();
    Some(String::from_utf8(data.to_vec()).unwrap())
}
