use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use super::*;

type Verified = Result<Option<AccessTokenClaims>, FetchError>;

fn token(number: usize) -> Secret {
    Secret::new(number.to_string())
}

async fn verify(cache: &VerificationCache, number: usize, result: Option<AccessTokenClaims>) {
    let verification = std::future::ready(Ok(result));
    // The outcome is that of the verification.
    let _ = cache.get_or_verify(&token(number), verification).await;
}

fn is_cached(cache: &VerificationCache, number: usize) -> bool {
    let fingerprint = Sha256::digest(token(number).expose()).into();
    cache.cached(&fingerprint).is_some()
}

#[test]
fn oldest_results_are_evicted() {
    let mut cache = ResultTable::default();
    let fingerprint = |n: usize| -> Fingerprint { Sha256::digest(n.to_be_bytes()).into() };
    for n in 0..=MAX_RESULTS {
        cache.insert(fingerprint(n), (), Duration::from_secs(60 + n as u64));
    }
    assert_eq!(cache.results.len(), MAX_RESULTS);
    assert_eq!(cache.by_expiry.len(), MAX_RESULTS);
    assert!(cache.get(&fingerprint(0)).is_none());
    assert!(cache.get(&fingerprint(1)).is_some());
    assert!(cache.get(&fingerprint(MAX_RESULTS)).is_some());
    cache.insert(fingerprint(1), (), Duration::from_secs(1));
    assert_eq!(
        cache.by_expiry.len(),
        MAX_RESULTS,
        "a result has one expiry"
    );
}

#[test]
fn cache_time_is_at_most_one_hour() {
    let mut cache = VerificationCache::default();
    assert_eq!(cache.ttl, DEFAULT_TTL);
    cache.set_ttl(Duration::MAX);
    assert_eq!(cache.ttl, MAX_TTL);
}

#[tokio::test(start_paused = true)]
async fn invalid_tokens_evict_no_results_about_valid_ones() {
    let cache = VerificationCache::default();
    verify(&cache, 0, Some(AccessTokenClaims::default())).await;
    // The result about the valid token expires first.
    tokio::time::advance(Duration::from_millis(1)).await;
    for number in 1..=MAX_RESULTS + 1 {
        verify(&cache, number, None).await;
    }
    assert!(is_cached(&cache, 0));
    assert_eq!(lock(&cache.invalid).results.len(), MAX_RESULTS);
}

#[tokio::test(start_paused = true)]
async fn concurrent_verifications_are_limited() {
    let cache = VerificationCache::default();
    let tokens: Vec<_> = (0..=MAX_VERIFICATIONS).map(token).collect();
    let mut running: Vec<_> = tokens[..MAX_VERIFICATIONS]
        .iter()
        .map(|token| Box::pin(cache.get_or_verify(token, std::future::pending::<Verified>())))
        .collect();
    for one in &mut running {
        assert!(poll(one).is_pending());
    }
    let last = tokens.last().expect("there are tokens");
    let verification = std::future::ready(Ok(Some(AccessTokenClaims::default())));
    let mut waiting = Box::pin(cache.get_or_verify(last, verification));
    assert!(poll(&mut waiting).is_pending());
    drop(running.pop());
    assert!(matches!(poll(&mut waiting), Poll::Ready(Ok(_))));
}

#[tokio::test(start_paused = true)]
async fn token_that_waits_is_verified_once() {
    let cache = VerificationCache::default();
    let all = u32::try_from(MAX_VERIFICATIONS).expect("it is small");
    let permits = cache.permits.acquire_many(all).await;
    let token = token(0);
    let verification = || std::future::ready(Ok(Some(AccessTokenClaims::default())));
    let mut first = Box::pin(cache.get_or_verify(&token, verification()));
    let not_run = async { panic!("the token was verified already") };
    let mut second = Box::pin(cache.get_or_verify(&token, not_run));
    assert!(poll(&mut first).is_pending() && poll(&mut second).is_pending());
    drop(permits);
    assert!(matches!(poll(&mut first), Poll::Ready(Ok(_))));
    assert!(matches!(poll(&mut second), Poll::Ready(Ok(_))));
}

fn poll<F: Future>(future: &mut Pin<Box<F>>) -> Poll<F::Output> {
    future
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
}
