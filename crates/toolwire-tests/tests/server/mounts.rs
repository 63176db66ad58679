//! Mounted servers and sources.

use std::any::Any;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use toolwire::middleware::{Next, Request, from_fn_with};
use toolwire::types::{CompletionReference, PromptArgument};
use toolwire::{
    Caller, Catalog, CompletionRequest, Mount, PromptHandler, RawJson, RequestContext,
    ResourceHandler, ResourceTemplateHandler, Server, Source, SourceListener, Tool, ToolHandler,
};
use toolwire_tests::peer::{
    Peer, call, cancel, complete, legacy, modern, notification, plain, result_response, server,
    text,
};

/// Returns a server with one entry of each kind.
fn notes() -> Server {
    let complete = |_: RequestContext, reference: CompletionReference, _: CompletionRequest| async move {
        match reference {
            CompletionReference::Prompt(prompt) => vec![prompt.name],
            CompletionReference::Resource(template) => vec![template.uri],
            _ => Vec::new(),
        }
    };
    server()
        .with_resource_subscriptions()
        .with_completion(complete)
        .tool(plain("read_note", |_| async { "note" }))
        .tool(plain("drop_note", |_| async { "dropped" }))
        .prompt(
            PromptHandler::new("sum_up", |_, _| async { "Sum up." })
                .with_argument(PromptArgument::new("language")),
        )
        .resource(ResourceHandler::new("notes://a", "a", |_, _| async { "A" }))
        .resource_template(ResourceTemplateHandler::new(
            "notes://by/{name}",
            "by name",
            |_, uri, _| async move { uri },
        ))
}

fn list_changed(list: &str) -> Value {
    json!({"jsonrpc": "2.0", "method": format!("notifications/{list}/list_changed")})
}

async fn names(peer: &mut Peer, list: &str, member: &str) -> Vec<String> {
    let (method, key) = match list {
        "templates" => ("resources/templates/list".to_owned(), "resourceTemplates"),
        _ => (format!("{list}/list"), list),
    };
    let result = peer.result_of(modern(0, &method, json!({}))).await;
    let entries = result[key].as_array().expect("a list");
    let names = entries
        .iter()
        .map(|entry| entry[member].as_str().expect("a name"));
    names.map(str::to_owned).collect()
}

#[tokio::test]
async fn entries_of_three_levels_are_served_by_their_full_names() {
    let inner = server().mount("very_inner", notes());
    let middle = server()
        .tool(plain("very_inner", |_| async { "middle" }))
        .mount("in_ner", inner);
    let outer = server()
        .tool(plain("own", |_| async { "own" }))
        .mount("mid_dle", middle);
    let mut peer = Peer::connect(&outer);
    assert_eq!(
        names(&mut peer, "tools", "name").await,
        [
            "own",
            "mid_dle_very_inner",
            "mid_dle_in_ner_very_inner_read_note",
            "mid_dle_in_ner_very_inner_drop_note",
        ]
    );
    let prompt = "mid_dle_in_ner_very_inner_sum_up";
    assert_eq!(names(&mut peer, "prompts", "name").await, [prompt]);
    assert_eq!(names(&mut peer, "resources", "uri").await, ["notes://a"]);
    assert_eq!(
        names(&mut peer, "templates", "uriTemplate").await,
        ["notes://by/{name}"]
    );
    peer.send(call(1, "mid_dle_in_ner_very_inner_read_note", json!({})))
        .await;
    peer.expect(complete(1, text("note"))).await;
    peer.send(call(2, "mid_dle_very_inner", json!({}))).await;
    peer.expect(complete(2, text("middle"))).await;
    peer.error_of(call(3, "read_note", json!({})), -32602).await;
    let got = peer
        .result_of(modern(4, "prompts/get", json!({"name": prompt})))
        .await;
    assert_eq!(got["messages"][0]["content"]["text"], "Sum up.");
    let read = modern(5, "resources/read", json!({"uri": "notes://by/ann"}));
    let read = peer.result_of(read).await;
    assert_eq!(read["contents"][0]["text"], "notes://by/ann");
    for (reference, argument, known_as) in [
        (
            json!({"type": "ref/prompt", "name": prompt}),
            "language",
            "sum_up",
        ),
        (
            json!({"type": "ref/resource", "uri": "notes://by/{name}"}),
            "name",
            "notes://by/{name}",
        ),
    ] {
        let params = json!({"ref": reference, "argument": {"name": argument, "value": ""}});
        let completed = peer
            .result_of(modern(6, "completion/complete", params))
            .await;
        assert_eq!(completed["completion"]["values"], json!([known_as]));
    }
}

