use std::sync::Arc;

use serde_json::Map;
use toolwire_proto::request_state::{KeyRing, StateKey};

use super::*;
use crate::auth::proxy::upstream::UpstreamUser;
use crate::store::MemoryProxyStore;

fn vault() -> Vault {
    Vault {
        store: Arc::new(MemoryProxyStore::default()),
        keys: KeyRing::new(StateKey::new([1; 32])),
        issuer: "https://a".to_owned(),
    }
}

fn grants() -> Grants {
    let lifetimes = Lifetimes {
        access_token: 100,
        grant: 1_000,
    };
    Grants::new(
        lifetimes,
        "https://a".to_owned(),
        "https://a/mcp".to_owned(),
    )
}

fn grant() -> Grant {
    let subject = [("sub".to_owned(), "ann".into())];
    Grant {
        client_id: "client".to_owned(),
        scopes: "read".to_owned(),
        user: UpstreamUser::read(Map::from_iter(subject), "sub").unwrap(),
        upstream: UpstreamTokens {
            access_token: "upstream".into(),
            refresh_token: None,
            expires_at: None,
        },
        ends_at: now() + 1_000,
    }
}

fn code() -> Code {
    Code {
        client_id: "client".to_owned(),
        redirect_uri: "https://b/cb".to_owned(),
        code_challenge: String::new(),
    }
}

#[tokio::test(start_paused = true)]
async fn a_code_is_good_for_a_minute() {
    let (vault, grants) = (vault(), grants());
    let text = grants.begin(&vault, &grant(), &code()).await.unwrap();
    let key = key_of(text.expose());
    tokio::time::advance(CODE_TIME - Duration::from_millis(1)).await;
    assert!(vault.get::<Code>(&key).await.unwrap().is_some());
    tokio::time::advance(Duration::from_millis(1)).await;
    assert!(vault.take::<Code>(&key).await.unwrap().is_none());
    // A grant that nobody wanted goes soon after.
    let grant = Family::of(&text).unwrap().grant();
    assert!(vault.get::<Grant>(&grant).await.unwrap().is_some());
    tokio::time::advance(UNREDEEMED_TIME - CODE_TIME).await;
    assert!(vault.get::<Grant>(&grant).await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn tokens_are_good_for_their_time() {
    let (vault, grants) = (vault(), grants());
    let grant = grant();
    let text = grants.begin(&vault, &grant, &code()).await.unwrap();
    let family = Family::of(&text).unwrap();
    let issued = grants.issue(&vault, family, &grant, "read").await.unwrap();
    let issued = issued.unwrap();
    assert_eq!(issued.expires_in, Some(100));
    let refresh = issued.refresh_token.unwrap();
    let is_good = async || {
        let claims = grants.claims(&vault, &issued.access_token).await;
        claims.unwrap().is_some()
    };
    let can_refresh = async || {
        let token = vault.get::<RefreshToken>(&key_of(refresh.expose())).await;
        token.unwrap().is_some()
    };
    tokio::time::advance(Duration::from_millis(99_999)).await;
    assert!(is_good().await);
    tokio::time::advance(Duration::from_millis(1)).await;
    assert!(!is_good().await);
    assert!(can_refresh().await);
    tokio::time::advance(Duration::from_secs(900)).await;
    assert!(!can_refresh().await);
}

#[tokio::test]
async fn a_grant_that_was_taken_away_gives_no_more_tokens() {
    let (vault, grants) = (vault(), grants());
    let grant = grant();
    let text = grants.begin(&vault, &grant, &code()).await.unwrap();
    let family = Family::of(&text).unwrap();
    let issued = grants.issue(&vault, family, &grant, "read").await.unwrap();
    let access = issued.unwrap().access_token;
    grants.revoke(&vault, &family.grant()).await.unwrap();
    assert!(grants.claims(&vault, &access).await.unwrap().is_none());
    // Somebody who has read the grant before comes too late.
    let late = grants.issue(&vault, family, &grant, "read").await.unwrap();
    assert!(late.is_none());
    let kept = vault.get::<Grant>(&family.grant()).await.unwrap();
    assert!(kept.is_none());
}

#[tokio::test]
async fn a_grant_that_is_over_gives_no_tokens() {
    let (vault, grants) = (vault(), grants());
    let mut over = grant();
    let text = grants.begin(&vault, &over, &code()).await.unwrap();
    let family = Family::of(&text).unwrap();
    over.ends_at = now();
    let issued = grants.issue(&vault, family, &over, "read").await.unwrap();
    assert!(issued.is_none());
    over.ends_at = now() + 1_000;
    over.upstream.expires_at = Some(now());
    let issued = grants.issue(&vault, family, &over, "read").await.unwrap();
    assert!(issued.is_none());
}

#[test]
fn secrets_of_one_family_know_each_other_and_nobody_else() {
    let family = Family::new().unwrap();
    let (one, other) = (family.token().unwrap(), family.token().unwrap());
    assert_ne!(one, other);
    let grant = |token: &Secret| Family::of(token).map(Family::grant);
    assert_eq!(grant(&one), Some(family.grant()));
    assert_eq!(grant(&one), grant(&other));
    let stranger = Family::new().unwrap().token().unwrap();
    assert_ne!(grant(&one), grant(&stranger));
    let long = "A".repeat(66);
    for text in ["", "A", "AAAA", "not base64!", long.as_str()] {
        assert_eq!(grant(&text.into()), None, "{text}");
    }
}
