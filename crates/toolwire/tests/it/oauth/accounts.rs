//! Logging in and out, and who is logged in.

use std::sync::Arc;

use toolwire_auth::client::{LogoutOutcome, MemoryTokenStore};

use super::town::{ISSUER, SERVER, Town};

#[tokio::test]
async fn a_login_is_kept_until_a_logout() {
    let town = Town::default();
    town.rules().resource["scopes_supported"] = serde_json::json!(["read"]);
    let store = Arc::new(MemoryTokenStore::new());
    let oauth = town
        .oauth()
        .with_store(Arc::clone(&store))
        .with_http_client(town.clone());
    assert!(oauth.account(SERVER).await.unwrap().is_none());
    assert!(oauth.accounts().await.unwrap().is_empty());

    let account = oauth.log_in(SERVER).await.unwrap();
    assert_eq!((account.resource(), account.issuer()), (SERVER, ISSUER));
    assert!(account.client_id().starts_with("client-"));
    assert_eq!(account.scopes(), Some("read"));
    assert!(account.can_refresh() && account.expires_at().is_some() && !account.is_bound());
    assert!(!format!("{account:?}").contains("token-"), "{account:?}");
    let kept = oauth.account(SERVER).await.unwrap().unwrap();
    assert_eq!(kept.client_id(), account.client_id());
    assert_eq!(oauth.accounts().await.unwrap().len(), 1);

    // Who logs in again is asked again, perhaps to be somebody else; whatever became of the old login.
    town.revoke_all(true);
    oauth.log_in(SERVER).await.unwrap();
    assert_eq!(town.count("GET /authorize"), 2);
    assert_eq!(town.count("POST /register"), 1);
    assert_eq!(oauth.accounts().await.unwrap().len(), 1);

    let outcome = oauth.log_out(SERVER).await.unwrap();
    assert!(matches!(outcome, LogoutOutcome::Revoked), "{outcome:?}");
    assert_eq!(town.count("POST /revoke"), 1);
    let outcome = oauth.log_out(SERVER).await.unwrap();
    assert!(matches!(outcome, LogoutOutcome::NotLoggedIn), "{outcome:?}");
    assert!(oauth.account(SERVER).await.unwrap().is_none());
    assert!(oauth.accounts().await.unwrap().is_empty());
}

#[tokio::test]
async fn what_is_no_url_is_no_server() {
    let oauth = Town::default().oauth();
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
async fn a_logout_says_when_tokens_stay_good() {
    let town = Town::default();
    town.rules().metadata["revocation_endpoint"] = serde_json::json!(null);
    let oauth = town.oauth().with_http_client(town.clone());
    oauth.log_in(SERVER).await.unwrap();
    let outcome = oauth.log_out(SERVER).await.unwrap();
    assert!(
        matches!(&outcome, LogoutOutcome::Forgotten(why) if why.to_string().contains(ISSUER)),
        "{outcome:?}"
    );
    assert!(oauth.account(SERVER).await.unwrap().is_none());
}
