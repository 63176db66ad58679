//! Requests that a server received without sending a response. They may have been processed, so they are not sent
//! again.

#![expect(
    clippy::unwrap_used,
    reason = "a test may panic, also outside its own function"
)]

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;
use toolwire::transport::http_client::{HttpClient as _, HttpError, HttpPhase, HyperClient};
use toolwire_tests::http_client_stack::raw::{FINE, RawConnection, RawServer, client, get, post};
use toolwire_tests::http_client_stack::tls::{Authority, accept_tls};
use toolwire_tests::peer::within;

/// How a server closes a connection.
#[derive(Debug, Clone, Copy)]
enum Close {
    Orderly,
    Reset,
}

trait ServerSocket: AsyncRead + AsyncWrite + Unpin {
    fn socket(&self) -> &TcpStream;
}

impl ServerSocket for TcpStream {
    fn socket(&self) -> &TcpStream {
        self
    }
}

impl ServerSocket for TlsStream<TcpStream> {
    fn socket(&self) -> &TcpStream {
        self.get_ref().0
    }
}

/// Sends two requests over one connection and returns the error of the second. The server responds to the first
/// request, reads the second, and closes the connection.
async fn close_after_second_request(
    http: &HyperClient,
    url: &str,
    connect: impl Future<Output = RawConnection<impl ServerSocket>>,
    close: Close,
) -> HttpError {
    let scripted = async {
        let mut connection = connect.await;
        connection.respond(FINE).await;
        connection
    };
    let sending = async {
        let response = within(http.send(post(url, "{}"))).await.unwrap();
        within(response.into_body().collect(4)).await.unwrap();
    };
    let ((), mut connection) = tokio::join!(sending, scripted);
    let closing = async {
        connection.request().await;
        match close {
            Close::Orderly => connection.stream.shutdown().await.unwrap(),
            Close::Reset => connection.stream.socket().set_zero_linger().unwrap(),
        }
        drop(connection);
    };
    let (response, ()) = tokio::join!(within(http.send(post(url, "{}"))), closing);
    response.expect_err("no response")
}

#[tokio::test]
async fn post_is_not_sent_again_after_the_server_closes() {
    for close in [Close::Orderly, Close::Reset] {
        let server = RawServer::bind().await;
        let http = client();
        let failure =
            close_after_second_request(&http, &server.url("/"), server.accept(), close).await;
        assert_eq!(failure.phase(), HttpPhase::Send, "{close:?}: {failure}");
        assert!(failure.may_have_arrived(), "{close:?}: {failure}");
        assert!(server.has_no_connection().await, "{close:?}");
    }
}

#[tokio::test]
async fn post_over_tls_is_not_sent_again_after_the_server_closes() {
    for close in [Close::Orderly, Close::Reset] {
        let (authority, server) = (Authority::new(), RawServer::bind().await);
        let acceptor = authority.acceptor("server.invalid", &[]);
        let http = authority
            .trusted_by(client())
            .with_resolve_override("server.invalid", server.address);
        let connect = async { accept_tls(&acceptor, server.accept().await).await.unwrap() };
        let failure =
            close_after_second_request(&http, "https://server.invalid/", connect, close).await;
        assert_eq!(failure.phase(), HttpPhase::Send, "{close:?}: {failure}");
        assert!(failure.may_have_arrived(), "{close:?}: {failure}");
        assert!(server.has_no_connection().await, "{close:?}");
    }
}

#[tokio::test]
async fn body_without_length_over_tls_needs_a_close_notify_alert() {
    for has_alert in [true, false] {
        let (authority, server) = (Authority::new(), RawServer::bind().await);
        let acceptor = authority.acceptor("server.invalid", &[]);
        let http = authority
            .trusted_by(client())
            .with_resolve_override("server.invalid", server.address);
        let scripted = async {
            let mut connection = accept_tls(&acceptor, server.accept().await).await.unwrap();
            let open_end = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nfine";
            connection.respond(open_end).await;
            if has_alert {
                connection.stream.shutdown().await.unwrap();
            } else {
                connection.stream.get_mut().0.shutdown().await.unwrap();
            }
            connection
        };
        let sending = async {
            let response = within(http.send(get("https://server.invalid/")))
                .await
                .unwrap();
            within(response.into_body().collect(100)).await
        };
        let (body, _connection) = tokio::join!(sending, scripted);
        match body {
            Ok(body) => assert!(has_alert && body == "fine", "{body:?}"),
            Err(failure) => {
                assert!(!has_alert, "{failure}");
                assert_eq!(failure.phase(), HttpPhase::Receive);
            }
        }
    }
}
