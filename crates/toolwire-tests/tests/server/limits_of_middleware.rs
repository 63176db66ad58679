//! Ready-made middleware: deadlines, limits, budgets and the audit log.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Notify;
use toolwire::middleware::{
    Audit, ConcurrencyLimit, Deadline, Next, RateLimit, Request, ResponseBudget, from_fn,
};
use toolwire::types::InputRequests;
use toolwire::{CallToolResult, ErrorObject, RequestContext, Server, ToolError, ToolResponse};
use toolwire_tests::peer::{Peer, call, cancel, complete, failed, modern, plain, server, text};

/// Returns a server with a tool that waits for the notification.
fn waiting() -> (Server, Arc<Notify>, Arc<Notify>) {
    let (started, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let waits = {
        let (started, go) = (Arc::clone(&started), Arc::clone(&go));
        plain("wait", move |_| {
            let (started, go) = (Arc::clone(&started), Arc::clone(&go));
            async move {
                started.notify_one();
                go.notified().await;
                "done"
            }
        })
    };
    let server = server()
        .tool(waits)
        .tool(plain("quick", |_| async { "quick" }));
    (server, started, go)
}

#[tokio::test(start_paused = true)]
async fn deadline_ends_a_slow_call() {
    let slow = plain("slow", |_| async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        "slow"
    });
    for (limit, is_in_time) in [(101, true), (99, false)] {
        let server = server()
            .tool(slow.clone())
            .with_middleware(Deadline::new(Duration::from_millis(limit)));
        let request = call(1, "slow", json!({})).to_string();
        let response = server.handle(request.as_bytes()).await.unwrap();
        let response: Value = serde_json::from_slice(&response).unwrap();
        assert_eq!(response.get("result").is_some(), is_in_time, "{response}");
        if !is_in_time {
            assert_eq!(response["error"]["code"], -32603);
            let data = json!({"reason": "deadline", "afterMs": limit});
            assert_eq!(response["error"]["data"], data);
        }
    }
}

#[tokio::test]
async fn calls_beyond_the_limit_wait_and_further_ones_are_rejected() {
    let (server, started, go) = waiting();
    let server = server.with_middleware(ConcurrencyLimit::new(1).with_waiting(1));
    let mut peer = Peer::connect(&server);
    peer.send(call(1, "wait", json!({}))).await;
    started.notified().await;
    peer.send(call(2, "quick", json!({}))).await;
    let listed = peer.result_of(modern("l", "tools/list", json!({}))).await;
    assert_eq!(
        listed["tools"].as_array().unwrap().len(),
        2,
        "lists do not count"
    );
    let rejected = peer.error_of(call(3, "quick", json!({})), -32603).await;
    assert_eq!(rejected["data"]["reason"], "overloaded", "{rejected}");
    go.notify_one();
    peer.expect(complete(1, text("done"))).await;
    peer.expect(complete(2, text("quick"))).await;
    peer.send(call(4, "quick", json!({}))).await;
    peer.expect(complete(4, text("quick"))).await;
}

#[tokio::test(start_paused = true)]
async fn rate_is_limited_per_caller_and_tool() {
    let limit = RateLimit::per_caller(2, Duration::from_secs(60)).for_tools("write_*");
    let server = server()
        .tool(plain("write_a", |_| async { "a" }))
        .tool(plain("read", |_| async { "r" }))
        .with_middleware(limit);
    let (mut peer, mut other) = (Peer::connect(&server), Peer::connect(&server));
    for id in 0..2 {
        peer.send(call(id, "write_a", json!({}))).await;
        peer.expect(complete(id, text("a"))).await;
    }
    let limited = peer.error_of(call(2, "write_a", json!({})), -32603).await;
    assert_eq!(
        limited["data"],
        json!({"reason": "rate_limited", "retryAfterMs": 30_000})
    );
    peer.send(call(3, "read", json!({}))).await;
    peer.expect(complete(3, text("r"))).await;
    other.send(call(4, "write_a", json!({}))).await;
    other.expect(complete(4, text("a"))).await;
    tokio::time::advance(Duration::from_millis(29_999)).await;
    peer.error_of(call(5, "write_a", json!({})), -32603).await;
    tokio::time::advance(Duration::from_millis(1)).await;
    peer.send(call(6, "write_a", json!({}))).await;
    peer.expect(complete(6, text("a"))).await;
}

