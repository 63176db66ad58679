//! Successful exchanges: the sent request, and how the response is read.

use bytes::Bytes;
use http::{Method, Request};
use toolwire::transport::http_client::{ClientBody, HttpClient, HttpPhase};
use toolwire_tests::http_client_stack::raw::{FINE, RawServer, client, get, post};
use toolwire_tests::peer::within;

#[tokio::test]
async fn request_and_response_arrive_complete() {
    let server = RawServer::bind().await;
    let http = client();
    let mut request = post(server.url("/mcp?a=b"), "{\"id\":1}");
    request
        .headers_mut()
        .insert("x-own", "value".parse().unwrap());
    let scripted = server
        .respond_once("HTTP/1.1 404 Not Found\r\nX-Other: header\r\nContent-Length: 4\r\n\r\nnope");
    let (response, (received, _connection)) = tokio::join!(http.send(request), scripted);
    let address = server.address;
    assert_eq!(
        received,
        format!(
            "POST /mcp?a=b HTTP/1.1\r\nx-own: value\r\nhost: {address}\r\ncontent-length: 8\r\n\r\n{{\"id\":1}}"
        )
    );
    let response = response.unwrap();
    assert_eq!(response.status(), 404);
    assert_eq!(response.headers()["x-other"], "header");
    let body = within(response.into_body().collect(4)).await.unwrap();
    assert_eq!(body, "nope");
}

#[tokio::test]
async fn default_port_is_not_in_the_host_header() {
    for (url, host) in [
        ("http://Server.invalid/", "Server.invalid"),
        ("http://server.invalid:80/", "server.invalid"),
        ("http://server.invalid:443/", "server.invalid:443"),
        ("http://server.invalid:8080/", "server.invalid:8080"),
    ] {
        let server = RawServer::bind().await;
        let http = client().with_resolve_override("server.invalid", server.address);
        let (response, (received, _)) =
            tokio::join!(http.send(get(url)), server.respond_once(FINE));
        assert_eq!(response.unwrap().status(), 200);
        let expected = format!("GET / HTTP/1.1\r\nhost: {host}\r\n\r\n");
        assert_eq!(received, expected, "{url}");
    }
}

#[tokio::test]
async fn request_length_is_that_of_the_body() {
    let check = async |request: Request<Bytes>, expected: &str| {
        let server = RawServer::bind().await;
        let http = client().with_resolve_override("server.invalid", server.address);
        let (response, (received, _)) = tokio::join!(http.send(request), server.respond_once(FINE));
        assert_eq!(response.unwrap().status(), 200);
        assert_eq!(received.replace("\r\n", "|"), expected);
    };
    let url = "http://server.invalid/";
    let request = |method: Method| Request::builder().method(method).uri(url);
    let conflicting = request(Method::POST)
        .header("content-length", "7")
        .header("transfer-encoding", "chunked")
        .header("x-own", "1");
    check(
        conflicting.body(Bytes::from_static(b"{}")).unwrap(),
        "POST / HTTP/1.1|x-own: 1|host: server.invalid|content-length: 2||{}",
    )
    .await;
    check(
        request(Method::POST).body(Bytes::new()).unwrap(),
        "POST / HTTP/1.1|content-length: 0|host: server.invalid||",
    )
    .await;
    check(
        request(Method::DELETE).body(Bytes::new()).unwrap(),
        "DELETE / HTTP/1.1|host: server.invalid||",
    )
    .await;
}

#[tokio::test]
async fn response_is_returned_before_its_body_and_chunks_on_arrival() {
    let server = RawServer::bind().await;
    let http = client();
    let scripted = server
        .respond_once("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: x-end\r\n\r\n");
    let (response, (_, mut connection)) = tokio::join!(http.send(get(server.url("/"))), scripted);
    let mut body = response.unwrap().into_body();
    connection.write("3\r\none\r\n").await;
    assert_eq!(within(body.chunk()).await.unwrap().unwrap(), "one");
    connection.write("3\r\ntwo\r\n").await;
    assert_eq!(within(body.chunk()).await.unwrap().unwrap(), "two");
    connection.write("0\r\nx-end: of it\r\n\r\n").await;
    assert!(within(body.chunk()).await.is_none());
}

#[tokio::test]
async fn body_over_the_limit_is_an_error() {
    let server = RawServer::bind().await;
    let http = client();
    for chunks in ["4\r\nfour\r\n0\r\n\r\n", "2\r\nfo\r\n2\r\nur\r\n0\r\n\r\n"] {
        let text = format!(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n{chunks}"
        );
        for limit in [3, 4] {
            let (response, _) =
                tokio::join!(http.send(get(server.url("/"))), server.respond_once(&text));
            let whole = within(response.unwrap().into_body().collect(limit)).await;
            match limit {
                4 => assert_eq!(whole.unwrap(), "four"),
                _ => {
                    let failure = whole.unwrap_err();
                    assert_eq!(failure.phase(), HttpPhase::Receive);
                    assert_eq!(failure.message(), "the response body has more than 3 bytes");
                }
            }
        }
    }
}

#[tokio::test]
async fn body_in_memory_is_read_as_one_chunk() {
    let mut body = ClientBody::full("text");
    assert_eq!(body.chunk().await.unwrap().unwrap(), "text");
    assert!(body.chunk().await.is_none());
    assert!(ClientBody::full("").chunk().await.is_none());
}

#[tokio::test]
async fn client_in_an_arc_sends_requests() {
    let server = RawServer::bind().await;
    let shared: std::sync::Arc<dyn HttpClient> = std::sync::Arc::new(client());
    let request = get(server.url("/"));
    let (response, _) = tokio::join!(
        HttpClient::send(&shared, request),
        server.respond_once(FINE)
    );
    assert_eq!(response.unwrap().status(), 200);
}

#[test]
fn debug_output_has_no_credentials() {
    use toolwire::transport::http_client::ProxySettings;
    let proxies = ProxySettings::none()
        .with_http("http://someone:s3cret@proxy.example.com:3128")
        .with_https("http://someone:s3cret@not a url");
    let http = client().with_proxies(proxies);
    let printed = format!("{http:?}");
    assert!(!printed.contains("s3cret"), "{printed}");
    assert!(!printed.contains("someone"), "{printed}");
    assert!(printed.contains("proxy.example.com:3128"), "{printed}");
    assert!(printed.contains("unusable"), "{printed}");
}
