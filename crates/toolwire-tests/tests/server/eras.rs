//! Two eras on one connection: legacy and 2026-07-28 requests interleave and do not affect each other.

use serde_json::{Value, json};
use toolwire::types::RootsCapability;
use toolwire::{ClientCapabilities, RequestContext, Server, ToolHandler};
use toolwire_tests::peer::{
    Peer, complete, legacy, modern, modern_with, notification, plain, result_response, server, text,
};

/// Returns a tool that describes its request.
fn describe() -> ToolHandler {
    plain("describe", |ctx: RequestContext| async move {
        let roots = ClientCapabilities::new().with_roots(RootsCapability::new());
        format!(
            "{} stateless={} roots={} client={}",
            ctx.version().as_str(),
            ctx.is_stateless(),
            ctx.client_supports(&roots),
            ctx.client_info()
                .map_or("unknown", |info| info.name.as_str()),
        )
    })
}

fn describing_server() -> Server {
    server().tool(describe())
}

async fn describe_modern(peer: &mut Peer, capabilities: Value) -> String {
    let params = json!({"name": "describe"});
    let request = modern_with(1, "tools/call", params, capabilities);
    description(peer, request).await
}

async fn describe_legacy(peer: &mut Peer) -> String {
    let request = legacy(1, "tools/call", json!({"name": "describe"}));
    description(peer, request).await
}

async fn description(peer: &mut Peer, request: Value) -> String {
    let result = peer.result_of(request).await;
    let text = result["content"][0]["text"].as_str();
    text.unwrap_or_default().to_owned()
}

#[tokio::test]
async fn each_request_is_served_in_its_own_era() {
    let mut peer = Peer::connect(&describing_server());
    let modern_without = "2026-07-28 stateless=true roots=false client=peer";
    let modern_with = "2026-07-28 stateless=true roots=true client=peer";
    let legacy = "2025-06-18 stateless=false roots=true client=legacy-peer";

    assert_eq!(describe_modern(&mut peer, json!({})).await, modern_without);
    peer.initialize_with("2025-06-18", json!({"roots": {}}))
        .await;
    assert_eq!(describe_legacy(&mut peer).await, legacy);
    // Capabilities of the handshake do not apply to modern requests.
    assert_eq!(describe_modern(&mut peer, json!({})).await, modern_without);
    let roots = json!({"roots": {}});
    assert_eq!(describe_modern(&mut peer, roots).await, modern_with);
    assert_eq!(describe_modern(&mut peer, json!({})).await, modern_without);
    assert_eq!(describe_legacy(&mut peer).await, legacy);
}

#[tokio::test]
async fn modern_capabilities_do_not_apply_to_legacy_requests() {
    let mut peer = Peer::connect(&describing_server());
    peer.initialize("2025-11-25").await;
    describe_modern(&mut peer, json!({"roots": {}})).await;
    assert_eq!(
        describe_legacy(&mut peer).await,
        "2025-11-25 stateless=false roots=false client=legacy-peer"
    );
}

#[tokio::test]
async fn modern_requests_do_not_replace_the_handshake() {
    let mut peer = Peer::connect(&describing_server());
    describe_modern(&mut peer, json!({})).await;
    let request = legacy(1, "tools/call", json!({"name": "describe"}));
    let error = peer.error_of(request, -32602).await;
    let message = error["message"].as_str().unwrap_or_default();
    assert!(message.contains("initialize"), "{message}");
    // The handshake is still possible.
    peer.initialize("2024-11-05").await;
    assert!(describe_legacy(&mut peer).await.starts_with("2024-11-05"));
}

#[tokio::test]
async fn each_connection_has_its_own_handshake() {
    let server = describing_server();
    let mut first = Peer::connect(&server);
    let mut second = Peer::connect(&server);
    first
        .initialize_with("2025-03-26", json!({"roots": {}}))
        .await;
    second.initialize("2025-11-25").await;
    assert_eq!(
        describe_legacy(&mut first).await,
        "2025-03-26 stateless=false roots=true client=legacy-peer"
    );
    assert_eq!(
        describe_legacy(&mut second).await,
        "2025-11-25 stateless=false roots=false client=legacy-peer"
    );
}

