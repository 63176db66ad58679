//! Checks of `Host` and `Origin`, and invalid headers.

use serde_json::json;
use toolwire::transport::http::{HttpLimits, HttpOptions};
use toolwire_tests::http::endpoint::Endpoint;
use toolwire_tests::http::fixture::count_call;
use toolwire_tests::http::request::Request;
use toolwire_tests::http::session::{Session, initialize_request, tool_call};

use crate::table::{Expected, Table};

fn valid_request() -> Request {
    Request::modern(&count_call(1))
}

fn forbidden() -> Expected {
    Expected::error(403, -32600)
}

#[tokio::test]
async fn only_loopback_hosts_are_accepted_by_default() {
    let mut table = Table::new().await;
    for host in [
        "evil.test",
        "localhost.evil.test",
        "127.0.0.1.nip.io",
        "evil.test:80",
        "localhost@evil.test",
        "10.0.0.1",
        "0.0.0.0",
        "[::2]",
    ] {
        let row = format!("host {host}");
        for endpoint in table.endpoints() {
            let response = endpoint
                .request(&valid_request().replacing("Host", host))
                .await;
            assert_eq!(response.status(), 403, "{row}: {}", response.text());
            let get = Request::new("GET").replacing("Host", host);
            let response = endpoint.request(&get).await;
            assert_eq!(response.status(), 403, "{row}: {}", response.text());
            assert_eq!(response.header("allow"), None);
        }
        table.expect_alive(&row).await;
    }
    for host in ["evil.test", "localhost.evil.test", "127.0.0.1.nip.io"] {
        let row = format!("host {host}");
        let request = valid_request().replacing("Host", host);
        table.check(&row, request, forbidden()).await;
        let other_path = valid_request()
            .replacing("Host", host)
            .with_target("/nowhere");
        let row = format!("host {host} with another path");
        table.check(&row, other_path, forbidden()).await;
    }
    let own = table.endpoint.address.to_string();
    for host in [
        "localhost",
        "LOCALHOST",
        "localhost:80",
        "127.0.0.1",
        "127.0.0.9:1",
        "[::1]",
        &own,
    ] {
        let row = format!("host {host}");
        table
            .check(
                &row,
                valid_request().replacing("Host", host),
                Expected::counted(1),
            )
            .await;
    }
}

#[tokio::test]
async fn host_of_the_target_is_checked_as_well() {
    let mut table = Table::new().await;
    let evil = valid_request().with_target("http://evil.test/mcp");
    table
        .check("other host in the target", evil, forbidden())
        .await;
    let both = valid_request()
        .replacing("Host", "evil.test")
        .with_target("http://localhost/mcp");
    table
        .check("other host in the header", both, forbidden())
        .await;
    let local = valid_request().with_target("http://localhost/mcp");
    table
        .check("local host in the target", local, Expected::counted(1))
        .await;
}

#[tokio::test]
async fn request_requires_exactly_one_host() {
    let mut table = Table::new().await;
    let rejected = || Expected::error(400, -32600).closing();
    table
        .check("no host", valid_request().without("Host"), rejected())
        .await;
    for second in ["localhost", "evil.test"] {
        let row = format!("second host {second}");
        let request = valid_request().with("Host", second);
        table.check(&row, request, rejected()).await;
    }
}

#[tokio::test]
async fn configured_public_hosts_are_accepted() {
    let options = HttpOptions::new()
        .with_public_hosts(["mcp.example.com", "other.example.com:8443"])
        .with_allowed_origins(["https://app.example.com"]);
    let mut table = Table::with(options).await;
    for host in [
        "mcp.example.com",
        "mcp.example.com:3000",
        "other.example.com:8443",
        "localhost",
    ] {
        table
            .check(
                host,
                valid_request().replacing("Host", host),
                Expected::counted(1),
            )
            .await;
    }
    for host in [
        "example.com",
        "x.mcp.example.com",
        "other.example.com",
        "other.example.com:80",
    ] {
        table
            .check(host, valid_request().replacing("Host", host), forbidden())
            .await;
    }
    let page = valid_request()
        .replacing("Host", "mcp.example.com")
        .with("Origin", "https://app.example.com");
    table
        .check("allowed origin", page, Expected::counted(1))
        .await;
}

#[tokio::test]
async fn loopback_origins_can_be_rejected() {
    let options = HttpOptions::new().without_loopback_origins();
    let mut table = Table::with(options).await;
    let page = |origin: &str| {
        valid_request()
            .replacing("Host", "localhost:3000")
            .with("Origin", origin)
    };
    let own = page("http://localhost:3000");
    table.check("own origin", own, Expected::counted(1)).await;
    for origin in [
        "http://localhost:5173",
        "http://127.0.0.1:3000",
        "http://localhost",
    ] {
        table.check(origin, page(origin), forbidden()).await;
    }
}

