//! Tests of mirrored headers and of the known tools.

#[cfg(feature = "schema-validation")]
mod hostile_schemas;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use toolwire_types::{ErrorObject, Tool, code};

use super::*;
use crate::client::ClientBuilder;
use crate::client::fake_transport::{FakeServer, SentRequest};

fn mismatch() -> ErrorObject {
    ErrorObject::new(
        code::HEADER_MISMATCH,
        "Mcp-Param-Region does not match the body",
    )
}

/// Returns a tool with one annotated argument, `region`.
fn routed(header: &str) -> Value {
    json!({
        "name": "query",
        "inputSchema": {
            "type": "object",
            "properties": {"region": {"type": "string", "x-mcp-header": header}},
        },
    })
}

/// Returns the `Mcp-Param-` headers of each `tools/call` request.
fn parameters(sent: &[SentRequest]) -> Vec<Vec<MirroredHeader>> {
    let calls = sent.iter().filter(|sent| sent.method == "tools/call");
    calls
        .map(|sent| {
            let mirrored = sent.mirrored.iter();
            mirrored
                .filter(|(name, _)| name.starts_with("Mcp-Param-"))
                .cloned()
                .collect()
        })
        .collect()
}

fn header(name: &'static str, value: &str) -> MirroredHeader {
    (name.into(), value.to_owned().into())
}

#[tokio::test]
async fn arguments_are_mirrored_at_their_exact_paths() {
    let tools = json!([{
        "name": "query",
        "inputSchema": {
            "type": "object",
            "properties": {
                "region": {"type": "string", "x-mcp-header": "Region"},
                "page": {"type": "integer", "x-mcp-header": "Page"},
                "where": {
                    "type": "object",
                    "properties": {
                        "region": {"type": "string"},
                        "exact": {"type": "boolean", "x-mcp-header": "Exact"},
                    },
                },
            },
        },
    }]);
    let server = FakeServer::new("s", move |_, sent| {
        Ok(match &*sent.method {
            "tools/list" => json!({ "tools": tools }),
            _ => json!({"content": []}),
        })
    });
    let client = server.connect(ClientBuilder::default()).await;
    let arguments = json!({
        "region": "Zürich", "page": 7, "exact": true,
        "where": {"region": "elsewhere", "exact": false},
    });
    client.call_tool("query", &arguments).await.unwrap();
    assert_eq!(
        parameters(&server.take_sent()),
        [vec![]],
        "the tool is not known yet"
    );

    client.list_tools().await.unwrap();
    client.call_tool("query", &arguments).await.unwrap();
    client
        .call_tool("query", json!({"region": null, "where": {}}))
        .await
        .unwrap();
    client.call_tool("another", &arguments).await.unwrap();
    let sent = server.take_sent();
    let all = vec![
        header("Mcp-Param-Region", "=?base64?WsO8cmljaA==?="),
        header("Mcp-Param-Page", "7"),
        header("Mcp-Param-Exact", "false"),
    ];
    assert_eq!(parameters(&sent), [all, vec![], vec![]]);
    assert_eq!(
        sent[1].mirrored[..2],
        [
            header("Mcp-Method", "tools/call"),
            header("Mcp-Name", "query")
        ]
    );

    let error = client
        .call_tool("query", json!({"page": 1.5}))
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("query") && error.to_string().contains("page"),
        "{error}"
    );
    assert_eq!(
        server.take_sent(),
        [],
        "a request with an argument that cannot be mirrored was sent"
    );
}

#[tokio::test(start_paused = true)]
async fn outdated_list_still_provides_the_headers() {
    let server = FakeServer::new("s", |_, sent| {
        Ok(match &*sent.method {
            "tools/list" => json!({"tools": [routed("Region")], "ttlMs": 1}),
            _ => json!({"content": []}),
        })
    });
    let client = server.connect(ClientBuilder::default()).await;
    client.list_tools().await.unwrap();
    tokio::time::advance(std::time::Duration::from_secs(3600)).await;
    server.notify("notifications/tools/list_changed", json!({}));
    client
        .call_tool("query", json!({"region": "eu"}))
        .await
        .unwrap();
    let sent = server.take_sent();
    assert_eq!(parameters(&sent), [vec![header("Mcp-Param-Region", "eu")]]);
}

