//! Arguments that travel as headers, between our client and our server over HTTP.

use serde_json::{Value, json};
use toolwire::transport::http::{HttpListener, HttpOptions};
use toolwire::{Client, RawJson, RequestContext, Server, Tool, ToolHandler};

use crate::peer::within;

/// A tool whose argument `region` also travels under this name.
fn routed(header: &str) -> ToolHandler {
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
    let options = HttpOptions::new().without_signals();
    let listener = HttpListener::bind(server.clone(), "127.0.0.1:0", options).await;
    let listener = listener.expect("there is a free port");
    let url = listener.url().to_owned();
    tokio::spawn(listener.run());
    within(Client::connect(&url)).await.expect("a connection")
}

async fn query(client: &Client, region: &str) -> String {
    let call = client.call_tool("query", json!({ "region": region }));
    let result = within(call.into_future()).await;
    result.expect("a result").all_text()
}

#[tokio::test]
async fn a_tool_that_was_listed_is_called_with_its_headers() {
    let client = connected(&Server::new("demo", "1.0.0").tool(routed("Region"))).await;
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
async fn a_tool_that_was_never_listed_or_has_changed_is_found_out_about() {
    let server = Server::new("demo", "1.0.0").tool(routed("Region"));
    let client = connected(&server).await;
    assert_eq!(query(&client, "eu").await, r#""eu""#);
    server.remove_tool("query");
    server.add_tool(routed("Area")).expect("the name is free");
    assert_eq!(query(&client, "us").await, r#""us""#);
}
