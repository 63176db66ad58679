//! The code that the macros generate: descriptors, and the calls of the functions.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolwire::transport::InProcess;
use toolwire::{
    Elicit, IntoPrompt, IntoResource, IntoResourceTemplate, IntoTool, JsonSchema, RequestContext,
    Server, ToolError, prompt, resource, resource_template, tool,
};

/// Adds two integers.
///
/// Never overflows in practice.
#[tool]
async fn add(
    /** first number */
    a: i64,
    b: i64,
) -> i64 {
    a + b
}

const MOST: u32 = 100;

/// Lists what there is.
#[tool(
    name = "list-things",
    title = "List",
    read_only,
    destructive = false,
    open_world = false,
    icon = "https://example.com/a.png",
    strict
)]
fn list(
    /// what to look for
    #[arg(min_length = 1, max_length = 64, pattern = "^[a-z]+$")]
    query: &str,
    #[arg(default = 10, minimum = 1, maximum = MOST)] limit: u32,
    #[arg(name = "type", title = "Kind")] kind: Option<&str>,
    #[arg(default, max_items = 3)] tags: &[String],
    #[arg(header = "Region")] region: Option<String>,
) -> String {
    // A variable named like the function means the variable.
    let list = format!("{query} {limit} {kind:?} {tags:?} {region:?}");
    list
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    sum: i64,
}

#[tool(blocking, idempotent)]
fn sum(context: &RequestContext, sum: Vec<i64>) -> Result<Sum, ToolError> {
    if context.is_cancelled() || sum.is_empty() {
        return Err(ToolError::failed("nothing to add"));
    }
    Ok(Sum {
        sum: sum.iter().sum(),
    })
}

#[tool(
    output_schema = false,
    requires("sampling.tools", "elicitation", "roots")
)]
async fn quiet(_context: RequestContext) -> Sum {
    Sum { sum: 0 }
}

fn check_tool(tool: impl IntoTool, expected: &Value) {
    let descriptor = serde_json::to_value(tool.into_tool().descriptor()).unwrap();
    assert_eq!(descriptor, *expected);
}

#[test]
fn tool_descriptor_is_derived_from_the_function() {
    check_tool(
        add,
        &json!({
            "name": "add",
            "description": "Adds two integers.\n\nNever overflows in practice.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "a": {"type": "integer", "description": "first number"},
                    "b": {"type": "integer"},
                },
                "required": ["a", "b"],
            },
        }),
    );
    check_tool(
        list,
        &json!({
            "name": "list-things",
            "title": "List",
            "description": "Lists what there is.",
            "icons": [{"src": "https://example.com/a.png"}],
            "annotations": {"readOnlyHint": true, "destructiveHint": false, "openWorldHint": false},
            "inputSchema": {
                "type": "object",
                "additionalProperties": false,
                "properties": {
                    "query": {
                        "type": "string",
                        "description": "what to look for",
                        "minLength": 1,
                        "maxLength": 64,
                        "pattern": "^[a-z]+$",
                    },
                    "limit": {"type": "integer", "default": 10, "minimum": 1, "maximum": 100},
                    "type": {"type": "string", "title": "Kind"},
                    "tags": {
                        "type": "array",
                        "items": {"type": "string"},
                        "default": [],
                        "maxItems": 3,
                    },
                    "region": {"type": "string", "x-mcp-header": "Region"},
                },
                "required": ["query"],
            },
        }),
    );
    check_tool(
        sum,
        &json!({
            "name": "sum",
            "annotations": {"idempotentHint": true},
            "inputSchema": {
                "type": "object",
                "properties": {"sum": {"type": "array", "items": {"type": "integer"}}},
                "required": ["sum"],
            },
            "outputSchema": {
                "type": "object",
                "properties": {"sum": {"type": "integer"}},
                "required": ["sum"],
            },
        }),
    );
    assert_eq!(quiet.into_tool().descriptor().output_schema, None);
}

/// Greets a person.
#[prompt(title = "Greet")]
fn greet(
    /// who
    #[arg(complete = known_names, title = "Who")]
    name: String,
    #[arg(default = 1)] times: u8,
    mood: Option<&str>,
) -> String {
    format!("{name} {times} {mood:?}")
}