#[tokio::test]
async fn results_beyond_the_budget_are_replaced() {
    let result =
        json!({"resultType": "complete", "content": [{"type": "text", "text": "x".repeat(500)}]});
    let bytes = result.to_string().len();
    for (budget, fits) in [(bytes, true), (bytes - 1, false)] {
        let server = server()
            .tool(plain("large", |_| async { "x".repeat(500) }))
            .with_middleware(ResponseBudget::new(budget));
        let mut peer = Peer::connect(&server);
        let called = peer.result_of(call(1, "large", json!({}))).await;
        if fits {
            assert_eq!(called, result);
        } else {
            let message =
                format!("the result has {bytes} bytes, and the limit is {budget}; ask for less");
            peer.send(call(2, "large", json!({}))).await;
            peer.expect(complete(2, failed(&message))).await;
        }
    }
    let server = server()
        .tool(plain("a", |_| async { "a" }))
        .with_middleware(ResponseBudget::new(10));
    let mut peer = Peer::connect(&server);
    let error = peer
        .error_of(modern(1, "tools/list", json!({})), -32603)
        .await;
    assert_eq!(error["data"]["reason"], "result_too_large", "{error}");
}

#[tokio::test]
async fn audit_has_a_line_for_each_exchange() {
    let lines = Arc::new(Mutex::new(Vec::<Value>::new()));
    let sink = {
        let lines = Arc::clone(&lines);
        move |line: &str| {
            let line = serde_json::from_str(line).expect("a line of JSON");
            lines.lock().expect("not poisoned").push(line);
        }
    };
    let (server, started, _go) = waiting();
    let server = server
        .tool(plain("fails", |_| async {
            Err::<String, _>(ToolError::failed("no"))
        }))
        .tool(plain("breaks", |_| async {
            Err::<String, _>(ToolError::rpc(ErrorObject::new(7, "broken")))
        }))
        .with_middleware(Audit::new(sink).with_arguments(["path"]));
    let mut peer = Peer::connect(&server);
    let arguments = json!({"path": "/a", "secret": "s"});
    peer.result_of(call("q", "quick", arguments)).await;
    peer.result_of(call(2, "fails", json!({}))).await;
    peer.error_of(call(3, "breaks", json!({})), 7).await;
    peer.result_of(modern(4, "tools/list", json!({}))).await;
    peer.send(call(5, "wait", json!({}))).await;
    started.notified().await;
    peer.send(cancel(5)).await;
    peer.expect_silence().await;
    let mut lines = std::mem::take(&mut *lines.lock().unwrap());
    lines.retain(|line| line["method"] != "ping");
    let shown = |line: &Value| {
        let bytes = line["bytes"].as_u64().unwrap();
        assert!(line["time"].as_u64().unwrap() > 1_600_000_000_000, "{line}");
        assert!(
            line["durationMs"].is_u64() && line["retry"] == false,
            "{line}"
        );
        (
            line["name"].clone(),
            line["outcome"].clone(),
            line["code"].clone(),
            bytes > 0,
        )
    };
    let shown: Vec<_> = lines.iter().map(shown).collect();
    assert_eq!(
        shown,
        [
            (json!("quick"), json!("ok"), Value::Null, true),
            (json!("fails"), json!("tool_error"), Value::Null, true),
            (json!("breaks"), json!("error"), json!(7), false),
            (Value::Null, json!("ok"), Value::Null, true),
            (json!("wait"), json!("cancelled"), Value::Null, false),
        ]
    );
    assert_eq!(lines[0]["arguments"], json!({"path": "/a"}));
    assert_eq!(
        (&lines[0]["id"], &lines[0]["version"]),
        (&json!("q"), &json!("2026-07-28"))
    );
}

