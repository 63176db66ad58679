//! HTTP/1.1 on the wire: how answers end, what is refused, and which connections are used again.

use bytes::Bytes;
use http::Request;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use toolwire::transport::http_client::{HttpClient, HttpFailure, HttpStep, HyperHttp};

use super::raw::{FINE, RawServer, client, get, post};
use crate::peer::within;

/// Asks and reads the answer to its end.
async fn ask(http: &HyperHttp, url: String) -> Result<String, HttpFailure> {
    let answer = within(http.send(post(url, "{}"))).await?;
    let body = within(answer.into_body().read_whole(1024 * 1024)).await?;
    Ok(String::from_utf8(body.to_vec()).expect("text"))
}

/// What becomes of an answer, and whether its connection serves another request.
async fn check(answer: &str, expected: Result<&str, &str>, used_again: bool) {
    let server = RawServer::bind().await;
    let http = client();
    let (asked, (_, mut connection)) =
        tokio::join!(ask(&http, server.url("/")), server.answer_once(answer));
    match (asked, expected) {
        (Ok(body), Ok(expected)) => assert_eq!(body, expected, "{answer:?}"),
        (Err(failure), Err(expected)) => {
            assert_eq!(failure.step(), HttpStep::Receive, "{answer:?}");
            let shown = format!("{failure:?}");
            assert!(shown.contains(expected), "{answer:?}: {shown}");
        }
        (asked, _) => panic!("{answer:?}: {asked:?}"),
    }
    match used_again {
        true => {
            let (asked, _) = tokio::join!(ask(&http, server.url("/")), connection.answer(FINE));
            assert_eq!(asked.expect("an answer"), "fine");
            assert!(server.is_untouched().await, "{answer:?}");
        }
        false => connection.closed().await,
    }
}

#[tokio::test]
async fn a_connection_is_used_again_only_after_an_answer_without_doubt() {
    let ok = |rest: &str| format!("HTTP/1.1 200 OK\r\n{rest}");
    check(FINE, Ok("fine"), true).await;
    check(
        &ok("Transfer-Encoding: chunked\r\n\r\n4\r\nfine\r\n0\r\n\r\n"),
        Ok("fine"),
        true,
    )
    .await;
    check("HTTP/1.1 204 No Content\r\n\r\n", Ok(""), true).await;
    check("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine", Ok("fine"), true).await;
    check(
        &ok("Content-Length: 4\r\nConnection: close\r\n\r\nfine"),
        Ok("fine"),
        false,
    )
    .await;
    check(
        "HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\nfine",
        Ok("fine"),
        false,
    )
    .await;
    // Bytes that belong to no answer.
    check(&ok("Content-Length: 4\r\n\r\nfine!"), Ok("fine"), false).await;
    check(&format!("{FINE}{FINE}"), Ok("fine"), false).await;
    check(
        &ok("Transfer-Encoding: chunked\r\n\r\n4\r\nfine\r\n0\r\n\r\nHTTP/1.1"),
        Ok("fine"),
        false,
    )
    .await;
    check("HTTP/1.1 204 No Content\r\n\r\nfine", Ok(""), false).await;
}

#[tokio::test]
async fn what_could_be_read_in_two_ways_is_refused_and_its_connection_closed() {
    let refused = async |head: &str, body: &str, expected: &str| {
        let answer = format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{body}");
        check(&answer, Err(expected), false).await;
    };
    refused(
        "Content-Length: 4\r\nContent-Length: 4",
        "fine",
        "more than one",
    )
    .await;
    refused(
        "Content-Length: 4\r\nContent-Length: 5",
        "fine",
        "more than one",
    )
    .await;
    refused("Content-Length: 4, 4", "fine", "no number").await;
    refused(
        "Content-Length: 4\r\nTransfer-Encoding: chunked",
        "4\r\nfine\r\n0\r\n\r\n",
        "both Transfer-Encoding",
    )
    .await;
    refused(
        "Transfer-Encoding: gzip, chunked",
        "0\r\n\r\n",
        "other than chunked",
    )
    .await;
    refused("X: a\r\n b\r\nContent-Length: 0", "", "no HTTP").await;
    let chunked = "Transfer-Encoding: chunked";
    refused(chunked, "-4\r\nfine\r\n0\r\n\r\n", "without a size").await;
    refused(chunked, "4\nfine\r\n0\r\n\r\n", "without its end").await;
    refused(chunked, "4\r\nfine!\r\n0\r\n\r\n", "does not end").await;
}

#[tokio::test]
async fn interim_answers_share_the_room_of_one_head() {
    let interim = |count: usize| "HTTP/1.1 100 Continue\r\n\r\n".repeat(count);
    // 64 KiB for the headers, and 8 KiB around them.
    let room = 72 * 1024 / interim(1).len();
    check(&format!("{}{FINE}", interim(room - 10)), Ok("fine"), true).await;
    check(&interim(room + 1), Err("not HTTP as it should be"), false).await;
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
        assert_eq!(
            within(answer.into_body().read_whole(4)).await.unwrap(),
            "fine"
        );
        assert_eq!(ask(&http, server.url("/")).await.unwrap(), "fine");
    };
    tokio::join!(both, scripted);
    assert!(server.is_untouched().await);
}

#[tokio::test]
async fn an_answer_counts_though_the_request_was_not_read_to_its_end() {
    let server = RawServer::bind().await;
    let http = client();
    let refusal = "HTTP/1.1 413 Content Too Large\r\nContent-Length: 4\r\n\r\nhuge";
    let scripted = async {
        let mut connection = server.accept().await;
        connection.head().await;
        connection.write(refusal).await;
        connection
    };
    let (answer, mut connection) =
        tokio::join!(within(http.send(large(server.url("/")))), scripted);
    let answer = answer.unwrap();
    assert_eq!(answer.status(), 413);
    assert_eq!(
        within(answer.into_body().read_whole(4)).await.unwrap(),
        "huge"
    );
    // The rest of the request never comes, and neither does another one.
    let mut rest = Vec::new();
    let read = within(connection.stream.read_to_end(&mut rest)).await;
    assert!(read.is_err() || rest.len() < 16 * 1024 * 1024);
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
        assert_eq!(
            within(answer.into_body().read_whole(4)).await.unwrap(),
            "fine"
        );
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
        assert_eq!(within(answer.into_body().read_whole(0)).await.unwrap(), "");
        within(http.send(get(server.url("/")))).await.unwrap();
    };
    tokio::join!(both, scripted);
    assert!(server.is_untouched().await);
}
