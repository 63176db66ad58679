//! The server card and the catalog that clients find by the domain of a server.

use http::StatusCode;
use serde_json::{Value, json};
use toolwire::Server;
use toolwire::transport::http::{HttpOptions, HttpService, LegacyMode};
use toolwire::types::Implementation;
use toolwire_tests::http::endpoint::Endpoint;
use toolwire_tests::http::request::Request;
use toolwire_tests::http::socket::Response;

use crate::rejecting_authorizer::RejectingAuthorizer;

const CARD: &str = "/mcp/server-card";
const CATALOG: &str = "/.well-known/ai-catalog.json";

fn server() -> Server {
    let mut info = Implementation::new("weather", "1.0.2");
    info.title = Some("Weather".to_owned());
    info.description = Some("Forecasts for every city.".to_owned());
    Server::with_info(info)
}

fn options() -> HttpOptions {
    HttpOptions::new().with_server_card("com.example/weather")
}

async fn serve(options: HttpOptions) -> Endpoint {
    Endpoint::serve_with(&server(), options).await
}

fn get(path: &str) -> Request {
    Request::new("GET").with_target(path)
}

fn json_of(response: &Response) -> Value {
    assert_eq!(response.status(), StatusCode::OK, "{}", response.text());
    serde_json::from_str(response.text()).unwrap()
}

#[tokio::test]
async fn card_describes_the_server_and_its_endpoint() {
    let endpoint = serve(options()).await;
    let response = endpoint.request(&get(CARD)).await;
    let card = json_of(&response);
    assert_eq!(
        card,
        json!({
            "$schema": "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json",
            "name": "com.example/weather",
            "version": "1.0.2",
            "description": "Forecasts for every city.",
            "title": "Weather",
            "remotes": [{
                "type": "streamable-http",
                "url": "http://localhost/mcp",
                "supportedProtocolVersions":
                    ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"],
            }],
        })
    );
    for (name, value) in [
        ("content-type", "application/mcp-server-card+json"),
        ("cache-control", "public, max-age=3600"),
        ("access-control-allow-origin", "*"),
        ("access-control-allow-methods", "GET"),
        (
            "access-control-allow-headers",
            "Content-Type, If-None-Match",
        ),
        ("access-control-expose-headers", "ETag"),
    ] {
        assert_eq!(response.header(name), Some(value), "{name}");
    }
}

#[tokio::test]
async fn catalog_lists_the_card() {
    let endpoint = serve(options()).await;
    let response = endpoint.request(&get(CATALOG)).await;
    let catalog = json_of(&response);
    assert_eq!(
        catalog,
        json!({"specVersion": "1.0", "entries": [{
            "identifier": "urn:air:example.com:mcp:weather",
            "type": "application/mcp-server-card+json",
            "url": "http://localhost/mcp/server-card",
        }]})
    );
    assert_eq!(
        response.header("content-type"),
        Some("application/ai-catalog+json")
    );
    assert_eq!(response.header("access-control-allow-origin"), Some("*"));
}

#[tokio::test]
async fn server_publishes_nothing_by_default() {
    let endpoint = serve(HttpOptions::new()).await;
    for path in [CARD, CATALOG] {
        assert_eq!(endpoint.request(&get(path)).await.status(), 404, "{path}");
    }
}

#[tokio::test]
async fn card_lists_only_the_versions_that_are_served() {
    let endpoint = serve(options().with_legacy(LegacyMode::Reject)).await;
    let card = json_of(&endpoint.request(&get(CARD)).await);
    let versions = &card["remotes"][0]["supportedProtocolVersions"];
    assert_eq!(*versions, json!(["2026-07-28"]));
}

#[tokio::test]
async fn url_is_that_of_the_request_or_the_configured_one() {
    async fn check(options: HttpOptions, card: &str, request: Request, expected: &str) {
        let endpoint = serve(options).await;
        let response = endpoint.request(&request.with_target(card)).await;
        let document = json_of(&response);
        assert_eq!(document["remotes"][0]["url"], expected);
        let varies = response.header("vary").is_some();
        assert_eq!(varies, !expected.contains("tools"), "{expected}");
    }
    let public = || get("").replacing("Host", "mcp.example.com");
    let hosts = || options().with_public_hosts(["mcp.example.com"]);
    check(hosts(), CARD, public(), "http://mcp.example.com/mcp").await;
    let proxied = public().with("X-Forwarded-Proto", "https");
    check(hosts(), CARD, proxied, "https://mcp.example.com/mcp").await;
    let root = hosts().with_path("/");
    check(root, "/server-card", public(), "http://mcp.example.com/").await;
    let url = "https://example.com/tools/mcp";
    let configured = hosts().with_path("/").with_public_url(url);
    check(configured, "/server-card", public(), url).await;
}

