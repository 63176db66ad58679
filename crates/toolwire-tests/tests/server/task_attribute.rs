//! `#[tool(task)]`, as clients see it in the list of tools.

use serde_json::{Value, json};
use toolwire::tool;
use toolwire_tests::legacy_server::LEGACY;
use toolwire_tests::peer::{Peer, legacy, modern, server};

#[tool(task)]
async fn optional() {}

#[tool(task(required, after = 2, ttl = 7200, poll = 0.5, resume))]
async fn required() {}

#[tool(task(on_demand))]
fn on_demand() {}

#[tool]
async fn never() {}

struct Studio;

#[toolwire::server]
impl Studio {
    #[tool(blocking, task(required))]
    fn render(&self) {}
}

#[tokio::test]
async fn only_2025_11_25_clients_see_the_task_support() {
    let server = server()
        .tool(optional)
        .tool(required)
        .tool(on_demand)
        .tool(never)
        .handlers(Studio);
    let support = |list: &Value| -> Vec<Value> {
        let tools = list["tools"].as_array().expect("a list").iter();
        tools
            .map(|tool| tool["execution"]["taskSupport"].clone())
            .collect()
    };
    for version in LEGACY {
        let mut peer = Peer::connect(&server);
        peer.initialize(version).await;
        let list = peer.result_of(legacy(1, "tools/list", json!({}))).await;
        let expected = match version {
            "2025-11-25" => json!(["optional", "required", "optional", null, "required"]),
            _ => json!([null, null, null, null, null]),
        };
        assert_eq!(json!(support(&list)), expected, "{version}");
    }
    let mut peer = Peer::connect(&server);
    let list = peer.result_of(modern(1, "tools/list", json!({}))).await;
    assert_eq!(json!(support(&list)), json!([null, null, null, null, null]));
}