fn known_names(typed: &str) -> Vec<String> {
    ["ada", "alan", "grace"]
        .into_iter()
        .filter(|name| name.starts_with(typed))
        .map(str::to_owned)
        .collect()
}

/// The settings.
#[resource(
    uri = "app://settings",
    mime_type = "application/json",
    size = 2,
    audience("user"),
    priority = 0.5
)]
async fn settings(#[arg(uri)] uri: &str) -> String {
    uri.to_owned()
}

#[resource_template(uri = "app://{section}/items{?page,tags*}", name = "items")]
async fn items(
    section: &str,
    #[arg(default = 1)] page: u32,
    tags: Vec<String>,
    #[arg(uri)] uri: String,
) -> Result<String, ToolError> {
    Ok(format!("{section} {page} {tags:?} {uri}"))
}

#[test]
fn prompt_and_resource_descriptors_are_derived_from_the_functions() {
    assert_eq!(
        serde_json::to_value(greet.into_prompt().descriptor()).unwrap(),
        json!({
            "name": "greet",
            "title": "Greet",
            "description": "Greets a person.",
            "arguments": [
                {"name": "name", "title": "Who", "description": "who", "required": true},
                {"name": "times"},
                {"name": "mood"},
            ],
        })
    );
    assert_eq!(
        serde_json::to_value(settings.into_resource().descriptor()).unwrap(),
        json!({
            "uri": "app://settings",
            "name": "settings",
            "description": "The settings.",
            "mimeType": "application/json",
            "size": 2,
            "annotations": {"audience": ["user"], "priority": 0.5},
        })
    );
    assert_eq!(
        serde_json::to_value(items.into_resource_template().descriptor()).unwrap(),
        json!({"uriTemplate": "app://{section}/items{?page,tags*}", "name": "items"})
    );
}

/// Sends one request to `server` and returns the result or the error object.
async fn request(server: &Server, method: &str, params: &Value) -> Value {
    let mut client = InProcess::connect(server);
    let initialize = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    });
    client.send(&initialize.to_string()).await.unwrap();
    client.receive().await.unwrap();
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    client.send(&initialized.to_string()).await.unwrap();
    let message = json!({"jsonrpc": "2.0", "id": 2, "method": method, "params": params});
    client.send(&message.to_string()).await.unwrap();
    let response: Value = serde_json::from_str(&client.receive().await.unwrap()).unwrap();
    response.get("result").unwrap_or(&response["error"]).clone()
}

async fn check_call(server: &Server, name: &str, arguments: &Value, expected: &str) {
    let result = request(
        server,
        "tools/call",
        &json!({"name": name, "arguments": arguments}),
    )
    .await;
    assert_eq!(
        result["content"][0]["text"], expected,
        "{name} {arguments}: {result}"
    );
}

