use std::sync::Arc;

use serde_json::Map;
use toolwire::BoxFuture;
use toolwire::store::StoreError;
use toolwire_proto::request_state::{KeyRing, StateKey};

use super::*;
use crate::proxy::store::{MemoryProxyStore, NewProxyRecord, ProxyRecord, ProxyStore};
use crate::proxy::upstream::UpstreamUser;
use crate::rules::pkce::Verifier;

const CLIENT: &str = "client";
const REDIRECT: &str = "https://b/cb";
const GRACE: u64 = 30;

/// A node of a proxy: grants, a sealed store, and a clock that the test sets.
struct Node {
    store: SealedStore,
    grants: GrantStore,
    now: u64,
}

impl Node {
    fn new() -> Self {
        Self::sharing(&shared())
    }

    fn sharing(store: &Arc<dyn ProxyStore>) -> Self {
        let lifetimes = Lifetimes {
            access_token: 100,
            grant: 1_000,
        };
        let (issuer, resource) = ("https://a".to_owned(), "https://a/mcp".to_owned());
        Self {
            store: SealedStore {
                store: Arc::clone(store),
                keys: KeyRing::new(StateKey::new([1; 32])),
                issuer: issuer.clone(),
            },
            grants: GrantStore::new(lifetimes, GRACE, issuer, resource),
            now: now(),
        }
    }

    fn grant(&self, subject: &str) -> GrantRecord {
        let subject = [("sub".to_owned(), subject.into())];
        GrantRecord {
            client_id: CLIENT.to_owned(),
            scopes: "read".to_owned(),
            resource: self.grants.resource.clone(),
            user: UpstreamUser::read(Map::from_iter(subject), "sub").unwrap(),
            id_token_claims: None,
            upstream: UpstreamTokens {
                access_token: "upstream".into(),
                refresh_token: None,
                expires_at: None,
            },
            ends_at: self.now + 1_000,
            code: None,
            refresh: None,
            used_refresh: None,
            access: Vec::new(),
            renewal: None,
        }
    }

    async fn issue_code(&self, mut grant: GrantRecord) -> Secret {
        let challenge = verifier().challenge();
        let code = self
            .grants
            .create(&self.store, &mut grant, REDIRECT, &challenge, self.now);
        code.await.unwrap()
    }

    async fn redeem(&self, code: &Secret) -> Option<TokenResponse> {
        let verifier = verifier();
        let redemption = Redemption {
            client_id: CLIENT,
            code,
            redirect_uri: REDIRECT,
            verifier: verifier.as_secret(),
        };
        let redeemed = self.grants.redeem(&self.store, &redemption, self.now);
        redeemed.await.unwrap().map(|issued| issued.response)
    }

    /// Completes a login and returns its tokens.
    async fn log_in(&self, subject: &str) -> TokenResponse {
        let code = self.issue_code(self.grant(subject)).await;
        self.redeem(&code).await.unwrap()
    }

    async fn refresh(&self, token: &Secret) -> Option<TokenResponse> {
        let refreshed = self
            .grants
            .refresh(&self.store, CLIENT, token, "read", self.now, None);
        refreshed.await.unwrap().map(|issued| issued.response)
    }

    async fn is_valid(&self, access: &Secret) -> bool {
        let claims = self.grants.claims(&self.store, access, self.now).await;
        claims.unwrap().is_some()
    }
}

fn shared() -> Arc<dyn ProxyStore> {
    Arc::new(Remote::default())
}

/// A store that yields between calls, as a store over a network would.
#[derive(Debug, Default)]
struct Remote(MemoryProxyStore);

impl ProxyStore for Remote {
    fn put<'a>(
        &'a self,
        kind: ProxyRecord,
        key: &'a RecordDigest,
        record: NewProxyRecord,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.0.put(kind, key, record)
    }

    fn get<'a>(
        &'a self,
        kind: ProxyRecord,
        key: &'a RecordDigest,
    ) -> BoxFuture<'a, Result<Option<String>, StoreError>> {
        Box::pin(async move {
            let read = self.0.get(kind, key).await;
            tokio::task::yield_now().await;
            read
        })
    }

    fn take<'a>(
        &'a self,
        kind: ProxyRecord,
        key: &'a RecordDigest,
    ) -> BoxFuture<'a, Result<Option<String>, StoreError>> {
        self.0.take(kind, key)
    }

    fn replace<'a>(
        &'a self,
        kind: ProxyRecord,
        key: &'a RecordDigest,
        expected: &'a str,
        record: NewProxyRecord,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.0.replace(kind, key, expected, record)
    }
}

