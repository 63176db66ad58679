//! Middleware around the exchanges of a connection.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::sync::Notify;
use toolwire::events::Emitter;
use toolwire::middleware::{Middleware, Next, Outcome, Request, from_fn, from_fn_with};
use toolwire::types::{InputRequests, Meta};
use toolwire::{
    BoxFuture, CallToolResult, ErrorObject, ProtocolVersion, RawJson, RequestContext, Server,
    ToolHandler, ToolResponse,
};
use toolwire_proto::features::VersionFeatures;
use toolwire_proto::methods;
use toolwire_tests::every_method::{
    MethodRequest, capabilities_of_every_method, request_of, server_of_every_method,
};
use toolwire_tests::legacy_server::{LEGACY, rich_server};
use toolwire_tests::peer::{
    Peer, call, cancel, complete, failed, legacy, modern, modern_with, notification, plain,
    result_response, server, text,
};

/// Counts the requests that it sees, by method.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<String>>>);

impl Seen {
    fn record(&self, request: &Request) {
        let mut seen = self.0.lock().expect("not poisoned");
        seen.push(request.method().to_owned());
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().expect("not poisoned"))
    }
}

impl Middleware for Seen {
    fn handle<'a>(&'a self, request: &'a mut Request, next: Next<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            self.record(request);
            next.run(request).await
        })
    }
}

/// Returns the requests that a client of a revision can send, with `true` for those that open a stream, and without the
/// handshake.
///
/// # Panics
/// Panics if the table of requests lacks a method.
fn requests(version: ProtocolVersion) -> Vec<(Value, bool)> {
    let rows = methods::all().iter();
    let sent = rows.filter(|row| row.is_client_request(version));
    let mut names: Vec<&str> = sent.map(|row| row.name).collect();
    names.push("com.example/own");
    let mut requests = Vec::new();
    for (id, name) in names.into_iter().enumerate() {
        let request = match name {
            "com.example/own" => MethodRequest::Response(json!({})),
            _ => request_of(name).unwrap_or_else(|| panic!("no request of `{name}`")),
        };
        let (params, opens_stream) = match request {
            MethodRequest::Handshake => continue,
            MethodRequest::Response(params) => (params, false),
            MethodRequest::Stream(params) => (params, true),
        };
        let request = if version.is_modern() {
            modern_with(id, name, params, capabilities_of_every_method())
        } else {
            legacy(id, name, params)
        };
        requests.push((request, opens_stream));
    }
    requests
}

#[tokio::test]
async fn middleware_gets_every_method_once_and_changes_no_response() {
    let seen = Seen::default();
    let events = Emitter::new();
    let observed = server_of_every_method(&events).with_middleware(seen.clone());
    let plain = server_of_every_method(&events);
    let check =
        async |peer: &mut Peer, reference: &mut Peer, request: Value, opens_stream: bool| {
            let method = request["method"].as_str().unwrap().to_owned();
            reference.send(&request).await;
            peer.send(&request).await;
            loop {
                let (expected, received) = (reference.receive().await, peer.receive().await);
                assert_eq!(received, expected, "{method}");
                if expected.get("id").is_some() {
                    assert!(!opens_stream, "{expected}");
                    break;
                }
                if opens_stream {
                    // A cancelled stream has no response.
                    reference.send(cancel(request["id"].clone())).await;
                    peer.send(cancel(request["id"].clone())).await;
                    break;
                }
            }
            assert_eq!(seen.take(), [method]);
        };
    for version in LEGACY {
        let (mut peer, mut reference) = (Peer::connect(&observed), Peer::connect(&plain));
        assert_eq!(
            peer.initialize(version).await,
            reference.initialize(version).await
        );
        assert_eq!(seen.take(), ["initialize"]);
        for (request, opens_stream) in requests(version.parse().unwrap()) {
            check(&mut peer, &mut reference, request, opens_stream).await;
        }
    }
    let (mut peer, mut reference) = (Peer::connect(&observed), Peer::connect(&plain));
    for (request, opens_stream) in requests(ProtocolVersion::LATEST) {
        if !opens_stream {
            let method = request["method"].as_str().unwrap();
            let answered = observed.handle(request.to_string().as_bytes()).await;
            let expected = plain.handle(request.to_string().as_bytes()).await;
            assert_eq!(answered, expected, "{method}");
            assert_eq!(seen.take(), [method]);
        }
        check(&mut peer, &mut reference, request, opens_stream).await;
    }
}

