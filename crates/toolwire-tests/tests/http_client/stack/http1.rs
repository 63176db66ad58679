//! Exchanges over HTTP/1.1: how responses end, and which connections are reused.

use bytes::Bytes;
use http::Request;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use toolwire::transport::http_client::{HttpClient, HttpError, HyperClient};
use toolwire_tests::http_client_stack::raw::{FINE, RawServer, client, get, post};
use toolwire_tests::peer::within;

/// Sends a request and reads the whole response body.
async fn exchange(http: &HyperClient, url: String) -> Result<String, HttpError> {
    let response = within(http.send(post(url, "{}"))).await?;
    let body = within(response.into_body().collect(1024 * 1024)).await?;
    Ok(String::from_utf8(body.to_vec()).expect("text"))
}

/// Checks the body of a response, and whether its connection serves another request.
async fn check(response: &str, expected: &str, is_reused: bool) {
    let server = RawServer::bind().await;
    let http = client();
    let (body, (_, mut connection)) = tokio::join!(
        exchange(&http, server.url("/")),
        server.respond_once(response)
    );
    assert_eq!(body.expect("a response"), expected, "{response:?}");
    if is_reused {
        let (body, _) = tokio::join!(exchange(&http, server.url("/")), connection.respond(FINE));
        assert_eq!(body.expect("a response"), "fine");
        assert!(server.has_no_connection().await, "{response:?}");
    } else {
        connection.closed().await;
    }
}

#[tokio::test]
async fn connection_is_reused_only_after_a_complete_response() {
    let ok = |rest: &str| format!("HTTP/1.1 200 OK\r\n{rest}");
    check(FINE, "fine", true).await;
    check(
        &ok("Transfer-Encoding: chunked\r\n\r\n4\r\nfine\r\n0\r\n\r\n"),
        "fine",
        true,
    )
    .await;
    check("HTTP/1.1 204 No Content\r\n\r\n", "", true).await;
    check("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine", "fine", true).await;
    check(
        &ok("Content-Length: 4\r\nConnection: close\r\n\r\nfine"),
        "fine",
        false,
    )
    .await;
    check(
        "HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\nfine",
        "fine",
        false,
    )
    .await;
    // Bytes after the response.
    check(&ok("Content-Length: 4\r\n\r\nfine!"), "fine", false).await;
    check(&format!("{FINE}{FINE}"), "fine", false).await;
    check(
        &ok("Transfer-Encoding: chunked\r\n\r\n4\r\nfine\r\n0\r\n\r\nHTTP/1.1"),
        "fine",
        false,
    )
    .await;
    check("HTTP/1.1 204 No Content\r\n\r\nfine", "", false).await;
}

#[tokio::test]
async fn body_without_a_length_ends_with_its_connection() {
    let server = RawServer::bind().await;
    let http = client();
    let scripted = async {
        let (_, mut connection) = server.respond_once("HTTP/1.1 200 OK\r\n\r\nfi").await;
        connection.write("ne").await;
    };
    let (body, ()) = tokio::join!(exchange(&http, server.url("/")), scripted);
    assert_eq!(body.unwrap(), "fine");
}

#[tokio::test]
async fn response_in_single_bytes_is_read() {
    let server = RawServer::bind().await;
    let http = client();
    let text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nfi\r\n2;x=y\r\nne\r\n0\r\nA: b\r\n\r\n";
    let scripted = async {
        let mut connection = server.accept().await;
        connection.request().await;
        for byte in text.bytes() {
            connection.write([byte]).await;
            tokio::task::yield_now().await;
        }
        connection.respond(FINE).await;
        connection
    };
    let twice = async {
        assert_eq!(exchange(&http, server.url("/")).await.unwrap(), "fine");
        assert_eq!(exchange(&http, server.url("/")).await.unwrap(), "fine");
    };
    tokio::join!(twice, scripted);
    assert!(server.has_no_connection().await);
}

