//! What browsers want to hear before and after a web page calls.

use toolwire::transport::http::{HttpOptions, LegacyMode};

use crate::http::endpoint::Endpoint;
use crate::http::request::Request;
use crate::http::stage::{Stage, count_call};

const PAGE: &str = "https://app.example.com";

async fn serve(stage: &Stage) -> Endpoint {
    let options = HttpOptions::new().with_allowed_origins([PAGE]);
    Endpoint::serve_with(&stage.server, options).await
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
async fn an_allowed_page_is_told_what_it_may_send() {
    let stage = Stage::new();
    let endpoint = serve(&stage).await;
    let answer = endpoint.ask(&preflight(PAGE)).await;
    assert_eq!(answer.status(), 204);
    assert_eq!(answer.header("access-control-allow-origin"), Some(PAGE));
    assert_eq!(
        answer.header("access-control-allow-methods"),
        Some("GET, POST, DELETE")
    );
    assert_eq!(
        answer.header("access-control-allow-headers"),
        Some("content-type,mcp-method,mcp-param-region")
    );
    assert_eq!(answer.header("vary"), Some("Origin"));
    assert_eq!(stage.runs(), 0);
}

#[tokio::test]
async fn an_allowed_page_may_read_the_answer_and_the_session() {
    let stage = Stage::new();
    let endpoint = serve(&stage).await;
    let request = Request::modern(&count_call(1)).with("Origin", PAGE);
    let answer = endpoint.ask(&request).await;
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.header("access-control-allow-origin"), Some(PAGE));
    let exposed = answer.header("access-control-expose-headers").unwrap();
    assert!(exposed.contains("Mcp-Session-Id"), "{exposed}");
    let alone = endpoint.ask(&Request::modern(&count_call(1))).await;
    assert_eq!(alone.header("access-control-allow-origin"), None);
    assert_eq!(stage.runs(), 2);
}

#[tokio::test]
async fn other_pages_are_told_nothing() {
    let stage = Stage::new();
    let endpoint = serve(&stage).await;
    for origin in [
        "https://evil.example",
        "null",
        "https://app.example.com.evil.example",
    ] {
        let answer = endpoint.ask(&preflight(origin)).await;
        assert_eq!(answer.status(), 403, "{origin}");
        assert_eq!(
            answer.header("access-control-allow-origin"),
            None,
            "{origin}"
        );
    }
}

#[tokio::test]
async fn a_preflight_names_the_methods_that_are_served() {
    let stage = Stage::new();
    let options = HttpOptions::new()
        .with_allowed_origins([PAGE])
        .with_legacy(LegacyMode::Reject);
    let endpoint = Endpoint::serve_with(&stage.server, options).await;
    let answer = endpoint.ask(&preflight(PAGE)).await;
    assert_eq!(answer.header("access-control-allow-methods"), Some("POST"));
    let plain = endpoint.ask(&Request::new("OPTIONS")).await;
    assert_eq!(plain.status(), 405, "nobody asks for permission");
    assert_eq!(plain.header("allow"), Some("POST"));
}