#[tokio::test]
async fn tools_with_invalid_annotations_are_removed_from_lists() {
    let annotated = |name: &str, property: Value| json!({"name": name, "inputSchema": {"type": "object", "properties": {"p": property}}});
    let text = |header: &str| json!({"type": "string", "x-mcp-header": header});
    let tools = json!([
        annotated("plain", json!({"type": "string"})),
        annotated("empty", text("")),
        annotated("line break", text("a\r\nb")),
        annotated("items", json!({"type": "array", "items": text("A")})),
        annotated(
            "twice",
            json!({"type": "object", "properties": {"a": text("X"), "b": text("x")}})
        ),
        annotated("number", json!({"type": "number", "x-mcp-header": "N"})),
        annotated("good", text("Good")),
    ]);
    let server = FakeServer::new("s", move |_, sent| {
        Ok(match &*sent.method {
            "tools/list" => json!({ "tools": tools }),
            _ => json!({"content": []}),
        })
    });
    let client = server.connect(ClientBuilder::default()).await;
    let listed = client.list_tools().await.unwrap();
    let names: Vec<&str> = listed.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["plain", "good"]);
    let page = client.list_tools_page(None).await.unwrap();
    assert_eq!(page.tools.len(), 2);
}

/// Calls a tool of a server that rejects missing headers. Returns the sent methods and the outcome.
async fn call_with_lists(
    lists: Vec<Result<Value, ErrorObject>>,
    accepts: &'static str,
) -> (Vec<String>, Result<CallToolResult, Error>) {
    let listed = AtomicUsize::new(0);
    let server = FakeServer::new("s", move |_, sent| match &*sent.method {
        "tools/list" => {
            let number = listed.fetch_add(1, Ordering::Relaxed).min(lists.len() - 1);
            // The first list is cacheable, but must be requested again.
            Ok(json!({"tools": lists[number].clone()?, "ttlMs": 3_600_000}))
        }
        _ if sent.mirrored.iter().any(|(name, _)| name == accepts) => Ok(json!({"content": []})),
        _ => Err(mismatch()),
    });
    let client = server.connect(ClientBuilder::default()).await;
    client.list_tools().await.unwrap();
    server.take_sent();
    let outcome = client.call_tool("query", json!({"region": "eu"})).await;
    (server.take_methods(), outcome)
}

#[tokio::test]
async fn header_mismatch_is_retried_once_with_a_new_list() {
    let lists = vec![Ok(json!([routed("Old")])), Ok(json!([routed("New")]))];
    let (sent, outcome) = call_with_lists(lists.clone(), "Mcp-Param-New").await;
    assert_eq!(sent, ["tools/call", "tools/list", "tools/call"]);
    outcome.unwrap();

    // Only once, even if the next list would differ again.
    let mut lists = lists;
    lists.push(Ok(json!([routed("Newest")])));
    let (sent, outcome) = call_with_lists(lists, "Mcp-Param-Newest").await;
    assert_eq!(sent, ["tools/call", "tools/list", "tools/call"]);
    assert_eq!(outcome.unwrap_err().rpc(), Some(&mismatch()));
}

#[tokio::test]
async fn new_list_that_does_not_help_returns_the_first_error() {
    let check = async |fresh: Result<Value, ErrorObject>| {
        let lists = vec![Ok(json!([routed("Old")])), fresh];
        let (sent, outcome) = call_with_lists(lists, "Mcp-Param-New").await;
        assert_eq!(sent, ["tools/call", "tools/list"]);
        assert_eq!(outcome.unwrap_err().rpc(), Some(&mismatch()));
    };
    check(Ok(json!([routed("Old")]))).await;
    check(Ok(json!([]))).await;
    check(Ok(json!([routed("not valid")]))).await;
    check(Err(ErrorObject::internal("no list"))).await;
}

#[tokio::test]
async fn only_tool_calls_are_retried_after_a_mismatch() {
    let server = FakeServer::new("s", |_, _| Err(mismatch()));
    let client = server.connect(ClientBuilder::default()).await;
    let error = client.read_resource("test://a").await.unwrap_err();
    assert_eq!(error.rpc(), Some(&mismatch()));
    assert_eq!(server.take_methods(), ["resources/read"]);
}

fn tool(name: &str) -> Tool {
    Tool::new(name, json!({"type": "object"}))
}

#[test]
fn number_of_known_tools_is_limited() {
    let known = KnownTools::default();
    for number in 0..MAX_KNOWN_TOOLS {
        assert!(known.store(&tool(&number.to_string()), Ok(Vec::new())));
    }
    assert!(known.get("9999").is_some());
    assert!(
        known.store(&tool("one more"), Ok(Vec::new())),
        "it stays in the list"
    );
    assert!(known.get("one more").is_none());
    let region = param_headers::validate(&routed("Region")["inputSchema"].clone().into()).unwrap();
    known.store(&tool("0"), Ok(region));
    assert_eq!(
        known.get("0").unwrap().headers.len(),
        1,
        "a known tool may change"
    );
}

