//! Arguments that are mirrored in HTTP headers, with a client and a server of this crate.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use toolwire::client_middleware::{ClientNext, ClientRequest, from_fn_with};
use toolwire::transport::http::{HttpListener, HttpOptions};
use toolwire::{Client, ClientBuilder, RawJson, RequestContext, Server, Tool, ToolHandler};
use toolwire_tests::peer::within;

/// Returns a tool whose argument `region` is mirrored in this header.
fn mirrored(header: &str) -> ToolHandler {
    let schema = json!({
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": header}},
    });
    let descriptor = Tool::new("query", schema);
    ToolHandler::raw(
        descriptor,
        |_: RequestContext, arguments: RawJson| async move {
            arguments.to_value().unwrap_or(Value::Null)["region"].to_string()
        },
    )
}

async fn connected(server: &Server) -> Client {
    connected_with(server, Client::builder("test", "1.0.0")).await
}

async fn connected_with(server: &Server, builder: ClientBuilder) -> Client {
    let options = HttpOptions::new().without_signals();
    let listener = HttpListener::bind(server.clone(), "127.0.0.1:0", options).await;
    let listener = listener.expect("a free port");
    let url = listener.url().to_owned();
    tokio::spawn(listener.run());
    within(builder.connect(&url)).await.expect("a connection")
}

async fn query(client: &Client, region: &str) -> String {
    let call = client.call_tool("query", json!({ "region": region }));
    let result = within(call.into_future()).await;
    result.expect("a result").all_text()
}

#[tokio::test]
async fn listed_tool_is_called_with_mirrored_headers() {
    let client = connected(&Server::new("demo", "1.0.0").tool(mirrored("Region"))).await;
    within(client.list_tools().into_future()).await.unwrap();
    for region in [
        "eu",
        "Zürich",
        " padded ",
        "=?base64?eA==?=",
        "two\nlines",
        "",
    ] {
        assert_eq!(
            query(&client, region).await,
            Value::from(region).to_string()
        );
    }
}

#[tokio::test]
async fn unlisted_or_changed_tool_is_listed_before_the_call_is_repeated() {
    let server = Server::new("demo", "1.0.0").tool(mirrored("Region"));
    let client = connected(&server).await;
    assert_eq!(query(&client, "eu").await, r#""eu""#);
    server.remove_tool("query");
    server.add_tool(mirrored("Area")).expect("a new name");
    assert_eq!(query(&client, "us").await, r#""us""#);
}

#[tokio::test]
async fn list_inside_a_call_does_not_pass_the_middleware() {
    type Seen = Arc<Mutex<Vec<String>>>;
    let seen = Seen::default();
    let recording = from_fn_with(
        Arc::clone(&seen),
        async |seen: &Seen, request: &mut ClientRequest, next: ClientNext<'_>| {
            seen.lock().unwrap().push(request.method().to_owned());
            next.run(request).await
        },
    );
    let server = Server::new("demo", "1.0.0").tool(mirrored("Region"));
    let builder = Client::builder("test", "1.0.0").with_middleware(recording);
    let client = connected_with(&server, builder).await;
    assert_eq!(query(&client, "eu").await, r#""eu""#);
    assert_eq!(*seen.lock().unwrap(), ["tools/call"]);
    within(client.list_tools().into_future())
        .await
        .expect("a list");
    assert_eq!(
        *seen.lock().unwrap(),
        ["tools/call", "tools/list"],
        "it is not cached"
    );
}
