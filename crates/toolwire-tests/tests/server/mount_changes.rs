//! Mounts whose sources change, fail or report at any time.

use std::any::Any;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use toolwire::middleware::{Next, Request, from_fn};
use toolwire::{
    Caller, Catalog, Mount, RawJson, RequestContext, ResourceHandler, Server, Source,
    SourceListener,
};
use toolwire_tests::peer::{
    Peer, call, cancel, complete, legacy, modern, plain, result_response, server, text,
};

/// A source with tools and resources that a test sets.
#[derive(Clone, Default)]
struct Settable(Arc<Content>);

#[derive(Default)]
struct Content {
    tools: Mutex<Vec<&'static str>>,
    uris: Mutex<Vec<&'static str>>,
    listener: Mutex<Option<SourceListener>>,
    reports: Mutex<Vec<(String, bool)>>,
    catalogs: AtomicUsize,
    panics: bool,
}

impl Settable {
    fn new(tools: &[&'static str], uris: &[&'static str]) -> Self {
        let source = Self::default();
        source.set(tools, uris);
        source
    }

    fn panicking(uri: &'static str) -> Self {
        Self(Arc::new(Content {
            uris: Mutex::new(vec![uri]),
            panics: true,
            ..Content::default()
        }))
    }

    /// Sets the entries and reports the change.
    fn set(&self, tools: &[&'static str], uris: &[&'static str]) {
        *self.0.tools.lock().expect("not poisoned") = tools.to_vec();
        *self.0.uris.lock().expect("not poisoned") = uris.to_vec();
        let listener = self.0.listener.lock().expect("not poisoned").clone();
        if let Some(listener) = listener {
            listener.catalog_changed();
        }
    }

    fn listener(&self) -> SourceListener {
        self.0
            .listener
            .lock()
            .expect("not poisoned")
            .clone()
            .expect("mounted")
    }

    fn take_reports(&self) -> Vec<(String, bool)> {
        std::mem::take(&mut *self.0.reports.lock().expect("not poisoned"))
    }
}

impl Source for Settable {
    fn catalog(&self) -> Catalog {
        self.0.catalogs.fetch_add(1, Ordering::Relaxed);
        let mut catalog = Catalog::new();
        for name in &*self.0.tools.lock().expect("not poisoned") {
            let tool = plain(name, |_| async { "source" });
            catalog.add_tool(tool).expect("a valid tool");
        }
        for uri in &*self.0.uris.lock().expect("not poisoned") {
            let resource = ResourceHandler::new(*uri, *uri, |_, _| async { "text" });
            catalog.add_resource(resource).expect("a valid resource");
        }
        catalog.with_resource_subscriptions()
    }

    fn watch(&self, listener: SourceListener) -> Box<dyn Any + Send + Sync> {
        *self.0.listener.lock().expect("not poisoned") = Some(listener);
        Box::new(())
    }

    fn set_subscribed(&self, uri: &str, is_subscribed: bool) {
        assert!(!self.0.panics, "expected");
        let mut reports = self.0.reports.lock().expect("not poisoned");
        reports.push((uri.to_owned(), is_subscribed));
    }
}

async fn tools(peer: &mut Peer) -> Vec<String> {
    let listed = peer.result_of(modern(0, "tools/list", json!({}))).await;
    let tools = listed["tools"].as_array().expect("a list").iter();
    tools
        .map(|tool| tool["name"].as_str().expect("a name").to_owned())
        .collect()
}

fn listen(id: &str, uris: &[&str]) -> Value {
    let filter = json!({"notifications": {"resourceSubscriptions": uris}});
    modern(id, "subscriptions/listen", filter)
}

#[tokio::test]
async fn hidden_entry_of_a_mount_returns_when_another_mount_frees_its_name() {
    let first = Settable::new(&["x", "y"], &[]);
    let second = Settable::new(&["z"], &[]);
    let outer = server()
        .mount_with(Mount::flat(first.clone()))
        .mount_with(Mount::flat(second.clone()));
    let mut peer = Peer::connect(&outer);
    second.set(&["y", "z"], &[]);
    assert_eq!(tools(&mut peer).await, ["x", "y", "z"]);
    let before = second.0.catalogs.load(Ordering::Relaxed);
    first.set(&["x"], &[]);
    assert_eq!(tools(&mut peer).await, ["x", "y", "z"]);
    let after = second.0.catalogs.load(Ordering::Relaxed);
    assert_eq!(after, before, "the catalog of the other mount is stored");
    second.set(&["z"], &[]);
    assert_eq!(tools(&mut peer).await, ["x", "z"]);
    second.set(&["w", "z"], &[]);
    assert_eq!(
        tools(&mut peer).await,
        ["x", "w", "z"],
        "the order of its list"
    );
    assert!(!outer.remove_tool("w"), "it belongs to the mount");
    assert_eq!(tools(&mut peer).await, ["x", "w", "z"]);
}