#[test]
fn known_tools_have_a_limit_in_bytes() {
    let known = KnownTools::default();
    let large = |name: &str, bytes: usize| {
        let schema = json!({"description": "x".repeat(bytes)});
        tool(name).with_output_schema(schema)
    };
    let half = MAX_KNOWN_BYTES / 2;
    assert!(known.store(&large("a", half), Ok(Vec::new())));
    assert!(known.store(&large("b", half - 1000), Ok(Vec::new())));
    assert!(known.get("b").is_some());
    assert!(
        known.store(&large("c", 2000), Ok(Vec::new())),
        "it stays in the list"
    );
    assert!(known.get("c").is_none());
    // A known tool that grew too large is removed and frees its bytes.
    assert!(known.store(&large("b", half + 1000), Ok(Vec::new())));
    assert!(known.get("b").is_none());
    assert!(known.store(&large("c", 2000), Ok(Vec::new())));
    assert!(known.get("c").is_some());
}

#[test]
fn invalid_tool_loses_its_known_headers() {
    let known = KnownTools::default();
    let region = param_headers::validate(&routed("Region")["inputSchema"].clone().into());
    assert!(known.store(&tool("query"), region));
    let invalid = param_headers::validate(&routed("")["inputSchema"].clone().into());
    assert!(!known.store(&tool("query"), invalid));
    assert!(known.get("query").is_none());
    assert!(known.store(&tool("query"), Ok(Vec::new())));
    assert!(known.get("query").is_some());
}

#[cfg(feature = "schema-validation")]
#[tokio::test]
async fn schema_is_compiled_once_and_again_after_a_change() {
    let kind = Arc::new(std::sync::Mutex::new("integer"));
    let current = Arc::clone(&kind);
    let server = FakeServer::new("s", move |_, sent| {
        let schema = json!({
            "type": "object",
            "properties": {"n": {"type": *current.lock().unwrap()}},
        });
        Ok(match &*sent.method {
            "tools/list" => json!({
                "tools": [{
                    "name": "count",
                    "inputSchema": {"type": "object"},
                    "outputSchema": schema,
                }],
            }),
            _ if sent.params["name"] == "count" => json!({
                "content": [],
                "structuredContent": {"n": 1},
            }),
            _ => json!({"content": []}),
        })
    });
    let client = server
        .connect(ClientBuilder::default().with_output_validation())
        .await;
    let schema = || {
        client
            .shared
            .tools
            .get("count")
            .unwrap()
            .output
            .clone()
            .unwrap()
    };
    client.list_tools().await.unwrap();
    assert!(!schema().is_compiled(), "compiled before the first use");
    client.call_tool("count", json!({})).await.unwrap();
    let first = schema();
    assert!(first.is_compiled());
    client.list_tools().await.unwrap();
    assert!(Arc::ptr_eq(&first, &schema()));

    *kind.lock().unwrap() = "string";
    client.list_tools().await.unwrap();
    let error = client.call_tool("count", json!({})).await.unwrap_err();
    assert!(error.to_string().contains("structuredContent.n"), "{error}");
    client.call_tool("unknown", json!({})).await.unwrap();
}

#[cfg(feature = "schema-validation")]
#[tokio::test]
async fn results_are_validated_only_on_request_and_never_errors() {
    let result = Arc::new(std::sync::Mutex::new(json!({"content": []})));
    let current = Arc::clone(&result);
    let server = FakeServer::new("s", move |_, sent| {
        Ok(match &*sent.method {
            "tools/list" => json!({
                "tools": [{
                    "name": "count",
                    "inputSchema": {"type": "object"},
                    "outputSchema": {"type": "object", "required": ["n"]},
                }],
            }),
            _ => current.lock().unwrap().clone(),
        })
    });
    let strict = server
        .connect(ClientBuilder::default().with_output_validation())
        .await;
    let lenient = server.connect(ClientBuilder::default()).await;
    let check = async |value: Value, fits: bool| {
        *result.lock().unwrap() = value.clone();
        for (client, expected) in [(&strict, fits), (&lenient, true)] {
            client.list_tools().await.unwrap();
            let outcome = client.call_tool("count", json!({})).await;
            assert_eq!(outcome.is_ok(), expected, "{value}");
        }
    };
    check(json!({"content": [], "structuredContent": {"n": 1}}), true).await;
    check(json!({"content": [], "structuredContent": {}}), false).await;
    check(json!({"content": []}), false).await;
    check(json!({"content": [], "isError": true}), true).await;
    check(
        json!({"content": [], "isError": true, "structuredContent": {}}),
        true,
    )
    .await;
}
