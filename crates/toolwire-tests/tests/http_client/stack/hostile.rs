//! Byte streams that no correct server sends: each ends in an error or in the response that the bytes mean, with a
//! bounded number of bytes read.

use tokio::io::AsyncWriteExt as _;
use toolwire::transport::http_client::{HttpClient as _, HttpError, HttpPhase};
use toolwire_tests::http_client_stack::raw::{RawServer, client, post};
use toolwire_tests::peer::within;

/// The limit of the bodies that are read here.
const BODY_BYTES: usize = 1024;

/// Far more bytes than the client buffers of any message.
const ENDLESS_BYTES: usize = 64 * 1024 * 1024;

/// Returns the body that a client reads if the server sends these bytes and closes the connection.
async fn receive(bytes: &str) -> Result<String, HttpError> {
    receive_endless(bytes, "").await
}

/// Returns the body that a client reads if the server sends the first bytes, and then the others again and again.
async fn receive_endless(start: &str, repeated: &str) -> Result<String, HttpError> {
    let server = RawServer::bind().await;
    let http = client();
    let sending = async {
        let mut connection = server.accept().await;
        connection.request().await;
        connection.write(start).await;
        if repeated.is_empty() {
            return;
        }
        let block = repeated.repeat(64 * 1024 / repeated.len());
        for _ in 0..ENDLESS_BYTES / block.len() {
            if within(connection.stream.write_all(block.as_bytes()))
                .await
                .is_err()
            {
                return;
            }
        }
        panic!("the client reads without a limit: {start:?} {repeated:?}");
    };
    let receiving = async {
        let response = within(http.send(post(server.url("/"), "{}"))).await?;
        let body = within(response.into_body().collect(BODY_BYTES)).await?;
        Ok(String::from_utf8_lossy(&body).into_owned())
    };
    let (received, ()) = tokio::join!(receiving, sending);
    received
}

fn ok(headers: &str, body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\n{headers}\r\n\r\n{body}")
}

#[tokio::test]
async fn malformed_response_is_an_error() {
    let chunked = |body: &str| ok("Transfer-Encoding: chunked", body);
    let malformed = [
        // Headers.
        ok("Content-Length: 4\r\nContent-Length: 5", "fine"),
        ok("Content-Length: 4, 5", "fine"),
        ok("Content-Length: -4", "fine"),
        ok("Content-Length: +4", "fine"),
        ok("Content-Length: 0x4", "fine"),
        ok("Content-Length: 4 4", "fine"),
        ok("Content-Length: ", "fine"),
        ok("Content-Length: 18446744073709551616", "fine"),
        ok("Content-Length: 18446744073709551615", "fine"),
        ok("Content-Length : 4", "fine"),
        ok("X: a\r\n b\r\nContent-Length: 4", "fine"),
        ok("X\0: 5", "fine"),
        ok("X: a\0b", "fine"),
        ok(&"X: y\r\n".repeat(101), ""),
        "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfine\r\n0\r\n\r\n".to_owned(),
        // Status lines.
        "HTTP/1.1 99 Low\r\n\r\n".to_owned(),
        "HTTP/2.0 200 OK\r\n\r\n".to_owned(),
        "GET / HTTP/1.1\r\n\r\n".to_owned(),
        // Chunks.
        chunked("-4\r\nfine\r\n0\r\n\r\n"),
        chunked("4\nfine\r\n0\r\n\r\n"),
        chunked("4\r\nfine!\r\n0\r\n\r\n"),
        chunked("\r\nfine\r\n0\r\n\r\n"),
        chunked("10000000000000004\r\nfine\r\n0\r\n\r\n"),
        chunked("4;x\ny\r\nfine\r\n0\r\n\r\n"),
        // Messages that end early.
        ok("Content-Length: 5", "fine"),
        chunked("4\r\nfi"),
        chunked("4\r\nfine\r\n"),
        chunked("4\r\nfine\r\n0\r\n"),
        chunked("4\r\nfine\r\n0\r\nX: y\r\n"),
    ];
    for bytes in malformed {
        let failure = match receive(&bytes).await {
            Err(failure) => failure,
            Ok(body) => panic!("{bytes:?} is read as {body:?}"),
        };
        assert_eq!(
            failure.phase(),
            HttpPhase::Receive,
            "{bytes:?}: {failure:?}"
        );
        assert!(failure.may_have_arrived(), "{bytes:?}");
    }
}

#[tokio::test]
async fn connection_that_closes_in_the_headers_is_an_error() {
    let complete = ok("Content-Length: 4", "");
    for end in 0..complete.len() {
        let (start, _) = complete.split_at(end);
        let failure = receive(start).await.expect_err(start);
        assert_eq!(failure.phase(), HttpPhase::Send, "{start:?}: {failure:?}");
    }
}

/// RFC 9112, 6.3: a recipient may accept equal lengths, and `Transfer-Encoding` overrides `Content-Length`. hyper does.
#[tokio::test]
async fn unusual_but_valid_response_is_read() {
    let valid = [
        ok("Content-Length: 4\r\nContent-Length: 4", "fine"),
        ok("Content-Length: 4, 4", "fine"),
        ok(
            "Content-Length: 5\r\nTransfer-Encoding: chunked",
            "4\r\nfine\r\n0\r\n\r\n",
        ),
        ok(
            "Transfer-Encoding: chunked",
            "2;x=y\r\nfi\r\n2\r\nne\r\n0\r\nX: y\r\n\r\n",
        ),
        ok("Transfer-Encoding: chunked", "0004\r\nfine\r\n000\r\n\r\n"),
        ok("X: y", "fine"),
        "HTTP/1.0 200 OK\r\n\r\nfine".to_owned(),
        "HTTP/1.1 200\r\nContent-Length: 4\r\n\r\nfine".to_owned(),
        format!(
            "HTTP/1.1 100 Continue\r\n\r\n{}",
            ok("Content-Length: 4", "fine")
        ),
    ];
    for bytes in valid {
        assert_eq!(receive(&bytes).await.expect(&bytes), "fine", "{bytes:?}");
    }
}

#[tokio::test]
async fn endless_response_is_an_error_and_its_connection_is_closed() {
    let chunked = ok("Transfer-Encoding: chunked", "");
    let endless = [
        ("", "x"),
        ("HTTP/1.1 200 ", "x"),
        ("HTTP/1.1 200 OK\r\nX: ", "x"),
        ("HTTP/1.1 200 OK\r\n", "X: y\r\n"),
        ("HTTP/1.1 200 OK\r\n\r\n", "x"),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n",
            "x",
        ),
        (&chunked, "4\r\nfine\r\n"),
        (&chunked, "1"),
        (&format!("{chunked}4;"), "x"),
        (&format!("{chunked}0\r\n"), "X: y\r\n"),
        (&format!("{chunked}0\r\nX: "), "x"),
    ];
    for (start, repeated) in endless {
        let received = receive_endless(start, repeated).await;
        let failure = received.expect_err(start);
        let step = failure.phase();
        assert_eq!(
            step,
            HttpPhase::Receive,
            "{start:?} {repeated:?}: {failure:?}"
        );
    }
}
