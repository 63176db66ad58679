//! Access tokens that are bound to a key (DPoP, RFC 9449).

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Value, json};
use toolwire::transport::http_client::HttpClient as _;
use toolwire_auth::client::MemoryTokenStore;

use super::fake_servers::{FakeServers, ISSUER, SERVER, call};

#[tokio::test]
async fn every_request_has_a_unique_proof() {
    let servers = FakeServers::default();
    let client = servers.client(servers.oauth().with_dpop());
    for _ in 0..3 {
        assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
    }
    let state = servers.state();
    let targets: Vec<&Value> = state
        .proofs
        .iter()
        .map(|(claims, _)| &claims["htu"])
        .collect();
    let token_endpoint = format!("{ISSUER}/token");
    assert_eq!(targets, [token_endpoint.as_str(), SERVER, SERVER, SERVER]);
    let ids: HashSet<String> = state
        .proofs
        .iter()
        .map(|(claims, _)| claims["jti"].to_string())
        .collect();
    assert_eq!(ids.len(), 4);
    assert!(state.proofs[0].0.get("ath").is_none());
    assert!(
        state.proofs[1..]
            .iter()
            .all(|(claims, _)| claims["ath"].is_string())
    );
    let keys: HashSet<String> = state
        .proofs
        .iter()
        .map(|(_, key)| key.to_string())
        .collect();
    assert_eq!(keys.len(), 1);
}

#[tokio::test]
async fn nonce_of_a_server_is_stored_and_used_in_later_proofs() {
    let servers = FakeServers::default();
    servers.state().nonce = Some("first".to_owned());
    let client = servers.client(servers.oauth().with_dpop());
    for nonce in ["first", "second"] {
        servers.state().nonce = Some(nonce.to_owned());
        let before = servers.state().proofs.len();
        assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
        assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
        let state = servers.state();
        let last = state.proofs.last().unwrap();
        assert_eq!(last.0["nonce"], json!(nonce));
        let without = state.proofs[before..]
            .iter()
            .filter(|(claims, _)| claims["nonce"] != json!(nonce));
        // One proof per server that has a new nonce. In the second round only the MCP server gets a request.
        assert_eq!(without.count(), if nonce == "first" { 2 } else { 1 });
    }
}

#[tokio::test]
async fn key_is_stored_with_its_tokens() {
    let servers = FakeServers::default();
    let store = Arc::new(MemoryTokenStore::new());
    let oauth = || servers.oauth().with_dpop().with_store(Arc::clone(&store));
    assert_eq!(
        servers
            .client(oauth())
            .send(call("add"))
            .await
            .unwrap()
            .status(),
        200
    );
    // A second client shares only the store, like another process. It has to refresh the token.
    servers.revoke_all(false);
    assert_eq!(
        servers
            .client(oauth())
            .send(call("add"))
            .await
            .unwrap()
            .status(),
        200
    );
    assert_eq!(servers.request_count("GET /authorize"), 1);
    let state = servers.state();
    let keys: HashSet<String> = state
        .proofs
        .iter()
        .map(|(_, key)| key.to_string())
        .collect();
    assert_eq!(keys.len(), 1);
}

#[tokio::test]
async fn resource_that_requires_dpop_gets_proofs() {
    let servers = FakeServers::default();
    assert_eq!(
        servers
            .client(servers.oauth())
            .send(call("add"))
            .await
            .unwrap()
            .status(),
        200
    );
    assert_eq!(servers.state().proofs.len(), 0);
    servers.state().resource_metadata["dpop_bound_access_tokens_required"] = json!(true);
    assert_eq!(
        servers
            .client(servers.oauth())
            .send(call("add"))
            .await
            .unwrap()
            .status(),
        200
    );
    assert_eq!(servers.state().proofs.len(), 2);
}
