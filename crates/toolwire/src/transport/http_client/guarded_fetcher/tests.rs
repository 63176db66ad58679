use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;

fn post(url: &str, body: &'static str) -> Request<Bytes> {
    Request::post(url)
        .body(Bytes::from_static(body.as_bytes()))
        .unwrap()
}

/// Starts a server that sends the same bytes to every request and then keeps the connection open. Returns its address
/// and the requests.
async fn serve(response: String) -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let requests = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&requests);
    tokio::spawn(async move {
        let mut open = Vec::new();
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") && !request.ends_with(b"body") {
                if socket.read_buf(&mut request).await.unwrap_or(0) == 0 {
                    break;
                }
            }
            let request = String::from_utf8_lossy(&request).into_owned();
            seen.lock().unwrap().push(request);
            let _ = socket.write_all(response.as_bytes()).await;
            open.push(socket);
        }
    });
    (address, requests)
}

fn response(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nConnection: close\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
    )
}

#[tokio::test]
async fn only_https_or_loopback_urls_are_requested() {
    let fetcher = GuardedFetcher::with_loopback_allowed();
    for url in [
        "http://example.com/",
        "http://10.0.0.1/",
        "ftp://example.com/",
        "https://user@example.com/",
    ] {
        let error = fetcher.send(post(url, "")).await.unwrap_err();
        assert_eq!(error.phase(), HttpPhase::Prepare, "{url}: {error}");
    }
}

#[tokio::test]
async fn one_non_public_address_rejects_the_host() {
    let public = "93.184.216.34:443";
    for private in [
        "127.0.0.1:443",
        "10.1.2.3:443",
        "169.254.169.254:443",
        "[::1]:443",
        "[fd00::1]:443",
        "[::ffff:10.0.0.1]:443",
    ] {
        let addresses: Vec<SocketAddr> = [public, private].map(|text| text.parse().unwrap()).into();
        let http = HyperClient::new()
            .with_public_addresses_only()
            .with_scripted_resolver(move |_| addresses.clone());
        let fetcher = GuardedFetcher::with_http_client(http);
        let outcome = fetcher.send(post("https://example.com/", "")).await;
        let message = outcome.unwrap_err().to_string();
        assert!(message.contains("address policy"), "{private}: {message}");
    }
}

#[tokio::test]
async fn name_that_changes_its_address_is_checked_again() {
    let (address, requests) = serve(response("200 OK", "", "")).await;
    let lookups = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&lookups);
    let http = HyperClient::new()
        .with_public_and_loopback_addresses()
        .with_max_idle_per_host(0)
        .with_scripted_resolver(move |_| match counted.fetch_add(1, Ordering::SeqCst) {
            0 => vec![address],
            _ => vec!["10.0.0.1:80".parse().unwrap()],
        });
    let fetcher = GuardedFetcher::with_http_client(http);
    let url = format!("http://localhost:{}/hook", address.port());
    let first = fetcher.send(post(&url, "body")).await.unwrap();
    assert_eq!(first.status(), 200);
    let second = fetcher.send(post(&url, "body")).await.unwrap_err();
    assert!(second.message().contains("address policy"), "{second}");
    assert_eq!(lookups.load(Ordering::SeqCst), 2);
    let requests = requests.lock().unwrap();
    let [request] = &requests[..] else {
        panic!("{requests:?}");
    };
    // The connection uses the checked address, and `Host` has the original name.
    let host = format!("localhost:{}\r\n", address.port());
    assert!(request.contains(&host), "{request}");
    assert!(request.ends_with("\r\n\r\nbody"), "{request}");
}

#[tokio::test]
async fn redirects_are_responses_unless_they_are_followed_within_the_origin() {
    for status in ["301", "302", "303", "307", "308"] {
        let location = "Location: /elsewhere\r\n";
        let (address, requests) = serve(response(&format!("{status} X"), location, "")).await;
        let fetcher = GuardedFetcher::with_loopback_allowed();
        let url = format!("http://{address}/");
        let outcome = fetcher.send(post(&url, "body")).await.unwrap();
        assert_eq!(outcome.status().as_str(), status);
        assert_eq!(requests.lock().unwrap().len(), 1, "{status}");
        let following = fetcher.with_redirects_within_origin();
        let error = following.send(post(&url, "body")).await.unwrap_err();
        assert_eq!(error.phase(), HttpPhase::Redirect, "{status}: {error}");
    }
}

#[tokio::test]
async fn response_over_the_size_limit_is_an_error() {
    let (address, _) = serve(response("200 OK", "", "12345")).await;
    let url = format!("http://{address}/");
    let fetcher = GuardedFetcher::with_loopback_allowed();
    let exact = fetcher.clone().with_size_limit(5);
    assert_eq!(exact.send(post(&url, "")).await.unwrap().body(), "12345");
    let error = fetcher.with_size_limit(4).send(post(&url, "")).await;
    assert!(error.unwrap_err().message().contains("more than 4 bytes"));
}

#[tokio::test]
async fn response_that_does_not_end_times_out() {
    let (address, _) = serve("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nstart".to_owned()).await;
    let fetcher = GuardedFetcher::with_loopback_allowed().with_timeout(Duration::from_millis(50));
    let outcome = fetcher.send(post(&format!("http://{address}/"), "")).await;
    let error = outcome.unwrap_err();
    assert!(error.is_timeout(), "{error}");
}
