use super::*;

#[test]
fn oldest_results_are_evicted() {
    let mut cache = CachedVerification::default();
    let fingerprint = |n: usize| -> Fingerprint { Sha256::digest(n.to_be_bytes()).into() };
    for n in 0..=MAX_RESULTS {
        cache.insert(fingerprint(n), None, Duration::from_secs(60 + n as u64));
    }
    assert_eq!(cache.known.len(), MAX_RESULTS);
    assert_eq!(cache.by_age.len(), MAX_RESULTS);
    assert!(cache.find(&fingerprint(0)).is_none());
    assert!(cache.find(&fingerprint(1)).is_some());
    assert!(cache.find(&fingerprint(MAX_RESULTS)).is_some());
    cache.insert(fingerprint(1), None, Duration::from_secs(1));
    assert_eq!(cache.by_age.len(), MAX_RESULTS, "a result has one age");
}

#[test]
fn cache_time_is_at_most_one_hour() {
    let mut cache = VerificationCache::default();
    assert_eq!(cache.time, DEFAULT_TTL);
    cache.with_ttl(Duration::MAX);
    assert_eq!(cache.time, MAX_TTL);
}
