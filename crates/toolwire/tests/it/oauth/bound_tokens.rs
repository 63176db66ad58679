//! Tokens that are bound to a key.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Value, json};
use toolwire::transport::http_client::HttpClient as _;
use toolwire_auth::client::MemoryTokenStore;

use super::town::{ISSUER, SERVER, Town, call};

#[tokio::test]
async fn every_request_has_a_proof_of_its_own() {
    let town = Town::default();
    let client = town.client(town.oauth().with_dpop());
    for _ in 0..3 {
        assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
    }
    let rules = town.rules();
    let targets: Vec<&Value> = rules
        .proofs
        .iter()
        .map(|(claims, _)| &claims["htu"])
        .collect();
    let token_endpoint = format!("{ISSUER}/token");
    assert_eq!(targets, [token_endpoint.as_str(), SERVER, SERVER, SERVER]);
    let ids: HashSet<String> = rules
        .proofs
        .iter()
        .map(|(claims, _)| claims["jti"].to_string())
        .collect();
    assert_eq!(ids.len(), 4);
    assert!(rules.proofs[0].0.get("ath").is_none());
    assert!(
        rules.proofs[1..]
            .iter()
            .all(|(claims, _)| claims["ath"].is_string())
    );
    let keys: HashSet<String> = rules
        .proofs
        .iter()
        .map(|(_, key)| key.to_string())
        .collect();
    assert_eq!(keys.len(), 1);
}

#[tokio::test]
async fn a_nonce_is_taken_over_and_kept() {
    let town = Town::default();
    town.rules().nonce = Some("first".to_owned());
    let client = town.client(town.oauth().with_dpop());
    for nonce in ["first", "second"] {
        town.rules().nonce = Some(nonce.to_owned());
        let before = town.rules().proofs.len();
        assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
        assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
        let rules = town.rules();
        let last = rules.proofs.last().unwrap();
        assert_eq!(last.0["nonce"], json!(nonce));
        let without = rules.proofs[before..]
            .iter()
            .filter(|(claims, _)| claims["nonce"] != json!(nonce));
        // One at each server that has a new nonce; in the second round that is the MCP server only.
        assert_eq!(without.count(), if nonce == "first" { 2 } else { 1 });
    }
}

#[tokio::test]
async fn the_key_is_kept_as_long_as_its_tokens() {
    let town = Town::default();
    let store = Arc::new(MemoryTokenStore::new());
    let oauth = || town.oauth().with_dpop().with_store(Arc::clone(&store));
    assert_eq!(
        town.client(oauth())
            .send(call("add"))
            .await
            .unwrap()
            .status(),
        200
    );
    // Another process, as far as it can tell; its token has to be refreshed.
    town.revoke_all(false);
    assert_eq!(
        town.client(oauth())
            .send(call("add"))
            .await
            .unwrap()
            .status(),
        200
    );
    assert_eq!(town.count("GET /authorize"), 1);
    let rules = town.rules();
    let keys: HashSet<String> = rules
        .proofs
        .iter()
        .map(|(_, key)| key.to_string())
        .collect();
    assert_eq!(keys.len(), 1);
}

#[tokio::test]
async fn a_resource_that_wants_proofs_gets_them() {
    let town = Town::default();
    assert_eq!(
        town.client(town.oauth())
            .send(call("add"))
            .await
            .unwrap()
            .status(),
        200
    );
    assert_eq!(town.rules().proofs.len(), 0);
    town.rules().resource["dpop_bound_access_tokens_required"] = json!(true);
    assert_eq!(
        town.client(town.oauth())
            .send(call("add"))
            .await
            .unwrap()
            .status(),
        200
    );
    assert_eq!(town.rules().proofs.len(), 2);
}