#[tokio::test]
async fn idle_connection_that_the_server_closes_is_closed_at_once() {
    let server = RawServer::bind().await;
    let http = client();
    for sent in ["", "HTTP/1.1 408 Request Timeout\r\n\r\n"] {
        let (body, (_, mut connection)) =
            tokio::join!(exchange(&http, server.url("/")), server.respond_once(FINE));
        body.unwrap();
        match sent {
            "" => within(connection.stream.shutdown()).await.unwrap(),
            sent => connection.write(sent).await,
        }
        // No request follows, and the idle timeout has not passed.
        connection.closed().await;
    }
}

/// Creates a request that is larger than the buffers of both sockets.
fn large(url: String) -> Request<Bytes> {
    let body = Bytes::from(vec![b'x'; 16 * 1024 * 1024]);
    Request::post(url).body(body).expect("a request")
}

#[tokio::test]
async fn large_request_arrives_complete() {
    let server = RawServer::bind().await;
    let http = client();
    let scripted = async {
        let mut connection = server.accept().await;
        let request = connection.request().await;
        assert!(request.ends_with("xxx"));
        assert_eq!(request.matches('x').count(), 16 * 1024 * 1024);
        connection.write(FINE).await;
        connection.respond(FINE).await;
        connection
    };
    let both = async {
        let response = within(http.send(large(server.url("/")))).await.unwrap();
        assert_eq!(
            within(response.into_body().collect(4)).await.unwrap(),
            "fine"
        );
        assert_eq!(exchange(&http, server.url("/")).await.unwrap(), "fine");
    };
    tokio::join!(both, scripted);
    assert!(server.has_no_connection().await);
}

#[tokio::test]
async fn response_is_returned_before_the_server_has_read_the_whole_request() {
    let server = RawServer::bind().await;
    let http = client();
    let too_large = "HTTP/1.1 413 Content Too Large\r\nContent-Length: 4\r\n\r\nhuge";
    let scripted = async {
        let mut connection = server.accept().await;
        connection.header_text().await;
        connection.write(too_large).await;
        connection
    };
    let (response, _connection) = tokio::join!(within(http.send(large(server.url("/")))), scripted);
    let response = response.unwrap();
    assert_eq!(response.status(), 413);
    assert_eq!(
        within(response.into_body().collect(4)).await.unwrap(),
        "huge"
    );
}

#[tokio::test]
async fn request_is_still_sent_while_its_response_is_read() {
    let server = RawServer::bind().await;
    let http = client();
    let scripted = async {
        let mut connection = server.accept().await;
        connection.header_text().await;
        connection
            .write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            .await;
        let mut body = vec![0; 16 * 1024 * 1024];
        within(connection.stream.read_exact(&mut body))
            .await
            .unwrap();
        connection.write("4\r\nfine\r\n0\r\n\r\n").await;
        connection.respond(FINE).await;
        connection
    };
    let both = async {
        let response = within(http.send(large(server.url("/")))).await.unwrap();
        assert_eq!(
            within(response.into_body().collect(4)).await.unwrap(),
            "fine"
        );
        assert_eq!(exchange(&http, server.url("/")).await.unwrap(), "fine");
    };
    tokio::join!(both, scripted);
}

#[tokio::test]
async fn connection_is_reused_after_a_response_to_head() {
    let server = RawServer::bind().await;
    let http = client();
    let head = Request::head(server.url("/")).body(Bytes::new()).unwrap();
    let scripted = async {
        let (request, mut connection) = server
            .respond_once("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
            .await;
        assert!(request.starts_with("HEAD / HTTP/1.1\r\n"));
        connection.respond(FINE).await;
        connection
    };
    let both = async {
        let response = within(http.send(head)).await.unwrap();
        assert_eq!(response.headers()["content-length"], "1000");
        assert_eq!(within(response.into_body().collect(0)).await.unwrap(), "");
        within(http.send(get(server.url("/")))).await.unwrap();
    };
    tokio::join!(both, scripted);
    assert!(server.has_no_connection().await);
}
