//! CORS: preflight requests, and the headers of responses to web pages.

use toolwire::transport::http::{HttpOptions, LegacyMode};
use toolwire_tests::http::endpoint::Endpoint;
use toolwire_tests::http::fixture::{Fixture, count_call};
use toolwire_tests::http::request::Request;

const ALLOWED_ORIGIN: &str = "https://app.example.com";

async fn serve(fixture: &Fixture) -> Endpoint {
    let options = HttpOptions::new().with_allowed_origins([ALLOWED_ORIGIN]);
    Endpoint::serve_with(&fixture.server, options).await
}

fn preflight(origin: &str) -> Request {
    Request::new("OPTIONS")
        .with("Origin", origin)
        .with("Access-Control-Request-Method", "POST")
        .with(
            "Access-Control-Request-Headers",
            "content-type,mcp-method,mcp-param-region",
        )
}

#[tokio::test]
async fn preflight_of_an_allowed_origin_lists_methods_and_headers() {
    let fixture = Fixture::new();
    let endpoint = serve(&fixture).await;
    let response = endpoint.request(&preflight(ALLOWED_ORIGIN)).await;
    assert_eq!(response.status(), 204);
    assert_eq!(
        response.header("access-control-allow-origin"),
        Some(ALLOWED_ORIGIN)
    );
    assert_eq!(
        response.header("access-control-allow-methods"),
        Some("GET, POST, DELETE")
    );
    assert_eq!(
        response.header("access-control-allow-headers"),
        Some("content-type,mcp-method,mcp-param-region")
    );
    assert_eq!(response.header("vary"), Some("Origin"));
    assert_eq!(fixture.runs(), 0);
}

#[tokio::test]
async fn allowed_origin_may_read_the_response_and_the_session_id() {
    let fixture = Fixture::new();
    let endpoint = serve(&fixture).await;
    let request = Request::modern(&count_call(1)).with("Origin", ALLOWED_ORIGIN);
    let response = endpoint.request(&request).await;
    assert_eq!(response.status(), 200);
    assert_eq!(
        response.header("access-control-allow-origin"),
        Some(ALLOWED_ORIGIN)
    );
    let exposed = response.header("access-control-expose-headers").unwrap();
    assert!(exposed.contains("Mcp-Session-Id"), "{exposed}");
    let without_origin = endpoint.request(&Request::modern(&count_call(1))).await;
    assert_eq!(without_origin.header("access-control-allow-origin"), None);
    assert_eq!(fixture.runs(), 2);
}

#[tokio::test]
async fn preflight_of_another_origin_is_rejected_with_403() {
    let fixture = Fixture::new();
    let endpoint = serve(&fixture).await;
    for origin in [
        "https://evil.example",
        "null",
        "https://app.example.com.evil.example",
    ] {
        let response = endpoint.request(&preflight(origin)).await;
        assert_eq!(response.status(), 403, "{origin}");
        assert_eq!(
            response.header("access-control-allow-origin"),
            None,
            "{origin}"
        );
    }
}

#[tokio::test]
async fn preflight_lists_only_served_methods() {
    let fixture = Fixture::new();
    let options = HttpOptions::new()
        .with_allowed_origins([ALLOWED_ORIGIN])
        .with_legacy(LegacyMode::Reject);
    let endpoint = Endpoint::serve_with(&fixture.server, options).await;
    let response = endpoint.request(&preflight(ALLOWED_ORIGIN)).await;
    assert_eq!(
        response.header("access-control-allow-methods"),
        Some("POST")
    );
    let plain = endpoint.request(&Request::new("OPTIONS")).await;
    assert_eq!(plain.status(), 405, "not a preflight request");
    assert_eq!(plain.header("allow"), Some("POST"));
}
