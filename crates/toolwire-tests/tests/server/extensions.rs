//! Extensions: their declarations, and the rejection of their messages.

use serde_json::{Value, json};
use tokio::sync::mpsc;
use toolwire::types::{ServerCapabilities, ToolsCapability};
use toolwire::{Client, ErrorObject, Extension, ProtocolVersion, RequestContext, Server};
use toolwire_tests::legacy_server::LEGACY;
use toolwire_tests::peer::{
    Peer, complete, legacy, modern, modern_with, notification, plain, result_response, server,
    text, within,
};

const TASKS: &str = "io.modelcontextprotocol/tasks";
const OWN: &str = "com.example/own";
const ECHO: &str = "com.example/own/echo";

/// Returns an extension with a method that returns the client's settings.
fn own() -> Extension {
    Extension::new(OWN)
        .with_settings(json!({"level": 2}))
        .method(ECHO, |ctx: RequestContext, params: Params| async move {
            let settings = ctx.client_capabilities().extension(OWN).cloned();
            Ok::<_, ErrorObject>(json!({"word": params.word, "settings": settings}))
        })
}

#[derive(serde::Deserialize)]
struct Params {
    word: String,
}

fn params() -> Value {
    json!({"word": "a"})
}

fn declaring(id: &str) -> Value {
    json!({"extensions": {id: {"colour": "red"}}})
}

#[tokio::test]
async fn extension_exists_from_2025_11_25_on() {
    let server = server().extension(own());
    for version in LEGACY {
        let mut peer = Peer::connect(&server);
        let initialized = peer.initialize(version).await;
        let request = legacy(1, ECHO, params());
        if version == "2025-11-25" {
            let declared = json!({"extensions": {OWN: {"level": 2}}});
            assert_eq!(initialized["capabilities"], declared);
            let result = json!({"word": "a", "settings": null});
            peer.send(request).await;
            peer.expect(result_response(1, result)).await;
        } else {
            assert_eq!(initialized["capabilities"], json!({}), "{version}");
            peer.error_of(request, -32601).await;
        }
        // A modern request on the same connection has its own revision.
        let result = json!({"word": "a", "settings": {"colour": "red"}});
        peer.send(modern_with(2, ECHO, params(), declaring(OWN)))
            .await;
        peer.expect(complete(2, result)).await;
    }
}

#[tokio::test]
async fn extension_of_a_later_revision_is_not_declared_before() {
    let server = server().extension(own().since(ProtocolVersion::V2026_07_28));
    let mut peer = Peer::connect(&server);
    let initialized = peer.initialize("2025-11-25").await;
    assert_eq!(initialized["capabilities"], json!({}));
    peer.error_of(legacy(1, ECHO, params()), -32601).await;
    let discovered = peer
        .result_of(modern(2, "server/discover", json!({})))
        .await;
    let declared = json!({"extensions": {OWN: {"level": 2}}});
    assert_eq!(discovered["capabilities"], declared);
    peer.result_of(modern(3, ECHO, params())).await;
}

#[tokio::test]
async fn undeclared_extension_is_rejected_before_the_parameters() {
    let server = server().extension(own().requires_client());
    let mut peer = Peer::connect(&server);
    for params in [params(), json!({})] {
        let error = peer.error_of(modern(1, ECHO, params), -32021).await;
        let missing = json!({"requiredCapabilities": {"extensions": {OWN: {}}}});
        assert_eq!(error["data"], missing);
    }
    let declared = |params| modern_with(1, ECHO, params, declaring(OWN));
    peer.error_of(declared(json!({})), -32602).await;
    peer.result_of(declared(params())).await;
    // A declaration says nothing about the next request.
    peer.error_of(modern(1, ECHO, params()), -32021).await;

    peer.initialize("2025-11-25").await;
    peer.error_of(legacy(2, ECHO, params()), -32600).await;
    let mut peer = Peer::connect(&server);
    peer.initialize_with("2025-11-25", declaring(OWN)).await;
    peer.result_of(legacy(3, ECHO, params())).await;
}

#[tokio::test]
async fn task_methods_require_the_declaration_of_the_client() {
    let unknown = json!({"taskId": "unknown", "inputResponses": {}});
    let core = json!({"tasks": {"list": {}, "cancel": {}}});
    let check = async |server: Server, method: &str, client: &Value, code: i64| {
        let mut peer = Peer::connect(&server);
        for params in [unknown.clone(), json!({})] {
            let request = modern_with(1, method, params, client.clone());
            let error = peer.error_of(request, code).await;
            if code == -32021 {
                let missing = json!({"requiredCapabilities": {"extensions": {TASKS: {}}}});
                assert_eq!(error["data"], missing);
            }
        }
    };
    let offering = || server().with_extension(TASKS, json!({}));
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        check(server(), method, &declaring(TASKS), -32601).await;
        check(offering(), method, &json!({}), -32021).await;
        check(offering(), method, &core, -32021).await;
    }
    for method in ["tasks/result", "tasks/list"] {
        check(offering(), method, &declaring(TASKS), -32601).await;
    }
}

#[tokio::test]
async fn listening_to_tasks_requires_the_declaration_of_the_client() {
    let listen = |filter: Value, client: Value| {
        let params = json!({"notifications": filter});
        modern_with("s", "subscriptions/listen", params, client)
    };
    let tool = || plain("idle", |_| async { "idle" });
    let offering = server().with_extension(TASKS, json!({})).tool(tool());
    let mut peer = Peer::connect(&offering);
    let both = json!({"toolsListChanged": true, "taskIds": ["t"]});
    for client in [json!({}), json!({"tasks": {}}), declaring(OWN)] {
        let error = peer.error_of(listen(both.clone(), client), -32021).await;
        let missing = json!({"requiredCapabilities": {"extensions": {TASKS: {}}}});
        assert_eq!(error["data"], missing);
    }
    peer.send(listen(json!({"toolsListChanged": true}), json!({})))
        .await;
    let acknowledged = peer.receive().await;
    assert_eq!(
        acknowledged["params"]["notifications"]["toolsListChanged"],
        true
    );

    // A server without tasks omits them, as every kind that it does not support.
    let mut peer = Peer::connect(&server().tool(tool()));
    peer.send(listen(both, json!({}))).await;
    let acknowledged = peer.receive().await;
    let accepted = json!({"toolsListChanged": true});
    assert_eq!(acknowledged["params"]["notifications"], accepted);
}

