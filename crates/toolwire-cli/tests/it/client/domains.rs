//! `toolwire discover DOMAIN`: the servers that the catalog of a domain lists.

use serde_json::{Value, json};
use toolwire::Server;
use toolwire::transport::http::HttpOptions;
use toolwire::types::Implementation;

use crate::client::fake_http::FakeHttp;
use crate::client::small_server::SmallServer;
use crate::client::{TempDirectory, run};

const CARD_TYPE: &str = "application/mcp-server-card+json";

/// The maximum size of a catalog.
const MAX_CATALOG_BYTES: usize = 256 * 1024;

/// The maximum size of a card.
const MAX_CARD_BYTES: usize = 64 * 1024;

/// Returns the host and the port of a URL.
pub(crate) fn domain_of(url: &str) -> &str {
    let (_, rest) = url.split_once("://").expect("the URL has a scheme");
    rest.split('/').next().expect("the URL has a host")
}

async fn weather() -> SmallServer {
    let mut info = Implementation::new("weather", "1.0.2");
    info.title = Some("Weather".to_owned());
    info.description = Some("Forecasts for every city.".to_owned());
    let options = HttpOptions::new().with_server_card("com.example/weather");
    SmallServer::start_with(Server::with_info(info), options).await
}

fn card(name: &str, description: &str) -> Value {
    json!({
        "$schema": "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json",
        "name": name, "version": "1", "description": description,
        "remotes": [{"type": "sse", "url": "https://{tenant}.example.com/sse"}],
    })
}

/// Serves a catalog with these entries.
async fn catalog(entries: Value) -> FakeHttp {
    text_document(&json!({"specVersion": "1.0", "entries": entries}).to_string()).await
}

async fn text_document(text: &str) -> FakeHttp {
    let length = text.len();
    FakeHttp::responding(&format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{text}"
    ))
    .await
}

#[tokio::test]
async fn servers_of_a_domain_are_listed() {
    let server = weather().await;
    let url = server.url();
    let ran = run(&["discover", domain_of(url)]).await;
    assert_eq!(
        ran.stderr,
        format!("connect with: toolwire tools {url}\n"),
        "{ran:?}"
    );
    assert_eq!(
        ran.ok(),
        format!(
            "server        Weather (com.example/weather 1.0.2)\n\
             description   Forecasts for every city.\n\
             url           {url}\n\
             transport     streamable-http\n\
             supports      2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05\n"
        )
    );
    // The URL is usable.
    let connected = run(&["discover", url, "--json"]).await.json();
    assert_eq!(connected["serverInfo"]["name"], "weather");
}

#[tokio::test]
async fn servers_of_a_domain_are_listed_as_json() {
    let server = weather().await;
    let (url, domain) = (server.url(), domain_of(server.url()));
    let found = run(&["discover", domain, "--json"]).await.json();
    assert_eq!(
        found["catalog"],
        format!("http://{domain}/.well-known/ai-catalog.json")
    );
    assert_eq!(found["leftOut"], 0);
    assert_eq!(found["faults"], json!([]));
    let servers = found["servers"].as_array().expect("a list");
    assert_eq!(servers.len(), 1, "{found}");
    assert_eq!(servers[0]["identifier"], "urn:air:example.com:mcp:weather");
    assert_eq!(servers[0]["cardUrl"], format!("{url}/server-card"));
    assert_eq!(servers[0]["card"]["name"], "com.example/weather");
    assert_eq!(servers[0]["card"]["remotes"][0]["url"], url);
}

#[tokio::test]
async fn domain_without_a_catalog_is_an_error_with_advice() {
    let server = SmallServer::start(Server::new("plain", "1.0.0")).await;
    let domain = domain_of(server.url());
    let text = run(&["discover", domain]).await.failed(4);
    assert!(
        text.contains(&format!("{domain} has no readable catalog")),
        "{text}"
    );
    assert!(text.contains("404 Not Found"), "{text}");
    let advice = format!(
        "try: if you know the address of a server, give it: toolwire discover http://{domain}/mcp"
    );
    assert!(text.contains(&advice), "{text}");
    // Some web servers send a page for every path.
    let pages = text_document("<!doctype html>").await;
    let text = run(&["discover", domain_of(&pages.url())]).await.failed(4);
    assert!(text.contains("the document is not a catalog"), "{text}");
}

#[tokio::test]
async fn unusable_entries_do_not_hide_the_others() {
    let entries = json!([
        {"identifier": "a", "type": CARD_TYPE, "data": card("com.example/maps", "\u{1b}[2JMaps")},
        {"identifier": "b", "type": CARD_TYPE, "data": card("maps", "Maps")},
        {"identifier": "c", "type": CARD_TYPE, "url": "http://example.com/server-card"},
        {"identifier": "d", "type": "application/agentskill+zip", "url": "https://example.com/"},
    ]);
    let server = catalog(entries).await;
    let url = server.url();
    let domain = domain_of(&url);
    let ran = run(&["discover", domain]).await;
    assert!(
        ran.stderr
            .contains("warning: b: the name \"maps\" has no slash"),
        "{ran:?}"
    );
    assert!(
        ran.stderr.contains("warning: c: the URL of the card"),
        "{ran:?}"
    );
    // A URL with variables is not one to connect to.
    assert!(!ran.stderr.contains("connect with"), "{ran:?}");
    let text = ran.ok();
    assert!(text.contains("com.example/maps"), "{text}");
    assert!(text.contains("https://{tenant}.example.com/sse"), "{text}");
    assert!(!text.contains('\u{1b}'), "{text:?}");
    let found = run(&["discover", domain, "--json"]).await.json();
    assert_eq!(found["servers"].as_array().map(Vec::len), Some(1));
    assert_eq!(found["faults"].as_array().map(Vec::len), Some(2));
    let request = server.first_request();
    assert!(
        request.starts_with("GET /.well-known/ai-catalog.json "),
        "{request}"
    );
    assert!(request.contains("application/ai-catalog+json"), "{request}");
}

