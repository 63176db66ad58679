//! A server with 1,000 tools, and with hostile text wherever a page shows text.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use toolwire::{
    CallToolResult, Elicit, RawJson, RequestContext, ResourceHandler, Server, Tool, ToolError,
    ToolHandler, prompt, resource_template,
};

/// Text with markup, a bidirectional control and a terminal escape sequence.
const HOSTILE: &str =
    "<img src=x onerror=alert(1)> \u{202e}gnp.exe \u{1b}[31mred <script>alert(1)</script>";

pub(super) fn many_tools() -> Server {
    let mut server = Server::new("<b>hostile</b> \u{202e}name", "1").with_instructions(HOSTILE);
    for number in 0..1000 {
        let tool = Tool::new(format!("tool_{number}"), json!({"type": "object"}))
            .with_description(format!("The tool with the number {number}."));
        server = server.tool(ToolHandler::raw(
            tool,
            move |_: RequestContext, _: RawJson| async move { number.to_string() },
        ));
    }
    let node = json!({
        "title": "node",
        "type": "object",
        "properties": {
            "value": {"type": "integer"},
            "tags": {"type": "array", "items": {"type": "string"}, "default": []},
            "left": {"$ref": "#/$defs/tree"},
        },
        "required": ["value"],
    });
    let tree = json!({
        "type": "object",
        "properties": {"root": {"$ref": "#/$defs/tree"}},
        "required": ["root"],
        "$defs": {"node": node, "tree": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/node"}]}},
    });
    let tree = ToolHandler::raw(
        Tool::new("tree", tree),
        |_: RequestContext, arguments: RawJson| async move { arguments.to_string() },
    );
    let fields = ToolHandler::raw(
        Tool::new("fields", fields()),
        |_: RequestContext, arguments: RawJson| async move { arguments.to_string() },
    );
    let map = ToolHandler::raw(
        Tool::new("map", map()),
        |_: RequestContext, arguments: RawJson| async move { arguments.to_string() },
    );
    let hostile = Tool::new("hostile", json!({"type": "object"})).with_description(HOSTILE);
    let hostile = ToolHandler::raw(hostile, |_: RequestContext, _: RawJson| async move {
        let link = json!({"type": "resource_link", "uri": "javascript:alert(1)", "name": HOSTILE});
        let content = json!({"content": [{"type": "text", "text": HOSTILE}, link]});
        serde_json::from_value::<CallToolResult>(content).expect("a valid result")
    });
    let large = Tool::new("large", json!({"type": "object"}));
    let large = ToolHandler::raw(large, |_: RequestContext, _: RawJson| async move {
        "large "
            .repeat(1_000_000)
            .chars()
            .take(5_000_000)
            .collect::<String>()
    });
    let noisy = Tool::new("noisy", json!({"type": "object"}));
    let noisy = ToolHandler::raw(noisy, |ctx: RequestContext, _: RawJson| async move {
        // It runs until the page ends it.
        for number in 0..1_000_000 {
            ctx.report_steps(number, 1_000_000, Some(HOSTILE));
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        "done"
    });
    let ask = Tool::new("ask", json!({"type": "object"}));
    let ask = ToolHandler::raw(ask, |ctx: RequestContext, _: RawJson| async move {
        let outcome = ctx.ask::<Name>("name", HOSTILE.to_owned()).await?;
        Ok::<_, ToolError>(format!("{outcome:?}"))
    });
    let server = server
        .tool(tree)
        .tool(fields)
        .tool(map)
        .tool(hostile)
        .tool(large)
        .tool(noisy)
        .tool(ask);
    let page = ResourceHandler::new(
        "hostile://page",
        HOSTILE,
        |_: RequestContext, _: String| async { HOSTILE },
    );
    let page = page.with_description(HOSTILE).with_mime_type("text/html");
    server
        .resource(page)
        .resource_template(hostile_page)
        .prompt(hostile_prompt)
}

/// A schema with every kind of field: items that are choices, a number with bounds, formats, and a nested object.
fn fields() -> Value {
    let address = json!({
        "type": "object",
        "properties": {"city": {"type": "string", "minLength": 2}, "code": {"type": "string"}},
        "required": ["city"],
    });
    json!({
        "type": "object",
        "properties": {
            "colours": {
                "type": "array",
                "items": {"enum": ["red", "green", "blue"]},
                "default": ["red", "green", "blue"],
            },
            "count": {"type": "integer", "minimum": 1, "maximum": 5},
            "day": {"type": "string", "format": "date"},
            "mail": {"type": "string", "format": "email"},
            "address": address,
            "urgent": {"type": "boolean"},
        },
        "required": ["colours", "count", "day", "address"],
    })
}

/// A schema of an object whose members have names of the user, and numbers as values. One member has texts.
fn map() -> Value {
    json!({
        "type": "object",
        "properties": {
            "labels": {"type": "object", "patternProperties": {"^[a-z_]+$": {"type": "string"}}},
        },
        "required": ["labels"],
        "additionalProperties": {"type": "integer"},
    })
}

/// The form of an input request.
#[derive(Debug, Deserialize, Elicit)]
struct Name {
    /// <img src=x onerror=alert(1)>
    #[expect(dead_code, reason = "only shown")]
    name: String,
}

/// <img src=x onerror=alert(1)>
#[resource_template(uri = "hostile://pages/{name}")]
fn hostile_page(name: String) -> String {
    name
}

/// <img src=x onerror=alert(1)>
#[prompt]
fn hostile_prompt() -> String {
    HOSTILE.to_owned()
}