#[tokio::test]
async fn listen_stream_is_one_exchange_that_ends_with_the_stream() {
    let seen = Seen::default();
    let ended = Arc::new(AtomicUsize::new(0));
    let counting = from_fn_with(
        Arc::clone(&ended),
        async |ended: &Arc<AtomicUsize>, request: &mut Request, next: Next<'_>| {
            let outcome = next.run(request).await;
            if request.method() == "subscriptions/listen" {
                ended.fetch_add(1, Ordering::Relaxed);
            }
            outcome
        },
    );
    let server = rich_server()
        .with_middleware(seen.clone())
        .with_middleware(counting);
    let listen = |id: &str| {
        let filter = json!({"notifications": {"toolsListChanged": true}});
        modern(id, "subscriptions/listen", filter)
    };
    let mut peer = Peer::connect(&server);
    for id in ["first", "second"] {
        peer.send(listen(id)).await;
        let acknowledged = peer.receive().await;
        assert_eq!(
            acknowledged["method"],
            "notifications/subscriptions/acknowledged"
        );
    }
    assert_eq!(seen.take(), ["subscriptions/listen"; 2]);
    peer.send(cancel("first")).await;
    peer.send(listen("second")).await;
    let rejected = peer.receive().await;
    assert_eq!(rejected["error"]["code"], -32602, "{rejected}");
    server.tools_changed();
    let changed = peer.receive().await;
    assert_eq!(changed["method"], "notifications/tools/list_changed");
    assert_eq!(
        changed["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"],
        "second"
    );
    assert_eq!(ended.load(Ordering::Relaxed), 0);
    server.shutdown();
    peer.expect(notification(
        "notifications/cancelled",
        json!({"requestId": "second"}),
    ))
    .await;
    let finished = peer.receive().await;
    assert_eq!(finished["id"], "second", "{finished}");
    assert_eq!(
        ended.load(Ordering::Relaxed),
        1,
        "the cancelled one was dropped"
    );
}

#[tokio::test]
async fn rejected_listen_request_opens_no_stream() {
    let rejecting = from_fn(
        async |request: &mut Request, next: Next<'_>| match request.method() {
            "subscriptions/listen" => ErrorObject::invalid_request("no streams").into(),
            _ => next.run(request).await,
        },
    );
    let server = rich_server().with_middleware(rejecting);
    let mut peer = Peer::connect(&server);
    for _ in 0..2 {
        let filter = json!({"notifications": {"toolsListChanged": true}});
        let request = modern("same", "subscriptions/listen", filter);
        peer.error_of(request, -32600).await;
    }
    assert_eq!(server.tools_changed(), 0);
}

#[tokio::test]
async fn first_middleware_is_the_outermost() {
    let order = Arc::new(Mutex::new(Vec::new()));
    let named = |name: &'static str| {
        let order = Arc::clone(&order);
        from_fn_with(
            (name, order),
            async |(name, order): &(&'static str, Arc<Mutex<Vec<String>>>),
                   request: &mut Request,
                   next: Next<'_>| {
                order.lock().unwrap().push(format!("{name} before"));
                let outcome = next.run(request).await;
                order.lock().unwrap().push(format!("{name} after"));
                outcome
            },
        )
    };
    let server = server()
        .with_middleware(named("outer"))
        .with_middleware(named("inner"))
        .tool(plain("idle", |_| async { "idle" }));
    let mut peer = Peer::connect(&server);
    peer.send(call(1, "idle", json!({}))).await;
    peer.expect(complete(1, text("idle"))).await;
    assert_eq!(
        *order.lock().unwrap(),
        ["outer before", "inner before", "inner after", "outer after"]
    );
}