#[tokio::test]
async fn mount_renames_retitles_and_selects() {
    let fixed = ToolHandler::raw(
        Tool::new(
            "fetch",
            json!({
                "type": "object",
                "properties": {"url": {"type": "string"}, "key": {"type": "string"}, "raw": {}},
                "required": ["url", "key"],
            }),
        ),
        |_: RequestContext, arguments: RawJson| async move { arguments.to_string() },
    );
    let mount = Mount::flat(notes().tool(fixed))
        .without_tools("drop_*")
        .with_tools("*e*")
        .with_prefix("n")
        .rename_tool("read_note", "open")
        .retitle_tool("read_note", "Open a note")
        .fix_argument("fetch", "key", "secret")
        .hide_argument("fetch", "raw");
    let mut peer = Peer::connect(&server().mount_with(mount));
    let listed = peer.result_of(modern(1, "tools/list", json!({}))).await;
    let tools = listed["tools"].as_array().unwrap();
    assert_eq!(
        tools[0],
        json!({"name": "open", "title": "Open a note", "inputSchema": {"type": "object"}})
    );
    assert_eq!(
        tools[1],
        json!({
            "name": "n_fetch",
            "inputSchema": {
                "type": "object",
                "properties": {"url": {"type": "string"}},
                "required": ["url"],
            },
        })
    );
    assert_eq!(tools.len(), 2, "{listed}");
    let arguments = json!({"url": "a", "key": "mine", "raw": 1});
    peer.send(call(2, "n_fetch", arguments)).await;
    let received = r#"{"url":"a","key":"secret"}"#;
    peer.expect(complete(2, text(received))).await;
    let invalid = peer.result_of(call(3, "n_fetch", json!({}))).await;
    assert_eq!(invalid["isError"], true, "the tool checks its arguments");
}

#[tokio::test]
async fn changes_of_a_mounted_server_reach_the_clients_once() {
    let inner = notes();
    let outer = server().mount("mid", server().mount("in", inner.clone()));
    let mut peer = Peer::connect(&outer);
    peer.initialize("2025-06-18").await;
    // The server has processed `notifications/initialized` when it responds.
    peer.expect_silence().await;
    inner.add_tool(plain("late", |_| async { "late" })).unwrap();
    peer.expect(list_changed("tools")).await;
    peer.send(legacy(1, "tools/call", json!({"name": "mid_in_late"})))
        .await;
    peer.expect(result_response(1, text("late"))).await;
    assert!(inner.remove_tool("late"));
    peer.expect(list_changed("tools")).await;
    inner.tools_changed();
    peer.expect_silence().await;
    peer.error_of(
        legacy(2, "tools/call", json!({"name": "mid_in_late"})),
        -32602,
    )
    .await;

    let subscribe = legacy(3, "resources/subscribe", json!({"uri": "notes://a"}));
    peer.send(subscribe).await;
    peer.expect(result_response(3, json!({}))).await;
    assert_eq!(inner.resource_updated("notes://a"), 1);
    peer.expect(notification(
        "notifications/resources/updated",
        json!({"uri": "notes://a"}),
    ))
    .await;
    assert!(outer.remove_mount("mid"));
    for list in ["tools", "prompts", "resources"] {
        peer.expect(list_changed(list)).await;
    }
    assert!(!outer.remove_mount("mid"));
}

#[tokio::test]
async fn equal_names_are_rejected_with_both_origins() {
    let tools = |name: &'static str| server().tool(plain(name, |_| async { "x" }));
    let message = |server: &Server, mount: Mount| server.add_mount(mount).unwrap_err().to_string();
    let own = tools("a_b");
    assert_eq!(
        message(&own, Mount::new("a", tools("b"))),
        "tool `a_b` comes from the server itself and from mount `a`; rename one, or set another prefix"
    );
    let mounted = server().mount("a", tools("b_c"));
    assert_eq!(
        message(&mounted, Mount::new("a_b", tools("c"))),
        "tool `a_b_c` comes from mount `a` and from mount `a_b`; rename one, or set another prefix"
    );
    let error = mounted.add_tool(plain("a_b_c", |_| async { "x" }));
    assert!(error.unwrap_err().to_string().contains("mount `a`"));
    let error = message(&own, Mount::new("self", own.clone()));
    assert!(error.contains("cannot mount itself"), "{error}");
    let (first, second) = (server(), server());
    let second = second.mount("first", first.clone());
    let error = message(&first, Mount::new("second", second));
    assert!(error.contains("cannot mount itself"), "{error}");
    let error = message(&own, Mount::new("no good", server()));
    assert!(error.contains("no good"), "{error}");
}

