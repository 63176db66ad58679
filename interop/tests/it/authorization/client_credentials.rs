//! Clients without a user, registered at the authorization server.

use serde_json::json;
use toolwire::ProtocolVersion;
use toolwire_auth::client::{OAuthConfig, RegisteredClient, SigningKey};

use super::{Fixture, call, error_chain, in_both_eras, who_calls};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn client_secret_gets_a_token() {
    in_both_eras(&[], async |fixture, version| {
        let machine = RegisteredClient::new("machine").with_secret("secret of the machine");
        check(fixture, machine, version).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn private_key_gets_a_token() {
    in_both_eras(&[], async |fixture, version| {
        let pem = fixture.test_page("machine.pem").await;
        let key = SigningKey::from_pem(&pem).expect("the key is valid");
        let machine = RegisteredClient::new("machine-with-key").with_key(key.with_kid("machine"));
        check(fixture, machine, version).await;
    })
    .await;
}

async fn check(fixture: &Fixture<'_>, machine: RegisteredClient, version: ProtocolVersion) {
    let client = fixture
        .connect(OAuthConfig::client_credentials(machine), version)
        .await;
    let caller = who_calls(&client).await;
    assert_eq!(caller.first(), caller.get(1), "the subject is the client");
    assert_eq!(caller.last().map(String::as_str), Some("notes:read"));
    assert_eq!(
        call(&client, "write", json!({"text": "a"})).await,
        "written: a"
    );
    // One token for the server, and one for the tool with another scope.
    assert_eq!(
        fixture.take_events().await,
        ["granted client_credentials"; 2]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_secret_is_not_sent_again() {
    in_both_eras(&[], async |fixture, version| {
        let machine = RegisteredClient::new("machine").with_secret("a guess");
        let rejected = fixture.try_to_connect(OAuthConfig::client_credentials(machine), version);
        let why = error_chain(&rejected.await.expect_err("the secret is wrong"));
        assert!(why.contains("invalid_client"), "{why}");
        assert_eq!(fixture.take_events().await, ["rejected invalid_client"]);
    })
    .await;
}
