//! The page for a user who opens the server in a browser, and the requests that do not get it.

use toolwire::Server;
use toolwire::transport::http::{HttpOptions, LegacyMode};
use toolwire::types::Implementation;
use toolwire_tests::http::endpoint::Endpoint;
use toolwire_tests::http::request::Request;
use toolwire_tests::http::session::initialize_request;

use crate::rejecting_authorizer::RejectingAuthorizer;

/// The `Accept` of a browser that opens a page.
const BROWSER: &str =
    "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8";

fn open(path: &str) -> Request {
    let request = Request::new("GET").with_target(path);
    request
        .with("Accept", BROWSER)
        .with("User-Agent", "Mozilla/5.0")
}

async fn serve(options: HttpOptions) -> Endpoint {
    Endpoint::serve_with(&Server::new("notes", "1.2.3"), options).await
}

#[tokio::test]
async fn browser_gets_a_page_with_the_name_and_the_url() {
    let endpoint = serve(HttpOptions::new()).await;
    for path in ["/", "/mcp", "/mcp?from=mail"] {
        let response = endpoint.request(&open(path)).await;
        assert_eq!(response.status(), 200, "{path}");
        let text = response.text();
        assert!(text.starts_with("<!doctype html>"), "{text}");
        assert!(text.contains("<h1>notes 1.2.3</h1>"), "{text}");
        assert!(text.contains("<pre>http://localhost/mcp</pre>"), "{text}");
        for (name, value) in [
            ("content-type", "text/html; charset=utf-8"),
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
            ("referrer-policy", "no-referrer"),
            ("cache-control", "no-store"),
        ] {
            assert_eq!(response.header(name), Some(value), "{path}");
        }
        let policy = response.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none';"), "{policy}");
        assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
    }
}

#[tokio::test]
async fn page_in_every_mode_has_the_path_of_the_endpoint() {
    for mode in [
        LegacyMode::Sessions,
        LegacyMode::Stateless,
        LegacyMode::Reject,
    ] {
        let options = HttpOptions::new().with_path("/api/mcp").with_legacy(mode);
        let endpoint = serve(options).await;
        for path in ["/", "/api/mcp"] {
            let response = endpoint.request(&open(path)).await;
            let text = response.text();
            let url = "<pre>http://localhost/api/mcp</pre>";
            assert!(text.contains(url), "{path}: {text}");
        }
        let other = endpoint.request(&open("/mcp")).await;
        assert_eq!(other.status(), 404);
    }
}

#[tokio::test]
async fn page_escapes_the_text_of_the_server() {
    let mut info = Implementation::new("n", "1<2 & '3'");
    info.title = Some("<script>\"x\"</script>".to_owned());
    let server = Server::with_info(info);
    let endpoint = Endpoint::serve(&server).await;
    let response = endpoint.request(&open("/")).await;
    let text = response.text();
    let expected = "<h1>&lt;script&gt;&quot;x&quot;&lt;/script&gt; 1&lt;2 &amp; &#39;3&#39;</h1>";
    assert!(text.contains(expected), "{text}");
    assert!(!text.contains("<script"), "{text}");
}

#[tokio::test]
async fn page_behind_a_proxy_with_tls_has_an_https_url() {
    let options = HttpOptions::new().with_public_hosts(["mcp.example.com"]);
    let endpoint = serve(options).await;
    let request = open("/")
        .replacing("Host", "mcp.example.com")
        .with("X-Forwarded-Proto", "https");
    let response = endpoint.request(&request).await;
    let text = response.text();
    assert!(
        text.contains("<pre>https://mcp.example.com/mcp</pre>"),
        "{text}"
    );
    let forged = open("/").with("X-Forwarded-Proto", "javascript");
    let response = endpoint.request(&forged).await;
    let text = response.text();
    assert!(text.contains("<pre>http://localhost/mcp</pre>"), "{text}");
}

#[tokio::test]
async fn head_request_gets_the_headers_of_the_page() {
    let endpoint = serve(HttpOptions::new()).await;
    let request = Request::new("HEAD")
        .with_target("/")
        .with("Accept", BROWSER);
    let mut connection = endpoint.connect().await;
    connection.send(request.bytes()).await;
    let headers = connection.headers().await;
    assert_eq!(headers.status, 200);
    assert_eq!(
        headers.header("content-type"),
        Some("text/html; charset=utf-8")
    );
}

#[tokio::test]
async fn mcp_clients_never_get_the_page() {
    let endpoint = serve(HttpOptions::new()).await;
    let mcp = || Request::new("GET").with("Accept", BROWSER);
    let event_stream = Request::new("GET").with("Accept", "text/event-stream");
    let requests = [
        event_stream,
        Request::new("GET"),
        Request::new("GET").with("Accept", "*/*"),
        Request::new("GET").with("Accept", "application/json, text/event-stream"),
        Request::new("GET").with("Accept", "text/html, text/event-stream"),
        mcp().with("Mcp-Session-Id", "unknown"),
        mcp().with("MCP-Protocol-Version", "2026-07-28"),
        mcp().with("MCP-Protocol-Version", "2025-11-25"),
        mcp().with("Last-Event-ID", "1"),
        Request::new("DELETE").with("Accept", BROWSER),
        initialize_request("2025-11-25").replacing("Accept", BROWSER),
    ];
    for request in requests {
        let response = endpoint.request(&request).await;
        let headers = request.header_text();
        assert!(
            response.status() >= 400 || headers.starts_with("POST"),
            "{headers}"
        );
        assert_eq!(
            response.header("content-type"),
            Some("application/json"),
            "{headers}"
        );
    }
}

#[tokio::test]
async fn hosts_and_origins_are_checked_before_the_page() {
    let endpoint = serve(HttpOptions::new()).await;
    for path in ["/", "/mcp"] {
        let other_host = open(path).replacing("Host", "evil.example");
        let other_origin = open(path).with("Origin", "https://evil.example");
        for request in [other_host, other_origin] {
            let response = endpoint.request(&request).await;
            assert_eq!(response.status(), 403, "{}", request.header_text());
            assert_eq!(response.header("content-type"), Some("application/json"));
        }
        // An allowed origin may open the page, but its scripts cannot read it.
        let local_origin = open(path).with("Origin", "http://localhost:5173");
        let response = endpoint.request(&local_origin).await;
        assert_eq!(response.status(), 200);
        assert_eq!(response.header("access-control-allow-origin"), None);
    }
}

#[tokio::test]
async fn page_of_a_protected_server_tells_nothing_about_it() {
    let endpoint = serve(HttpOptions::new().with_authorizer(RejectingAuthorizer)).await;
    assert_eq!(endpoint.request(&open("/mcp")).await.status(), 401);
    let response = endpoint.request(&open("/")).await;
    assert_eq!(response.status(), 200);
    let text = response.text();
    assert!(text.contains("<pre>http://localhost/mcp</pre>"), "{text}");
    for secret in ["notes", "1.2.3"] {
        assert!(!text.contains(secret), "{text}");
    }
}

#[tokio::test]
async fn page_can_be_disabled() {
    let endpoint = serve(HttpOptions::new().without_browser_page()).await;
    assert_eq!(endpoint.request(&open("/")).await.status(), 404);
    let response = endpoint.request(&open("/mcp")).await;
    assert!(response.status() >= 400, "{}", response.status());
    assert_eq!(response.header("content-type"), Some("application/json"));
}