#[tokio::test]
async fn request_and_outcome_can_be_changed() {
    let changing = from_fn(
        async |request: &mut Request, next: Next<'_>| match request.name() {
            Some("old") => {
                request.set_name("echo");
                let arguments = json!({"word": "changed", "given": request.arguments()});
                request.set_arguments(&RawJson::from_value(&arguments));
                request.set_meta(&Meta::new().with("example.test/seen", json!(1)));
                next.run(request).await
            }
            Some("loud") => {
                let mut outcome = next.run(request).await;
                if let Some(mut result) = outcome.tool_result() {
                    result.content.push(toolwire::ContentBlock::text("!"));
                    outcome = result.into();
                }
                outcome
            }
            Some("refused") => Outcome::tool_error("not today"),
            Some("forbidden") => ErrorObject::invalid_params("not ever").into(),
            Some("notes://moved") => {
                request.set_name("notes://one");
                next.run(request).await
            }
            _ if request.method() == "prompts/list" => {
                Outcome::from_result(RawJson::from_value(&json!({"prompts": []})))
            }
            _ => next.run(request).await,
        },
    );
    let echo = ToolHandler::raw(
        toolwire::Tool::new("echo", RawJson::from_value(&json!({"type": "object"}))),
        |ctx: RequestContext, arguments: RawJson| async move {
            let meta = serde_json::to_value(ctx.meta()).unwrap();
            format!("{arguments} {meta}")
        },
    );
    let server = rich_server()
        .without_server_info()
        .tool(echo)
        .tool(plain("loud", |_| async { "hey" }))
        .with_middleware(changing);
    let mut peer = Peer::connect(&server);
    peer.send(call(1, "old", json!({"a": 1.0}))).await;
    let expected = r#"{"word":"changed","given":{"a":1.0}} {"example.test/seen":1}"#;
    peer.expect(complete(1, text(expected))).await;
    let loud = json!({"content": [{"type": "text", "text": "hey"}, {"type": "text", "text": "!"}]});
    peer.send(call(2, "loud", json!({}))).await;
    peer.expect(complete(2, loud.clone())).await;
    peer.send(call(3, "refused", json!({}))).await;
    peer.expect(complete(3, failed("not today"))).await;
    peer.error_of(call(4, "forbidden", json!({})), -32602).await;
    let read = peer
        .result_of(modern(5, "resources/read", json!({"uri": "notes://moved"})))
        .await;
    assert_eq!(read["contents"][0]["uri"], "notes://one", "{read}");
    peer.send(modern(6, "prompts/list", json!({}))).await;
    peer.expect(complete(6, json!({"prompts": []}))).await;

    let mut older = Peer::connect(&server);
    older.initialize("2025-06-18").await;
    older
        .send(legacy(7, "tools/call", json!({"name": "loud"})))
        .await;
    older.expect(result_response(7, loud)).await;
    older
        .send(legacy(8, "tools/call", json!({"name": "refused"})))
        .await;
    older.expect(result_response(8, failed("not today"))).await;
    older
        .send(legacy(
            9,
            "resources/subscribe",
            json!({"uri": "notes://moved"}),
        ))
        .await;
    older.expect(result_response(9, json!({}))).await;
    assert_eq!(server.resource_updated("notes://one"), 1);
}

#[tokio::test]
async fn notifications_can_be_seen_changed_and_dropped() {
    let changing = from_fn(async |request: &mut Request, next: Next<'_>| {
        request.on_notification(|mut notification| {
            let mut params = notification.params?.to_value().ok()?;
            if params["progress"] == 2.0 {
                return None;
            }
            params["message"] = json!("seen");
            notification.params = Some(RawJson::from(params));
            Some(notification)
        });
        next.run(request).await
    });
    let server = rich_server()
        .without_server_info()
        .with_middleware(changing);
    let mut peer = Peer::connect(&server);
    let params = json!({"name": "steps", "_meta": {"progressToken": "t"}});
    peer.send(modern(1, "tools/call", params)).await;
    let received = peer.receive().await;
    assert_eq!(received["method"], "notifications/progress");
    assert_eq!(received["params"]["message"], "seen", "{received}");
    peer.expect(complete(1, text("done"))).await;
}

