//! Step-up authorization: requests whose token lacks scopes.

use std::sync::Arc;

use toolwire::transport::http_client::HttpClient as _;
use toolwire_auth::client::{AuthError, MemoryTokenStore, OAuthConfig};

use super::fake_servers::{FakeServers, call};

fn servers_with_required_scopes() -> FakeServers {
    let servers = FakeServers::default();
    {
        let mut state = servers.state();
        state.resource_metadata["scopes_supported"] = serde_json::json!(["read"]);
        state
            .required_scopes
            .insert("add".to_owned(), "read".to_owned());
        state
            .required_scopes
            .insert("deploy".to_owned(), "read deploy".to_owned());
    }
    servers
}

fn requested_scopes(servers: &FakeServers) -> Vec<String> {
    let state = servers.state();
    let scopes = state
        .queries
        .iter()
        .map(|query| query.get("scope").cloned());
    scopes.map(Option::unwrap_or_default).collect()
}

#[tokio::test]
async fn step_up_adds_missing_scopes_to_granted_scopes() {
    let servers = servers_with_required_scopes();
    let client = servers.client(servers.oauth().with_scopes("profile").unwrap());
    assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
    assert_eq!(client.send(call("deploy")).await.unwrap().status(), 200);
    assert_eq!(
        requested_scopes(&servers),
        ["profile read", "profile read deploy"]
    );
    // Both tools work without a further login.
    for tool in ["add", "deploy"] {
        assert_eq!(client.send(call(tool)).await.unwrap().status(), 200);
    }
    assert_eq!(servers.request_count("GET /authorize"), 2);
}

#[tokio::test]
async fn scopes_that_were_not_granted_are_not_requested_again() {
    let servers = servers_with_required_scopes();
    servers.state().granted_scopes = Some("read".to_owned());
    let client = servers.client(servers.oauth());
    assert_eq!(client.send(call("deploy")).await.unwrap().status(), 403);
    let logins = servers.request_count("GET /authorize");
    assert_eq!(logins, 2, "the login and one step-up");
    // Neither the same tool nor another tool starts a login.
    assert_eq!(client.send(call("deploy")).await.unwrap().status(), 403);
    assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
    assert_eq!(servers.request_count("GET /authorize"), logins);
}

#[tokio::test]
async fn denied_step_up_is_not_repeated() {
    let servers = servers_with_required_scopes();
    let client = servers.client(servers.oauth());
    assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
    servers.state().redirect_query =
        Some("error=access_denied&iss=https%3A%2F%2Fauth.example.com".to_owned());
    client.send(call("deploy")).await.unwrap_err();
    assert_eq!(client.send(call("deploy")).await.unwrap().status(), 403);
    assert_eq!(servers.request_count("GET /authorize"), 2);
    // The scopes of the first login are still granted.
    assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
}

#[tokio::test]
async fn repeated_insufficient_scope_does_not_repeat_the_step_up() {
    let servers = servers_with_required_scopes();
    let client = servers.client(servers.oauth());
    assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
    // The authorization server never grants the required scope.
    servers.state().granted_scopes = Some("read".to_owned());
    assert_eq!(client.send(call("deploy")).await.unwrap().status(), 403);
    assert!(servers.request_count("GET /authorize") <= 3);
}

#[tokio::test]
async fn error_of_a_stored_login_names_the_missing_scopes() {
    let servers = servers_with_required_scopes();
    let store = Arc::new(MemoryTokenStore::new());
    let client = servers.client(servers.oauth().with_store(Arc::clone(&store)));
    assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
    let stored_client = servers.client(servers.with_test_fetcher(OAuthConfig::from_store(store)));
    let failure = stored_client.send(call("deploy")).await.unwrap_err();
    let source = std::error::Error::source(&failure).unwrap();
    let error = source.downcast_ref::<AuthError>().unwrap();
    assert!(error.needs_login());
    assert_eq!(error.required_scopes(), Some("read deploy"));
}
