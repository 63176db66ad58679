//! Requests through proxies: forwarded, through a tunnel, failed tunnels, and without a proxy.

use tokio::io::copy_bidirectional;
use tokio::net::TcpStream;
use toolwire::transport::http_client::{HttpClient, HttpError, HttpPhase, ProxySettings};
use toolwire_tests::http_client_stack::raw::{FINE, RawServer, client, get};
use toolwire_tests::http_client_stack::tls::{Authority, accept_tls};
use toolwire_tests::peer::within;

#[tokio::test]
async fn http_request_to_a_proxy_has_the_absolute_url() {
    let proxy = RawServer::bind().await;
    let url = format!("http://someone:s3cret@{}", proxy.address);
    let http = client().with_proxies(ProxySettings::none().with_http(url));
    let request = get("http://server.invalid:8080/mcp?a=b");
    let (response, (received, _)) = tokio::join!(http.send(request), proxy.respond_once(FINE));
    assert_eq!(response.unwrap().status(), 200);
    assert_eq!(
        received,
        "GET http://server.invalid:8080/mcp?a=b HTTP/1.1\r\n\
         host: server.invalid:8080\r\n\
         proxy-authorization: Basic c29tZW9uZTpzM2NyZXQ=\r\n\r\n"
    );
}

#[tokio::test]
async fn credentials_in_a_redirect_are_not_sent_to_the_proxy() {
    let proxy = RawServer::bind().await;
    let http = client().with_proxies(ProxySettings::none().with_http(proxy.url("/")));
    let redirect = "HTTP/1.1 307 Temporary Redirect\r\n\
                 Location: http://someone:s3cret@server.invalid/there\r\nContent-Length: 0\r\n\r\n";
    let sending = within(http.send(get("http://server.invalid/mcp")));
    let (response, (_, mut connection)) = tokio::join!(sending, proxy.respond_once(redirect));
    let failure = response.expect_err("a rejected redirect");
    assert_eq!(failure.phase(), HttpPhase::Redirect);
    assert_eq!(
        failure.message(),
        "server.invalid:80 redirects with credentials to http://server.invalid/there"
    );
    assert!(!format!("{failure:?}").contains("s3cret"), "{failure:?}");
    // The client sends no further bytes before it closes the connection.
    drop(http);
    connection.closed().await;
    assert!(proxy.has_no_connection().await);
}

#[tokio::test]
async fn https_request_uses_a_tunnel() {
    let (authority, server, proxy) = (
        Authority::new(),
        RawServer::bind().await,
        RawServer::bind().await,
    );
    let acceptor = authority.acceptor("server.invalid", &[]);
    let url = format!("http://someone:s3cret@{}", proxy.address);
    let http = authority
        .trusted_by(client())
        .with_proxies(ProxySettings::none().with_https(url));
    let proxying = async {
        let mut connection = proxy.accept().await;
        assert_eq!(
            connection.header_text().await,
            "CONNECT server.invalid:443 HTTP/1.1\r\nHost: server.invalid:443\r\n\
             Proxy-Authorization: Basic c29tZW9uZTpzM2NyZXQ=\r\n\r\n"
        );
        connection
            .write("HTTP/1.1 200 Connection established\r\nVia: here\r\n\r\n")
            .await;
        let mut upstream = TcpStream::connect(server.address).await.unwrap();
        copy_bidirectional(&mut connection.stream, &mut upstream).await
    };
    let serving = async {
        let mut connection = accept_tls(&acceptor, server.accept().await).await.unwrap();
        connection.respond(FINE).await
    };
    let sending = async {
        let response = within(http.send(get("https://server.invalid/mcp"))).await;
        // Dropping the client closes its pool and the tunnel.
        drop(http);
        response.unwrap().status()
    };
    let (status, received, _) = tokio::join!(sending, serving, proxying);
    assert_eq!(status, 200);
    assert_eq!(
        received,
        "GET /mcp HTTP/1.1\r\nhost: server.invalid\r\n\r\n"
    );
}

#[tokio::test]
async fn proxy_with_an_https_url_is_used_over_tls() {
    let (authority, proxy) = (Authority::new(), RawServer::bind().await);
    let outer = authority.acceptor("proxy.invalid", &["h2", "http/1.1"]);
    let inner = authority.acceptor("server.invalid", &[]);
    let http = authority
        .trusted_by(client())
        .with_resolve_override("proxy.invalid", proxy.address)
        .with_proxies(ProxySettings::none().with_https("https://proxy.invalid"));
    let proxying = async {
        let mut connection = accept_tls(&outer, proxy.accept().await).await.unwrap();
        let tunnel_request = connection.header_text().await;
        connection.write("HTTP/1.1 200 OK\r\n\r\n").await;
        // This socket is also the server at the end of the tunnel.
        let mut connection = accept_tls(&inner, connection).await.unwrap();
        connection.respond(FINE).await;
        tunnel_request
    };
    let request = get("https://server.invalid/mcp");
    let (response, tunnel_request) = tokio::join!(within(http.send(request)), proxying);
    assert_eq!(response.unwrap().status(), 200);
    assert!(
        tunnel_request.starts_with("CONNECT server.invalid:443 "),
        "{tunnel_request}"
    );
}

