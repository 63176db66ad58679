use super::*;

const ISSUER: &str = "https://auth";

fn token(access_token: &str) -> StoredToken {
    StoredToken {
        access_token: access_token.into(),
        scheme: "Bearer".to_owned(),
        expires_at: Some(100),
        renew_at: Some(70),
        refresh_token: None,
        scope: None,
        requested: None,
        user: None,
        client: StoredClient {
            client_id: "client".to_owned(),
            client_secret: None,
            auth_method: None,
            expires_at: None,
            redirect_uris: Vec::new(),
        },
        generation: 1,
    }
}

async fn store(records: &Records, resource: &str) {
    let stored = records
        .store_token(ISSUER, resource, &token(resource))
        .await;
    stored.unwrap();
}

#[tokio::test]
async fn servers_are_listed_until_their_token_is_removed() {
    let records = Records::in_memory();
    assert!(records.resources().await.unwrap().is_empty());
    for resource in ["https://b", "https://a", "https://b"] {
        store(&records, resource).await;
    }
    let listed = records.resources().await.unwrap();
    assert_eq!(listed, ["https://b", "https://a"]);
    for resource in ["https://b", "https://never"] {
        records.remove_token(ISSUER, resource).await.unwrap();
    }
    assert_eq!(records.resources().await.unwrap(), ["https://a"]);
    assert!(records.last_token("https://b").await.unwrap().is_none());
    let (issuer, token) = records.last_token("https://a").await.unwrap().unwrap();
    assert_eq!(
        (issuer.as_str(), token.access_token),
        (ISSUER, "https://a".into())
    );
}

#[tokio::test]
async fn concurrent_logins_are_all_listed() {
    let records = Records::in_memory();
    let tasks: Vec<_> = (0..16)
        .map(|number| {
            let records = records.clone();
            tokio::spawn(async move { store(&records, &format!("https://{number}")).await })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(records.resources().await.unwrap().len(), 16);
}

#[tokio::test]
async fn invalid_record_counts_as_absent() {
    let records = Records::in_memory();
    let name = token_name(ISSUER, "https://a");
    records
        .tokens
        .put(&name, &"{\"half\":".into())
        .await
        .unwrap();
    assert!(records.token(ISSUER, "https://a").await.unwrap().is_none());
}

#[tokio::test]
async fn tokens_are_separated_by_issuer() {
    let records = Records::in_memory();
    store(&records, "https://a").await;
    let token = records.token("https://evil", "https://a").await.unwrap();
    assert!(token.is_none());
    assert!(records.token(ISSUER, "https://a").await.unwrap().is_some());
}

#[test]
fn token_expires_at_its_expiry() {
    let token = token("a");
    assert!(!token.is_expired(99));
    assert!(token.is_expired(100));
    assert!(!token.is_due(69));
    assert!(token.is_due(70));
}

#[test]
fn debug_output_contains_no_secret() {
    let mut token = token("s3cret");
    token.refresh_token = Some("s3cret".into());
    token.client.client_secret = Some("s3cret".into());
    assert!(!format!("{token:?}").contains("s3cret"));
}

#[tokio::test]
async fn users_with_stores_of_their_own_share_a_registration() {
    let registrations: Arc<dyn TokenStore> = Arc::new(crate::client::MemoryTokenStore::new());
    let user = || {
        let tokens = Arc::new(crate::client::MemoryTokenStore::new());
        Records::new(tokens, Arc::clone(&registrations))
    };
    let (ann, bob) = (user(), user());
    let token = token("of-ann");
    ann.store_client(ISSUER, &token.client).await.unwrap();
    ann.store_token(ISSUER, "https://mcp", &token)
        .await
        .unwrap();
    let shared = bob.client(ISSUER).await.unwrap();
    assert_eq!(
        shared.map(|client| client.client_id).as_deref(),
        Some("client")
    );
    assert!(bob.token(ISSUER, "https://mcp").await.unwrap().is_none());
}