#[tokio::test]
async fn later_entry_with_a_taken_name_is_hidden_until_the_name_is_free() {
    let child = server().tool(plain("b", |_| async { "child" }));
    let outer = server()
        .tool(plain("a_c", |_| async { "own" }))
        .mount("a", child.clone());
    child.add_tool(plain("c", |_| async { "child" })).unwrap();
    let mut peer = Peer::connect(&outer);
    assert_eq!(names(&mut peer, "tools", "name").await, ["a_c", "a_b"]);
    peer.send(call(1, "a_c", json!({}))).await;
    peer.expect(complete(1, text("own"))).await;
    outer.remove_tool("a_c");
    peer.send(call(2, "a_c", json!({}))).await;
    peer.expect(complete(2, text("child"))).await;
    outer.add_tool(plain("z", |_| async { "own" })).unwrap();
    let listed = names(&mut peer, "tools", "name").await;
    assert_eq!(listed, ["z", "a_b", "a_c"], "own entries are first");
}

#[tokio::test]
async fn hidden_entries_get_the_responses_of_unknown_ones() {
    let visible = || {
        server()
            .with_page_size(1)
            .with_resource_subscriptions()
            .with_completion(|_, _, _| async { Vec::<String>::new() })
            .tool(plain("a", |_| async { "a" }))
            .tool(plain("z", |_| async { "z" }))
            .prompt(PromptHandler::new("a", |_, _| async { "a" }))
            .prompt(PromptHandler::new("z", |_, _| async { "z" }))
            .resource(ResourceHandler::new("x://a", "a", |_, _| async { "a" }))
            .resource_template(ResourceTemplateHandler::new(
                "x://t/{a}",
                "t",
                |_, uri, _| async move { uri },
            ))
    };
    let filtered = || Mount::new("h", notes()).with_filter(|_: &Caller<'_>, _: &str| false);
    let mounted = visible().mount_with(filtered());
    let nested = visible().mount("n", server().mount_with(filtered()));
    let ruled = visible()
        .mount("h", notes())
        .with_visibility(|_, name| !name.starts_with("h_") && !name.starts_with("notes:"));
    let requests = [
        ("tools/list", json!({})),
        ("prompts/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        (
            "tools/call",
            json!({"name": "h_read_note", "arguments": {}}),
        ),
        (
            "tools/call",
            json!({"name": "n_h_read_note", "arguments": {}}),
        ),
        ("prompts/get", json!({"name": "h_sum_up"})),
        ("prompts/get", json!({"name": "n_h_sum_up"})),
        ("resources/read", json!({"uri": "notes://a"})),
        ("resources/read", json!({"uri": "notes://by/ann"})),
        ("resources/subscribe", json!({"uri": "notes://a"})),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": "h_sum_up"}, "argument": {"name": "language", "value": ""}}),
        ),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/resource", "uri": "notes://by/{name}"}, "argument": {"name": "name", "value": ""}}),
        ),
    ];
    let mut reference = Peer::connect(&visible());
    reference.initialize("2025-06-18").await;
    for server in [mounted, nested, ruled] {
        let mut peer = Peer::connect(&server);
        peer.initialize("2025-06-18").await;
        for (method, params) in &requests {
            let mut params = params.clone();
            loop {
                let request = legacy(1, method, params.clone());
                reference.send(&request).await;
                peer.send(&request).await;
                let expected = reference.receive_text().await;
                assert_eq!(peer.receive_text().await, expected, "{method} {params}");
                let expected: Value = serde_json::from_str(&expected).unwrap();
                match &expected["result"]["nextCursor"] {
                    Value::Null => break,
                    cursor => params["cursor"] = cursor.clone(),
                }
            }
        }
    }
}

#[tokio::test]
async fn middleware_of_each_level_sees_its_own_names() {
    type Seen = Arc<Mutex<Vec<String>>>;
    let seen = Seen::default();
    let recording = |level: &'static str| {
        from_fn_with(
            (level, Arc::clone(&seen)),
            async |(level, seen): &(&'static str, Seen), request: &mut Request, next: Next<'_>| {
                let name = request.name().unwrap_or_default();
                seen.lock().unwrap().push(format!("{level}: {name}"));
                next.run(request).await
            },
        )
    };
    let inner = notes().with_middleware(recording("inner"));
    let middle = server().mount_with(Mount::new("i", inner).with_middleware(recording("i")));
    let middle = middle.with_middleware(recording("middle"));
    let outer = server().mount("m", middle);
    let mut peer = Peer::connect(&outer);
    peer.send(call(1, "m_i_read_note", json!({}))).await;
    peer.expect(complete(1, text("note"))).await;
    let take = || std::mem::take(&mut *seen.lock().unwrap());
    assert_eq!(
        take(),
        ["middle: i_read_note", "i: i_read_note", "inner: read_note"]
    );
    names(&mut peer, "tools", "name").await;
    assert!(take().is_empty(), "lists belong to the outer server");
    let read = modern(2, "resources/read", json!({"uri": "notes://a"}));
    peer.result_of(read).await;
    assert_eq!(take().len(), 3);
    let outer = outer.with_middleware(recording("outer"));
    let mut peer = Peer::connect(&outer);
    peer.send(call(3, "m_i_read_note", json!({}))).await;
    peer.expect(complete(3, text("note"))).await;
    assert_eq!(take()[0], "outer: m_i_read_note");
}

