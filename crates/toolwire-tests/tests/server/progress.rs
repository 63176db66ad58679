//! `notifications/progress`.

use serde_json::{Value, json};
use tokio::sync::oneshot;
use toolwire::{RequestContext, ToolError, ToolHandler};
use toolwire_tests::peer::{
    Peer, call, complete, legacy, modern, notification, plain, result_response, server, text,
};

use std::sync::{Arc, Mutex};

fn with_token(id: i64, tool: &str, token: Value) -> Value {
    let params = json!({"name": tool, "_meta": {"progressToken": token}});
    modern(id, "tools/call", params)
}

fn progress(token: Value, mut members: Value) -> Value {
    members["progressToken"] = token;
    notification("notifications/progress", members)
}

fn counting() -> ToolHandler {
    plain("count", |ctx: RequestContext| async move {
        ctx.report_steps(1, 2, Some("half"));
        ctx.report_steps(2, 2, None);
        "counted"
    })
}

#[tokio::test]
async fn first_request_of_a_connection_may_report_progress() {
    let mut peer = Peer::connect(&server().tool(counting()));
    peer.send(with_token(1, "count", json!("t"))).await;
    peer.expect(progress(
        json!("t"),
        json!({"progress": 1, "total": 2, "message": "half"}),
    ))
    .await;
    peer.expect(progress(json!("t"), json!({"progress": 2, "total": 2})))
        .await;
    peer.expect(complete(1, text("counted"))).await;
}

#[tokio::test]
async fn progress_token_has_the_json_type_of_the_request() {
    let mut peer = Peer::connect(&server().tool(counting()));
    for token in [
        json!(0),
        json!(-7),
        json!("7"),
        json!(""),
        json!("\u{e9}\""),
    ] {
        peer.send(with_token(1, "count", token.clone())).await;
        for _ in 0..2 {
            assert_eq!(peer.receive().await["params"]["progressToken"], token);
        }
        peer.expect(complete(1, text("counted"))).await;
    }
}

#[tokio::test]
async fn request_without_a_progress_token_gets_no_progress() {
    let mut peer = Peer::connect(&server().tool(counting()));
    peer.send(call(1, "count", json!({}))).await;
    peer.expect(complete(1, text("counted"))).await;
    let null = with_token(2, "count", Value::Null);
    peer.send(null).await;
    peer.expect(complete(2, text("counted"))).await;
    peer.expect_silence().await;
}

#[tokio::test]
async fn progress_that_does_not_increase_is_not_sent() {
    let not_monotonic = plain("not_monotonic", |ctx: RequestContext| async move {
        for value in [1.0, 1.0, 0.5, f64::NAN, f64::INFINITY, 1.25, -3.0, 2.0] {
            ctx.report_progress(value, None, None);
        }
        "done"
    });
    let mut peer = Peer::connect(&server().tool(not_monotonic));
    peer.send(with_token(1, "not_monotonic", json!(1))).await;
    for value in [json!(1), json!(1.25), json!(2)] {
        peer.expect(progress(json!(1), json!({"progress": value})))
            .await;
    }
    peer.expect(complete(1, text("done"))).await;
}

#[tokio::test]
async fn whole_numbers_are_written_without_a_fraction() {
    let tool = plain("forms", |ctx: RequestContext| async move {
        ctx.report_progress(1.0, Some(10.0), None);
        ctx.report_progress(1.5, Some(10.5), None);
        ctx.report_progress(2.0, Some(f64::NAN), None);
        "done"
    });
    let mut peer = Peer::connect(&server().tool(tool));
    peer.send(with_token(1, "forms", json!(1))).await;
    for fragment in [
        r#""progress":1,"total":10}"#,
        r#""progress":1.5,"total":10.5}"#,
        r#""progress":2}"#,
    ] {
        let message = peer.receive_text().await;
        assert!(message.contains(fragment), "{message}");
    }
}

#[tokio::test]
async fn progress_and_logs_after_the_result_are_not_sent() {
    let (release, released) = oneshot::channel::<()>();
    let (finish, finished) = oneshot::channel::<()>();
    let hooks = Arc::new(Mutex::new(Some((released, finish))));
    let reports_late = plain("reports_late", move |ctx: RequestContext| {
        let hooks = hooks.lock().expect("no handler has panicked").take();
        async move {
            let (released, finish) = hooks.ok_or_else(|| ToolError::failed("called twice"))?;
            ctx.report_progress(1.0, None, None);
            tokio::spawn(async move {
                released.await.expect("the test releases it");
                ctx.report_progress(2.0, None, None);
                ctx.log(toolwire::LoggingLevel::Error, "too late");
                finish.send(()).expect("the test waits");
            });
            Ok::<_, ToolError>("done")
        }
    });
    let mut peer = Peer::connect(&server().with_logging().tool(reports_late));
    let mut request = with_token(1, "reports_late", json!(1));
    request["params"]["_meta"]["io.modelcontextprotocol/logLevel"] = json!("debug");
    peer.send(request).await;
    peer.expect(progress(json!(1), json!({"progress": 1})))
        .await;
    peer.expect(complete(1, text("done"))).await;
    release.send(()).expect("the handler waits");
    finished.await.expect("the task finishes");
    peer.expect_silence().await;
}

#[tokio::test]
async fn requests_with_the_same_token_report_separately() {
    let mut peer = Peer::connect(&server().tool(counting()));
    for id in [1, 2] {
        peer.send(with_token(id, "count", json!("same"))).await;
        for value in [1, 2] {
            assert_eq!(peer.receive().await["params"]["progress"], value);
        }
        peer.expect(complete(id, text("counted"))).await;
    }
}

#[tokio::test]
async fn progress_has_a_message_since_2025_03_26() {
    for (version, expected) in [
        ("2024-11-05", json!({"progress": 1, "total": 2})),
        (
            "2025-03-26",
            json!({"progress": 1, "total": 2, "message": "half"}),
        ),
    ] {
        let mut peer = Peer::connect(&server().tool(counting()));
        peer.initialize(version).await;
        let params = json!({"name": "count", "_meta": {"progressToken": 5}});
        peer.send(legacy(1, "tools/call", params)).await;
        peer.expect(progress(json!(5), expected)).await;
        peer.expect(progress(json!(5), json!({"progress": 2, "total": 2})))
            .await;
        peer.expect(result_response(1, text("counted"))).await;
    }
}

#[tokio::test]
async fn prompts_and_resources_report_progress() {
    let prompt = toolwire::PromptHandler::new("p", |ctx: RequestContext, _| async move {
        ctx.report_progress(1.0, None, None);
        "hi"
    });
    let resource =
        toolwire::ResourceHandler::new("a:b", "b", |ctx: RequestContext, _| async move {
            ctx.report_progress(1.0, None, None);
            "hi"
        });
    let mut peer = Peer::connect(&server().prompt(prompt).resource(resource));
    for (method, mut params) in [
        ("prompts/get", json!({"name": "p"})),
        ("resources/read", json!({"uri": "a:b"})),
    ] {
        params["_meta"] = json!({"progressToken": method});
        peer.send(modern(1, method, params)).await;
        peer.expect(progress(json!(method), json!({"progress": 1})))
            .await;
        assert_eq!(peer.receive().await["id"], 1);
    }
}
