//! Mounts that are replaced at their places, and URIs that change while a request runs.

use std::any::Any;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use toolwire::middleware::{Next, Request, from_fn_with};
use toolwire::{
    Catalog, ErrorObject, Mount, RawJson, RequestContext, Server, Source, SourceListener,
};
use toolwire_tests::peer::{Peer, call, modern, plain, server};

fn tool_server(names: &[&'static str], reply: &'static str) -> Server {
    let add = |server: Server, name: &&'static str| {
        server.tool(plain(name, move |_| async move { reply }))
    };
    names.iter().fold(server(), add)
}

async fn tools(peer: &mut Peer) -> Vec<String> {
    let listed = peer.result_of(modern(0, "tools/list", json!({}))).await;
    let tools = listed["tools"].as_array().expect("a list").iter();
    let names = tools.map(|tool| tool["name"].as_str().expect("a name").to_owned());
    names.collect()
}

#[tokio::test]
async fn replaced_mount_keeps_its_position() {
    let outer = server()
        .mount("a", tool_server(&["x"], "old"))
        .mount("b", tool_server(&["y"], "b"));
    let mut peer = Peer::connect(&outer);
    let new = tool_server(&["x", "z"], "new");
    let mount = Mount::new("a", new.clone());
    outer.replace_mount(mount).expect("it can be replaced");
    assert_eq!(tools(&mut peer).await, ["a_x", "a_z", "b_y"]);
    let called = peer.result_of(call(1, "a_x", json!({}))).await;
    assert_eq!(called["content"][0]["text"], "new");
    // The new source is watched.
    assert!(new.remove_tool("z"));
    assert_eq!(tools(&mut peer).await, ["a_x", "b_y"]);
}

#[tokio::test]
async fn replaced_mount_hides_a_name_that_is_taken() {
    let outer = server()
        .mount_with(Mount::new("a", tool_server(&["x"], "a")).without_prefix())
        .mount_with(Mount::new("b", tool_server(&["y"], "b")).without_prefix());
    let mut peer = Peer::connect(&outer);
    let mount = Mount::new("b", tool_server(&["x", "z"], "b")).without_prefix();
    outer.replace_mount(mount).expect("it can be replaced");
    assert_eq!(tools(&mut peer).await, ["x", "z"]);
    let called = peer.result_of(call(1, "x", json!({}))).await;
    assert_eq!(called["content"][0]["text"], "a");
}

#[tokio::test]
async fn mount_that_cannot_be_replaced_changes_nothing() {
    let outer = server().mount("a", tool_server(&["x"], "a"));
    let mut peer = Peer::connect(&outer);
    let check = |mount: Mount, part: &str| {
        let error = outer.replace_mount(mount).expect_err("an error");
        assert!(error.to_string().contains(part), "{error}");
    };
    check(Mount::new("b", server()), "no such mount");
    check(Mount::flat(server()), "no such mount");
    check(
        Mount::new("a", server()).with_prefix("not valid"),
        "not valid",
    );
    check(Mount::new("a", outer.clone()), "cannot mount itself");
    assert_eq!(tools(&mut peer).await, ["a_x"]);
}

/// A source that writes down when a server begins and ends to watch it.
struct Watched(&'static str, Arc<Mutex<Vec<String>>>);

/// The watch of a [`Watched`] source.
struct Watch(&'static str, Arc<Mutex<Vec<String>>>);

impl Source for Watched {
    fn catalog(&self) -> Catalog {
        Catalog::new()
    }

    fn watch(&self, _: SourceListener) -> Box<dyn Any + Send + Sync> {
        let Self(name, log) = self;
        log.lock().expect("not poisoned").push(format!("+{name}"));
        Box::new(Watch(name, Arc::clone(log)))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let Self(name, log) = self;
        log.lock().expect("not poisoned").push(format!("-{name}"));
    }
}

#[tokio::test]
async fn new_source_is_watched_before_the_watch_of_the_old_one_ends() {
    let log = Arc::default();
    let outer = server().mount("a", Watched("old", Arc::clone(&log)));
    let mount = Mount::new("a", Watched("new", Arc::clone(&log)));
    outer.replace_mount(mount).expect("it can be replaced");
    assert_eq!(*log.lock().expect("not poisoned"), ["+old", "+new", "-old"]);
}

/// A source with one raw resource, which responds with the URI that it gets.
struct OneUri(&'static str);

impl Source for OneUri {
    fn catalog(&self) -> Catalog {
        let mut catalog = Catalog::new();
        let descriptor = json!({ "name": "r", "uri": self.0 }).to_string();
        let descriptor = RawJson::from_string(descriptor).expect("JSON");
        catalog
            .add_raw_resource(descriptor, read_uri)
            .expect("a valid resource");
        catalog
    }
}

async fn read_uri(_: RequestContext, params: RawJson) -> Result<RawJson, ErrorObject> {
    let params: Value = params.parse().expect("an object");
    let result = json!({ "contents": [], "uri": params["uri"] }).to_string();
    Ok(RawJson::from_string(result).expect("JSON"))
}

#[tokio::test]
async fn request_reads_the_uri_that_middleware_saw() {
    type Seen = Mutex<Option<String>>;

    let outer = server().mount("a", OneUri("x://1"));
    let seen: Arc<Seen> = Arc::default();
    let middleware = from_fn_with(
        (outer.clone(), Arc::clone(&seen)),
        async |(server, seen): &(Server, Arc<Seen>), request: &mut Request, next: Next<'_>| {
            let own = request.source_name().map(str::to_owned);
            *seen.lock().expect("not poisoned") = own;
            // No other mount claims the URI any more, so the prefix of this mount has no meaning.
            server.remove_mount("a");
            next.run(request).await
        },
    );
    let mount = Mount::new("b", OneUri("x://1")).with_middleware(middleware);
    let outer = outer.mount_with(mount);
    let mut peer = Peer::connect(&outer);
    let read = modern(1, "resources/read", json!({ "uri": "b+x://1" }));
    let result = peer.result_of(read).await;
    assert_eq!(seen.lock().expect("not poisoned").as_deref(), Some("x://1"));
    assert_eq!(result["uri"], "x://1", "{result}");
    // Later requests see the change.
    let read = modern(2, "resources/read", json!({ "uri": "x://1" }));
    assert_eq!(peer.result_of(read).await["uri"], "x://1");
}
