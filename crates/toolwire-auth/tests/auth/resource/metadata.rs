//! The protected resource metadata (RFC 9728), which needs no token.

use serde_json::json;
use toolwire::transport::http::HttpOptions;
use toolwire_tests::http::request::Request;

use super::protected_server::{
    ISSUER, METADATA, ProtectedServer, RESOURCE, config, options, tokens, whoami,
};

const AT_PATH: &str = "/.well-known/oauth-protected-resource/mcp";
const AT_ROOT: &str = "/.well-known/oauth-protected-resource";
const ALLOWED_ORIGIN: &str = "https://app.example.com";

fn server_options() -> HttpOptions {
    options(config().with_verifier(tokens())).with_allowed_origins([ALLOWED_ORIGIN])
}

async fn start_server() -> ProtectedServer {
    ProtectedServer::serve(server_options(), |server| server).await
}

fn get(path: &str) -> Request {
    Request::new("GET").with_target(path)
}

#[tokio::test]
async fn metadata_needs_no_token() {
    let server = start_server().await;
    for path in [AT_PATH, AT_ROOT] {
        for request in [get(path), get(path).with("Origin", ALLOWED_ORIGIN)] {
            let response = server.endpoint.request(&request).await;
            assert_eq!(response.status(), 200, "{path}");
            let metadata = response.message();
            assert_eq!(metadata["resource"], RESOURCE);
            assert_eq!(metadata["authorization_servers"], json!([ISSUER]));
            assert_eq!(metadata["bearer_methods_supported"], json!(["header"]));
            assert_eq!(response.header("access-control-allow-origin"), Some("*"));
            assert_eq!(response.header("cache-control"), Some("max-age=3600"));
        }
    }
    assert!(METADATA.ends_with(AT_PATH));
}

#[tokio::test]
async fn head_request_gets_the_metadata_headers() {
    let server = start_server().await;
    let mut connection = server.endpoint.connect().await;
    connection
        .send(Request::new("HEAD").with_target(AT_PATH).bytes())
        .await;
    let headers = connection.headers().await;
    assert_eq!(headers.status, 200);
    assert_eq!(headers.header("content-type"), Some("application/json"));
    // No body precedes the next response on the connection.
    connection.send(get(AT_ROOT).bytes()).await;
    assert_eq!(connection.response().await.status(), 200);
}

#[tokio::test]
async fn metadata_path_rejects_other_methods() {
    let server = start_server().await;
    for method in ["POST", "DELETE", "PUT", "OPTIONS"] {
        let response = server
            .endpoint
            .request(&Request::new(method).with_target(AT_PATH))
            .await;
        assert_eq!(response.status(), 405, "{method}");
        assert_eq!(response.header("allow"), Some("GET"));
    }
    let preflight = Request::new("OPTIONS")
        .with_target(AT_PATH)
        .with("Origin", ALLOWED_ORIGIN)
        .with("Access-Control-Request-Method", "GET");
    let response = server.endpoint.request(&preflight).await;
    assert_eq!(response.status(), 204);
    assert_eq!(response.header("access-control-allow-methods"), Some("GET"));
    assert_eq!(response.header("access-control-allow-origin"), Some("*"));
}

#[tokio::test]
async fn every_origin_may_read_the_metadata() {
    let server = start_server().await;
    for path in [AT_PATH, AT_ROOT] {
        for origin in ["https://elsewhere.example", "http://localhost:3000", "null"] {
            let response = server
                .endpoint
                .request(&get(path).with("Origin", origin))
                .await;
            assert_eq!(response.status(), 200, "{origin}");
            assert_eq!(response.header("access-control-allow-origin"), Some("*"));
            assert_eq!(response.message()["resource"], RESOURCE);
            let preflight = Request::new("OPTIONS")
                .with_target(path)
                .with("Origin", origin)
                .with("Access-Control-Request-Method", "GET")
                .with("Access-Control-Request-Headers", "mcp-protocol-version");
            let response = server.endpoint.request(&preflight).await;
            assert_eq!(response.status(), 204, "{origin}");
            for (name, value) in [
                ("access-control-allow-origin", "*"),
                ("access-control-allow-methods", "GET"),
                ("access-control-allow-headers", "mcp-protocol-version"),
            ] {
                assert_eq!(response.header(name), Some(value), "{origin}");
            }
        }
    }
    // The host is still checked.
    let rebound = get(AT_PATH)
        .replacing("Host", "evil.example.com")
        .with("Origin", "https://evil.example.com");
    assert_eq!(server.endpoint.request(&rebound).await.status(), 403);
}

#[tokio::test]
async fn other_paths_return_404() {
    let server = start_server().await;
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
            server.endpoint.request(&get(path)).await.status(),
            404,
            "{path}"
        );
    }
    let open = ProtectedServer::serve(HttpOptions::new(), |server| server).await;
    assert_eq!(open.endpoint.request(&get(AT_PATH)).await.status(), 404);
}

#[tokio::test]
async fn preflight_needs_no_token_and_the_challenge_is_exposed() {
    let server = start_server().await;
    let preflight = Request::new("OPTIONS")
        .with("Origin", ALLOWED_ORIGIN)
        .with("Access-Control-Request-Method", "POST")
        .with("Access-Control-Request-Headers", "authorization");
    let response = server.endpoint.request(&preflight).await;
    assert_eq!(response.status(), 204);
    assert_eq!(
        response.header("access-control-allow-headers"),
        Some("authorization")
    );
    assert_eq!(
        server
            .endpoint
            .request(&Request::new("OPTIONS"))
            .await
            .status(),
        405
    );

    let rejected = server
        .endpoint
        .request(&Request::modern(&whoami()).with("Origin", ALLOWED_ORIGIN))
        .await;
    assert_eq!(rejected.status(), 401);
    assert_eq!(
        rejected.header("access-control-allow-origin"),
        Some(ALLOWED_ORIGIN)
    );
    let exposed = rejected.header("access-control-expose-headers").unwrap();
    assert!(exposed.contains("WWW-Authenticate"), "{exposed}");
}

#[tokio::test]
async fn host_and_origin_are_checked_before_the_token() {
    let server = start_server().await;
    let rebound = get(AT_PATH).replacing("Host", "evil.example.com");
    assert_eq!(server.endpoint.request(&rebound).await.status(), 403);
    let cross_origin = Request::modern(&whoami()).with("Origin", "https://evil.example.com");
    assert_eq!(server.endpoint.request(&cross_origin).await.status(), 403);
}