#[tokio::test]
async fn name_that_the_first_mount_adds_later_is_taken_from_a_later_mount() {
    let first = Settable::new(&["x"], &["s://x"]);
    let second = Settable::new(&["y"], &["s://y"]);
    let outer = server()
        .mount_with(Mount::flat(first.clone()))
        .mount_with(Mount::flat(second.clone()));
    let mut peer = Peer::connect(&outer);
    peer.send(listen("l", &["s://y"])).await;
    peer.receive().await;
    first.set(&["y", "x"], &["s://y"]);
    assert_eq!(tools(&mut peer).await, ["y", "x"]);
    let (subscribed, ended) = (("s://y".to_owned(), true), ("s://y".to_owned(), false));
    assert_eq!(first.take_reports(), std::slice::from_ref(&subscribed));
    assert_eq!(second.take_reports(), [subscribed.clone(), ended]);
    assert!(outer.add_tool(plain("y", |_| async { "own" })).is_err());
    first.set(&["x"], &["s://x"]);
    assert_eq!(tools(&mut peer).await, ["x", "y"]);
    assert_eq!(second.take_reports(), [subscribed]);
}

#[tokio::test]
async fn preferred_tool_keeps_its_name_from_an_earlier_mount() {
    /// A source that adds a tool of its own.
    struct Adding;
    impl Source for Adding {
        fn catalog(&self) -> Catalog {
            let mut catalog = Catalog::new();
            for name in ["log_in_b", "b"] {
                let tool = plain(name, |_| async { "added" });
                catalog.add_tool(tool).expect("a valid tool");
            }
            catalog.prefer_tool("log_in_b");
            catalog
        }
    }
    let first = Settable::new(&["a"], &[]);
    let outer = server()
        .mount_with(Mount::flat(first.clone()))
        .mount_with(Mount::flat(server().mount_with(Mount::flat(Adding))));
    first.set(&["log_in_b", "b"], &[]);
    let mut peer = Peer::connect(&outer);
    assert_eq!(tools(&mut peer).await, ["b", "log_in_b"]);
    for (name, expected) in [("b", "source"), ("log_in_b", "added")] {
        let result = peer.result_of(call(1, name, json!({}))).await;
        assert_eq!(result["content"], text(expected)["content"]);
    }
}

#[tokio::test]
async fn source_may_use_the_server_in_its_catalog() {
    /// A source whose catalog mounts another source the first time.
    struct Mounting(Server, AtomicUsize);
    impl Source for Mounting {
        fn catalog(&self) -> Catalog {
            if self.1.fetch_add(1, Ordering::Relaxed) == 0 {
                let added = self
                    .0
                    .add_mount(Mount::new("late", Settable::new(&["t"], &[])));
                added.expect("the name is free");
            }
            Catalog::new()
        }
    }
    let outer = server();
    let mounting = Mounting(outer.clone(), AtomicUsize::new(0));
    outer.add_mount(Mount::new("m", mounting)).unwrap();
    assert_eq!(tools(&mut Peer::connect(&outer)).await, ["late_t"]);
}

#[tokio::test]
async fn older_catalog_never_replaces_a_newer_one() {
    /// A source whose second catalog is overtaken by the third one.
    #[derive(Clone, Default)]
    struct Overtaken(Arc<(AtomicUsize, Mutex<Option<SourceListener>>)>);
    impl Source for Overtaken {
        fn catalog(&self) -> Catalog {
            let number = self.0.0.fetch_add(1, Ordering::Relaxed);
            let listener = self.0.1.lock().expect("not poisoned").clone();
            if let (2, Some(listener)) = (number, listener) {
                listener.catalog_changed();
            }
            let mut catalog = Catalog::new();
            let name = format!("t{number}");
            catalog
                .add_tool(plain(&name, |_| async { "t" }))
                .expect("a valid tool");
            catalog
        }
        fn watch(&self, listener: SourceListener) -> Box<dyn Any + Send + Sync> {
            *self.0.1.lock().expect("not poisoned") = Some(listener);
            Box::new(())
        }
    }
    let source = Overtaken::default();
    let outer = server().mount_with(Mount::flat(source.clone()));
    assert_eq!(tools(&mut Peer::connect(&outer)).await, ["t1"]);
    let listener = source.0.1.lock().unwrap().clone().unwrap();
    listener.catalog_changed();
    assert_eq!(tools(&mut Peer::connect(&outer)).await, ["t3"]);
}