fn verifier() -> Verifier {
    Verifier::from_random([7; 32])
}

fn refresh_token(response: &TokenResponse) -> &Secret {
    response.refresh_token.as_ref().unwrap()
}

#[tokio::test]
async fn code_expires_after_one_minute() {
    let mut node = Node::new();
    let (in_time, late) = (
        node.issue_code(node.grant("ann")).await,
        node.issue_code(node.grant("ann")).await,
    );
    node.now += CODE_TTL - 1;
    assert!(node.redeem(&in_time).await.is_some());
    node.now += 1;
    assert!(node.redeem(&late).await.is_none());
}

#[tokio::test(start_paused = true)]
async fn grant_without_redeemed_code_is_removed() {
    let node = Node::new();
    let code = node.issue_code(node.grant("ann")).await;
    let key = TokenFamily::of(TokenKind::Code, &code).unwrap().grant();
    assert!(node.store.get::<GrantRecord>(&key).await.unwrap().is_some());
    tokio::time::advance(UNREDEEMED_TTL).await;
    assert!(node.store.get::<GrantRecord>(&key).await.unwrap().is_none());
}

#[tokio::test]
async fn tokens_expire_after_their_lifetime() {
    let mut node = Node::new();
    let issued = node.log_in("ann").await;
    assert_eq!(issued.expires_in, Some(100));
    node.now += 99;
    assert!(node.is_valid(&issued.access_token).await);
    node.now += 1;
    assert!(!node.is_valid(&issued.access_token).await);
    node.now += 899;
    assert!(node.refresh(refresh_token(&issued)).await.is_some());
    node.now += 1;
    let last = node.refresh(refresh_token(&issued)).await;
    assert!(last.is_none(), "the grant has ended");
}

#[tokio::test]
async fn revoked_grant_issues_no_tokens() {
    let node = Node::new();
    let issued = node.log_in("ann").await;
    let token = refresh_token(&issued);
    let key = TokenFamily::of(TokenKind::Refresh, token).unwrap().grant();
    node.grants.revoke(&node.store, &key).await.unwrap();
    assert!(!node.is_valid(&issued.access_token).await);
    assert!(node.refresh(token).await.is_none());
    let changed = node.grants.change(&node.store, &key, |_| true).await;
    assert!(changed.unwrap().is_none(), "the grant stays removed");
}

#[tokio::test]
async fn ended_grant_issues_no_tokens() {
    let node = Node::new();
    let mut ended = node.grant("ann");
    ended.ends_at = node.now;
    let code = node.issue_code(ended).await;
    assert!(node.redeem(&code).await.is_none());
    let mut ended = node.grant("ann");
    ended.upstream.expires_at = Some(node.now);
    let code = node.issue_code(ended).await;
    assert!(node.redeem(&code).await.is_none());
}

#[tokio::test]
async fn reused_refresh_token_returns_the_same_successor_within_the_grace() {
    let mut node = Node::new();
    let first = node.log_in("ann").await;
    let used = refresh_token(&first);
    let next = node.refresh(used).await.unwrap();
    node.now += GRACE - 1;
    let again = node.refresh(used).await.unwrap();
    assert_eq!(again.refresh_token, next.refresh_token);
    assert_ne!(again.access_token, next.access_token);
    for access in [&next.access_token, &again.access_token] {
        assert!(node.is_valid(access).await);
    }
    // Reuse does not prolong the grace period.
    node.now += 1;
    assert!(node.refresh(used).await.is_none());
    assert!(!node.is_valid(&again.access_token).await);
    assert!(node.refresh(refresh_token(&next)).await.is_none());
}

#[tokio::test]
async fn reuse_after_use_of_the_successor_ends_the_grant() {
    let node = Node::new();
    let first = node.log_in("ann").await;
    let used = refresh_token(&first);
    let next = node.refresh(used).await.unwrap();
    let third = node.refresh(refresh_token(&next)).await.unwrap();
    assert!(node.refresh(used).await.is_none());
    assert!(!node.is_valid(&third.access_token).await);
}

#[tokio::test]
async fn concurrent_refreshes_on_several_nodes_get_one_successor() {
    let store = shared();
    let first = Node::sharing(&store).log_in("ann").await;
    let token = refresh_token(&first).clone();
    let tasks: Vec<_> = (0..8)
        .map(|_| {
            let (node, token) = (Node::sharing(&store), token.clone());
            tokio::spawn(async move { node.refresh(&token).await })
        })
        .collect();
    let mut successors = Vec::new();
    for task in tasks {
        successors.push(task.await.unwrap().unwrap().refresh_token.unwrap());
    }
    successors.dedup();
    assert_eq!(successors.len(), 1);
    let node = Node::sharing(&store);
    assert!(node.refresh(&successors[0]).await.is_some());
}

