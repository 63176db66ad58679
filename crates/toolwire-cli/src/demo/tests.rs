//! The demo in a server that mounts it three levels deep: the same script has the same messages, under other names.

use serde_json::{Value, json};
use toolwire::Server;
use toolwire_tests::peer::{Peer, legacy, modern_with, result_response};

/// The prefix of the names of tools and prompts.
const PREFIX: &str = "in_c_in_b_in_a_";

const LEGACY: &str = "2025-11-25";

/// Returns the demo behind three mounts.
fn mounted() -> Server {
    let outside = |inner: Server, name: &str| {
        let server = Server::new("outside", "1.0.0");
        server
            .with_logging()
            .with_resource_subscriptions()
            .mount(name, inner)
    };
    let one = outside(super::server(), "in_a");
    outside(outside(one, "in_b"), "in_c")
}

/// Returns a request of the script, with the response of the client to an input request.
fn script() -> Vec<(&'static str, Value, Value)> {
    let call = |name: &str, arguments: Value| {
        let meta = json!({"progressToken": 7});
        let params = json!({"name": name, "arguments": arguments, "_meta": meta});
        ("tools/call", params, Value::Null)
    };
    let asking = |name: &str, arguments: Value, response: Value| {
        let (method, params, _) = call(name, arguments);
        (method, params, response)
    };
    let read = |uri: &str| ("resources/read", json!({ "uri": uri }), Value::Null);
    let complete = |reference: Value, value: &str| {
        let params = json!({"ref": reference, "argument": {"name": "name", "value": value}});
        ("completion/complete", params, Value::Null)
    };
    let list = |method: &'static str| (method, json!({}), Value::Null);
    let form = |confirmed: bool| json!({"action": "accept", "content": {"confirmed": confirmed}});
    let purpose = || json!({"question": "Really?"});
    let summary = json!({
        "role": "assistant",
        "content": {"type": "text", "text": "In short."},
        "model": "a-model",
    });
    vec![
        list("tools/list"),
        list("prompts/list"),
        list("resources/list"),
        list("resources/templates/list"),
        call("active", json!({})),
        call("echo", json!({"text": "ü\u{2028}\n\"\\\u{0}🦀"})),
        call("echo", json!({"text": 1})),
        call("add", json!({"a": 19, "b": 23})),
        call("add", json!({"a": i64::MAX, "b": 1})),
        call("countdown", json!({"from": 3, "delay_ms": 1})),
        call("long_poll", json!({"delay_ms": 1})),
        call("fail", json!({"message": "out of paper"})),
        call("crash", json!({})),
        call("blob", json!({"bytes": 5})),
        call("log", json!({"level": "warning", "message": "smoke"})),
        call("print", json!({"text": "on standard output"})),
        call("route", json!({"region": "north", "count": 3})),
        call(
            "remind",
            json!({"text": "Tea", "repeat": {"kind": "every", "days": 2}}),
        ),
        call("bake", json!({"layers": 2, "delay_ms": 1})),
        call("bake", json!({"layers": 1, "delay_ms": 1, "degrees": 400})),
        call("teleport", json!({})),
        asking("confirm", purpose(), form(true)),
        asking("confirm", purpose(), json!({"action": "cancel"})),
        asking("approve", purpose(), form(false)),
        asking("sign_in", json!({}), json!({"action": "accept"})),
        asking("summarise", json!({"text": "Long."}), summary),
        read("demo://notes/first"),
        read("demo://notes/nothing"),
        (
            "prompts/get",
            json!({"name": "greet", "arguments": {"name": "Ada"}}),
            Value::Null,
        ),
        complete(json!({"type": "ref/prompt", "name": "greet"}), "A"),
        complete(
            json!({"type": "ref/resource", "uri": "demo://notes/{name}"}),
            "s",
        ),
    ]
}

/// The client of one of the servers.
struct Caller {
    peer: Peer,
    prefix: &'static str,
    is_modern: bool,
}

