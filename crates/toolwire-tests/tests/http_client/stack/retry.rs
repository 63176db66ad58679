//! Requests that are sent again: those with a safe method, on a connection that closed while it was unused.

#![expect(
    clippy::unwrap_used,
    reason = "a test may panic, also outside its own function"
)]

use bytes::Bytes;
use http::Request;
use toolwire::transport::http_client::{HttpClient as _, HttpPhase, HyperClient};
use toolwire_tests::http_client_stack::raw::{FINE, RawConnection, RawServer, client, get};
use toolwire_tests::peer::within;

/// How a server closes a connection without a response.
#[derive(Debug, Clone, Copy)]
enum Close {
    Orderly,
    Reset,
}

const CLOSES: [Close; 2] = [Close::Orderly, Close::Reset];

/// Reads a request, sends `sent`, and closes the connection.
async fn read_and_close(
    mut connection: RawConnection<tokio::net::TcpStream>,
    sent: &str,
    close: Close,
) {
    connection.request().await;
    connection.write(sent).await;
    if let Close::Reset = close {
        connection.stream.set_zero_linger().unwrap();
    }
}

async fn exchange(http: &HyperClient, url: &str) {
    let response = within(http.send(get(url))).await.unwrap();
    let body = within(response.into_body().collect(4)).await.unwrap();
    assert_eq!(body, "fine");
}

#[tokio::test]
async fn get_on_a_reused_connection_that_closes_is_sent_again() {
    for close in CLOSES {
        let server = RawServer::bind().await;
        let (http, url) = (client(), server.url("/"));
        let (_, (_, connection)) = tokio::join!(exchange(&http, &url), server.respond_once(FINE));
        let closing = async {
            read_and_close(connection, "", close).await;
            server.respond_once(FINE).await
        };
        let (_, _connection) = tokio::join!(exchange(&http, &url), closing);
        assert!(server.has_no_connection().await, "{close:?}");
    }
}

#[tokio::test]
async fn head_on_a_reused_connection_that_closes_is_sent_again() {
    let response = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n";
    for close in CLOSES {
        let server = RawServer::bind().await;
        let (http, url) = (client(), server.url("/"));
        let (_, (_, connection)) = tokio::join!(exchange(&http, &url), server.respond_once(FINE));
        let closing = async {
            read_and_close(connection, "", close).await;
            server.respond_once(response).await
        };
        let request = Request::head(&url).body(Bytes::new()).unwrap();
        let (sent, (received, _connection)) = tokio::join!(within(http.send(request)), closing);
        assert_eq!(sent.unwrap().status(), 200, "{close:?}");
        assert!(received.starts_with("HEAD / "), "{received}");
        assert!(server.has_no_connection().await, "{close:?}");
    }
}

#[tokio::test]
async fn get_on_a_new_connection_that_closes_is_not_sent_again() {
    for close in CLOSES {
        let server = RawServer::bind().await;
        let http = client();
        let closing = async { read_and_close(server.accept().await, "", close).await };
        let (response, ()) = tokio::join!(within(http.send(get(server.url("/")))), closing);
        assert_eq!(response.unwrap_err().phase(), HttpPhase::Send, "{close:?}");
        assert!(server.has_no_connection().await, "{close:?}");
    }
}

#[tokio::test]
async fn get_whose_response_has_begun_is_not_sent_again() {
    for begun in ["H", "HTTP/1.1 100 Continue\r\n\r\n"] {
        let server = RawServer::bind().await;
        let (http, url) = (client(), server.url("/"));
        let (_, (_, connection)) = tokio::join!(exchange(&http, &url), server.respond_once(FINE));
        let closing = read_and_close(connection, begun, Close::Orderly);
        let (response, ()) = tokio::join!(within(http.send(get(&url))), closing);
        response.unwrap_err();
        assert!(server.has_no_connection().await, "{begun:?}");
    }
}