#[tokio::test]
async fn panic_of_a_middleware_fails_only_its_request() {
    struct Panics(&'static str);
    impl Middleware for Panics {
        fn handle<'a>(
            &'a self,
            request: &'a mut Request,
            next: Next<'a>,
        ) -> BoxFuture<'a, Outcome> {
            assert_ne!(request.name(), Some("before"), "{}", self.0);
            Box::pin(async move {
                assert_ne!(request.name(), Some("inside"), "{}", self.0);
                let outcome = next.run(request).await;
                assert_ne!(request.name(), Some("after"), "{}", self.0);
                outcome
            })
        }
    }
    let mut server = server().with_middleware(Panics("expected"));
    for name in ["before", "inside", "after", "fine"] {
        server = server.tool(plain(name, |_| async { "fine" }));
    }
    let mut peer = Peer::connect(&server);
    for (id, name) in ["before", "inside", "after"].into_iter().enumerate() {
        peer.error_of(call(id, name, json!({})), -32603).await;
        peer.send(call("next", "fine", json!({}))).await;
        peer.expect(complete("next", text("fine"))).await;
    }
}

/// A middleware that is active only sometimes.
#[derive(Clone, Default)]
struct Sometimes {
    is_active: Arc<AtomicBool>,
    seen: Seen,
}

impl Middleware for Sometimes {
    fn handle<'a>(&'a self, request: &'a mut Request, next: Next<'a>) -> BoxFuture<'a, Outcome> {
        self.seen.handle(request, next)
    }

    fn is_active(&self) -> bool {
        self.is_active.load(Ordering::Relaxed)
    }
}

#[tokio::test]
async fn requests_pass_middleware_only_if_one_is_active() {
    let (outer, inner) = (Sometimes::default(), Sometimes::default());
    let idle = || plain("idle", |_| async { "idle" });
    let server = server()
        .with_middleware(outer.clone())
        .with_middleware(Arc::new(inner.clone()))
        .tool(idle());
    let mut peer = Peer::connect(&server);
    let mut id = 0;
    let mut check = async |is_active: [bool; 2], expected: &[&str]| {
        id += 1;
        for (middleware, is_active) in [&outer, &inner].into_iter().zip(is_active) {
            middleware.is_active.store(is_active, Ordering::Relaxed);
        }
        peer.send(call(id, "idle", json!({}))).await;
        peer.expect(complete(id, text("idle"))).await;
        for middleware in [&outer, &inner] {
            assert_eq!(middleware.seen.take(), expected, "{is_active:?}");
        }
    };
    check([false, false], &[]).await;
    check([false, true], &["tools/call"]).await;
    check([true, false], &["tools/call"]).await;
    check([false, false], &[]).await;
}

#[tokio::test]
async fn middleware_of_a_mount_gets_requests_although_the_outer_one_is_inactive() {
    let mounted = Seen::default();
    let source = Server::new("inner", "1.0.0")
        .with_middleware(mounted.clone())
        .tool(plain("idle", |_| async { "idle" }));
    let server = server()
        .with_middleware(Sometimes::default())
        .mount("inner", source);
    let mut peer = Peer::connect(&server);
    peer.send(call(1, "inner_idle", json!({}))).await;
    peer.expect(complete(1, text("idle"))).await;
    assert_eq!(mounted.take(), ["tools/call"]);
}

#[tokio::test]
async fn middleware_whose_activity_panics_gets_the_request() {
    struct Panics(Seen);
    impl Middleware for Panics {
        fn handle<'a>(
            &'a self,
            request: &'a mut Request,
            next: Next<'a>,
        ) -> BoxFuture<'a, Outcome> {
            self.0.handle(request, next)
        }

        fn is_active(&self) -> bool {
            panic!("expected")
        }
    }
    let seen = Seen::default();
    let server = server()
        .with_middleware(Panics(seen.clone()))
        .tool(plain("idle", |_| async { "idle" }));
    let mut peer = Peer::connect(&server);
    peer.send(call(1, "idle", json!({}))).await;
    peer.expect(complete(1, text("idle"))).await;
    assert_eq!(seen.take(), ["tools/call"]);
}

