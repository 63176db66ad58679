//! Tools for scenarios about schemas, headers, required capabilities and declared extensions.

use serde_json::{Value, json};
use toolwire::{RawJson, RequestContext, Server, Tool, ToolHandler, tool};

pub(crate) fn add_to(server: Server) -> Server {
    server
        .tool(json_schema_2020_12_tool)
        .tool(test_custom_header)
        .tool(test_missing_capability)
        .tool(test_legacy_extension_capabilities)
}

/// Returns a tool with a raw schema, because the scenario expects exactly these keywords.
fn json_schema_2020_12_tool() -> ToolHandler {
    let descriptor = Tool::new("json_schema_2020_12_tool", schema_with_every_keyword())
        .with_description("Tool with JSON Schema 2020-12 features");
    ToolHandler::raw(
        descriptor,
        |_: RequestContext, arguments: RawJson| async move {
            format!("The arguments fit the schema: {}", arguments.get())
        },
    )
}

fn schema_with_every_keyword() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {
                    "street": {"type": "string"},
                    "city": {"type": "string"}
                }
            }
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"}
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {
            "properties": {"contactMethod": {"const": "phone"}},
            "required": ["contactMethod"]
        },
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false
    })
}

/// Takes an argument that HTTP clients mirror into the header `Mcp-Param-Value`.
#[tool(read_only)]
fn test_custom_header(#[arg(header = "Value")] value: String) -> String {
    format!("The value is {value:?}.")
}

/// Rejects clients without the sampling capability.
#[tool(read_only, requires("sampling"))]
fn test_missing_capability() -> &'static str {
    "The client can sample."
}

/// Returns the extensions that the client declared, as JSON text.
#[tool(read_only)]
fn test_legacy_extension_capabilities(ctx: &RequestContext) -> String {
    let extensions = ctx.client_capabilities().extensions.clone();
    json!({"extensions": extensions.unwrap_or_default()}).to_string()
}
