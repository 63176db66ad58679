use super::*;

#[test]
fn oldest_results_are_evicted() {
    let mut cache = CachedVerification::default();
    let fingerprint = |n: usize| -> Fingerprint { Sha256::digest(n.to_be_bytes()).into() };
    for n in 0..=MAX_RESULTS {
        cache.insert(fingerprint(n), None, Duration::from_secs(60 + n as u64));
    }
    assert_eq!(cache.results.len(), MAX_RESULTS);
    assert_eq!(cache.by_expiry.len(), MAX_RESULTS);
    assert!(cache.get(&fingerprint(0)).is_none());
    assert!(cache.get(&fingerprint(1)).is_some());
    assert!(cache.get(&fingerprint(MAX_RESULTS)).is_some());
    cache.insert(fingerprint(1), None, Duration::from_secs(1));
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
