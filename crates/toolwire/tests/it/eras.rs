//! Two eras on one pipe: legacy and 2026-07-28 requests interleave and do not see each other.

use serde_json::{Value, json};
use toolwire::types::RootsCapability;
use toolwire::{ClientCapabilities, RequestContext, Server, ToolHandler};

use crate::peer::{
    Peer, answer, complete, legacy, modern, modern_with, notification, plain, server, text,
};

/// Tells how a request looks from inside.
fn mirror() -> ToolHandler {
    plain("mirror", |ctx: RequestContext| async move {
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

fn mirrors() -> Server {
    server().tool(mirror())
}

async fn modern_view(peer: &mut Peer, capabilities: Value) -> String {
    let params = json!({"name": "mirror"});
    let request = modern_with(1, "tools/call", params, capabilities);
    view(peer, request).await
}

async fn legacy_view(peer: &mut Peer) -> String {
    let request = legacy(1, "tools/call", json!({"name": "mirror"}));
    view(peer, request).await
}

async fn view(peer: &mut Peer, request: Value) -> String {
    let result = peer.result_of(request).await;
    let seen = result["content"][0]["text"].as_str();
    seen.unwrap_or_default().to_owned()
}

#[tokio::test]
async fn each_request_is_served_in_its_own_era() {
    let mut peer = Peer::connect(&mirrors());
    let modern_without = "2026-07-28 stateless=true roots=false client=peer";
    let modern_with = "2026-07-28 stateless=true roots=true client=peer";
    let legacy = "2025-06-18 stateless=false roots=true client=legacy-peer";

    assert_eq!(modern_view(&mut peer, json!({})).await, modern_without);
    peer.initialize_with("2025-06-18", json!({"roots": {}}))
        .await;
    assert_eq!(legacy_view(&mut peer).await, legacy);
    // Neither what the handshake declared …
    assert_eq!(modern_view(&mut peer, json!({})).await, modern_without);
    let roots = json!({"roots": {}});
    assert_eq!(modern_view(&mut peer, roots).await, modern_with);
    assert_eq!(modern_view(&mut peer, json!({})).await, modern_without);
    assert_eq!(legacy_view(&mut peer).await, legacy);
}

#[tokio::test]
async fn modern_capabilities_do_not_leak_into_the_handshake() {
    let mut peer = Peer::connect(&mirrors());
    peer.initialize("2025-11-25").await;
    modern_view(&mut peer, json!({"roots": {}})).await;
    assert_eq!(
        legacy_view(&mut peer).await,
        "2025-11-25 stateless=false roots=false client=legacy-peer"
    );
}

#[tokio::test]
async fn modern_requests_do_not_stand_in_for_the_handshake() {
    let mut peer = Peer::connect(&mirrors());
    modern_view(&mut peer, json!({})).await;
    let request = legacy(1, "tools/call", json!({"name": "mirror"}));
    let error = peer.refusal_of(request, -32602).await;
    let message = error["message"].as_str().unwrap_or_default();
    assert!(message.contains("initialize"), "{message}");
    // The handshake is still open to the peer.
    peer.initialize("2024-11-05").await;
    assert!(legacy_view(&mut peer).await.starts_with("2024-11-05"));
}

#[tokio::test]
async fn connections_do_not_see_each_other() {
    let server = mirrors();
    let mut first = Peer::connect(&server);
    let mut second = Peer::connect(&server);
    first
        .initialize_with("2025-03-26", json!({"roots": {}}))
        .await;
    second.initialize("2025-11-25").await;
    assert_eq!(
        legacy_view(&mut first).await,
        "2025-03-26 stateless=false roots=true client=legacy-peer"
    );
    assert_eq!(
        legacy_view(&mut second).await,
        "2025-11-25 stateless=false roots=false client=legacy-peer"
    );
}

#[tokio::test]
async fn a_version_is_fixed_when_the_request_arrives() {
    let (start, mut started) = tokio::sync::mpsc::unbounded_channel();
    let (release, released) = tokio::sync::watch::channel(false);
    let slow = plain("slow", move |ctx: RequestContext| {
        let (start, mut released) = (start.clone(), released.clone());
        async move {
            start.send(()).expect("the test listens");
            let _ = released.wait_for(|released| *released).await;
            ctx.version().as_str().to_owned()
        }
    });
    let mut peer = Peer::connect(&server().tool(slow));
    peer.send(modern(1, "tools/call", json!({"name": "slow"})))
        .await;
    started.recv().await.expect("it runs");
    peer.initialize("2025-06-18").await;
    release.send_replace(true);
    peer.expect(complete(1, text("2026-07-28"))).await;
}

#[tokio::test]
async fn list_changes_reach_each_era_in_its_way() {
    let server = mirrors();
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
async fn the_lifecycle_gate_holds_back_legacy_requests_only() {
    let server = mirrors().with_strict_initialization();
    let mut peer = Peer::connect(&server);
    modern_view(&mut peer, json!({})).await;
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "early", "version": "1"},
    });
    peer.result_of(legacy(1, "initialize", params)).await;

    let early = || legacy(2, "tools/list", json!({}));
    peer.refusal_of(early(), -32600).await;
    peer.send(legacy(3, "ping", json!({}))).await;
    peer.expect(answer(3, json!({}))).await;
    modern_view(&mut peer, json!({})).await;

    peer.send(notification("notifications/initialized", json!({})))
        .await;
    peer.result_of(early()).await;
}

#[tokio::test]
async fn without_the_gate_early_requests_are_served() {
    let mut peer = Peer::connect(&mirrors());
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "early", "version": "1"},
    });
    peer.result_of(legacy(1, "initialize", params)).await;
    peer.result_of(legacy(2, "tools/list", json!({}))).await;
}

#[tokio::test]
async fn answers_interleave_in_the_order_they_are_ready() {
    let (release, released) = tokio::sync::watch::channel(false);
    let slow = plain("slow", move |_: RequestContext| {
        let mut released = released.clone();
        async move {
            let _ = released.wait_for(|released| *released).await;
            "slow"
        }
    });
    let mut peer = Peer::connect(&mirrors().tool(slow));
    peer.initialize("2025-11-25").await;
    peer.send(legacy(1, "tools/call", json!({"name": "slow"})))
        .await;
    peer.send(modern(1, "tools/call", json!({"name": "slow"})))
        .await;
    modern_view(&mut peer, json!({})).await;
    legacy_view(&mut peer).await;
    release.send_replace(true);
    let mut answers = [peer.receive().await, peer.receive().await];
    answers.sort_by_key(|answer| answer["result"].get("resultType").is_some());
    assert_eq!(
        answers,
        [answer(1, text("slow")), complete(1, text("slow"))]
    );
}