#[tokio::test]
async fn version_of_a_request_is_fixed_on_arrival() {
    let (start, mut started) = tokio::sync::mpsc::unbounded_channel();
    let (release, released) = tokio::sync::watch::channel(false);
    let slow = plain("slow", move |ctx: RequestContext| {
        let (start, mut released) = (start.clone(), released.clone());
        async move {
            start.send(()).expect("the test receives events");
            let _ = released.wait_for(|released| *released).await;
            ctx.version().as_str().to_owned()
        }
    });
    let mut peer = Peer::connect(&server().tool(slow));
    peer.send(modern(1, "tools/call", json!({"name": "slow"})))
        .await;
    started.recv().await.expect("the handler runs");
    peer.initialize("2025-06-18").await;
    release.send_replace(true);
    peer.expect(complete(1, text("2026-07-28"))).await;
}

#[tokio::test]
async fn list_changes_reach_legacy_and_modern_listeners() {
    let server = describing_server();
    let mut peer = Peer::connect(&server);
    peer.initialize("2025-11-25").await;
    let params = json!({"notifications": {"toolsListChanged": true}});
    peer.send(modern(1, "subscriptions/listen", params)).await;
    peer.receive().await;
    assert_eq!(server.tools_changed(), 2);
    let method = "notifications/tools/list_changed";
    peer.expect(json!({"jsonrpc": "2.0", "method": method}))
        .await;
    let meta = json!({"io.modelcontextprotocol/subscriptionId": 1});
    peer.expect(notification(method, json!({"_meta": meta})))
        .await;
    peer.expect_silence().await;
}

#[tokio::test]
async fn strict_initialization_applies_to_legacy_requests_only() {
    let server = describing_server().with_strict_initialization();
    let mut peer = Peer::connect(&server);
    describe_modern(&mut peer, json!({})).await;
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "early", "version": "1"},
    });
    peer.result_of(legacy(1, "initialize", params)).await;

    let early = || legacy(2, "tools/list", json!({}));
    peer.error_of(early(), -32600).await;
    peer.send(legacy(3, "ping", json!({}))).await;
    peer.expect(result_response(3, json!({}))).await;
    describe_modern(&mut peer, json!({})).await;

    peer.send(notification("notifications/initialized", json!({})))
        .await;
    peer.result_of(early()).await;
}

#[tokio::test]
async fn requests_before_initialized_are_served_by_default() {
    let mut peer = Peer::connect(&describing_server());
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "early", "version": "1"},
    });
    peer.result_of(legacy(1, "initialize", params)).await;
    peer.result_of(legacy(2, "tools/list", json!({}))).await;
}

#[tokio::test]
async fn responses_are_sent_when_they_are_ready() {
    let (release, released) = tokio::sync::watch::channel(false);
    let slow = plain("slow", move |_: RequestContext| {
        let mut released = released.clone();
        async move {
            let _ = released.wait_for(|released| *released).await;
            "slow"
        }
    });
    let mut peer = Peer::connect(&describing_server().tool(slow));
    peer.initialize("2025-11-25").await;
    peer.send(legacy(1, "tools/call", json!({"name": "slow"})))
        .await;
    peer.send(modern(1, "tools/call", json!({"name": "slow"})))
        .await;
    describe_modern(&mut peer, json!({})).await;
    describe_legacy(&mut peer).await;
    release.send_replace(true);
    let mut responses = [peer.receive().await, peer.receive().await];
    responses.sort_by_key(|response| response["result"].get("resultType").is_some());
    assert_eq!(
        responses,
        [result_response(1, text("slow")), complete(1, text("slow"))]
    );
}
