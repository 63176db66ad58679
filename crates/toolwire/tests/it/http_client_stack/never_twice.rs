//! Requests that reached a server and got no answer: nobody knows what became of them, so they are not sent again.

#![expect(
    clippy::unwrap_used,
    reason = "a test may panic, also outside its own function"
)]

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;
use toolwire::transport::http_client::{HttpClient as _, HttpError, HttpPhase, HyperClient};

use super::raw::{FINE, RawConnection, RawServer, client, get, post};
use super::tls::{Authority, secured};
use crate::peer::within;

/// How a server leaves.
#[derive(Debug, Clone, Copy)]
enum Leaving {
    Closes,
    Resets,
}

trait Leave: AsyncRead + AsyncWrite + Unpin {
    fn socket(&self) -> &TcpStream;
}

impl Leave for TcpStream {
    fn socket(&self) -> &TcpStream {
        self
    }
}

impl Leave for TlsStream<TcpStream> {
    fn socket(&self) -> &TcpStream {
        self.get_ref().0
    }
}

/// Gets an answer, and then none: the server reads the second request on the same connection and leaves.
async fn left_alone(
    http: &HyperClient,
    url: &str,
    connect: impl Future<Output = RawConnection<impl Leave>>,
    leaving: Leaving,
) -> HttpError {
    let scripted = async {
        let mut connection = connect.await;
        connection.answer(FINE).await;
        connection
    };
    let asking = async {
        let answer = within(http.send(post(url, "{}"))).await.unwrap();
        within(answer.into_body().collect(4)).await.unwrap();
    };
    let ((), mut connection) = tokio::join!(asking, scripted);
    let leaves = async {
        connection.request().await;
        match leaving {
            Leaving::Closes => connection.stream.shutdown().await.unwrap(),
            Leaving::Resets => connection.stream.socket().set_zero_linger().unwrap(),
        }
        drop(connection);
    };
    let (answer, ()) = tokio::join!(within(http.send(post(url, "{}"))), leaves);
    answer.expect_err("there is no answer")
}

#[tokio::test]
async fn a_server_that_leaves_after_reading_a_request_gets_it_once() {
    for leaving in [Leaving::Closes, Leaving::Resets] {
        let server = RawServer::bind().await;
        let http = client();
        let failure = left_alone(&http, &server.url("/"), server.accept(), leaving).await;
        assert_eq!(failure.step(), HttpPhase::Send, "{leaving:?}: {failure}");
        assert!(failure.may_have_arrived(), "{leaving:?}: {failure}");
        assert!(server.is_untouched().await, "{leaving:?}");
    }
}

#[tokio::test]
async fn a_server_that_leaves_after_reading_a_request_over_tls_gets_it_once() {
    for leaving in [Leaving::Closes, Leaving::Resets] {
        let (authority, server) = (Authority::new(), RawServer::bind().await);
        let acceptor = authority.acceptor("server.invalid", &[]);
        let http = authority
            .trusted_by(client())
            .with_resolve_override("server.invalid", server.address);
        let connect = async { secured(&acceptor, server.accept().await).await.unwrap() };
        let failure = left_alone(&http, "https://server.invalid/", connect, leaving).await;
        assert_eq!(failure.step(), HttpPhase::Send, "{leaving:?}: {failure}");
        assert!(failure.may_have_arrived(), "{leaving:?}: {failure}");
        assert!(server.is_untouched().await, "{leaving:?}");
    }
}

#[tokio::test]
async fn a_body_that_ends_with_its_connection_must_end_it_properly_over_tls() {
    for is_proper in [true, false] {
        let (authority, server) = (Authority::new(), RawServer::bind().await);
        let acceptor = authority.acceptor("server.invalid", &[]);
        let http = authority
            .trusted_by(client())
            .with_resolve_override("server.invalid", server.address);
        let scripted = async {
            let mut connection = secured(&acceptor, server.accept().await).await.unwrap();
            let open_end = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nfine";
            connection.answer(open_end).await;
            match is_proper {
                true => connection.stream.shutdown().await.unwrap(),
                // Anybody on the way can do this, so that it may not look like the end.
                false => connection.stream.get_mut().0.shutdown().await.unwrap(),
            }
            connection
        };
        let asking = async {
            let answer = within(http.send(get("https://server.invalid/")))
                .await
                .unwrap();
            within(answer.into_body().collect(100)).await
        };
        let (body, _connection) = tokio::join!(asking, scripted);
        match body {
            Ok(body) => assert!(is_proper && body == "fine", "{body:?}"),
            Err(failure) => {
                assert!(!is_proper, "{failure}");
                assert_eq!(failure.step(), HttpPhase::Receive);
            }
        }
    }
}
