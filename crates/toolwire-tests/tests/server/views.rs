//! Views of tools: their metadata, their resources, and the capability check of handlers.

use serde_json::{Value, json};
use toolwire::apps::{Csp, Permissions, View};
use toolwire::types::Meta;
use toolwire::{Client, RawJson, RequestContext, ResourceHandler, Server, Tool, ToolHandler, tool};
use toolwire_tests::legacy_server::LEGACY;
use toolwire_tests::peer::{Peer, legacy, modern, modern_with, server};

const UI: &str = "io.modelcontextprotocol/ui";
const MIME_TYPE: &str = "text/html;profile=mcp-app";
const URI: &str = "ui://weather/forecast";
const HTML: &str = "<!doctype html><html><head><title>Forecast</title></head><p>rain</html>";

fn forecast_view() -> View {
    View::new(URI, HTML)
        .with_csp(Csp::new().connect("https://api.example.com"))
        .with_permissions(Permissions::new().with_geolocation())
        .with_domain("weather.example")
        .with_border(true)
        .with_title("Forecast")
}

/// Returns the metadata of [`forecast_view`].
fn view_meta() -> Value {
    json!({"ui": {
        "csp": {"connectDomains": ["https://api.example.com"]},
        "permissions": {"geolocation": {}},
        "domain": "weather.example",
        "prefersBorder": true,
    }})
}

/// Shows the weather of the next days.
#[tool(view = forecast_view())]
async fn forecast(ctx: &RequestContext) -> String {
    let how = if ctx.supports_views() {
        "in a view"
    } else {
        "as text"
    };
    format!("rain, {how}")
}

#[tool(view = forecast_view(), visible_to("app"))]
async fn week() -> &'static str {
    "rain"
}

#[tool(visible_to("model"))]
async fn plain() {}

/// Returns a tool with a name, from a closure.
fn raw(name: &str) -> ToolHandler {
    let tool = Tool::new(name, json!({"type": "object"}));
    ToolHandler::raw(tool, |_: RequestContext, _: RawJson| async { "done" })
}

fn views() -> Value {
    json!({"extensions": {UI: {"mimeTypes": [MIME_TYPE]}}})
}

#[tokio::test]
async fn tools_and_resources_have_the_metadata_where_hosts_look() {
    let server = server().tool(forecast).tool(week).tool(plain);
    let mut peer = Peer::connect(&server);
    let list = peer.result_of(modern(1, "tools/list", json!({}))).await;
    let metas: Vec<Value> = list["tools"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|tool| tool["_meta"].clone())
        .collect();
    let expected = json!([
        {"ui": {"resourceUri": URI}, "ui/resourceUri": URI},
        {"ui": {"resourceUri": URI, "visibility": ["app"]}, "ui/resourceUri": URI},
        {"ui": {"visibility": ["model"]}},
    ]);
    assert_eq!(json!(metas), expected);

    let list = peer.result_of(modern(2, "resources/list", json!({}))).await;
    let entry = json!([{
        "uri": URI, "name": "weather/forecast", "title": "Forecast", "mimeType": MIME_TYPE,
        "size": HTML.len(), "_meta": view_meta(),
    }]);
    assert_eq!(list["resources"], entry);
    let read = modern(3, "resources/read", json!({ "uri": URI }));
    let contents = peer.result_of(read).await["contents"].take();
    let expected = json!([{"uri": URI, "mimeType": MIME_TYPE, "text": HTML, "_meta": view_meta()}]);
    assert_eq!(contents, expected);
}

#[tokio::test]
async fn extension_is_declared_without_settings_from_2025_11_25_on() {
    let server = server().tool(forecast);
    for version in LEGACY {
        let mut peer = Peer::connect(&server);
        let initialized = peer.initialize(version).await;
        let declared = initialized["capabilities"].get("extensions");
        let expected = json!({UI: {}});
        let expected = (version == "2025-11-25").then_some(&expected);
        assert_eq!(declared, expected, "{version}");
        let read = legacy(1, "resources/read", json!({ "uri": URI }));
        let contents = peer.result_of(read).await;
        assert_eq!(contents["contents"][0]["text"], HTML, "{version}");
    }
    let mut peer = Peer::connect(&server);
    let discovered = peer
        .result_of(modern(1, "server/discover", json!({})))
        .await;
    assert_eq!(discovered["capabilities"]["extensions"], json!({UI: {}}));
    let without = Server::new("s", "1").tool(raw("a"));
    assert_eq!(without.capabilities().extension(UI), None);
}

