//! Clients without a user, known to the authorization server beforehand.

use serde_json::json;
use toolwire::ProtocolVersion;
use toolwire::auth::client::{OAuthConfig, RegisteredClient, SigningKey};

use super::{Scene, call, in_both_eras, story, who_calls};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_secret_is_enough() {
    in_both_eras(&[], async |scene, version| {
        let machine = RegisteredClient::new("machine").with_secret("secret of the machine");
        check(scene, machine, version).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_is_enough() {
    in_both_eras(&[], async |scene, version| {
        let pem = scene.test_page("machine.pem").await;
        let key = SigningKey::from_pem(&pem).expect("it is a key");
        let machine = RegisteredClient::new("machine-with-key").with_key(key.with_kid("machine"));
        check(scene, machine, version).await;
    })
    .await;
}

async fn check(scene: &Scene<'_>, machine: RegisteredClient, version: ProtocolVersion) {
    let client = scene
        .connect(OAuthConfig::client_credentials(machine), version)
        .await;
    let caller = who_calls(&client).await;
    assert_eq!(caller.first(), caller.get(1), "it speaks for itself");
    assert_eq!(caller.last().map(String::as_str), Some("notes:read"));
    assert_eq!(
        call(&client, "write", json!({"text": "a"})).await,
        "written: a"
    );
    // One token for the server, and one for the tool that needs more.
    assert_eq!(scene.seen().await, ["granted client_credentials"; 2]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_secret_is_not_tried_again() {
    in_both_eras(&[], async |scene, version| {
        let machine = RegisteredClient::new("machine").with_secret("a guess");
        let refused = scene.try_to_connect(OAuthConfig::client_credentials(machine), version);
        let why = story(&refused.await.expect_err("the secret is wrong"));
        assert!(why.contains("invalid_client"), "{why}");
        assert_eq!(scene.seen().await, ["refused invalid_client"]);
    })
    .await;
}