#[tokio::test]
async fn calls_reach_free_functions() {
    let server = Server::new("test", "1").tool(add).tool(list).tool(sum);
    check_call(&server, "add", &json!({"a": 1, "b": 2}), "3").await;
    check_call(
        &server,
        "list-things",
        &json!({"query": "abc"}),
        "abc 10 None [] None",
    )
    .await;
    check_call(
        &server,
        "list-things",
        &json!({"query": "x", "limit": 3, "type": "k", "tags": ["t"], "region": "eu"}),
        r#"x 3 Some("k") ["t"] Some("eu")"#,
    )
    .await;
    check_call(&server, "sum", &json!({"sum": [1, 2, 3]}), r#"{"sum":6}"#).await;
    check_call(&server, "sum", &json!({"sum": []}), "nothing to add").await;
    assert_eq!(add::call(1, 2).await, 3);
    assert_eq!(list::call("q", 1, None, &[], None), "q 1 None [] None");
}

#[tokio::test]
async fn arguments_outside_the_schema_never_reach_the_function() {
    let server = Server::new("test", "1").tool(list);
    for arguments in [
        json!({}),
        json!({"query": ""}),
        json!({"query": "UPPER"}),
        json!({"query": "x", "limit": 101}),
        json!({"query": "x", "limit": 0}),
        json!({"query": "x", "tags": ["a", "b", "c", "d"]}),
        json!({"query": "x", "unknown": 1}),
    ] {
        let params = json!({"name": "list-things", "arguments": arguments});
        let result = request(&server, "tools/call", &params).await;
        assert_eq!(result["isError"], true, "{arguments}: {result}");
    }
}

#[tokio::test]
async fn prompts_and_resources_reach_their_functions() {
    let server = Server::new("test", "1")
        .prompt(greet)
        .resource(settings)
        .resource_template(items);
    let prompt = |arguments: Value| json!({"name": "greet", "arguments": arguments});
    let text = |result: &Value| result["messages"][0]["content"]["text"].clone();
    let result = request(&server, "prompts/get", &prompt(json!({"name": "ada"}))).await;
    assert_eq!(text(&result), "ada 1 None");
    let all = json!({"name": "ada", "times": "2", "mood": "glad"});
    let result = request(&server, "prompts/get", &prompt(all)).await;
    assert_eq!(text(&result), "ada 2 Some(\"glad\")");
    let result = request(&server, "prompts/get", &prompt(json!({}))).await;
    assert_eq!(result["code"], -32602);

    let read = |uri: &str| json!({"uri": uri});
    let result = request(&server, "resources/read", &read("app://settings")).await;
    assert_eq!(result["contents"][0]["text"], "app://settings");
    let uri = "app://books/items?page=2&tags=a&tags=b";
    let result = request(&server, "resources/read", &read(uri)).await;
    assert_eq!(
        result["contents"][0]["text"],
        format!("books 2 [\"a\", \"b\"] {uri}")
    );

    let complete = json!({
        "ref": {"type": "ref/prompt", "name": "greet"},
        "argument": {"name": "name", "value": "a"},
    });
    let result = request(&server, "completion/complete", &complete).await;
    assert_eq!(result["completion"]["values"], json!(["ada", "alan"]));
}

struct Notes {
    greeting: &'static str,
}

#[toolwire::server]
impl Notes {
    const LIMIT: u32 = 7;

    /// Reads a note.
    #[tool(title = "Read note", read_only)]
    async fn read(
        &self,
        context: &RequestContext,
        name: String,
        #[arg(default = Self::LIMIT)] limit: u32,
    ) -> Result<String, std::io::Error> {
        let _ = context;
        match name.as_str() {
            "missing" => Err(std::io::ErrorKind::NotFound.into()),
            _ => Ok(format!("{} {name} {limit}", self.greeting)),
        }
    }

    #[toolwire::tool(blocking)]
    fn count(&self, text: &str) -> usize {
        text.len()
    }

    #[cfg(any())]
    #[tool]
    fn compiled_away(&self) {}

    #[prompt]
    fn greet(&self, #[arg(complete = "Self::names")] name: String) -> String {
        format!("{} {name}", self.greeting)
    }

    fn names(typed: &str) -> Vec<String> {
        vec![typed.to_uppercase()]
    }

    fn greetings(&self, typed: &str) -> Vec<String> {
        vec![format!("{} {typed}", self.greeting)]
    }

    #[resource(uri = "notes://all")]
    async fn all(&self) -> String {
        self.greeting.to_owned()
    }

    #[resource_template(uri = "notes://one/{name}")]
    async fn one(
        &self,
        #[arg(complete = self.greetings)] name: String,
    ) -> Result<String, ToolError> {
        Ok(name)
    }
}

#[tokio::test]
async fn methods_are_registered_as_handlers_with_shared_state() {
    let server = Server::new("notes", "1").handlers(Notes { greeting: "hi" });
    check_call(&server, "read", &json!({"name": "n"}), "hi n 7").await;
    check_call(&server, "count", &json!({"text": "four"}), "4").await;
    let failed = json!({"name": "read", "arguments": {"name": "missing"}});
    let result = request(&server, "tools/call", &failed).await;
    assert_eq!(result["isError"], true);

    let tools = request(&server, "tools/list", &json!({})).await;
    let names: Vec<&str> = tools["tools"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert_eq!(names, ["read", "count"]);

    let result = request(
        &server,
        "prompts/get",
        &json!({"name": "greet", "arguments": {"name": "ada"}}),
    )
    .await;
    assert_eq!(result["messages"][0]["content"]["text"], "hi ada");
    let result = request(&server, "resources/read", &json!({"uri": "notes://one/x"})).await;
    assert_eq!(result["contents"][0]["text"], "x");
    let complete = json!({
        "ref": {"type": "ref/resource", "uri": "notes://one/{name}"},
        "argument": {"name": "name", "value": "a"},
    });
    let result = request(&server, "completion/complete", &complete).await;
    assert_eq!(result["completion"]["values"], json!(["hi a"]));
    // The methods can still be called directly.
    assert_eq!(Notes { greeting: "yo" }.greet("bob".to_owned()), "yo bob");
}

struct Shelf<T>(T);

#[toolwire::server(name = "shelf", version = "9.0.0")]
impl<T: ToString> Shelf<T> {
    #[tool]
    fn show(&self) -> String {
        self.0.to_string()
    }
}

#[tokio::test]
async fn server_attribute_sets_name_and_version() {
    check_call(&Shelf(3).into_server(), "show", &json!({}), "3").await;
    let mut client = InProcess::connect(&Shelf(3).into_server());
    let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    client.send(initialize).await.unwrap();
    let response: Value = serde_json::from_str(&client.receive().await.unwrap()).unwrap();
    assert_eq!(
        response["result"]["serverInfo"],
        json!({"name": "shelf", "version": "9.0.0"})
    );
}

#[derive(Deserialize, Elicit)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "only the form is compared")]
struct Booking {
    /// Where to send the ticket.
    #[elicit(format = "email", min_length = 3, title = "Mail")]
    mail_address: String,
    #[elicit(minimum = 1, maximum = 9, default = 2)]
    seats: u32,
    ratio: Option<f64>,
    #[elicit(default = true)]
    newsletter: bool,
    #[serde(rename = "class")]
    #[elicit(default = "second-best")]
    level: Class,
    #[elicit(min_items = 1, default("window"))]
    preferences: Vec<Preference>,
    #[serde(default)]
    fallback: Option<Preference>,
    #[serde(skip)]
    internal: Vec<String>,
}

#[derive(Deserialize, Elicit)]
#[serde(rename_all = "kebab-case")]
enum Class {
    #[elicit(title = "First class")]
    First,
    SecondBest,
}

#[derive(Deserialize, Elicit)]
#[serde(rename_all = "lowercase")]
#[expect(dead_code, reason = "only the form is compared")]
enum Preference {
    Window,
    #[serde(rename = "gang")]
    Aisle,
    #[serde(skip)]
    Never,
}

#[test]
fn form_schema_is_derived_from_the_struct() {
    assert_eq!(
        serde_json::to_value(Booking::elicit_schema()).unwrap(),
        json!({
            "type": "object",
            "properties": {
                "mailAddress": {
                    "type": "string",
                    "title": "Mail",
                    "description": "Where to send the ticket.",
                    "format": "email",
                    "minLength": 3,
                },
                "seats": {"type": "integer", "minimum": 1, "maximum": 9, "default": 2},
                "ratio": {"type": "number"},
                "newsletter": {"type": "boolean", "default": true},
                "class": {
                    "type": "string",
                    "oneOf": [
                        {"const": "first", "title": "First class"},
                        {"const": "second-best", "title": "second-best"},
                    ],
                    "default": "second-best",
                },
                "preferences": {
                    "type": "array",
                    "items": {"type": "string", "enum": ["window", "gang"]},
                    "minItems": 1,
                    "default": ["window"],
                },
                "fallback": {"type": "string", "enum": ["window", "gang"]},
            },
            "required": ["mailAddress", "seats", "newsletter", "class", "preferences"],
        })
    );
}

mod renamed {
    pub(crate) use toolwire as wire;
}

#[tool(crate = "crate::macros::renamed::wire")]
fn with_crate_path(#[arg(default)] value: u8) -> u8 {
    value
}

#[test]
fn crate_path_can_be_set() {
    assert_eq!(
        with_crate_path.into_tool().descriptor().name,
        "with_crate_path"
    );
}
