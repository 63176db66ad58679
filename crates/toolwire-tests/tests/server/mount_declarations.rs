//! What mounts declare besides their entries.

use std::time::Duration;

use serde_json::{Value, json};
use toolwire::apps::View;
use toolwire::{CacheHint, Caller, Catalog, ErrorObject, Mount, RequestContext, Server, Source};
use toolwire_tests::peer::{Peer, modern, plain, server};
use toolwire_tests::traces::Traces;

fn part(name: &str) -> Server {
    let hint = CacheHint::public(Duration::from_secs(60));
    server()
        .with_list_cache(hint)
        .with_instructions(format!("Use {name}."))
        .tool(plain("tool", |_| async { "t" }))
}

fn is_shown(_: &Caller<'_>, name: &str) -> bool {
    !name.starts_with("secret")
}

async fn discovered(server: &Server) -> Value {
    let mut peer = Peer::connect(server);
    peer.result_of(modern(1, "server/discover", json!({})))
        .await
}

#[tokio::test]
async fn instructions_of_mounts_are_below_their_names() {
    let inner = part("middle").mount("inner", part("inner"));
    let outer = part("outer").mount("middle", inner);
    let found = discovered(&outer).await;
    let text = found["instructions"].as_str().expect("a text");
    assert!(text.starts_with("Use outer.\n\n# middle\n"), "{text}");
    assert!(
        text.contains("Use middle.") && text.contains("Use inner."),
        "{text}"
    );
    assert_eq!(found["cacheScope"], "public");
}

#[tokio::test]
async fn instructions_of_hidden_mounts_are_hidden() {
    let outer = part("outer")
        .mount("open", part("open"))
        .mount_with(Mount::new("a", part("secret a")).with_filter(|_, _| false))
        .mount("secret", part("secret b"))
        .mount(
            "level",
            part("level")
                .mount("secret", part("secret c"))
                .with_visibility(is_shown),
        )
        .with_visibility(is_shown);
    let found = discovered(&outer).await;
    let text = found["instructions"].as_str().expect("a text");
    for shown in ["Use outer.", "Use open.", "Use level."] {
        assert!(text.contains(shown), "{text}");
    }
    assert!(!text.contains("secret"), "{text}");
    assert_eq!(found["cacheScope"], "private");
    let mut legacy = Peer::connect(&outer);
    let initialized = legacy.initialize("2025-06-18").await;
    assert_eq!(initialized["instructions"], text);
}

#[tokio::test]
async fn entries_that_are_not_known_yet_are_declared_on_each_level() {
    /// A source that does not know its entries yet.
    struct Unready;
    impl Source for Unready {
        fn catalog(&self) -> Catalog {
            Catalog::new().with_unknown_entries()
        }
    }
    let direct = server().mount("m", Unready);
    let nested = server().mount("outer", server().mount("m", Unready));
    let (mut direct, mut nested) = (Peer::connect(&direct), Peer::connect(&nested));
    for (method, params) in [
        ("server/discover", json!({})),
        ("tools/list", json!({})),
        ("tools/call", json!({"name": "x"})),
        ("prompts/list", json!({})),
        ("prompts/get", json!({"name": "x"})),
        ("resources/list", json!({})),
        ("resources/read", json!({"uri": "x://a"})),
    ] {
        let request = modern(1, method, params);
        direct.send(&request).await;
        nested.send(&request).await;
        let expected = direct.receive_text().await;
        assert!(!expected.contains("-32601"), "{expected}");
        assert_eq!(nested.receive_text().await, expected, "{request}");
    }
}

#[tokio::test]
async fn extension_of_views_is_declared_with_mounted_tools() {
    let clock = plain("clock", |_| async { "noon" })
        .with_view(View::new("ui://clock/face", "<!doctype html><p>12:00"));
    let nested = server().mount("m", server().mount("clock", server().tool(clock)));
    let found = discovered(&nested).await;
    let extensions = &found["capabilities"]["extensions"];
    assert!(
        extensions["io.modelcontextprotocol/ui"].is_object(),
        "{found}"
    );
    let mut peer = Peer::connect(&nested);
    let read = modern(2, "resources/read", json!({"uri": "ui://clock/face"}));
    peer.result_of(read).await;
}

#[tokio::test]
async fn methods_and_extensions_that_are_not_mounted_are_logged() {
    let (traces, _guard) = Traces::record();
    let add = |_: RequestContext, _: Value| async { Ok::<_, ErrorObject>(1) };
    let child = server()
        .method("acme/add", add)
        .with_extension("example.test/own", json!({}));
    let outer = server().mount("child", child);
    let text = traces.text();
    for what in ["method `acme/add`", "extension `example.test/own`"] {
        let expected = format!("mount `child`: the {what} is not mounted");
        assert_eq!(text.matches(&expected).count(), 1, "{text}");
    }
    let mut peer = Peer::connect(&outer);
    peer.error_of(modern(1, "acme/add", json!({})), -32601)
        .await;
}
