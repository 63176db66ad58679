//! What anybody may read without a token, and that it is nothing else.

use serde_json::json;
use toolwire::transport::http::HttpOptions;

use super::guarded::{Guarded, ISSUER, METADATA, RESOURCE, config, options, tokens, whoami};
use crate::http::request::Request;

const AT_PATH: &str = "/.well-known/oauth-protected-resource/mcp";
const AT_ROOT: &str = "/.well-known/oauth-protected-resource";
const PAGE: &str = "https://app.example.com";

fn guarded_options() -> HttpOptions {
    options(config().with_verifier(tokens())).with_allowed_origins([PAGE])
}

async fn guarded() -> Guarded {
    Guarded::serve(guarded_options(), |server| server).await
}

fn get(path: &str) -> Request {
    Request::new("GET").with_target(path)
}

#[tokio::test]
async fn the_metadata_is_there_for_everybody() {
    let guarded = guarded().await;
    for path in [AT_PATH, AT_ROOT] {
        for request in [get(path), get(path).with("Origin", PAGE)] {
            let answer = guarded.endpoint.ask(&request).await;
            assert_eq!(answer.status(), 200, "{path}");
            let metadata = answer.message();
            assert_eq!(metadata["resource"], RESOURCE);
            assert_eq!(metadata["authorization_servers"], json!([ISSUER]));
            assert_eq!(metadata["bearer_methods_supported"], json!(["header"]));
            assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
            assert_eq!(answer.header("cache-control"), Some("max-age=3600"));
        }
    }
    assert!(METADATA.ends_with(AT_PATH));
}

#[tokio::test]
async fn the_metadata_may_be_asked_for_without_its_body() {
    let guarded = guarded().await;
    let mut wire = guarded.endpoint.connect().await;
    wire.send(Request::new("HEAD").with_target(AT_PATH).bytes())
        .await;
    let head = wire.head().await;
    assert_eq!(head.status, 200);
    assert_eq!(head.header("content-type"), Some("application/json"));
    // The next answer follows at once.
    wire.send(get(AT_ROOT).bytes()).await;
    assert_eq!(wire.answer().await.status(), 200);
}

#[tokio::test]
async fn nothing_else_can_be_done_there() {
    let guarded = guarded().await;
    for method in ["POST", "DELETE", "PUT", "OPTIONS"] {
        let answer = guarded
            .endpoint
            .ask(&Request::new(method).with_target(AT_PATH))
            .await;
        assert_eq!(answer.status(), 405, "{method}");
        assert_eq!(answer.header("allow"), Some("GET"));
    }
    let preflight = Request::new("OPTIONS")
        .with_target(AT_PATH)
        .with("Origin", PAGE)
        .with("Access-Control-Request-Method", "GET");
    let answer = guarded.endpoint.ask(&preflight).await;
    assert_eq!(answer.status(), 204);
    assert_eq!(answer.header("access-control-allow-methods"), Some("GET"));
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
}

#[tokio::test]
async fn pages_of_every_origin_may_read_the_metadata() {
    let guarded = guarded().await;
    for path in [AT_PATH, AT_ROOT] {
        for origin in ["https://elsewhere.example", "http://localhost:3000", "null"] {
            let answer = guarded
                .endpoint
                .ask(&get(path).with("Origin", origin))
                .await;
            assert_eq!(answer.status(), 200, "{origin}");
            assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
            assert_eq!(answer.message()["resource"], RESOURCE);
            let preflight = Request::new("OPTIONS")
                .with_target(path)
                .with("Origin", origin)
                .with("Access-Control-Request-Method", "GET")
                .with("Access-Control-Request-Headers", "mcp-protocol-version");
            let answer = guarded.endpoint.ask(&preflight).await;
            assert_eq!(answer.status(), 204, "{origin}");
            for (name, value) in [
                ("access-control-allow-origin", "*"),
                ("access-control-allow-methods", "GET"),
                ("access-control-allow-headers", "mcp-protocol-version"),
            ] {
                assert_eq!(answer.header(name), Some(value), "{origin}");
            }
        }
    }
    // A name that is not served stays one.
    let rebound = get(AT_PATH)
        .replacing("Host", "evil.example.com")
        .with("Origin", "https://evil.example.com");
    assert_eq!(guarded.endpoint.ask(&rebound).await.status(), 403);
}

#[tokio::test]
async fn other_paths_have_nothing() {
    let guarded = guarded().await;
    for path in [
        "/",
        "/other",
        "/mcp/",
        "/.well-known/oauth-protected-resource/",
        "/.well-known/oauth-protected-resource/other",
        "/.well-known/oauth-authorization-server",
        "/.well-known/openid-configuration",
    ] {
        assert_eq!(
            guarded.endpoint.ask(&get(path)).await.status(),
            404,
            "{path}"
        );
    }
    let open = Guarded::serve(HttpOptions::new(), |server| server).await;
    assert_eq!(open.endpoint.ask(&get(AT_PATH)).await.status(), 404);
}

#[tokio::test]
async fn a_page_may_ask_before_it_has_a_token_and_read_why_it_needs_one() {
    let guarded = guarded().await;
    let preflight = Request::new("OPTIONS")
        .with("Origin", PAGE)
        .with("Access-Control-Request-Method", "POST")
        .with("Access-Control-Request-Headers", "authorization");
    let answer = guarded.endpoint.ask(&preflight).await;
    assert_eq!(answer.status(), 204);
    assert_eq!(
        answer.header("access-control-allow-headers"),
        Some("authorization")
    );
    assert_eq!(
        guarded
            .endpoint
            .ask(&Request::new("OPTIONS"))
            .await
            .status(),
        405
    );

    let refused = guarded
        .endpoint
        .ask(&Request::modern(&whoami()).with("Origin", PAGE))
        .await;
    assert_eq!(refused.status(), 401);
    assert_eq!(refused.header("access-control-allow-origin"), Some(PAGE));
    let exposed = refused.header("access-control-expose-headers").unwrap();
    assert!(exposed.contains("WWW-Authenticate"), "{exposed}");
}

#[tokio::test]
async fn names_are_checked_before_tokens() {
    let guarded = guarded().await;
    let rebound = get(AT_PATH).replacing("Host", "evil.example.com");
    assert_eq!(guarded.endpoint.ask(&rebound).await.status(), 403);
    let foreign = Request::modern(&whoami()).with("Origin", "https://evil.example.com");
    assert_eq!(guarded.endpoint.ask(&foreign).await.status(), 403);
}