#[tokio::test]
async fn lines_of_the_audit_log_are_limited() {
    let lines = Arc::new(Mutex::new(Vec::<Value>::new()));
    let sink = {
        let lines = Arc::clone(&lines);
        move |line: &str| {
            let line = serde_json::from_str(line).expect("a line of JSON");
            lines.lock().expect("not poisoned").push(line);
        }
    };
    let audit = Audit::new(sink).with_arguments(["a", "b"]);
    let mut peer = Peer::connect(&server().with_middleware(audit));
    // The text of an argument has two quotes.
    let half = |bytes: usize| "x".repeat(bytes - 2);
    for (name, bytes) in [(512, 8 * 1024), (513, 8 * 1024 + 1)] {
        let arguments = json!({"a": half(8 * 1024), "b": half(bytes), "c": half(8 * 1024)});
        let request = call(1, &"\u{e9}".repeat(name), arguments);
        peer.error_of(request, -32601).await;
    }
    let lines = lines.lock().unwrap();
    for line in &*lines {
        let name = line["name"].as_str().expect("a name");
        assert_eq!(name.chars().count(), 512);
    }
    assert_eq!(lines[0]["arguments"].as_object().unwrap().len(), 2);
    assert_eq!(lines[1]["arguments"], Value::Null);
}

#[tokio::test]
async fn each_round_counts_for_the_rate() {
    let asking = plain("ask", |ctx: RequestContext| async move {
        match ctx.request_state() {
            "" => ToolResponse::input_required(InputRequests::new(), Some("half".to_owned())),
            _ => ToolResponse::complete(CallToolResult::text("whole")),
        }
    });
    let hour = Duration::from_secs(3600);
    let round = |id: u64, more: Value| {
        let mut request = call(id, "ask", json!({}));
        let params = request["params"].as_object_mut().unwrap();
        params.extend(more.as_object().unwrap().clone());
        request
    };
    for limit in [
        RateLimit::per_caller(2, hour),
        RateLimit::of_all_callers(2, hour),
    ] {
        let mut peer = Peer::connect(&server().tool(asking.clone()).with_middleware(limit));
        let first = peer.result_of(call(1, "ask", json!({}))).await;
        let state = json!({"requestState": first["requestState"], "inputResponses": {}});
        peer.send(round(2, state.clone())).await;
        peer.expect(complete(2, text("whole"))).await;
        // The client sends the same state again.
        let limited = peer.error_of(round(3, state), -32603).await;
        assert_eq!(limited["data"]["reason"], "rate_limited", "{limited}");
    }
}

#[tokio::test]
async fn limit_of_all_callers_is_shared() {
    let limit = RateLimit::of_all_callers(1, Duration::from_secs(3600));
    let server = server()
        .tool(plain("t", |_| async { "ok" }))
        .with_middleware(limit);
    let mut first = Peer::connect(&server);
    first.send(call(1, "t", json!({}))).await;
    first.expect(complete(1, text("ok"))).await;
    let mut second = Peer::connect(&server);
    let limited = second.error_of(call(1, "t", json!({})), -32603).await;
    assert_eq!(limited["data"]["reason"], "rate_limited", "{limited}");
}

#[tokio::test]
async fn audit_survives_panics_and_writes_them_as_errors() {
    let lines = Arc::new(Mutex::new(Vec::<Value>::new()));
    let sink = {
        let lines = Arc::clone(&lines);
        move |line: &str| {
            let line: Value = serde_json::from_str(line).expect("a line of JSON");
            assert_ne!(line["name"], "quick", "expected");
            lines.lock().expect("not poisoned").push(line);
        }
    };
    let panicking = from_fn(async |request: &mut Request, next: Next<'_>| {
        assert_ne!(request.name(), Some("wait"), "expected");
        next.run(request).await
    });
    let (server, ..) = waiting();
    let server = server
        .with_middleware(Audit::new(sink))
        .with_middleware(panicking);
    let mut peer = Peer::connect(&server);
    peer.error_of(call(1, "wait", json!({})), -32603).await;
    peer.send(call(2, "quick", json!({}))).await;
    peer.expect(complete(2, text("quick"))).await;
    let lines = lines.lock().unwrap();
    assert_eq!(lines.len(), 1, "the sink panicked for the other");
    assert_eq!(
        (&lines[0]["outcome"], &lines[0]["code"]),
        (&json!("error"), &json!(-32603))
    );
}
