//! What mounts declare besides their entries.

use serde_json::{Value, json};
use toolwire::{Caller, Catalog, Mount, Server, Source};
use toolwire_tests::peer::{Peer, modern, plain, server};

fn part(name: &str) -> Server {
    server()
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