#[tokio::test]
async fn other_origins_are_rejected() {
    let mut table = Table::new().await;
    for origin in [
        "https://evil.test",
        "null",
        "not an origin",
        "",
        "http://localhost.evil.test",
        "file://",
        "http://localhost/path",
    ] {
        let row = format!("origin {origin:?}");
        table
            .check(&row, valid_request().with("Origin", origin), forbidden())
            .await;
        // A simple request, which a page may send without a preflight, is rejected by its origin first.
        let simple = valid_request()
            .with("Origin", origin)
            .replacing("Content-Type", "text/plain");
        let row = format!("simple request with the origin {origin:?}");
        table.check(&row, simple, forbidden()).await;
    }
    let twice = valid_request()
        .with("Origin", "http://localhost")
        .with("Origin", "http://localhost");
    table.check("two origins", twice, forbidden()).await;
    let simple = valid_request().replacing("Content-Type", "text/plain");
    table
        .check(
            "simple request without an origin",
            simple,
            Expected::error(415, -32600),
        )
        .await;
    table
        .check("no origin", valid_request(), Expected::counted(1))
        .await;
    let own = valid_request().with("Origin", "http://localhost");
    table.check("own origin", own, Expected::counted(1)).await;
}

#[tokio::test]
async fn invalid_http_headers_are_rejected_by_the_connection() {
    let mut table = Table::new().await;
    let closing = |status| Expected::status(status).closing();
    let lengths = valid_request().with("Content-Length", "7");
    table
        .check("two content lengths", lengths, closing(400))
        .await;
    for (row, value) in [("NUL", "a\0b"), ("CR", "a\rb"), ("LF", "a\nb")] {
        table
            .check(row, valid_request().with("X-Raw", value), closing(400))
            .await;
    }
}

#[tokio::test]
async fn header_count_and_bytes_have_a_limit() {
    let mut table = Table::new().await;
    let with_fields = |count: usize| {
        let mut request = valid_request();
        while request.header_count() < count {
            request = request.with("X-Filler", "x");
        }
        request
    };
    for fields in [63, 64] {
        table
            .check(
                &format!("{fields} fields"),
                with_fields(fields),
                Expected::counted(1),
            )
            .await;
    }
    for fields in [65, 66, 200] {
        let row = format!("{fields} fields");
        table
            .check(&row, with_fields(fields), Expected::status(431).closing())
            .await;
    }
    let with_bytes = |bytes: usize| {
        let filler = bytes - valid_request().header_bytes() - "X-Filler".len();
        let request = valid_request().with("X-Filler", "x".repeat(filler));
        assert_eq!(request.header_bytes(), bytes);
        request
    };
    let limit = HttpLimits::default().header_bytes;
    for bytes in [limit - 1, limit] {
        table
            .check(
                &format!("{bytes} bytes"),
                with_bytes(bytes),
                Expected::counted(1),
            )
            .await;
    }
    for bytes in [limit + 1, 17 * 1024, 100_000] {
        let row = format!("{bytes} bytes");
        table
            .check(&row, with_bytes(bytes), Expected::status(431).closing())
            .await;
    }
}

#[tokio::test]
async fn host_and_origin_are_checked_for_every_method() {
    let table = Table::new().await;
    for endpoint in table.endpoints() {
        check_every_method(endpoint).await;
    }
    assert_eq!(table.fixture.runs(), 2, "only the valid calls");
}

async fn check_every_method(endpoint: &Endpoint) {
    let session = Session::open(endpoint, "2025-11-25").await;
    let requests = [
        initialize_request("2025-11-25"),
        session.post_request(&tool_call(1, "count", json!({"n": 1}))),
        Request::get(&session.id, session.version),
        Request::delete(&session.id, session.version),
        Request::new("OPTIONS").with("Access-Control-Request-Method", "POST"),
    ];
    for request in requests {
        for bad in [
            request.clone().replacing("Host", "evil.test"),
            request.clone().with("Origin", "https://evil.test"),
            request.clone().with_target("http://evil.test/mcp"),
        ] {
            let response = endpoint.request(&bad).await;
            assert_eq!(response.status(), 403, "{bad:?}");
            assert_eq!(response.header("mcp-session-id"), None);
            assert_eq!(response.header("access-control-allow-origin"), None);
        }
    }
    session.call(tool_call(1, "count", json!({"n": 1}))).await;
}