#[tokio::test]
async fn older_catalog_claims_no_uris() {
    /// A source with a raw resource in some of its catalogs. The third catalog is overtaken by the fourth one.
    #[derive(Clone)]
    struct Overtaken {
        lists: fn(usize) -> bool,
        state: Arc<(AtomicUsize, Mutex<Option<SourceListener>>)>,
    }
    impl Overtaken {
        fn new(lists: fn(usize) -> bool) -> Self {
            let state = Arc::default();
            Self { lists, state }
        }
        fn listener(&self) -> SourceListener {
            let listener = self.state.1.lock().expect("not poisoned").clone();
            listener.expect("the source is mounted")
        }
    }
    impl Source for Overtaken {
        fn catalog(&self) -> Catalog {
            let number = self.state.0.fetch_add(1, Ordering::Relaxed);
            if number == 2 {
                self.listener().catalog_changed();
            }
            let mut catalog = Catalog::new();
            if (self.lists)(number) {
                let resource = RawJson::from_value(&json!({"uri": "s://a", "name": "a"}));
                let read = |_: RequestContext, params: RawJson| async move { Ok(params) };
                let added = catalog.add_raw_resource(resource, read);
                added.expect("a valid resource");
            }
            catalog
        }
        fn watch(&self, listener: SourceListener) -> Box<dyn Any + Send + Sync> {
            *self.state.1.lock().expect("not poisoned") = Some(listener);
            Box::new(())
        }
    }
    let first = Overtaken::new(|number| number == 2);
    let second = Overtaken::new(|_| true);
    let outer = server()
        .mount("first", first.clone())
        .mount("second", second.clone());
    let listed = async || {
        let mut peer = Peer::connect(&outer);
        let listed = peer.result_of(modern(1, "resources/list", json!({}))).await;
        listed["resources"].clone()
    };
    assert_eq!(listed().await, json!([{"uri": "s://a", "name": "a"}]));
    first.listener().catalog_changed();
    second.listener().catalog_changed();
    assert_eq!(listed().await, json!([{"uri": "s://a", "name": "a"}]));
}

#[tokio::test]
async fn subscriptions_follow_a_resource_to_its_new_source() {
    let first = Settable::new(&[], &["s://a"]);
    let second = Settable::new(&[], &[]);
    let outer = server()
        .mount("first", first.clone())
        .mount("second", second.clone());
    let mut peer = Peer::connect(&outer);
    peer.send(listen("l", &["s://a"])).await;
    peer.receive().await;
    let (subscribed, ended) = (("s://a".to_owned(), true), ("s://a".to_owned(), false));
    assert_eq!(first.take_reports(), std::slice::from_ref(&subscribed));
    second.set(&[], &["s://a"]);
    assert!(second.take_reports().is_empty(), "its entry is hidden");
    first.set(&[], &[]);
    assert_eq!(first.take_reports(), std::slice::from_ref(&ended));
    assert_eq!(second.take_reports(), [subscribed]);
    peer.send(cancel("l")).await;
    peer.expect_silence().await;
    assert!(first.take_reports().is_empty());
    assert_eq!(second.take_reports(), [ended]);
}