#[tokio::test]
async fn other_client_can_neither_use_nor_end_a_grant() {
    let node = Node::new();
    let first = node.log_in("ann").await;
    let token = refresh_token(&first);
    node.refresh(token).await.unwrap();
    let refreshed = node
        .grants
        .refresh(&node.store, "other", token, "read", node.now, None);
    assert!(refreshed.await.unwrap().is_none());
    assert!(node.is_valid(&first.access_token).await);
    assert!(node.refresh(token).await.is_some());
}

#[tokio::test]
async fn grant_is_not_refreshed_for_another_resource() {
    let store = shared();
    let first = Node::sharing(&store).log_in("ann").await;
    let mut other = Node::sharing(&store);
    other.grants.resource = "https://a/other".to_owned();
    assert!(other.refresh(refresh_token(&first)).await.is_none());
    assert!(Node::sharing(&store).is_valid(&first.access_token).await);
}

#[tokio::test]
async fn number_of_access_tokens_of_a_grant_is_limited() {
    let node = Node::new();
    let other = node.log_in("bob").await;
    let first = node.log_in("ann").await;
    let mut issued = vec![first.clone()];
    for _ in 1..MAX_ACCESS_TOKENS {
        let last = issued.last().unwrap();
        issued.push(node.refresh(refresh_token(last)).await.unwrap());
    }
    for tokens in &issued {
        assert!(node.is_valid(&tokens.access_token).await);
    }
    let last = issued.last().unwrap();
    issued.push(node.refresh(refresh_token(last)).await.unwrap());
    assert!(!node.is_valid(&first.access_token).await);
    for tokens in issued.iter().skip(1).chain([&other]) {
        assert!(node.is_valid(&tokens.access_token).await);
    }
}

#[tokio::test]
async fn number_of_grants_of_a_user_is_limited() {
    let mut node = Node::new();
    let other = node.log_in("bob").await;
    let mut issued = Vec::new();
    for _ in 0..MAX_GRANTS {
        issued.push(node.log_in("ann").await);
        node.now += 1;
    }
    assert!(node.is_valid(&issued[0].access_token).await);
    issued.push(node.log_in("ann").await);
    // The grant of the first login ends first. It is removed with its tokens.
    assert!(!node.is_valid(&issued[0].access_token).await);
    assert!(node.refresh(refresh_token(&issued[0])).await.is_none());
    for tokens in issued.iter().skip(1).chain([&other]) {
        assert!(node.is_valid(&tokens.access_token).await);
    }
}

#[tokio::test]
async fn grant_that_changed_since_it_was_read_is_read_again() {
    let node = Node::new();
    let first = node.log_in("ann").await;
    let token = refresh_token(&first);
    let refreshable = node
        .grants
        .refreshable(&node.store, CLIENT, token, node.now);
    let (_, grant, read) = refreshable.await.unwrap().unwrap();
    let next = node.refresh(token).await.unwrap();
    let outdated = Some((grant, read));
    let refreshed = node
        .grants
        .refresh(&node.store, CLIENT, token, "read", node.now, outdated);
    let again = refreshed.await.unwrap().unwrap().response;
    assert_eq!(refresh_token(&again), refresh_token(&next));
    for tokens in [&first, &next, &again] {
        assert!(node.is_valid(&tokens.access_token).await);
    }
}

#[tokio::test]
async fn concurrent_change_is_not_lost() {
    let node = Node::new();
    let first = node.log_in("ann").await;
    let token = refresh_token(&first);
    let key = TokenFamily::of(TokenKind::Refresh, token).unwrap().grant();
    let mut tries = 0;
    let (_, read) = node.store.read::<GrantRecord>(&key).await.unwrap().unwrap();
    node.refresh(token).await.unwrap();
    let changed = node.grants.change(&node.store, &key, |grant| {
        tries += 1;
        grant.upstream.access_token = "renewed".into();
        true
    });
    let changed = changed.await.unwrap().unwrap();
    assert_eq!(tries, 1);
    assert_eq!(changed.access.len(), 2);
    // A request that read the grant earlier cannot restore it.
    let (grant, _) = node.store.read::<GrantRecord>(&key).await.unwrap().unwrap();
    let saved = node.grants.save(&node.store, &key, &read, &grant, node.now);
    assert!(!saved.await.unwrap());
}
