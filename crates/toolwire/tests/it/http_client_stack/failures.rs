//! Each step that can fail says so, and what to try.

use std::error::Error as _;

use tokio::io::AsyncWriteExt;
use toolwire::transport::http_client::{HttpClient, HttpError, HttpPhase, HyperClient};

use super::raw::{RawServer, client, get, post};
use crate::peer::within;

async fn refused(http: &HyperClient, url: &str) -> HttpError {
    within(http.send(get(url))).await.expect_err("it fails")
}

#[tokio::test]
async fn urls_that_cannot_be_asked_are_refused_before_anything_is_tried() {
    let check = async |url: &str, expected: &str| {
        let failure = refused(&client(), url).await;
        assert_eq!(failure.step(), HttpPhase::Prepare);
        assert_eq!(failure.to_string(), expected);
        assert!(!failure.may_have_arrived());
    };
    let whole = "give a whole URL, such as https://example.com/mcp";
    check("/mcp", &format!("the URL has no scheme; {whole}")).await;
    let ftp = format!("`ftp` is not a scheme of HTTP; {whole}");
    check("ftp://example.com/", &ftp).await;
    check(
        "http://someone:s3cret@example.com/",
        "the URL has credentials in it; send them in an `Authorization` header",
    )
    .await;
}

#[tokio::test]
async fn an_unknown_name_fails_at_resolving() {
    let failure = refused(&client(), "http://nowhere.invalid/mcp").await;
    assert_eq!(failure.step(), HttpPhase::Resolve);
    assert_eq!(
        failure.to_string(),
        "no address is known for the name nowhere.invalid; \
         check its spelling, and that this machine can reach a name server"
    );
    assert!(!failure.may_have_arrived());
    assert!(failure.source().is_some());
}

#[tokio::test]
async fn a_closed_port_fails_at_connecting() {
    let server = RawServer::bind().await;
    let (url, address) = (server.url("/"), server.address);
    drop(server);
    let failure = refused(&client(), &url).await;
    assert_eq!(failure.step(), HttpPhase::Connect);
    assert_eq!(
        failure.to_string(),
        format!(
            "{address} refused the connection; check that the server runs and listens on that port"
        )
    );
    assert!(!failure.may_have_arrived());
}

/// What becomes of a request when the server reads it and then writes this and closes the connection.
async fn answered_with(text: impl AsRef<[u8]>) -> (HttpError, String) {
    let server = RawServer::bind().await;
    let http = client();
    let scripted = async {
        let mut connection = server.accept().await;
        connection.request().await;
        connection.write(text).await;
    };
    let request = post(server.url("/"), "{}");
    let (answer, ()) = tokio::join!(within(http.send(request)), scripted);
    let failure = match answer {
        Ok(answer) => within(answer.into_body().collect(100))
            .await
            .expect_err("it fails"),
        Err(failure) => failure,
    };
    (failure, server.address.to_string())
}

#[tokio::test]
async fn a_connection_that_closes_without_an_answer_fails_at_sending() {
    for text in ["", "HTTP/1.1 200 OK\r\nContent-"] {
        let (failure, server) = answered_with(text).await;
        assert_eq!(failure.step(), HttpPhase::Send);
        assert_eq!(
            failure.message(),
            format!("{server} closed the connection before it sent a response")
        );
        assert!(failure.may_have_arrived());
    }
}

#[tokio::test]
async fn what_is_not_http_fails_at_receiving() {
    // The last one is how a TLS server refuses a request in clear text.
    let nonsense: [&[u8]; 3] = [
        b"SSH-2.0-OpenSSH_9.9\r\n",
        b"HTTP/1.1 two hundred\r\n\r\n",
        &[0x15, 3, 1, 0, 2, 2, 70],
    ];
    for text in nonsense {
        let (failure, server) = answered_with(text).await;
        assert_eq!(failure.step(), HttpPhase::Receive, "{text:?}");
        assert_eq!(
            failure.message(),
            format!("the response of {server} is not valid HTTP")
        );
        let advice = failure.advice().expect("there is something to try");
        assert!(advice.contains("https://"), "{advice}");
        assert!(failure.may_have_arrived());
    }
}

#[tokio::test]
async fn a_body_that_breaks_off_fails_at_receiving() {
    let heads = ["Content-Length: 10", "Transfer-Encoding: chunked"];
    for head in heads {
        let (failure, server) =
            answered_with(format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n5\r\nh")).await;
        assert_eq!(failure.step(), HttpPhase::Receive);
        assert_eq!(
            failure.message(),
            format!("the response of {server} ended early")
        );
    }
}

/// Asks a server whose headers have this many bytes, names and values.
async fn headers_of(length: usize) -> Result<usize, HttpError> {
    let filler = "x".repeat(length - "content-length0x".len());
    let text = format!("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: {filler}\r\n\r\n");
    let server = RawServer::bind().await;
    let http = client();
    let scripted = async {
        let mut connection = server.accept().await;
        connection.request().await;
        // How much of it is read before the client gives up is not the question.
        let _ = connection.stream.write_all(text.as_bytes()).await;
        connection
    };
    let (answer, _connection) = tokio::join!(within(http.send(get(server.url("/")))), scripted);
    answer.map(|answer| answer.headers()["x"].len())
}

#[tokio::test]
async fn headers_may_have_64_kib() {
    const LIMIT: usize = 64 * 1024;
    assert_eq!(headers_of(LIMIT).await.unwrap(), LIMIT - 16);
    let failure = headers_of(LIMIT + 1).await.unwrap_err();
    assert_eq!(failure.step(), HttpPhase::Receive);
    assert!(
        failure.message().ends_with("have more than 65536 bytes"),
        "{failure}"
    );
    // So much is not even read.
    let failure = headers_of(10 * LIMIT).await.unwrap_err();
    assert_eq!(failure.step(), HttpPhase::Receive);
}
