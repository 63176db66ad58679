//! Scripts of messages between a host and a view.

use serde_json::{Value, json};
use toolwire_types::{Implementation, Meta, Tool};

use super::*;

fn tool(name: &str, visibility: &[&str]) -> Tool {
    let meta = Meta::new().with("ui", json!({ "visibility": visibility }));
    Tool::new(name, json!({"type": "object"})).with_meta(meta)
}

fn host() -> ViewHost {
    let tools = [
        tool("both", &["model", "app"]),
        tool("for_views", &["app"]),
        tool("for_models", &["model"]),
    ];
    ViewHost::new(Implementation::new("host", "1"))
        .with_context("theme", "dark")
        .with_tools(&tools)
        .with_resources()
        .with_open_links()
        .with_messages()
        .with_model_context()
        .with_logging()
}

fn request(id: i64, method: &str, params: Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

fn notice(method: &str, params: Value) -> String {
    json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string()
}

fn initialize(id: i64) -> String {
    let params = json!({"appInfo": {"name": "a", "version": "1"}, "appCapabilities": {}, "protocolVersion": REVISION});
    request(id, "ui/initialize", params)
}

fn initialized() -> String {
    notice("ui/notifications/initialized", json!({}))
}

/// Returns a session with a view that is ready.
fn running() -> ViewSession {
    let mut session = ViewSession::new(host());
    session.receive(&initialize(0));
    let events = session.receive(&initialized());
    assert_eq!(events, [ViewEvent::Initialized]);
    session
}

/// Writes events in one line each.
fn lines(events: &[ViewEvent]) -> Vec<String> {
    let line = |event: &ViewEvent| match event {
        ViewEvent::Send(message) => {
            let message = message.to_value().expect("JSON");
            match (message.get("method"), message.get("error")) {
                (Some(method), _) => {
                    format!("{} {}", method.as_str().expect("text"), message["params"])
                }
                (None, Some(error)) => format!("error {} {}", message["id"], error["code"]),
                (None, None) => format!("result {} {}", message["id"], message["result"]),
            }
        }
        ViewEvent::CallTool {
            name, arguments, ..
        } => format!("call {name} {arguments}"),
        ViewEvent::ReadResource { uri, .. } => format!("read {uri}"),
        ViewEvent::OpenLink { url, .. } => format!("open {url}"),
        ViewEvent::Message { content, .. } => format!("message {content}"),
        ViewEvent::UpdateModelContext { params, .. } => format!("context {params}"),
        ViewEvent::RequestDisplayMode { mode, .. } => format!("mode {mode}"),
        ViewEvent::Resize { width, height } => format!("size {width:?} {height:?}"),
        ViewEvent::Log(params) => format!("log {params}"),
        other => format!("{other:?}"),
    };
    events.iter().map(line).collect()
}

fn check(session: &mut ViewSession, message: &str, expected: &[&str]) {
    assert_eq!(lines(&session.receive(message)), expected, "{message}");
}

#[test]
fn nothing_is_sent_before_the_view_is_initialized() {
    let mut session = ViewSession::new(host());
    assert!(session.tool_input_partial(json!({"city": "O"})).is_empty());
    check(
        &mut session,
        &request(1, "tools/call", json!({"name": "both"})),
        &["error 1 -32600"],
    );
    check(
        &mut session,
        &request(2, "ping", json!({})),
        &["result 2 {}"],
    );
    check(
        &mut session,
        &initialized(),
        &["Ignored(\"unexpected notification `ui/notifications/initialized`\")"],
    );
    assert!(session.change_context(context("theme", "light")).is_empty());

    let events = session.receive(&initialize(3));
    let [ViewEvent::Send(result)] = &events[..] else {
        panic!("{events:?}");
    };
    let expected = json!({"jsonrpc": "2.0", "id": 3, "result": {
        "protocolVersion": "2026-01-26",
        "hostInfo": {"name": "host", "version": "1"},
        "hostCapabilities": {
            "openLinks": {}, "serverTools": {}, "serverResources": {}, "logging": {}, "message": {},
            "updateModelContext": {},
        },
        "hostContext": {"theme": "light"},
    }});
    assert_eq!(result.to_value().expect("JSON"), expected);
    assert!(session.tool_result(json!({"content": []})).is_empty());
    assert!(session.change_context(context("theme", "dark")).is_empty());
    check(&mut session, &initialize(4), &["error 4 -32600"]);
    check(
        &mut session,
        &request(5, "resources/read", json!({"uri": "a:b"})),
        &["error 5 -32600"],
    );

    // The result of a call without arguments comes after empty arguments.
    check(
        &mut session,
        &initialized(),
        &[
            "Initialized",
            r#"ui/notifications/host-context-changed {"theme":"dark"}"#,
            r#"ui/notifications/tool-input {"arguments":{}}"#,
            r#"ui/notifications/tool-result {"content":[]}"#,
        ],
    );
    check(&mut session, &initialize(6), &["error 6 -32600"]);
}

fn context(name: &str, value: &str) -> Map<String, Value> {
    Map::from_iter([(name.to_owned(), value.into())])
}

#[test]
fn arguments_precede_the_only_end_of_the_call() {
    let mut session = running();
    let sent = lines(&session.tool_input_partial(json!({"city": "O"})));
    assert_eq!(
        sent,
        [r#"ui/notifications/tool-input-partial {"arguments":{"city":"O"}}"#]
    );
    let sent = lines(&session.tool_input(json!({"city": "Oslo"})));
    assert_eq!(
        sent,
        [r#"ui/notifications/tool-input {"arguments":{"city":"Oslo"}}"#]
    );
    assert!(session.tool_input(json!({})).is_empty());
    assert!(session.tool_input_partial(json!({})).is_empty());
    let sent = lines(&session.tool_cancelled(Some("stopped")));
    assert_eq!(
        sent,
        [r#"ui/notifications/tool-cancelled {"reason":"stopped"}"#]
    );
    assert!(session.tool_result(json!({"content": []})).is_empty());
    assert!(session.tool_cancelled(None).is_empty());
}

#[test]
fn requests_are_checked_before_the_host_sees_them() {
    let mut session = running();
    let mut check = |method: &str, params: Value, expected: &str| {
        check(&mut session, &request(7, method, params), &[expected]);
    };
    check("tools/call", json!({"name": "both"}), "call both {}");
    check(
        "tools/call",
        json!({"name": "for_views", "arguments": {"a": 1}}),
        r#"call for_views {"a":1}"#,
    );
    check(
        "tools/call",
        json!({"name": "for_models"}),
        "error 7 -32602",
    );
    check("tools/call", json!({"name": "unknown"}), "error 7 -32602");
    check(
        "tools/call",
        json!({"name": "both", "arguments": [1]}),
        "error 7 -32602",
    );
    check("tools/call", json!({}), "error 7 -32602");
    check(
        "resources/read",
        json!({"uri": "notes://1"}),
        "read notes://1",
    );
    check("resources/read", json!({"uri": 1}), "error 7 -32602");
    check(
        "ui/open-link",
        json!({"url": "https://a.example/b"}),
        "open https://a.example/b",
    );
    check(
        "ui/open-link",
        json!({"url": "javascript:alert(1)"}),
        "error 7 -32602",
    );
    check(
        "ui/open-link",
        json!({"url": "file:///etc/passwd"}),
        "error 7 -32602",
    );
    check(
        "ui/open-link",
        json!({"url": "https://user@a.example"}),
        "error 7 -32602",
    );
    let content = json!([{"type": "text", "text": "a"}]);
    check(
        "ui/message",
        json!({"role": "user", "content": content}),
        &format!("message {content}"),
    );
    check(
        "ui/message",
        json!({"role": "assistant", "content": content}),
        "error 7 -32602",
    );
    check(
        "ui/update-model-context",
        json!({"structuredContent": {}}),
        r#"context {"structuredContent":{}}"#,
    );
    check(
        "ui/request-display-mode",
        json!({"mode": "fullscreen"}),
        r#"result 7 {"mode":"inline"}"#,
    );
    for unknown in [
        "tools/list",
        "sampling/createMessage",
        "ui/download-file",
        "initialize",
        "",
    ] {
        check(unknown, json!({}), "error 7 -32601");
    }
}

#[test]
fn host_that_offers_nothing_rejects_every_request() {
    let mut session = ViewSession::new(ViewHost::new(Implementation::new("host", "1")));
    session.receive(&initialize(0));
    session.receive(&initialized());
    for method in [
        "tools/call",
        "resources/read",
        "ui/open-link",
        "ui/message",
        "ui/update-model-context",
    ] {
        let message = request(
            1,
            method,
            json!({"name": "a", "uri": "a:b", "url": "https://a.example"}),
        );
        check(&mut session, &message, &["error 1 -32601"]);
    }
    let log = notice(
        "notifications/message",
        json!({"level": "info", "data": "a"}),
    );
    check(
        &mut session,
        &log,
        &["Ignored(\"unexpected notification `notifications/message`\")"],
    );
}

#[test]
fn offered_display_mode_is_passed_to_the_host() {
    let host = host().with_context("availableDisplayModes", json!(["inline", "fullscreen"]));
    let mut session = ViewSession::new(host.with_context("displayMode", "fullscreen"));
    session.receive(&initialize(0));
    session.receive(&initialized());
    let ask = |mode: &str| request(1, "ui/request-display-mode", json!({ "mode": mode }));
    check(&mut session, &ask("inline"), &["mode inline"]);
    check(
        &mut session,
        &ask("pip"),
        &[r#"result 1 {"mode":"fullscreen"}"#],
    );
}

#[test]
fn messages_that_are_not_from_a_view_are_ignored() {
    let mut session = running();
    let mut check = |message: &str| {
        let events = session.receive(message);
        assert!(
            matches!(events[..], [ViewEvent::Ignored(_)]),
            "{message}: {events:?}"
        );
    };
    check("");
    check("1");
    check("[]");
    check("{}");
    check(r#"{"jsonrpc": "1.0", "id": 1, "method": "ping"}"#);
    check(r#"{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}"#);
    check(r#"{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": [1]}"#);
    check(r#"{"jsonrpc": "2.0", "id": 1, "result": {}}"#);
    check(&notice("ui/notifications/sandbox-proxy-ready", json!({})));
    check(&notice(
        "ui/notifications/sandbox-resource-ready",
        json!({"html": "a"}),
    ));
    check(&notice("ui/notifications/tool-result", json!({})));
    check(&format!("\"{}\"", "a".repeat(MAX_MESSAGE_BYTES)));
    check(&"[".repeat(100_000));
}

#[test]
fn sizes_are_bounded() {
    let mut session = running();
    let mut check = |params: Value, expected: &str| {
        check(
            &mut session,
            &notice("ui/notifications/size-changed", params),
            &[expected],
        );
    };
    check(
        json!({"width": 100, "height": 20.5}),
        "size Some(100.0) Some(20.5)",
    );
    check(json!({"height": 100_000}), "size None Some(100000.0)");
    for size in [json!(-1), json!(100_001), json!("1"), json!(1e300)] {
        check(
            json!({ "height": size }),
            "Ignored(\"the reported size is invalid\")",
        );
    }
}

#[test]
fn each_request_gets_one_response_and_their_number_is_bounded() {
    let mut session = running();
    let mut requests = Vec::new();
    for _ in 0..MAX_REQUESTS {
        let mut events = session.receive(&request(1, "resources/read", json!({"uri": "a:b"})));
        match events.pop() {
            Some(ViewEvent::ReadResource { request, .. }) => requests.push(request),
            other => panic!("{other:?}"),
        }
    }
    let read = request(2, "resources/read", json!({"uri": "a:b"}));
    check(&mut session, &read, &["error 2 -32000"]);
    let first = requests.remove(0);
    let event = session.respond(first, Ok(json!({"contents": []}).into()));
    assert_eq!(
        lines(&[event.expect("a response")]),
        [r#"result 1 {"contents":[]}"#]
    );
    check(&mut session, &read, &["read a:b"]);
    let declined = session.respond(requests.remove(0), Err(ViewRequest::declined("no")));
    assert_eq!(lines(&[declined.expect("a response")]), ["error 1 -32000"]);
    let foreign = ViewRequest {
        id: RequestId::from(9),
        bytes: 0,
    };
    assert_eq!(session.respond(foreign, Ok(RawJson::empty_object())), None);
}

#[test]
fn size_of_pending_requests_is_bounded() {
    let mut session = running();
    let message = |size: usize| {
        let empty = request(1, "resources/read", json!({"uri": ""})).len();
        request(
            1,
            "resources/read",
            json!({"uri": "a".repeat(size - empty)}),
        )
    };
    let read = |session: &mut ViewSession, size: usize| match session.receive(&message(size)).pop()
    {
        Some(ViewEvent::ReadResource { request, .. }) => Some(request),
        _ => None,
    };
    let quarter = MAX_PENDING_BYTES / 4;
    let mut requests: Vec<_> = (0..3)
        .map(|_| read(&mut session, quarter).expect("a request"))
        .collect();
    assert_eq!(read(&mut session, quarter - 100).map(|_| ()), Some(()));
    assert_eq!(read(&mut session, 101), None);
    assert_eq!(read(&mut session, 100).map(|_| ()), Some(()));
    let first = requests.remove(0);
    assert!(
        session
            .respond(first, Ok(RawJson::empty_object()))
            .is_some()
    );
    assert!(read(&mut session, quarter).is_some());
}

#[test]
fn view_is_closed_after_its_response() {
    let mut session = running();
    let mut events = session.receive(&request(1, "resources/read", json!({"uri": "a:b"})));
    let Some(ViewEvent::ReadResource {
        request: pending, ..
    }) = events.pop()
    else {
        panic!("{events:?}");
    };
    assert_eq!(lines(&session.close()), ["ui/resource-teardown {}"]);
    assert!(session.close().is_empty());
    assert!(session.tool_input(json!({})).is_empty());
    check(
        &mut session,
        &request(2, "tools/call", json!({"name": "both"})),
        &["error 2 -32000"],
    );
    let wrong = json!({"jsonrpc": "2.0", "id": 1, "result": {}}).to_string();
    check(
        &mut session,
        &wrong,
        &["Ignored(\"a response without a request\")"],
    );
    let closed = json!({"jsonrpc": "2.0", "id": "teardown", "result": {}}).to_string();
    check(&mut session, &closed, &["Closed"]);
    assert_eq!(session.respond(pending, Ok(RawJson::empty_object())), None);
    check(
        &mut session,
        &closed,
        &["Ignored(\"a response without a request\")"],
    );

    let mut early = ViewSession::new(host());
    assert_eq!(early.close(), [ViewEvent::Closed]);
    check(&mut early, &initialize(1), &["error 1 -32600"]);
}