#[tokio::test]
async fn url_in_the_hint_is_quoted_for_the_shell() {
    let mut card = card("com.example/maps", "Maps");
    card["remotes"] = json!([{"type": "streamable-http", "url": "https://example.com/mcp;ls"}]);
    let server = catalog(json!([{"identifier": "a", "type": CARD_TYPE, "data": card}])).await;
    let ran = run(&["discover", domain_of(&server.url())]).await;
    let hint = "connect with: toolwire tools 'https://example.com/mcp;ls'\n";
    assert_eq!(ran.stderr, hint);
    assert_eq!(ran.code, Some(0));
}

#[tokio::test]
async fn catalog_without_a_usable_card_is_an_error() {
    let entries = json!([{"identifier": "b", "type": CARD_TYPE, "data": card("maps", "Maps")}]);
    let server = catalog(entries).await;
    let text = run(&["discover", domain_of(&server.url())]).await.failed(4);
    assert!(text.contains("no server card in the catalog"), "{text}");
    assert!(text.contains("b: the name \"maps\" has no slash"), "{text}");
}

#[tokio::test]
async fn catalog_without_cards_lists_nothing() {
    let server = catalog(json!([])).await;
    let ran = run(&["discover", domain_of(&server.url())]).await;
    assert!(ran.stderr.contains("lists no MCP servers"), "{ran:?}");
    assert_eq!(ran.ok(), "");
}

#[tokio::test]
async fn cards_beyond_the_limit_are_not_read() {
    let entry = json!({"identifier": "a", "type": CARD_TYPE, "data": card("com.example/a", "A")});
    let server = catalog(vec![entry; 33].into()).await;
    let ran = run(&["discover", domain_of(&server.url())]).await;
    assert!(
        ran.stderr.contains("warning: 1 more server cards"),
        "{ran:?}"
    );
    assert_eq!(ran.ok().matches("server        ").count(), 32);
}

#[tokio::test]
async fn size_of_a_catalog_is_limited() {
    let empty = json!({"specVersion": "1.0", "entries": []}).to_string();
    for (bytes, code) in [(MAX_CATALOG_BYTES, 0), (MAX_CATALOG_BYTES + 1, 3)] {
        let server = text_document(&format!("{empty}{}", " ".repeat(bytes - empty.len()))).await;
        let ran = run(&["discover", domain_of(&server.url())]).await;
        assert_eq!(ran.code, Some(code), "{bytes}: {ran:?}");
    }
}

#[tokio::test]
async fn size_of_a_card_is_limited() {
    let text = card("com.example/maps", "Maps").to_string();
    for (bytes, code) in [(MAX_CARD_BYTES, 0), (MAX_CARD_BYTES + 1, 4)] {
        let padding = " ".repeat(bytes - text.len());
        let cards = text_document(&format!("{text}{padding}")).await;
        let entry = json!({"identifier": "a", "type": CARD_TYPE, "url": cards.url()});
        let server = catalog(json!([entry])).await;
        let ran = run(&["discover", domain_of(&server.url())]).await;
        assert_eq!(ran.code, Some(code), "{bytes}: {ran:?}");
    }
}

#[tokio::test]
async fn silent_domain_is_a_timeout() {
    let server = FakeHttp::silent().await;
    let url = server.url();
    let arguments = ["discover", domain_of(&url), "--timeout", "300ms"];
    let text = run(&arguments).await.failed(5);
    assert!(text.contains("did not respond in time"), "{text}");
}

#[tokio::test]
async fn configured_server_takes_precedence_over_a_domain() {
    let directory = TempDirectory::new("domains");
    let program = env!("CARGO_BIN_EXE_toolwire");
    let servers = json!({"demo.example": {"command": program, "args": ["demo", "--stdio"]}});
    let file = directory.write("mcp.json", &json!({"mcpServers": servers}).to_string());
    let arguments = ["discover", "demo.example", "--config", &file, "--json"];
    let discovered = run(&arguments).await.json();
    assert_eq!(discovered["serverInfo"]["name"], "toolwire-demo");
}

#[tokio::test]
async fn credentials_are_not_sent_to_a_domain() {
    let arguments = [
        "discover",
        "example.com",
        "--header",
        "Authorization: Bearer x",
    ];
    let text = run(&arguments).await.failed(2);
    assert!(text.contains("without credentials"), "{text}");
    assert!(text.contains("https://example.com/mcp"), "{text}");
}