#[tokio::test]
async fn notifications_of_an_extension_reach_it_in_its_revisions() {
    let (heard, mut received) = mpsc::unbounded_channel();
    let tick = Extension::new(OWN).notification("com.example/own/tick", move |_, params: Value| {
        heard
            .send(params)
            .expect("the test receives the notifications");
        async {}
    });
    let server = server().extension(tick);
    let versions = [None, Some("2025-06-18"), Some("2025-11-25")];
    for version in versions {
        let mut peer = Peer::connect(&server);
        if let Some(version) = version {
            peer.initialize(version).await;
        }
        let params = json!({"version": version});
        peer.send(notification("com.example/own/tick", params))
            .await;
        peer.expect_silence().await;
        peer.close_input();
        peer.expect_end().await;
    }
    for version in [None, Some("2025-11-25")] {
        let heard = within(received.recv()).await;
        assert_eq!(heard, Some(json!({"version": version})));
    }
    assert!(received.try_recv().is_err());
}

#[tokio::test]
async fn settings_of_any_shape_survive_initialize_in_both_directions() {
    let settings = || {
        json!({
            "io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]},
            "com.example/conformance": {
                "text": "é\u{1F600}", "number": 1.5, "big": 12_345_678_901_234_567_890_u64,
                "list": [1, [null, {"deep": {"deeper": false}}]], "null": null,
            },
            "com.example/empty": {},
        })
    };
    let with_settings = |server: Server| {
        let settings = settings();
        let entries = settings.as_object().expect("an object").clone();
        entries.into_iter().fold(server, |server, (id, settings)| {
            server.with_extension(id, settings)
        })
    };
    let seen = plain("seen", |ctx: RequestContext| async move {
        let seen = json!({"extensions": ctx.client_capabilities().extensions});
        seen.to_string()
    });
    let server = with_settings(server().tool(seen)).with_extension(TASKS, json!({}));
    let mut peer = Peer::connect(&server);
    let mut declared = settings();
    let initialized = peer
        .initialize_with("2025-11-25", json!({"extensions": declared}))
        .await;
    assert_eq!(initialized["capabilities"]["extensions"], settings());
    let called = legacy(1, "tools/call", json!({"name": "seen"}));
    let result = peer.result_of(called).await;
    let expected = json!({"extensions": settings()}).to_string();
    assert_eq!(result, text(&expected));

    declared[TASKS] = json!({});
    let discovered = peer
        .result_of(modern(2, "server/discover", json!({})))
        .await;
    assert_eq!(discovered["capabilities"]["extensions"], declared);
    let call = json!({"name": "seen", "_meta": {}});
    let call = modern_with(3, "tools/call", call, json!({"extensions": declared}));
    let result = peer.result_of(call).await;
    let expected = json!({"extensions": declared}).to_string();
    assert_eq!(result["content"][0]["text"], expected);
}

#[tokio::test]
async fn extensions_are_sent_in_the_order_of_registration() {
    let ids = ["z.example/z", "a.example/a", OWN, "m.example/m"];
    let server = ids.iter().fold(server(), |server, id| match *id {
        OWN => server.extension(own()),
        id => server.with_extension(id, json!({})),
    });
    let mut peer = Peer::connect(&server);
    let initialized = peer.initialize("2025-11-25").await;
    let discovered = peer
        .result_of(modern(1, "server/discover", json!({})))
        .await;
    for declared in [initialized, discovered] {
        let extensions = declared["capabilities"]["extensions"].as_object();
        let extensions = extensions.expect("extensions are declared");
        assert!(extensions.keys().eq(ids), "{declared}");
    }
}

#[tokio::test]
#[should_panic(
    expected = "com.example/own/echo` is already registered by extension `com.example/own`"
)]
async fn method_of_an_extension_cannot_be_replaced() {
    let echo = |_: RequestContext, params: Value| async { Ok::<_, ErrorObject>(params) };
    let other = Extension::new("com.example/other").method(ECHO, echo);
    let _server = server().extension(own()).extension(other);
}

#[tokio::test]
async fn unmet_requirement_is_an_error_at_the_start() {
    let tools = ServerCapabilities::new().with_tools(ToolsCapability::new());
    let needy = server().extension(own().needs(tools).needs_extension("com.example/base"));
    let expected = "extension `com.example/own` needs the capability `tools`, which this server does not offer; \
                    add it or remove the extension";
    let error = Client::in_process(&needy).await.expect_err("no tools");
    assert_eq!(error.to_string(), expected);
    let error = needy.clone().serve_http("127.0.0.1:0").await;
    assert_eq!(error.expect_err("no tools").to_string(), expected);
    let (near, _far) = tokio::io::duplex(64);
    let (reader, writer) = tokio::io::split(near);
    let limits = toolwire::transport::Limits::default();
    let error = needy.serve_io(reader, writer, limits).await;
    assert_eq!(error.expect_err("no tools").to_string(), expected);

    let met = needy
        .tool(plain("idle", |_| async { "idle" }))
        .with_extension("com.example/base", json!({}));
    let client = Client::in_process(&met).await.expect("all requirements");
    client.close().await;
}
