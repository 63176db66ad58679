//! A token that grants too little.

use std::sync::Arc;

use toolwire::transport::http_client::HttpClient as _;
use toolwire_auth::client::{AuthError, MemoryTokenStore, OAuthConfig};

use super::town::{Town, call};

fn demanding() -> Town {
    let town = Town::default();
    {
        let mut rules = town.rules();
        rules.resource["scopes_supported"] = serde_json::json!(["read"]);
        rules.needs.insert("add".to_owned(), "read".to_owned());
        rules
            .needs
            .insert("deploy".to_owned(), "read deploy".to_owned());
    }
    town
}

fn scopes_asked_for(town: &Town) -> Vec<String> {
    let rules = town.rules();
    let scopes = rules
        .queries
        .iter()
        .map(|query| query.get("scope").cloned());
    scopes.map(Option::unwrap_or_default).collect()
}

#[tokio::test]
async fn what_is_missing_is_added_to_what_was_there() {
    let town = demanding();
    let client = town.client(town.oauth().with_scopes("profile").unwrap());
    assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
    assert_eq!(client.send(call("deploy")).await.unwrap().status(), 200);
    assert_eq!(
        scopes_asked_for(&town),
        ["profile read", "profile read deploy"]
    );
    // Both go on without any further question.
    for tool in ["add", "deploy"] {
        assert_eq!(client.send(call(tool)).await.unwrap().status(), 200);
    }
    assert_eq!(town.count("GET /authorize"), 2);
}

#[tokio::test]
async fn what_was_denied_is_not_asked_for_again_for_a_while() {
    let town = demanding();
    town.rules().grants = Some("read".to_owned());
    let client = town.client(town.oauth());
    assert_eq!(client.send(call("deploy")).await.unwrap().status(), 403);
    let asked = town.count("GET /authorize");
    assert_eq!(asked, 2, "the login, and one question for more");
    // The same again, and another tool, which works.
    assert_eq!(client.send(call("deploy")).await.unwrap().status(), 403);
    assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
    assert_eq!(town.count("GET /authorize"), asked);
}

#[tokio::test]
async fn a_user_who_denies_more_is_not_asked_again_for_a_while() {
    let town = demanding();
    let client = town.client(town.oauth());
    assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
    town.rules().user_says =
        Some("error=access_denied&iss=https%3A%2F%2Fauth.example.com".to_owned());
    client.send(call("deploy")).await.unwrap_err();
    assert_eq!(client.send(call("deploy")).await.unwrap().status(), 403);
    assert_eq!(town.count("GET /authorize"), 2);
    // What was granted before is still good.
    assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
}

#[tokio::test]
async fn a_server_that_wants_more_and_more_is_given_up() {
    let town = demanding();
    let client = town.client(town.oauth());
    assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
    // Nothing it asks for is ever enough.
    town.rules().grants = Some("read".to_owned());
    assert_eq!(client.send(call("deploy")).await.unwrap().status(), 403);
    assert!(town.count("GET /authorize") <= 3);
}

#[tokio::test]
async fn a_stored_login_that_grants_too_little_says_what_is_missing() {
    let town = demanding();
    let store = Arc::new(MemoryTokenStore::new());
    let client = town.client(town.oauth().with_store(Arc::clone(&store)));
    assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
    let stored = town.client(town.at_home(OAuthConfig::from_store(store)));
    let failure = stored.send(call("deploy")).await.unwrap_err();
    let source = std::error::Error::source(&failure).unwrap();
    let error = source.downcast_ref::<AuthError>().unwrap();
    assert!(error.needs_login());
    assert_eq!(error.wanted_scopes(), Some("read deploy"));
}