#[tokio::test]
async fn no_proxy_list_excludes_servers_from_the_proxy() {
    let (server, proxy) = (RawServer::bind().await, RawServer::bind().await);
    let proxies = ProxySettings::none()
        .with_http(proxy.url("/"))
        .with_no_proxy("other.invalid, server.invalid");
    let http = client()
        .with_proxies(proxies)
        .with_resolve_override("a.server.invalid", server.address);
    let request = get("http://a.server.invalid/mcp");
    let (response, (received, _)) = tokio::join!(http.send(request), server.respond_once(FINE));
    assert_eq!(response.unwrap().status(), 200);
    assert!(received.starts_with("GET /mcp HTTP/1.1\r\n"), "{received}");
    assert!(proxy.has_no_connection().await);
}

#[tokio::test]
async fn without_proxy_removes_the_configured_proxy() {
    let (server, proxy) = (RawServer::bind().await, RawServer::bind().await);
    let http = client()
        .with_proxies(ProxySettings::none().with_http(proxy.url("/")))
        .without_proxy();
    let request = get(server.url("/"));
    let (response, _) = tokio::join!(http.send(request), server.respond_once(FINE));
    assert_eq!(response.unwrap().status(), 200);
    assert!(proxy.has_no_connection().await);
}

/// Returns the error of an HTTPS request if its proxy sends this response.
async fn tunnel_failure(response: &str) -> (HttpError, String) {
    let proxy = RawServer::bind().await;
    let url = format!("http://someone:s3cret@{}", proxy.address);
    let http = client().with_proxies(ProxySettings::none().with_https(url));
    let scripted = async {
        let mut connection = proxy.accept().await;
        connection.header_text().await;
        connection.write(response).await;
    };
    let request = get("https://server.invalid/mcp");
    let (response, ()) = tokio::join!(within(http.send(request)), scripted);
    let failure = response.expect_err("a failed tunnel");
    let printed = format!("{failure} {failure:?}");
    assert!(!printed.contains("s3cret"), "{printed}");
    assert!(!printed.contains("c29tZW9uZTpzM2NyZXQ"), "{printed}");
    (failure, proxy.address.to_string())
}

#[tokio::test]
async fn failed_tunnel_names_the_proxy_and_the_cause() {
    let check = async |response: &str, problem: &str| {
        let (failure, proxy) = tunnel_failure(response).await;
        assert_eq!(failure.phase(), HttpPhase::Proxy);
        assert_eq!(
            failure.message(),
            format!("the proxy {proxy} {problem} when asked for a tunnel to server.invalid:443")
        );
        assert!(!failure.may_have_arrived());
    };
    check(
        "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n",
        "requires other credentials",
    )
    .await;
    check(
        "HTTP/1.1 403 Forbidden\r\n\r\n",
        "responded with status 403",
    )
    .await;
    check("SSH-2.0-OpenSSH_9.9\r\n\r\n", "did not send valid HTTP").await;
    check("", "closed the connection").await;
    check("HTTP/1.1 200 OK\r\n\r\nearly", "sent more than a response").await;
}

#[tokio::test]
async fn response_headers_of_a_proxy_over_16_kib_are_an_error() {
    const LIMIT: usize = 16 * 1024;
    let other_bytes = "HTTP/1.1 403 Forbidden\r\nX: \r\n\r\n".len();
    for (length, problem) in [
        (LIMIT, "responded with status 403"),
        (2 * LIMIT, "did not send valid HTTP"),
    ] {
        let filler = "x".repeat(length - other_bytes);
        let response = format!("HTTP/1.1 403 Forbidden\r\nX: {filler}\r\n\r\n");
        let (failure, _) = tunnel_failure(&response).await;
        assert!(failure.message().contains(problem), "{failure}");
    }
}

#[tokio::test]
async fn invalid_proxy_url_is_an_error_for_requests_that_need_the_proxy() {
    let check = async |url: &str, problem: &str| {
        let proxies = ProxySettings::none()
            .with_http(url)
            .with_no_proxy("127.0.0.1");
        let http = client().with_proxies(proxies);
        let failure = within(http.send(get("http://server.invalid/")))
            .await
            .unwrap_err();
        assert_eq!(failure.phase(), HttpPhase::Prepare);
        assert_eq!(failure.message(), format!("with_http {problem}"));
        // A request to an excluded server does not need the proxy.
        let server = RawServer::bind().await;
        let request = get(server.url("/"));
        let (response, _) = tokio::join!(within(http.send(request)), server.respond_once(FINE));
        assert_eq!(response.unwrap().status(), 200);
    };
    check("not a url", "is not the URL of a proxy").await;
    check("ftp://proxy.invalid", "is not the URL of a proxy").await;
    check(
        "socks5://proxy.invalid",
        "names a proxy that does not use HTTP",
    )
    .await;
}
