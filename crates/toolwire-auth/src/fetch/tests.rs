use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use toolwire::transport::http_client::HyperClient;

use super::*;
use crate::test_http::CannedHttp;

const URL: &str = "https://auth.example.com/keys";

async fn get(fetcher: &DocumentFetcher, url: &str) -> Result<Value, FetchErrorKind> {
    fetcher.get(url).await.map_err(|error| error.kind)
}

fn fetcher_with_response(status: u16, body: &str) -> (DocumentFetcher, CannedHttp) {
    let body = body.to_owned();
    let http = CannedHttp::new(move |_| (status, body.clone()));
    (DocumentFetcher::with_http_client(http.clone()), http)
}

#[tokio::test]
async fn only_https_urls_are_fetched() {
    let (fetcher, http) = fetcher_with_response(200, "{}");
    for url in [
        "http://auth.example.com/keys",
        "http://10.0.0.1/keys",
        "ftp://auth.example.com/",
        "file:///etc/passwd",
        "https://user@auth.example.com/",
        "https://auth.example.com/#part",
        "",
    ] {
        let outcome = get(&fetcher, url).await;
        assert!(matches!(outcome, Err(FetchErrorKind::Url(_))), "{url}");
    }
    assert_eq!(http.count(), 0);
    assert!(get(&fetcher, URL).await.is_ok());
    assert!(get(&fetcher, "http://127.0.0.1:1/keys").await.is_ok());
}

#[tokio::test]
async fn document_needs_status_200_and_valid_json() {
    for status in [201, 204, 301, 302, 307, 400, 401, 404, 500] {
        let (fetcher, _) = fetcher_with_response(status, "{}");
        let outcome = get(&fetcher, URL).await;
        assert!(
            matches!(outcome, Err(FetchErrorKind::Status(actual)) if actual == status),
            "{status}"
        );
    }
    for body in ["", "{", "<html>", "{} {}"] {
        let (fetcher, _) = fetcher_with_response(200, body);
        assert!(
            matches!(get(&fetcher, URL).await, Err(FetchErrorKind::Json(_))),
            "{body}"
        );
    }
}

#[tokio::test]
async fn document_over_the_size_limit_is_rejected() {
    let body = format!("\"{}\"", "a".repeat(256 * 1024 - 2));
    let (fetcher, _) = fetcher_with_response(200, &body);
    assert!(get(&fetcher, URL).await.is_ok());
    let (fetcher, _) = fetcher_with_response(200, &format!("{body} "));
    assert!(matches!(
        get(&fetcher, URL).await,
        Err(FetchErrorKind::Http(_))
    ));
    let (fetcher, _) = fetcher_with_response(200, "[1,2]");
    assert!(get(&fetcher.clone().with_size_limit(5), URL).await.is_ok());
    assert!(get(&fetcher.with_size_limit(4), URL).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn fetch_times_out() {
    let http = CannedHttp::new(|_| (200, String::new())).blocked();
    let fetcher = DocumentFetcher::with_http_client(http);
    let start = tokio::time::Instant::now();
    let outcome = get(&fetcher, URL).await;
    assert!(matches!(outcome, Err(FetchErrorKind::Http(error)) if error.is_timeout()));
    assert_eq!(start.elapsed(), Duration::from_secs(10));
    let fetcher = fetcher.with_timeout(Duration::from_secs(1));
    assert!(get(&fetcher, URL).await.is_err());
    assert_eq!(start.elapsed(), Duration::from_secs(11));
}

#[track_caller]
fn assert_rejected_by_policy(outcome: &Result<Value, FetchErrorKind>, name: &str) {
    let Err(FetchErrorKind::Http(error)) = outcome else {
        panic!("{name}: {outcome:?}");
    };
    let message = error.to_string();
    assert!(message.contains("address policy"), "{name}: {message}");
}

#[tokio::test]
async fn non_public_addresses_are_rejected() {
    let fetcher = DocumentFetcher::new();
    for host in [
        "127.0.0.1",
        "10.0.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "[::1]",
        "[::]",
        "[fe80::1]",
        "[fd00::1]",
        "[::ffff:127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "localhost",
    ] {
        let outcome = get(&fetcher, &format!("https://{host}/keys")).await;
        assert_rejected_by_policy(&outcome, host);
    }
    let outcome = get(&fetcher, "http://127.0.0.1/keys").await;
    assert_rejected_by_policy(&outcome, "loopback without TLS");
}

#[tokio::test]
async fn name_with_private_address_is_rejected() {
    for private in ["127.0.0.1:443", "10.1.2.3:443", "[fd00::1]:443"] {
        let address: SocketAddr = private.parse().unwrap();
        let http = HyperClient::new().with_resolve_override("auth.example.com", address);
        let fetcher = DocumentFetcher::with_http_client(http.with_public_addresses_only());
        assert_rejected_by_policy(&get(&fetcher, URL).await, private);
    }
}

#[tokio::test]
async fn loopback_fetcher_rejects_private_networks() {
    let fetcher = DocumentFetcher::with_loopback_allowed();
    for host in ["10.0.0.1", "169.254.169.254", "[fd00::1]"] {
        let outcome = get(&fetcher, &format!("https://{host}/keys")).await;
        assert_rejected_by_policy(&outcome, host);
    }
}

/// Starts a server that sends the same response to every request. Returns its address.
async fn serve(response: String) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                if socket.read_buf(&mut head).await.unwrap_or(0) == 0 {
                    break;
                }
            }
            let _ = socket.write_all(response.as_bytes()).await;
        }
    });
    address
}

#[tokio::test]
async fn redirects_to_another_origin_are_not_followed() {
    let fetcher = DocumentFetcher::with_loopback_allowed();
    let destination = serve("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}".to_owned()).await;
    assert_eq!(
        get(&fetcher, &format!("http://{destination}/"))
            .await
            .unwrap(),
        json!({})
    );
    for status in ["301", "302", "303", "307", "308"] {
        for target in [
            format!("http://{destination}/"),
            "http://10.0.0.1/".to_owned(),
        ] {
            let response =
                format!("HTTP/1.1 {status} X\r\nLocation: {target}\r\nContent-Length: 0\r\n\r\n");
            let source = serve(response).await;
            let outcome = get(&fetcher, &format!("http://{source}/")).await;
            assert!(outcome.is_err(), "{status} {target}: {outcome:?}");
        }
    }
}

#[tokio::test]
async fn errors_name_the_url_without_its_query() {
    let (fetcher, _) = fetcher_with_response(404, "");
    let error = fetcher
        .get::<Value>("https://auth.example.com/keys?key=secret")
        .await;
    let message = error.unwrap_err().to_string();
    assert_eq!(
        message,
        "\"https://auth.example.com/keys\" responded with 404 Not Found"
    );
}