#[tokio::test]
async fn reports_of_subscriptions_arrive_in_order() {
    let source = Settable::new(&[], &["s://a"]);
    let outer = server().mount("s", source.clone());
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let outer = outer.clone();
            std::thread::spawn(move || {
                for _ in 0..200 {
                    outer.set_subscribed("s://a", true);
                    outer.set_subscribed("s://a", false);
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    let reports = source.take_reports();
    assert!(!reports.is_empty() && reports.len().is_multiple_of(2));
    for (index, (_, is_subscribed)) in reports.iter().enumerate() {
        assert_eq!(*is_subscribed, index % 2 == 0, "report {index}");
    }
}

#[tokio::test]
async fn hidden_resource_is_neither_subscribed_nor_delivered() {
    let source = Settable::new(&[], &["s://hidden", "s://shown"]);
    let mount = Mount::new("s", source.clone()).with_filter(|_, uri| uri != "s://hidden");
    let outer = server().mount_with(mount);
    let mut peer = Peer::connect(&outer);
    peer.send(listen("l", &["s://hidden", "s://shown", "s://unknown"]))
        .await;
    let acknowledged = peer.receive().await;
    assert_eq!(
        acknowledged["params"]["notifications"]["resourceSubscriptions"],
        json!(["s://hidden", "s://shown", "s://unknown"]),
        "as for an unknown one: {acknowledged}"
    );
    assert_eq!(source.take_reports(), [("s://shown".to_owned(), true)]);
    assert_eq!(source.listener().resource_updated("s://hidden"), 0);
    assert_eq!(source.listener().resource_updated("s://shown"), 1);
    let updated = peer.receive().await;
    assert_eq!(updated["params"]["uri"], "s://shown", "{updated}");
}

#[tokio::test]
async fn resource_that_is_hidden_later_is_not_delivered_to_a_legacy_client() {
    let source = Settable::new(&[], &["s://a"]);
    let is_shown = Arc::new(AtomicBool::new(true));
    let rule = {
        let is_shown = Arc::clone(&is_shown);
        move |_: &Caller<'_>, _: &str| is_shown.load(Ordering::Relaxed)
    };
    let outer = server()
        .with_resource_subscriptions()
        .mount_with(Mount::new("s", source.clone()).with_filter(rule));
    let mut peer = Peer::connect(&outer);
    peer.initialize("2025-06-18").await;
    let subscribe = legacy(1, "resources/subscribe", json!({"uri": "s://a"}));
    peer.result_of(subscribe).await;
    assert_eq!(source.listener().resource_updated("s://a"), 1);
    let updated = peer.receive().await;
    assert_eq!(updated["params"]["uri"], "s://a", "{updated}");
    is_shown.store(false, Ordering::Relaxed);
    assert_eq!(source.listener().resource_updated("s://a"), 0);
    peer.expect_silence().await;
}

#[tokio::test]
async fn panic_of_a_source_fails_only_the_request_that_subscribes() {
    let outer = server()
        .tool(plain("fine", |_| async { "fine" }))
        .mount("s", Settable::panicking("s://a"));
    let mut peer = Peer::connect(&outer);
    peer.error_of(listen("l", &["s://a"]), -32603).await;
    peer.send(call(1, "fine", json!({}))).await;
    peer.expect(complete(1, text("fine"))).await;
    let mut older = Peer::connect(&outer);
    older.initialize("2025-11-25").await;
    let subscribe = legacy(1, "resources/subscribe", json!({"uri": "s://a"}));
    older.error_of(subscribe, -32603).await;
    older
        .send(legacy(2, "tools/call", json!({"name": "fine"})))
        .await;
    older.expect(result_response(2, text("fine"))).await;
}

#[tokio::test]
async fn panic_of_a_visibility_rule_fails_only_its_request() {
    let panics = |_: &toolwire::Caller<'_>, name: &str| {
        assert_ne!(name, "bad", "expected");
        true
    };
    let outer = server()
        .with_resource_subscriptions()
        .tool(plain("bad", |_| async { "bad" }))
        .tool(plain("fine", |_| async { "fine" }))
        .with_visibility(panics);
    let mut peer = Peer::connect(&outer);
    for request in [
        modern(1, "tools/list", json!({})),
        call(1, "bad", json!({})),
    ] {
        peer.error_of(request, -32603).await;
        peer.send(call(2, "fine", json!({}))).await;
        peer.expect(complete(2, text("fine"))).await;
    }
    let source = server().tool(plain("bad", |_| async { "bad" }));
    let outer = server().mount_with(Mount::flat(source).with_filter(panics));
    let response = outer
        .handle(call(1, "bad", json!({})).to_string().as_bytes())
        .await;
    let response: Value = serde_json::from_slice(&response.unwrap()).unwrap();
    assert_eq!(response["error"]["code"], -32603, "{response}");
}

#[tokio::test]
async fn middleware_of_a_mount_cannot_change_the_target() {
    let renaming = || {
        from_fn(async |request: &mut Request, next: Next<'_>| {
            request.set_name("guarded_secret");
            next.run(request).await
        })
    };
    let rejecting = from_fn(async |_: &mut Request, _: Next<'_>| {
        toolwire::ErrorObject::invalid_request("guarded").into()
    });
    let open = || server().tool(plain("tool", |_| async { "open" }));
    let secret = server().tool(plain("secret", |_| async { "secret" }));
    let outer = server()
        .mount_with(Mount::new("mount", open()).with_middleware(renaming()))
        .mount("server", open().with_middleware(renaming()))
        .mount("guarded", secret.with_middleware(rejecting));
    let mut peer = Peer::connect(&outer);
    for name in ["mount_tool", "server_tool"] {
        peer.send(call(1, name, json!({}))).await;
        peer.expect(complete(1, text("open"))).await;
    }
    peer.error_of(call(2, "guarded_secret", json!({})), -32600)
        .await;
}
