//! The keys `meta`, `cache` and `last_modified` of the macros.

use serde_json::{Value, json};
use toolwire::{
    IntoPrompt, IntoResource, IntoResourceTemplate, IntoTool, prompt, resource, resource_template,
    tool,
};
use toolwire_tests::peer::{Peer, modern, server};

const MINUTE_MS: u64 = 60_000;

#[tool(meta(
    "com.example/owner" = "docs",
    "com.example/level" = 3,
    "com.example/beta" = true,
    "com.example/ui" = json!({"columns": [1, 2]})
))]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

#[prompt(meta("owner" = OWNER))]
fn greet(name: String) -> String {
    format!("Greet {name}.")
}

const OWNER: &str = "people";

#[resource(
    uri = "docs://readme",
    meta("com.example/owner" = "docs"),
    cache(ttl_ms = MINUTE_MS, scope = "public"),
    priority = 0.5,
    last_modified = "2026-07-28T12:00:00Z"
)]
fn readme() -> &'static str {
    "read me"
}

#[resource_template(
    uri = "docs://pages/{page}",
    meta("com.example/owner" = "docs"),
    cache(ttl_ms = 1500),
    last_modified = "2026-07-28T12:00:00.5+02:00"
)]
fn page(page: u32) -> String {
    format!("page {page}")
}

fn check(descriptor: impl serde::Serialize, expected: &Value) {
    let mut descriptor = serde_json::to_value(descriptor).expect("a descriptor");
    let members = descriptor.as_object_mut().expect("an object");
    members.retain(|name, _| matches!(name.as_str(), "_meta" | "annotations"));
    assert_eq!(descriptor, *expected);
}

#[test]
fn meta_and_last_modified_are_in_the_descriptors() {
    let meta = json!({
        "com.example/owner": "docs",
        "com.example/level": 3,
        "com.example/beta": true,
        "com.example/ui": {"columns": [1, 2]},
    });
    check(add.into_tool().descriptor(), &json!({ "_meta": meta }));
    let expected = json!({"_meta": {"owner": "people"}});
    check(greet.into_prompt().descriptor(), &expected);
    let meta = json!({"com.example/owner": "docs"});
    let annotations = json!({"priority": 0.5, "lastModified": "2026-07-28T12:00:00Z"});
    check(
        readme.into_resource().descriptor(),
        &json!({"_meta": meta, "annotations": annotations}),
    );
    let annotations = json!({"lastModified": "2026-07-28T12:00:00.5+02:00"});
    check(
        page.into_resource_template().descriptor(),
        &json!({"_meta": meta, "annotations": annotations}),
    );
}

#[tokio::test]
async fn cache_is_the_hint_of_the_contents() {
    let server = server().resource(readme).resource_template(page);
    let mut peer = Peer::connect(&server);
    for (uri, ttl_ms, scope) in [
        ("docs://readme", 60_000, "public"),
        ("docs://pages/7", 1500, "private"),
    ] {
        let request = modern(1, "resources/read", json!({"uri": uri}));
        let result = peer.result_of(request).await;
        assert_eq!(result["ttlMs"], ttl_ms, "{uri}");
        assert_eq!(result["cacheScope"], scope, "{uri}");
    }
}

struct Docs;

#[toolwire::server]
impl Docs {
    #[tool(meta("com.example/owner" = Self::OWNER))]
    fn count(&self) -> u32 {
        1
    }
}

impl Docs {
    const OWNER: &str = "docs";
}

#[tokio::test]
async fn values_may_refer_to_constants_of_the_server_type() {
    let mut peer = Peer::connect(&server().handlers(Docs));
    let result = peer.result_of(modern(1, "tools/list", json!({}))).await;
    let meta = &result["tools"][0]["_meta"];
    assert_eq!(*meta, json!({"com.example/owner": "docs"}));
}
