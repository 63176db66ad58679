//! Output schemas of a hostile server, which aim at the time, memory or stack of its clients.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::*;
use crate::client::Client;

/// Returns a server with one tool, with an output schema and structured content.
fn server(schema: Value, content: Value) -> FakeServer {
    FakeServer::new("s", move |_, sent| {
        Ok(match &*sent.method {
            "tools/list" => json!({
                "tools": [{
                    "name": "evil",
                    "inputSchema": {"type": "object"},
                    "outputSchema": schema,
                }],
            }),
            _ => json!({"content": [], "structuredContent": content}),
        })
    })
}

async fn connect(server: &FakeServer) -> Client {
    let client = server
        .connect(ClientBuilder::default().with_output_validation())
        .await;
    client.list_tools().await.unwrap();
    client
}

/// Returns definitions that each apply the next one twice.
fn doubling(definitions: usize) -> Value {
    let mut schema = json!({"$ref": "#/$defs/a0", "$defs": {}});
    for index in 0..definitions {
        let next = json!({"$ref": format!("#/$defs/a{}", index + 1)});
        schema["$defs"][format!("a{index}")] = json!({"anyOf": [next.clone(), next]});
    }
    schema["$defs"][format!("a{definitions}")] = json!({"type": "string"});
    schema
}

/// Returns schemas with content whose validation must fail at once, and a part of the error.
fn hostile() -> Vec<(Value, Value, &'static str)> {
    let deep = (0..120).fold(json!({}), |inner, _| json!({"not": inner}));
    let wide = json!({"enum": (0..50_000).collect::<Vec<_>>()});
    let names: Vec<_> = (0..10_000).map(|index| format!("n{index}")).collect();
    let many = json!({"items": {"required": names}});
    let mut unevaluated = doubling(40);
    unevaluated["unevaluatedProperties"] = json!(false);
    let cycle = json!({"anyOf": [{"$ref": "#"}, {"$ref": "#"}]});
    let text = "a".repeat(5_000);
    vec![
        (deep, json!({}), "levels deep"),
        (wide, json!(1), "20000 values"),
        (json!({"title": "x".repeat(300_000)}), json!(1), "bytes"),
        (doubling(60), json!(1), "steps"),
        (many, json!(vec![json!({}); 10_000]), "steps"),
        (unevaluated, json!({"a": 1}), "unevaluatedProperties"),
        (cycle, json!(1), "within each other"),
        (
            json!({"pattern": r"^(a|a)*\1$"}),
            json!(text),
            "backreference",
        ),
        (json!({"pattern": "(a{1000}){1000}"}), json!(text), "states"),
        (
            json!({"$ref": "https://example.test/a"}),
            json!(1),
            "nothing is fetched",
        ),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_schema_fails_its_call_and_no_other() {
    let honest = FakeServer::new("honest", |_, _| Ok(json!({"content": []})));
    let others = honest.connect(ClientBuilder::default()).await;
    for (schema, content, limit) in hostile() {
        let client = connect(&server(schema, content)).await;
        // A hang guard: without limits most of these never end.
        let call = tokio::time::timeout(
            Duration::from_secs(120),
            client.call_tool("evil", json!({})),
        );
        let (call, other) = tokio::join!(call, others.call_tool("any", json!({})));
        other.unwrap();
        let error = call.expect("the call ends").unwrap_err();
        assert!(error.is_protocol_violation());
        let shown = error.to_string();
        for part in [
            "evil: ",
            limit,
            "ClientLimits::schemas",
            "with_output_validation",
        ] {
            assert!(shown.contains(part), "{shown}");
        }
    }
}

/// This runtime has one thread: a validation on it would end before any other call continues.
#[tokio::test]
async fn other_calls_continue_while_a_large_result_is_validated() {
    let schema = json!({"type": "array", "items": {"type": "integer", "minimum": 0}});
    let responded = Arc::new(AtomicBool::new(false));
    let responding = Arc::clone(&responded);
    let large = json!(vec![1; 100_000]);
    let server = FakeServer::new("s", move |_, sent| {
        Ok(match &*sent.method {
            "tools/list" => json!({
                "tools": [{
                    "name": "large",
                    "inputSchema": {"type": "object"},
                    "outputSchema": schema,
                }],
            }),
            _ if sent.params["name"] == "large" => {
                responding.store(true, Ordering::Relaxed);
                json!({"content": [], "structuredContent": large})
            }
            _ => json!({"content": []}),
        })
    });
    let mut builder = ClientBuilder::default().with_output_validation();
    // No test depends on the speed of the machine.
    builder.config.limits.schema_timeout = Duration::from_secs(600);
    let client = server.connect(builder).await;
    client.list_tools().await.unwrap();
    let checked = AtomicBool::new(false);
    let meanwhile = AtomicUsize::new(0);
    let call = async {
        client.call_tool("large", json!({})).await.unwrap();
        checked.store(true, Ordering::Relaxed);
    };
    let others = async {
        while !checked.load(Ordering::Relaxed) {
            client.call_tool("small", json!({})).await.unwrap();
            if responded.load(Ordering::Relaxed) && !checked.load(Ordering::Relaxed) {
                meanwhile.fetch_add(1, Ordering::Relaxed);
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::join!(call, others);
    assert!(meanwhile.load(Ordering::Relaxed) > 10);
}

#[tokio::test]
async fn validation_that_exceeds_the_timeout_fails_its_call() {
    let schema = json!({"type": "array", "items": {"type": "integer", "minimum": 0}});
    let server = server(schema, json!(vec![1; 200_000]));
    let mut builder = ClientBuilder::default().with_output_validation();
    builder.config.limits.schema_timeout = Duration::ZERO;
    let client = server.connect(builder).await;
    client.list_tools().await.unwrap();
    let error = client.call_tool("evil", json!({})).await.unwrap_err();
    let shown = error.to_string();
    for part in ["evil: ", "longer than 0ns", "ClientLimits::schema_timeout"] {
        assert!(shown.contains(part), "{shown}");
    }
}