impl Caller {
    async fn connect(server: Server, prefix: &'static str, is_modern: bool) -> Self {
        let server = server.without_server_info();
        let mut peer = Peer::connect(&server);
        if !is_modern {
            peer.initialize_with(LEGACY, capabilities()).await;
        }
        Self {
            peer,
            prefix,
            is_modern,
        }
    }

    /// Sends a request with the names of this server.
    async fn send(&self, id: usize, method: &str, mut params: Value) {
        for name in ["/name", "/ref/name"] {
            if let Some(Value::String(name)) = params.pointer_mut(name) {
                *name = format!("{}{name}", self.prefix);
            }
        }
        if self.is_modern {
            params["_meta"]["io.modelcontextprotocol/logLevel"] = json!("debug");
            let request = modern_with(id, method, params, capabilities());
            self.peer.send(request).await;
        } else {
            self.peer.send(legacy(id, method, params)).await;
        }
    }

    /// Returns the messages of a request up to its response, with the names of the demo.
    async fn exchange(
        &mut self,
        id: usize,
        method: &str,
        params: Value,
        input: &Value,
    ) -> Vec<Value> {
        self.send(id, method, params.clone()).await;
        let mut messages = Vec::new();
        loop {
            let text = self.peer.receive_text().await.replace(self.prefix, "");
            let mut message: Value = serde_json::from_str(&text).expect("messages are JSON");
            if message.get("method").is_some() && message.get("id").is_some() {
                let asked = message["id"].take();
                remove_elicitation_id(&mut message);
                messages.push(message);
                self.peer.send(result_response(asked, input.clone())).await;
                continue;
            }
            let result = &mut message["result"];
            if result["resultType"] != "input_required" {
                let is_response = message.get("id").is_some();
                messages.push(message);
                if is_response {
                    return messages;
                }
                continue;
            }
            // The state is sealed with a key of the server.
            let state = result["requestState"].take();
            let requests = result["inputRequests"].as_object_mut().expect("requests");
            let (key, request) = requests.iter_mut().next().expect("one input request");
            remove_elicitation_id(request);
            let mut retry = params.clone();
            retry["inputResponses"] = json!({ key: input });
            if state.is_string() {
                retry["requestState"] = state;
            }
            messages.push(message);
            self.send(id, method, retry).await;
        }
    }
}

/// Removes the id of a URL elicitation, which is random.
fn remove_elicitation_id(request: &mut Value) {
    if let Some(params) = request["params"].as_object_mut() {
        params.remove("elicitationId");
    }
}

fn capabilities() -> Value {
    json!({"elicitation": {"form": {}, "url": {}}, "sampling": {}})
}

#[tokio::test]
async fn script_has_the_same_messages_through_three_mounts() {
    for is_modern in [false, true] {
        let mut direct = Caller::connect(super::server(), "", is_modern).await;
        let mut mounted = Caller::connect(mounted(), PREFIX, is_modern).await;
        for (id, (method, params, input)) in script().into_iter().enumerate() {
            let expected = direct.exchange(id, method, params.clone(), &input).await;
            let messages = mounted.exchange(id, method, params.clone(), &input).await;
            assert_eq!(messages, expected, "{method} {params}");
        }
    }
}

#[tokio::test]
async fn changes_pass_three_mounts() {
    let mut mounted = Caller::connect(mounted(), PREFIX, false).await;
    let counter = json!({"uri": "demo://counter"});
    let subscribed = mounted
        .exchange(1, "resources/subscribe", counter.clone(), &Value::Null)
        .await;
    assert_eq!(subscribed, [result_response(1, json!({}))]);
    let bump = json!({"name": "bump"});
    let messages = mounted.exchange(2, "tools/call", bump, &Value::Null).await;
    let updated = &messages[0];
    assert_eq!(updated["method"], "notifications/resources/updated");
    assert_eq!(updated["params"], counter, "{messages:?}");
}
