//! Login, logout and the list of accounts.

use std::sync::Arc;

use toolwire_auth::client::{LogoutOutcome, MemoryTokenStore};

use super::fake_servers::{FakeServers, ISSUER, SERVER};

#[tokio::test]
async fn login_is_stored_until_logout() {
    let servers = FakeServers::default();
    servers.state().resource_metadata["scopes_supported"] = serde_json::json!(["read"]);
    let store = Arc::new(MemoryTokenStore::new());
    let oauth = servers
        .oauth()
        .with_store(Arc::clone(&store))
        .with_http_client(servers.clone());
    assert!(oauth.account(SERVER).await.unwrap().is_none());
    assert!(oauth.accounts().await.unwrap().is_empty());

    let account = oauth.log_in(SERVER).await.unwrap();
    assert_eq!((account.resource(), account.issuer()), (SERVER, ISSUER));
    assert!(account.client_id().starts_with("client-"));
    assert_eq!(account.scopes(), Some("read"));
    assert!(account.can_refresh() && account.expires_at().is_some() && !account.is_bound());
    assert!(!format!("{account:?}").contains("token-"), "{account:?}");
    let stored = oauth.account(SERVER).await.unwrap().unwrap();
    assert_eq!(stored.client_id(), account.client_id());
    assert_eq!(oauth.accounts().await.unwrap().len(), 1);

    // A second login asks the user again, because the user may choose another account.
    servers.revoke_all(true);
    oauth.log_in(SERVER).await.unwrap();
    assert_eq!(servers.request_count("GET /authorize"), 2);
    assert_eq!(servers.request_count("POST /register"), 1);
    assert_eq!(oauth.accounts().await.unwrap().len(), 1);

    let outcome = oauth.log_out(SERVER).await.unwrap();
    assert!(matches!(outcome, LogoutOutcome::Revoked), "{outcome:?}");
    assert_eq!(servers.request_count("POST /revoke"), 1);
    let outcome = oauth.log_out(SERVER).await.unwrap();
    assert!(matches!(outcome, LogoutOutcome::NotLoggedIn), "{outcome:?}");
    assert!(oauth.account(SERVER).await.unwrap().is_none());
    assert!(oauth.accounts().await.unwrap().is_empty());
}

#[tokio::test]
async fn invalid_or_insecure_server_url_is_rejected() {
    let oauth = FakeServers::default().oauth();
    for url in [
        "",
        "mcp.example.com",
        "http://mcp.example.com/mcp",
        "ftp://a/b",
    ] {
        assert!(oauth.account(url).await.is_err(), "{url}");
        assert!(oauth.log_in(url).await.is_err(), "{url}");
    }
}

#[tokio::test]
async fn logout_without_a_revocation_endpoint_reports_that_tokens_stay_valid() {
    let servers = FakeServers::default();
    servers.state().metadata["revocation_endpoint"] = serde_json::json!(null);
    let oauth = servers.oauth().with_http_client(servers.clone());
    oauth.log_in(SERVER).await.unwrap();
    let outcome = oauth.log_out(SERVER).await.unwrap();
    assert!(
        matches!(&outcome, LogoutOutcome::RemovedLocally(reason) if reason.to_string().contains(ISSUER)),
        "{outcome:?}"
    );
    assert!(oauth.account(SERVER).await.unwrap().is_none());
}