#[tokio::test]
async fn middleware_of_a_mount_gets_the_names_of_the_source() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let recording = || {
        from_fn_with(
            Arc::clone(&seen),
            async |seen: &Arc<Mutex<Vec<String>>>, request: &mut Request, next: Next<'_>| {
                let name = request.source_name().unwrap_or("none").to_owned();
                seen.lock().unwrap().push(name);
                next.run(request).await
            },
        )
    };
    let mount = Mount::new("n", notes()).with_middleware(recording());
    let outer = server().mount_with(mount).with_middleware(recording());
    let mut peer = Peer::connect(&outer);
    peer.send(call(1, "n_read_note", json!({}))).await;
    peer.expect(complete(1, text("note"))).await;
    let read = modern(2, "resources/read", json!({"uri": "notes://by/me"}));
    peer.result_of(read).await;
    let seen = seen.lock().unwrap();
    assert_eq!(*seen, ["none", "read_note", "none", "notes://by/me"]);
}

/// A source whose only tool has a name that changes.
#[derive(Clone, Default)]
struct Changing {
    name: Arc<Mutex<String>>,
    listener: Arc<Mutex<Option<SourceListener>>>,
    subscribed: Arc<Mutex<Vec<(String, bool)>>>,
}

impl Source for Changing {
    fn catalog(&self) -> Catalog {
        let mut catalog = Catalog::new();
        let name = self.name.lock().expect("not poisoned").clone();
        let added = catalog.add_tool(plain(&name, |_| async { "source" }));
        added.expect("the name is valid");
        let added = catalog.add_resource(ResourceHandler::new("s://a", "a", |_, _| async { "a" }));
        added.expect("the URI is valid");
        catalog.with_resource_subscriptions()
    }

    fn set_subscribed(&self, uri: &str, is_subscribed: bool) {
        let mut subscribed = self.subscribed.lock().expect("not poisoned");
        subscribed.push((uri.to_owned(), is_subscribed));
    }

    fn watch(&self, listener: SourceListener) -> Box<dyn Any + Send + Sync> {
        *self.listener.lock().expect("not poisoned") = Some(listener);
        Box::new(())
    }
}

#[tokio::test]
async fn own_source_reports_its_changes() {
    let source = Changing::default();
    "one".clone_into(&mut source.name.lock().unwrap());
    let outer = server().mount("s", source.clone());
    let mut peer = Peer::connect(&outer);
    peer.initialize("2025-11-25").await;
    let listener = source.listener.lock().unwrap().clone().unwrap();
    listener.catalog_changed();
    peer.expect_silence().await;
    "two".clone_into(&mut source.name.lock().unwrap());
    listener.catalog_changed();
    peer.expect(list_changed("tools")).await;
    peer.send(legacy(1, "tools/call", json!({"name": "s_two"})))
        .await;
    peer.expect(result_response(1, text("source"))).await;
    drop((peer, outer));
    listener.catalog_changed();
}

#[tokio::test]
async fn source_is_notified_of_the_first_and_the_last_subscription() {
    let source = Changing::default();
    "one".clone_into(&mut source.name.lock().unwrap());
    let outer = server().mount("m", server().mount("s", source.clone()));
    let take = || std::mem::take(&mut *source.subscribed.lock().unwrap());
    let (mut first, mut second) = (Peer::connect(&outer), Peer::connect(&outer));
    let listen = json!({"notifications": {"resourceSubscriptions": ["s://a", "s://unknown"]}});
    first
        .send(modern("l", "subscriptions/listen", listen))
        .await;
    first.receive().await;
    assert_eq!(take(), [("s://a".to_owned(), true)]);
    second.initialize("2025-06-18").await;
    for method in ["resources/subscribe", "resources/subscribe"] {
        second
            .send(legacy(1, method, json!({"uri": "s://a"})))
            .await;
        second.expect(result_response(1, json!({}))).await;
    }
    first.send(cancel("l")).await;
    first.expect_silence().await;
    assert!(take().is_empty(), "the second client still subscribes");
    second
        .send(legacy(2, "resources/unsubscribe", json!({"uri": "s://a"})))
        .await;
    second.expect(result_response(2, json!({}))).await;
    assert_eq!(take(), [("s://a".to_owned(), false)]);
}
