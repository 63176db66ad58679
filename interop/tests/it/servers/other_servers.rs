//! Servers that people use, through `toolwire proxy`.

use serde_json::{Value, json};
use toolwire::ProtocolVersion;
use toolwire_interop::ServerPeer::{self, FastMcp, Filesystem, Time};
use toolwire_interop::ServerWire::{self, Http, Stdio};

use super::pair::{Failure, Outcome, Pair, Route, Setting, ensure, equal, text_of};

const LEGACY: Option<ProtocolVersion> = Some(ProtocolVersion::V2025_11_25);

async fn connect(
    peer: ServerPeer,
    wire: ServerWire,
    route: Route,
    only: Option<ProtocolVersion>,
) -> Result<Pair, Failure> {
    Pair::connect(Setting {
        peer,
        wire,
        only,
        route,
    })
    .await
}

/// Panics with the failure, so that its text is readable.
fn report(outcome: Outcome) {
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}

/// A directory that the server may list, and a file outside of it.
async fn uses_files(route: Route, only: Option<ProtocolVersion>) -> Outcome {
    let pair = connect(Filesystem, Stdio, route, only).await?;
    let listed = pair.call("list_allowed_directories", json!({})).await?;
    // The client's root is not a directory of this machine, so the server uses its argument.
    ensure(listed.contains("servers"), || listed.clone())?;
    let directory = listed.lines().last().unwrap_or_default();
    let path = format!("{directory}/fastmcp_server.py");
    let text = pair.call("read_text_file", json!({ "path": path })).await?;
    ensure(text.contains("A small server with FastMCP"), || {
        text.clone()
    })?;
    let outside = json!({ "path": "/etc/hostname" });
    let rejected = pair.client.call_tool("read_text_file", outside).await?;
    equal(rejected.is_error, Some(true))?;
    ensure(text_of(&rejected).contains("denied"), || text_of(&rejected))
}

async fn tells_the_time(route: Route, only: Option<ProtocolVersion>) -> Outcome {
    let pair = connect(Time, Stdio, route, only).await?;
    let arguments =
        json!({ "source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo" });
    let text = pair.call("convert_time", arguments).await?;
    let converted: Value = serde_json::from_str(&text)?;
    equal(&converted["time_difference"], "+9.0h")
}

async fn uses_fastmcp(wire: ServerWire, route: Route, only: Option<ProtocolVersion>) -> Outcome {
    let pair = connect(FastMcp, wire, route, only).await?;
    let mut tools: Vec<String> = Vec::new();
    for tool in pair.client.list_tools().await? {
        tools.push(tool.name);
    }
    equal(&tools[..], ["add", "echo", "count", "fail"])?;
    let sum = pair
        .client
        .call_tool("add", json!({ "a": 2, "b": 3 }))
        .await?;
    equal(text_of(&sum), "5")?;
    let structured = sum
        .structured_content
        .map(|value| value.get().replace(' ', ""));
    equal(structured.as_deref(), Some(r#"{"result":5}"#))?;
    equal(
        pair.call("count", json!({ "to": 3, "delay_ms": 1 }))
            .await?,
        "counted to 3",
    )?;
    let message = json!({ "message": "out of paper" });
    let failed = pair.client.call_tool("fail", message).await?;
    equal(failed.is_error, Some(true))?;
    ensure(text_of(&failed).contains("out of paper"), || {
        text_of(&failed)
    })?;
    equal(pair.read("demo://motto").await?, "less is more")?;
    equal(pair.read("demo://notes/ada").await?, "a note of ada")?;
    let prompt = pair
        .client
        .get_prompt("greet", json!({ "name": "Ada" }))
        .await?;
    let text = prompt
        .messages
        .first()
        .and_then(|first| first.content.as_text());
    equal(text, Some("Say hello to Ada."))
}

#[tokio::test]
async fn filesystem_through_http() {
    report(uses_files(Route::HttpProxy, None).await);
}

#[tokio::test]
async fn filesystem_through_stdio_in_2025_11_25() {
    report(uses_files(Route::StdioProxy, LEGACY).await);
}

#[tokio::test]
async fn time_through_stdio() {
    report(tells_the_time(Route::StdioProxy, None).await);
}

#[tokio::test]
async fn time_through_http_in_2025_11_25() {
    report(tells_the_time(Route::HttpProxy, LEGACY).await);
}

#[tokio::test]
async fn fastmcp_over_stdio_through_http() {
    report(uses_fastmcp(Stdio, Route::HttpProxy, None).await);
}

#[tokio::test]
async fn fastmcp_over_http_through_stdio_in_2025_11_25() {
    report(uses_fastmcp(Http, Route::StdioProxy, LEGACY).await);
}