#[tokio::test]
async fn known_document_gets_304() {
    let endpoint = serve(options()).await;
    for path in [CARD, CATALOG] {
        let first = endpoint.request(&get(path)).await;
        let etag = first.header("etag").unwrap().to_owned();
        let again = get(path).with("If-None-Match", format!("\"other\", {etag}"));
        let mut connection = endpoint.connect().await;
        connection.send(again.bytes()).await;
        let headers = connection.headers().await;
        assert_eq!(headers.status, 304);
        assert_eq!(headers.header("etag"), Some(&*etag));
        assert_eq!(headers.header("content-type"), None);
        // The connection is usable: the response has no body.
        connection
            .send(get(path).with("If-None-Match", "\"other\"").bytes())
            .await;
        assert_eq!(connection.response().await.status(), 200);
    }
}

#[tokio::test]
async fn every_page_may_read_the_documents() {
    let endpoint = serve(options()).await;
    for path in [CARD, CATALOG] {
        let page = get(path).with("Origin", "https://other.example");
        assert_eq!(endpoint.request(&page).await.status(), 200);
        let preflight = Request::new("OPTIONS")
            .with_target(path)
            .with("Origin", "https://other.example")
            .with("Access-Control-Request-Method", "GET")
            .with("Access-Control-Request-Headers", "if-none-match");
        let response = endpoint.request(&preflight).await;
        assert_eq!(response.status(), 204);
        for (name, value) in [
            ("access-control-allow-origin", "*"),
            ("access-control-allow-methods", "GET"),
            ("access-control-allow-headers", "if-none-match"),
        ] {
            assert_eq!(response.header(name), Some(value), "{name}");
        }
        let post = endpoint
            .request(&Request::new("POST").with_target(path))
            .await;
        assert_eq!(post.status(), 405);
    }
}

#[tokio::test]
async fn head_request_gets_the_headers() {
    let endpoint = serve(options()).await;
    let mut connection = endpoint.connect().await;
    let request = Request::new("HEAD").with_target(CARD);
    connection.send(request.bytes()).await;
    let headers = connection.headers().await;
    assert_eq!(headers.status, 200);
    assert!(headers.header("etag").is_some());
}

#[tokio::test]
async fn documents_need_no_authorization() {
    let endpoint = serve(options().with_authorizer(RejectingAuthorizer)).await;
    for path in [CARD, CATALOG] {
        assert_eq!(endpoint.request(&get(path)).await.status(), 200, "{path}");
    }
    assert_eq!(endpoint.request(&get("/mcp")).await.status(), 401);
}

#[tokio::test]
async fn host_is_checked_before_a_document_is_sent() {
    let endpoint = serve(options()).await;
    for path in [CARD, CATALOG] {
        let request = get(path).replacing("Host", "evil.example");
        assert_eq!(endpoint.request(&request).await.status(), 403);
    }
}

#[test]
#[should_panic(
    expected = "HttpOptions::with_server_card: the name \"weather\" has no slash; write a domain"
)]
fn invalid_name_is_rejected_when_the_service_is_created() {
    let options = HttpOptions::new().with_server_card("weather");
    drop(HttpService::new(server(), options));
}

#[test]
#[should_panic(
    expected = "HttpOptions::with_server_card: the version \"1.x\" is a range; give the server one version"
)]
fn version_range_is_rejected_when_the_service_is_created() {
    drop(HttpService::new(Server::new("weather", "1.x"), options()));
}

#[test]
#[should_panic(expected = "HttpOptions::with_public_url:")]
fn invalid_public_url_is_rejected_when_the_service_is_created() {
    let options = HttpOptions::new().with_public_url("example.com/mcp");
    drop(HttpService::new(server(), options));
}
