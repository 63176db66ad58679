//! The server of the legacy tests: it has every feature that a revision may or may not define.
//! Also a tool that waits until the test releases it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Semaphore;
use toolwire::types::{
    Annotations, GetPromptResult, Icon, Implementation, Meta, PromptArgument, ReadResourceResult,
    Role,
};
use toolwire::{
    CacheHint, CallToolResult, CompletionRequest, CompletionValues, LoggingLevel, PromptArguments,
    PromptHandler, RawJson, RequestContext, ResourceHandler, ResourceTemplateHandler, Server,
    TemplateArguments, Tool, ToolHandler,
};

/// The revisions with an `initialize` handshake, oldest first.
pub const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// Returns a server with tools, prompts, resources, completions, logging and subscriptions.
pub fn rich_server() -> Server {
    let info = Implementation::new("rich", "1.2.3")
        .with_title("Rich")
        .with_description("Has everything.")
        .with_icon(icon())
        .with_website_url("https://example.test");
    Server::with_info(info)
        .with_instructions("Use it well.")
        .with_logging()
        .with_resource_subscriptions()
        .with_list_cache(CacheHint::public(Duration::from_secs(60)))
        .tool(everything())
        .tool(numbers())
        .tool(ToolHandler::typed("steps", steps))
        .tool(ToolHandler::typed("chatter", chatter))
        .prompt(greet())
        .resource(note())
        .resource_template(notes())
}

fn icon() -> Icon {
    Icon::new("https://example.test/i.png").with_mime_type("image/png")
}

fn colour() -> Meta {
    Meta::new().with("example.test/colour", json!("red"))
}

/// Returns a tool whose descriptor has every member and whose result has every kind of content.
fn everything() -> ToolHandler {
    let descriptor = json!({
        "name": "everything",
        "title": "Everything",
        "description": "Returns everything.",
        "inputSchema": {"type": "object"},
        "outputSchema": {"type": "object", "properties": {"sum": {"type": "integer"}}},
        "annotations": {"readOnlyHint": true},
        "execution": {"taskSupport": "forbidden"},
        "icons": [{"src": "https://example.test/i.png", "mimeType": "image/png"}],
        "_meta": {"example.test/colour": "red"},
    });
    let result = json!({
        "content": [
            {
                "type": "text", "text": "hello",
                "annotations": {
                    "audience": ["user"], "priority": 0.5, "lastModified": "2025-01-01T00:00:00Z",
                },
                "_meta": {"example.test/colour": "red"},
            },
            {"type": "image", "data": "AAAA", "mimeType": "image/png"},
            {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
            {
                "type": "resource_link", "uri": "notes://one", "name": "one", "title": "One",
                "description": "the first", "icons": [{"src": "https://example.test/i.png"}],
            },
            {
                "type": "resource",
                "resource": {
                    "uri": "notes://one", "text": "1", "_meta": {"example.test/colour": "red"},
                },
            },
        ],
        "structuredContent": {"sum": 3},
        "_meta": {"example.test/trace": 7},
    });
    tool_with(descriptor, result)
}

/// Returns a tool whose structured content is an array, which only 2026-07-28 permits.
fn numbers() -> ToolHandler {
    let descriptor = json!({
        "name": "numbers",
        "inputSchema": {"type": "object"},
        "outputSchema": {"type": "array", "items": {"type": "integer"}},
    });
    tool_with(
        descriptor,
        json!({"content": [], "structuredContent": [1, 2]}),
    )
}

fn tool_with(descriptor: Value, result: Value) -> ToolHandler {
    let descriptor: Tool = serde_json::from_value(descriptor).expect("a tool");
    let result: CallToolResult = serde_json::from_value(result).expect("a result");
    ToolHandler::raw(descriptor, move |_: RequestContext, _: RawJson| {
        let result = result.clone();
        async move { result }
    })
}

#[derive(serde::Deserialize, toolwire::JsonSchema)]
struct Nothing {}

async fn steps(ctx: RequestContext, Nothing {}: Nothing) -> &'static str {
    ctx.report_steps(1, 2, Some("half"));
    ctx.report_progress(2.0, None, None);
    "done"
}

/// Logs one message at every level, from the least severe, in the order of RFC 5424.
async fn chatter(ctx: RequestContext, Nothing {}: Nothing) -> &'static str {
    use LoggingLevel::{Alert, Critical, Debug, Emergency, Error, Info, Notice, Warning};

    for level in [
        Debug, Info, Notice, Warning, Error, Critical, Alert, Emergency,
    ] {
        ctx.log_as("chatter", level, json!({"logged": true}));
    }
    "logged"
}

fn greet() -> PromptHandler {
    let result = json!({
        "description": "A greeting",
        "messages": [
            {"role": "user", "content": {"type": "text", "text": "Greet me", "_meta": {"a": 1}}},
            {
                "role": "assistant",
                "content": {"type": "resource_link", "uri": "notes://one", "name": "one"},
            },
            {
                "role": "user",
                "content": {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
            },
        ],
    });
    let result: GetPromptResult = serde_json::from_value(result).expect("a result");
    PromptHandler::new("greet", move |_: RequestContext, _: PromptArguments| {
        let result = result.clone();
        async move { result }
    })
    .with_title("Greet")
    .with_description("Greets a person.")
    .with_icon(icon())
    .with_meta(colour())
    .with_argument(PromptArgument::required("name").with_title("Name"))
    .with_completion(
        "name",
        async |_: RequestContext, request: CompletionRequest| {
            let last_name = request.arguments.get("last").cloned().unwrap_or_default();
            CompletionValues::prefix_match(
                &request.value,
                [format!("Ada{last_name}"), "Bob".to_owned()],
            )
        },
    )
}

fn note() -> ResourceHandler {
    let result = json!({
        "contents": [
            {"uri": "notes://one", "mimeType": "text/plain", "text": "1", "_meta": {"a": 1}},
        ],
    });
    let result: ReadResourceResult = serde_json::from_value(result).expect("a result");
    ResourceHandler::new("notes://one", "one", move |_: RequestContext, _: String| {
        let result = result.clone();
        async move { result }
    })
    .with_title("One")
    .with_description("The first note.")
    .with_mime_type("text/plain")
    .with_size(1)
    .with_icon(icon())
    .with_meta(colour())
    .with_annotations(
        Annotations::new()
            .with_audience([Role::User])
            .with_last_modified("2025-01-01T00:00:00Z"),
    )
    .with_cache(CacheHint::private(Duration::from_secs(5)))
}

fn notes() -> ResourceTemplateHandler {
    ResourceTemplateHandler::new(
        "notes://by-name/{name}",
        "by-name",
        async |_: RequestContext, uri: String, _: TemplateArguments| uri,
    )
    .with_title("By name")
    .with_icon(icon())
    .with_meta(colour())
    .with_completion("name", async |_: RequestContext, _: CompletionRequest| {
        vec!["one", "two"]
    })
}

/// Returns a tool `waiting` that ends when it acquires a permit.
pub fn waiting_tool() -> (ToolHandler, Arc<Semaphore>) {
    let permits = Arc::new(Semaphore::new(0));
    let available = Arc::clone(&permits);
    let descriptor = Tool::new("waiting", json!({"type": "object"}));
    let tool = ToolHandler::raw(descriptor, move |_: RequestContext, _| {
        let available = Arc::clone(&available);
        async move {
            available
                .acquire()
                .await
                .expect("the semaphore is open")
                .forget();
            "released"
        }
    });
    (tool, permits)
}
