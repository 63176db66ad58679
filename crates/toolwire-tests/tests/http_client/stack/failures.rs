//! The error of each step: its phase, message and advice.

use std::error::Error as _;

use tokio::io::AsyncWriteExt;
use toolwire::transport::http_client::{HttpClient, HttpError, HttpPhase, HyperClient};
use toolwire_tests::http_client_stack::raw::{RawServer, client, get, post};
use toolwire_tests::peer::within;

async fn failure_of(http: &HyperClient, url: &str) -> HttpError {
    within(http.send(get(url))).await.expect_err("an error")
}

#[tokio::test]
async fn invalid_url_is_rejected_before_a_connection_is_opened() {
    let check = async |url: &str, expected: &str| {
        let failure = failure_of(&client(), url).await;
        assert_eq!(failure.phase(), HttpPhase::Prepare);
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
async fn unknown_host_name_fails_in_the_resolve_phase() {
    let failure = failure_of(&client(), "http://nowhere.invalid/mcp").await;
    assert_eq!(failure.phase(), HttpPhase::Resolve);
    assert_eq!(
        failure.to_string(),
        "no address is known for the name nowhere.invalid; \
         check its spelling, and that this machine can reach a name server"
    );
    assert!(!failure.may_have_arrived());
    assert!(failure.source().is_some());
}

#[tokio::test]
async fn closed_port_fails_in_the_connect_phase() {
    let server = RawServer::bind().await;
    let (url, address) = (server.url("/"), server.address);
    drop(server);
    let failure = failure_of(&client(), &url).await;
    assert_eq!(failure.phase(), HttpPhase::Connect);
    assert_eq!(
        failure.to_string(),
        format!(
            "{address} refused the connection; check that the server runs and listens on that port"
        )
    );
    assert!(!failure.may_have_arrived());
}

/// Returns the error of a request if the server reads it, sends `text`, and closes the connection.
async fn failure_after(text: impl AsRef<[u8]>) -> (HttpError, String) {
    let server = RawServer::bind().await;
    let http = client();
    let scripted = async {
        let mut connection = server.accept().await;
        connection.request().await;
        connection.write(text).await;
    };
    let request = post(server.url("/"), "{}");
    let (response, ()) = tokio::join!(within(http.send(request)), scripted);
    let failure = match response {
        Ok(response) => within(response.into_body().collect(100))
            .await
            .expect_err("an error"),
        Err(failure) => failure,
    };
    (failure, server.address.to_string())
}

#[tokio::test]
async fn connection_that_closes_without_a_response_fails_in_the_send_phase() {
    for text in ["", "HTTP/1.1 200 OK\r\nContent-"] {
        let (failure, server) = failure_after(text).await;
        assert_eq!(failure.phase(), HttpPhase::Send);
        assert_eq!(
            failure.message(),
            format!("{server} closed the connection before it sent a response")
        );
        assert!(failure.may_have_arrived());
    }
}

#[tokio::test]
async fn response_that_is_not_http_fails_in_the_receive_phase() {
    // The last one is the alert that a TLS server sends in response to plain text.
    let not_http: [&[u8]; 3] = [
        b"SSH-2.0-OpenSSH_9.9\r\n",
        b"HTTP/1.1 two hundred\r\n\r\n",
        &[0x15, 3, 1, 0, 2, 2, 70],
    ];
    for text in not_http {
        let (failure, server) = failure_after(text).await;
        assert_eq!(failure.phase(), HttpPhase::Receive, "{text:?}");
        assert_eq!(
            failure.message(),
            format!("the response of {server} is not valid HTTP")
        );
        let advice = failure.advice().expect("advice");
        assert!(advice.contains("https://"), "{advice}");
        assert!(failure.may_have_arrived());
    }
}

#[tokio::test]
async fn body_that_ends_early_fails_in_the_receive_phase() {
    let headers = ["Content-Length: 10", "Transfer-Encoding: chunked"];
    for header in headers {
        let (failure, server) =
            failure_after(format!("HTTP/1.1 200 OK\r\n{header}\r\n\r\n5\r\nh")).await;
        assert_eq!(failure.phase(), HttpPhase::Receive);
        assert_eq!(
            failure.message(),
            format!("the response of {server} ended early")
        );
    }
}

/// Sends a request to a server whose response headers have names and values of `length` bytes in total.
async fn headers_of(length: usize) -> Result<usize, HttpError> {
    let filler = "x".repeat(length - "content-length0x".len());
    let text = format!("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: {filler}\r\n\r\n");
    let server = RawServer::bind().await;
    let http = client();
    let scripted = async {
        let mut connection = server.accept().await;
        connection.request().await;
        // The client may close the connection before it has read everything.
        let _ = connection.stream.write_all(text.as_bytes()).await;
        connection
    };
    let (response, _connection) = tokio::join!(within(http.send(get(server.url("/")))), scripted);
    response.map(|response| response.headers()["x"].len())
}

#[tokio::test]
async fn response_headers_over_64_kib_are_an_error() {
    const LIMIT: usize = 64 * 1024;
    assert_eq!(headers_of(LIMIT).await.unwrap(), LIMIT - 16);
    let failure = headers_of(LIMIT + 1).await.unwrap_err();
    assert_eq!(failure.phase(), HttpPhase::Receive);
    assert!(
        failure.message().ends_with("have more than 65536 bytes"),
        "{failure}"
    );
    // The client does not read that many bytes.
    let failure = headers_of(10 * LIMIT).await.unwrap_err();
    assert_eq!(failure.phase(), HttpPhase::Receive);
}
