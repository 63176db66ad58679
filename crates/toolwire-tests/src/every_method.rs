//! A server that offers all methods, and a request for each of them.

use serde::Serialize;
use serde_json::{Value, json};
use toolwire::events::{Emitter, NoArguments};
use toolwire::skills::Skill;
use toolwire::tasks::Tasks;
use toolwire::{ErrorObject, JsonSchema, RequestContext, Server};

use crate::legacy_server::rich_server;

/// What a client sends with a method.
#[derive(Debug)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a request has a response or opens a stream"
)]
pub enum MethodRequest {
    /// The parameters of a request that gets a response at once.
    Response(Value),
    /// The parameters of a request that opens a stream.
    Stream(Value),
    /// The first request of a session, which each test sends by itself.
    Handshake,
}

/// The payload of the event `opened`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Opened {
    number: u32,
}

/// Returns a server that offers all methods, and `com.example/own`. Servers with the same events have the same cursors.
pub fn server_of_every_method(events: &Emitter<NoArguments, Opened>) -> Server {
    rich_server()
        .method("com.example/own", |_: RequestContext, _: Value| async {
            Ok::<_, ErrorObject>(json!({}))
        })
        .skills(Skill::new("release", "Cut a release", "# Steps\n").with_file("a/b.md", "b"))
        .event("opened", events.clone())
        .with_tasks(Tasks::in_memory())
}

/// Returns the capabilities of a client that uses all extensions.
pub fn capabilities_of_every_method() -> Value {
    let extensions = ["tasks", "skills", "events"];
    let extensions = extensions.map(|name| (format!("io.modelcontextprotocol/{name}"), json!({})));
    json!({"extensions": Value::Object(extensions.into_iter().collect())})
}

/// Returns what a client sends with a method. `None` for a method that the table lacks.
pub fn request_of(method: &str) -> Option<MethodRequest> {
    let task = || json!({"taskId": "unknown"});
    let note = || json!({"uri": "notes://one"});
    let params = match method {
        "initialize" => return Some(MethodRequest::Handshake),
        "subscriptions/listen" => {
            let filter = json!({"notifications": {"toolsListChanged": true}});
            return Some(MethodRequest::Stream(filter));
        }
        "events/stream" => return Some(MethodRequest::Stream(json!({"name": "opened"}))),
        "completion/complete" => json!({
            "ref": {"type": "ref/prompt", "name": "greet"},
            "argument": {"name": "name", "value": "A"},
        }),
        "events/poll" => json!({"name": "opened", "cursor": null}),
        "events/subscribe" | "events/unsubscribe" => {
            let delivery = json!({"mode": "webhook", "url": "https://example.com/hook"});
            json!({"name": "opened", "delivery": delivery})
        }
        "logging/setLevel" => json!({"level": "error"}),
        "prompts/get" => json!({"name": "greet", "arguments": {"name": "Ann"}}),
        "resources/directory/read" => json!({"uri": "skill://release"}),
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => note(),
        "skills/get" => json!({"uri": "skill://release/SKILL.md"}),
        "tasks/cancel" | "tasks/get" | "tasks/result" => task(),
        "tasks/update" => json!({"taskId": "unknown", "inputResponses": {}}),
        "tools/call" => json!({"name": "steps", "arguments": {}}),
        "events/list"
        | "ping"
        | "prompts/list"
        | "resources/list"
        | "resources/templates/list"
        | "server/discover"
        | "skills/list"
        | "tasks/list"
        | "tools/list" => json!({}),
        _ => return None,
    };
    Some(MethodRequest::Response(params))
}