#[tokio::test]
async fn cancelled_request_drops_its_middleware_and_sends_nothing() {
    struct Dropped(Arc<Notify>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.notify_one();
        }
    }
    let (started, dropped) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let waiting = from_fn_with(
        (Arc::clone(&started), Arc::clone(&dropped)),
        async |(started, dropped): &(Arc<Notify>, Arc<Notify>),
               request: &mut Request,
               next: Next<'_>| {
            let outcome = next.run(request).await;
            if request.method() != "tools/call" {
                return outcome;
            }
            let _guard = Dropped(Arc::clone(dropped));
            started.notify_one();
            std::future::pending::<()>().await;
            outcome
        },
    );
    let server = server()
        .tool(plain("idle", |_| async { "idle" }))
        .with_middleware(waiting);
    let mut peer = Peer::connect(&server);
    peer.send(call(1, "idle", json!({}))).await;
    started.notified().await;
    peer.send(cancel(1)).await;
    dropped.notified().await;
    peer.expect_silence().await;
}

#[tokio::test]
async fn retry_of_a_call_differs_from_its_first_round() {
    let rounds = Arc::new(Mutex::new(Vec::new()));
    let recording = from_fn_with(
        Arc::clone(&rounds),
        async |rounds: &Arc<Mutex<Vec<(bool, bool)>>>, request: &mut Request, next: Next<'_>| {
            let is_retry = request.is_retry();
            let outcome = next.run(request).await;
            let round = (is_retry, outcome.is_input_required());
            rounds.lock().unwrap().push(round);
            outcome
        },
    );
    let asking = plain("ask", |ctx: RequestContext| async move {
        match ctx.request_state() {
            "" => ToolResponse::input_required(InputRequests::new(), Some("half".to_owned())),
            _ => ToolResponse::complete(CallToolResult::text("whole")),
        }
    });
    let server = server().tool(asking).with_middleware(recording);
    let mut peer = Peer::connect(&server);
    let first = peer.result_of(call(1, "ask", json!({}))).await;
    assert_eq!(first["resultType"], "input_required", "{first}");
    let state = &first["requestState"];
    let params = json!({"name": "ask", "arguments": {}, "requestState": state});
    peer.result_of(modern(2, "tools/call", params)).await;
    assert_eq!(*rounds.lock().unwrap(), [(false, true), (true, false)]);
}

#[tokio::test]
async fn rounds_continue_after_a_middleware_changed_the_request() {
    let changing = from_fn(async |request: &mut Request, next: Next<'_>| {
        if request.name() == Some("old") {
            request.set_name("ask");
            request.set_arguments(&RawJson::from_value(&json!({"word": "changed"})));
        }
        next.run(request).await
    });
    let asking = plain("ask", |ctx: RequestContext| async move {
        match ctx.request_state() {
            "" => ToolResponse::input_required(InputRequests::new(), Some("half".to_owned())),
            _ => ToolResponse::complete(CallToolResult::text("whole")),
        }
    });
    let server = server().tool(asking).with_middleware(changing);
    let mut peer = Peer::connect(&server);
    let first = peer.result_of(call(1, "old", json!({"a": 1}))).await;
    let state = &first["requestState"];
    let params = json!({"name": "old", "arguments": {"a": 1}, "requestState": state});
    peer.send(modern(2, "tools/call", params)).await;
    peer.expect(complete(2, text("whole"))).await;
    let other = json!({"name": "old", "arguments": {"a": 2}, "requestState": state});
    peer.error_of(modern(3, "tools/call", other), -32602).await;
}

#[tokio::test]
async fn observer_of_a_stream_may_cause_the_next_change() {
    let server = rich_server();
    let observed = server.clone();
    let observing = from_fn_with(
        observed,
        async |server: &Server, request: &mut Request, next: Next<'_>| {
            let server = server.clone();
            request.on_notification(move |notification| {
                if notification.method == "notifications/tools/list_changed" {
                    server.prompts_changed();
                }
                assert_ne!(notification.method, "notifications/resources/list_changed");
                Some(notification)
            });
            next.run(request).await
        },
    );
    let server = server.with_middleware(observing);
    let mut peer = Peer::connect(&server);
    let filter =
        json!({"toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true});
    let params = json!({"notifications": filter});
    peer.send(modern("l", "subscriptions/listen", params)).await;
    peer.receive().await;
    server.resources_changed();
    server.tools_changed();
    for list in ["tools", "prompts"] {
        let changed = peer.receive().await;
        let expected = format!("notifications/{list}/list_changed");
        assert_eq!(changed["method"], expected, "the panicking one is dropped");
    }
}
