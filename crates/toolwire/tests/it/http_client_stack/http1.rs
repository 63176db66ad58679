//! Exchanges over HTTP/1.1: how responses end, and which connections are reused.

use bytes::Bytes;
use http::Request;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use toolwire::transport::http_client::{HttpClient, HttpError, HyperClient};

use super::raw::{FINE, RawServer, client, get, post};
use crate::peer::within;

/// Asks and reads the answer to its end.
async fn ask(http: &HyperClient, url: String) -> Result<String, HttpError> {
    let answer = within(http.send(post(url, "{}"))).await?;
    let body = within(answer.into_body().collect(1024 * 1024)).await?;
    Ok(String::from_utf8(body.to_vec()).expect("text"))
}

/// Checks the body of a response, and whether its connection serves another request.
async fn check(answer: &str, expected: &str, is_reused: bool) {
    let server = RawServer::bind().await;
    let http = client();
    let (asked, (_, mut connection)) =
        tokio::join!(ask(&http, server.url("/")), server.answer_once(answer));
    assert_eq!(asked.expect("a response"), expected, "{answer:?}");
    match is_reused {
        true => {
            let (asked, _) = tokio::join!(ask(&http, server.url("/")), connection.answer(FINE));
            assert_eq!(asked.expect("an answer"), "fine");
            assert!(server.is_untouched().await, "{answer:?}");
        }
        false => connection.closed().await,
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
    // Bytes that belong to no answer.
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
async fn a_body_without_a_length_ends_with_its_connection() {
    let server = RawServer::bind().await;
    let http = client();
    let scripted = async {
        let (_, mut connection) = server.answer_once("HTTP/1.1 200 OK\r\n\r\nfi").await;
        connection.write("ne").await;
    };
    let (asked, ()) = tokio::join!(ask(&http, server.url("/")), scripted);
    assert_eq!(asked.unwrap(), "fine");
}

#[tokio::test]
async fn an_answer_may_come_byte_by_byte() {
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
        connection.answer(FINE).await;
        connection
    };
    let twice = async {
        assert_eq!(ask(&http, server.url("/")).await.unwrap(), "fine");
        assert_eq!(ask(&http, server.url("/")).await.unwrap(), "fine");
    };
    tokio::join!(twice, scripted);
    assert!(server.is_untouched().await);
}

#[tokio::test]
async fn a_connection_that_ends_while_it_waits_is_closed_at_once() {
    let server = RawServer::bind().await;
    let http = client();
    for news in ["", "HTTP/1.1 408 Request Timeout\r\n\r\n"] {
        let (asked, (_, mut connection)) =
            tokio::join!(ask(&http, server.url("/")), server.answer_once(FINE));
        asked.unwrap();
        match news {
            "" => within(connection.stream.shutdown()).await.unwrap(),
            news => connection.write(news).await,
        }
        // No request follows, and the idle time is not over.
        connection.closed().await;
    }
}

/// More than the buffers of two sockets hold.
fn large(url: String) -> Request<Bytes> {
    let body = Bytes::from(vec![b'x'; 16 * 1024 * 1024]);
    Request::post(url).body(body).expect("a request")
}

#[tokio::test]
async fn a_large_request_arrives_whole() {
    let server = RawServer::bind().await;
    let http = client();
    let scripted = async {
        let mut connection = server.accept().await;
        let request = connection.request().await;
        assert!(request.ends_with("xxx"));
        assert_eq!(request.matches('x').count(), 16 * 1024 * 1024);
        connection.write(FINE).await;
        connection.answer(FINE).await;
        connection
    };
    let both = async {
        let answer = within(http.send(large(server.url("/")))).await.unwrap();
        assert_eq!(within(answer.into_body().collect(4)).await.unwrap(), "fine");
        assert_eq!(ask(&http, server.url("/")).await.unwrap(), "fine");
    };
    tokio::join!(both, scripted);
    assert!(server.is_untouched().await);
}

#[tokio::test]
async fn response_is_returned_though_the_request_was_not_read_to_its_end() {
    let server = RawServer::bind().await;
    let http = client();
    let refusal = "HTTP/1.1 413 Content Too Large\r\nContent-Length: 4\r\n\r\nhuge";
    let scripted = async {
        let mut connection = server.accept().await;
        connection.head().await;
        connection.write(refusal).await;
        connection
    };
    let (answer, _connection) = tokio::join!(within(http.send(large(server.url("/")))), scripted);
    let answer = answer.unwrap();
    assert_eq!(answer.status(), 413);
    assert_eq!(within(answer.into_body().collect(4)).await.unwrap(), "huge");
}

#[tokio::test]
async fn the_request_goes_on_while_its_answer_is_read() {
    let server = RawServer::bind().await;
    let http = client();
    let scripted = async {
        let mut connection = server.accept().await;
        connection.head().await;
        connection
            .write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            .await;
        let mut body = vec![0; 16 * 1024 * 1024];
        within(connection.stream.read_exact(&mut body))
            .await
            .unwrap();
        connection.write("4\r\nfine\r\n0\r\n\r\n").await;
        connection.answer(FINE).await;
        connection
    };
    let both = async {
        let answer = within(http.send(large(server.url("/")))).await.unwrap();
        assert_eq!(within(answer.into_body().collect(4)).await.unwrap(), "fine");
        assert_eq!(ask(&http, server.url("/")).await.unwrap(), "fine");
    };
    tokio::join!(both, scripted);
}

#[tokio::test]
async fn an_answer_without_a_body_to_read_leaves_the_connection_free() {
    let server = RawServer::bind().await;
    let http = client();
    let head = Request::head(server.url("/")).body(Bytes::new()).unwrap();
    let scripted = async {
        let (request, mut connection) = server
            .answer_once("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
            .await;
        assert!(request.starts_with("HEAD / HTTP/1.1\r\n"));
        connection.answer(FINE).await;
        connection
    };
    let both = async {
        let answer = within(http.send(head)).await.unwrap();
        assert_eq!(answer.headers()["content-length"], "1000");
        assert_eq!(within(answer.into_body().collect(0)).await.unwrap(), "");
        within(http.send(get(server.url("/")))).await.unwrap();
    };
    tokio::join!(both, scripted);
    assert!(server.is_untouched().await);
}
