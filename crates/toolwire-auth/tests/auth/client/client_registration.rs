//! How the client obtains its client id.

use serde_json::json;
use toolwire::transport::http_client::HttpClient as _;
use toolwire_auth::client::{OAuthConfig, RegisteredClient};

use super::fake_servers::{FakeServers, ISSUER, call};

const OTHER: &str = "https://other.example.com";

#[tokio::test]
async fn configured_client_precedes_document_and_document_precedes_registration() {
    let document = "https://app.example.com/client.json";
    let servers = FakeServers::default();
    servers.state().metadata["client_id_metadata_document_supported"] = json!(true);
    let with_document = || servers.oauth().with_client_id_document(document);
    assert_eq!(
        servers
            .client(with_document())
            .send(call("add"))
            .await
            .unwrap()
            .status(),
        200
    );
    let configured = with_document().with_client("by-hand");
    assert_eq!(
        servers
            .client(configured)
            .send(call("add"))
            .await
            .unwrap()
            .status(),
        200
    );
    servers.state().metadata["client_id_metadata_document_supported"] = json!(false);
    assert_eq!(
        servers
            .client(with_document())
            .send(call("add"))
            .await
            .unwrap()
            .status(),
        200
    );
    let state = servers.state();
    let ids: Vec<&str> = state
        .queries
        .iter()
        .map(|query| query["client_id"].as_str())
        .collect();
    assert_eq!(ids[..2], [document, "by-hand"]);
    assert!(ids[2].starts_with("client-"), "{ids:?}");
}

#[tokio::test]
async fn credentials_of_one_authorization_server_are_not_sent_to_another() {
    let servers = FakeServers::default();
    let other_issuer = servers
        .oauth()
        .with_client(RegisteredClient::new("by-hand").with_issuer(OTHER));
    let failure = servers
        .client(other_issuer)
        .send(call("add"))
        .await
        .unwrap_err();
    let source = std::error::Error::source(&failure).unwrap().to_string();
    assert!(source.contains(OTHER), "{source}");
    assert_eq!(
        (
            servers.request_count("GET /authorize"),
            servers.request_count("POST /token")
        ),
        (0, 0)
    );

    // Credentials without an issuer belong to the first authorization server that the client uses.
    let client = servers.client(servers.oauth().with_client("by-hand"));
    assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
    {
        let mut state = servers.state();
        state.resource_metadata["authorization_servers"] = json!([OTHER]);
        state.metadata["issuer"] = json!(OTHER);
    }
    servers.revoke_all(true);
    let logins = servers.request_count("GET /authorize");
    let failure = client.send(call("add")).await.unwrap_err();
    let source = std::error::Error::source(&failure).unwrap().to_string();
    assert!(source.contains("another authorization server"), "{source}");
    assert_eq!(servers.request_count("GET /authorize"), logins);
}

#[tokio::test]
async fn client_without_registration_advises_manual_registration() {
    let servers = FakeServers::default();
    let client = servers.client(servers.oauth().without_registration());
    let failure = client.send(call("add")).await.unwrap_err();
    let source = std::error::Error::source(&failure).unwrap().to_string();
    assert!(
        source.contains("manually") && source.contains(ISSUER),
        "{source}"
    );
    assert_eq!(servers.request_count("POST /register"), 0);
}

#[tokio::test]
async fn client_credentials_client_does_not_register() {
    let servers = FakeServers::default();
    let registered = RegisteredClient::new("machine").with_secret("s3cret");
    let oauth = servers.with_test_fetcher(OAuthConfig::client_credentials(registered));
    assert_eq!(
        servers
            .client(oauth)
            .send(call("add"))
            .await
            .unwrap()
            .status(),
        200
    );
    assert_eq!(
        (
            servers.request_count("POST /register"),
            servers.request_count("GET /authorize")
        ),
        (0, 0)
    );
    let form = servers.state().forms.pop().unwrap();
    assert_eq!(form["grant_type"], "client_credentials");
}

#[tokio::test]
async fn authorization_request_has_a_loopback_redirect_and_s256() {
    let servers = FakeServers::default();
    let client = servers.client(servers.oauth());
    assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
    let query = servers.state().queries.pop().unwrap();
    assert_eq!(query["redirect_uri"], super::fake_servers::REDIRECT);
    assert_eq!(query["code_challenge_method"], "S256");
}