#[tokio::test]
async fn handler_sees_whether_its_client_shows_views() {
    let server = server().tool(forecast);
    let text = |result: &Value| result["content"][0]["text"].as_str().map(str::to_owned);
    let params = || json!({"name": "forecast", "arguments": {}});
    for (client, expected) in [
        (views(), "rain, in a view"),
        (
            json!({"extensions": {UI: {"mimeTypes": ["text/html"]}}}),
            "rain, as text",
        ),
        (json!({}), "rain, as text"),
    ] {
        let mut peer = Peer::connect(&server);
        let request = modern_with(1, "tools/call", params(), client.clone());
        let result = peer.result_of(request).await;
        assert_eq!(text(&result).as_deref(), Some(expected), "{client}");
        peer.initialize_with("2025-11-25", client.clone()).await;
        let result = peer.result_of(legacy(2, "tools/call", params())).await;
        assert_eq!(text(&result).as_deref(), Some(expected), "{client}");
    }
}

#[tokio::test]
async fn dynamic_tools_have_views() {
    let server = server().tool(raw("first"));
    let view = View::new("ui://a", HTML).with_bridge();
    let meta = Meta::new().with("com.example/owner", json!("docs"));
    let second = raw("second").with_view(view.clone()).with_meta(meta);
    server.add_tool(second).expect("a valid view");
    server
        .add_tool(raw("third").with_view(view))
        .expect("the same view");
    server
        .add_tool(raw("fourth").with_view("ui://a").visible_to(["app"]))
        .expect("a registered view");
    let client = Client::builder("host", "1").with_views();
    let client = client.in_process(&server).await.expect("a connection");
    let tools = client.list_tools().await.expect("a list");
    let meta = tools[1].meta.as_ref().expect("metadata");
    assert!(meta.contains_key("com.example/owner") && meta.contains_key("ui"));
    assert_eq!(client.view(&tools[0]).await.expect("no view"), None);
    for tool in &tools[1..] {
        let view = client
            .view(tool)
            .await
            .expect("a valid view")
            .expect("a view");
        assert_eq!(view.uri(), "ui://a");
        assert!(view.html().contains("window.toolwire = "));
        assert!(view.html().ends_with("<p>rain</html>"));
    }
}

#[test]
fn invalid_views_are_rejected_with_their_reason() {
    let check = |tool: ToolHandler, expected: &str| {
        let server = Server::new("s", "1").view(View::new("ui://taken", HTML));
        let error = server.add_tool(tool).expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}");
        // A rejected tool changes nothing.
        server.add_tool(raw("t")).expect("the name is free");
    };
    let with = |view: View| raw("t").with_view(view);
    check(
        with(View::new("https://a", HTML)),
        "tool `t`: the URI of a view starts with `ui://`",
    );
    check(
        with(View::new("ui://a", "<p>a")),
        "view `ui://a`: a view is a whole HTML document",
    );
    check(
        with(View::new("ui://a", HTML).with_csp(Csp::new().resource("*"))),
        "view `ui://a`: resourceDomains: \"*\" is not an origin",
    );
    check(
        with(View::new("ui://taken", HTML).with_border(true)),
        "view `ui://taken` is registered twice, with different content",
    );
    let large = format!("<!doctype html>{}", "a".repeat(4 * 1024 * 1024));
    check(
        with(View::new("ui://a", large)),
        "at most 4194304 are allowed",
    );
    check(
        raw("t").visible_to(["user"]),
        "tool `t`: \"user\" is not a caller of a tool",
    );
    check(raw("t").visible_to([""; 0]), "is visible to");
    let server = Server::new("s", "1");
    let error = server
        .add_view(View::from("ui://a"))
        .expect_err("no document");
    assert!(error.to_string().contains("view `ui://a` has no document"));
}

#[tokio::test]
async fn view_that_a_tool_names_must_exist_when_the_server_starts() {
    let server = || Server::new("s", "1").tool(raw("t").with_view(URI));
    let error = Client::in_process(&server()).await.expect_err("no view");
    assert_eq!(
        error.to_string(),
        "tool `t` has the view `ui://weather/forecast`, which this server does not have; add it with `Server::view`"
    );
    let own = |_: RequestContext, _: String| async { HTML };
    for complete in [
        server().view(forecast_view()),
        server().resource(ResourceHandler::new(URI, "own", own)),
    ] {
        Client::in_process(&complete).await.expect("a view");
    }
}
