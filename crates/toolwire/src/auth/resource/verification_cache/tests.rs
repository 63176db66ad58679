use super::*;

#[test]
fn the_oldest_answers_make_room() {
    let mut answers = CachedVerification::default();
    let fingerprint = |n: usize| -> Fingerprint { Sha256::digest(n.to_be_bytes()).into() };
    for n in 0..=MOST_ANSWERS {
        answers.keep(fingerprint(n), None, Duration::from_secs(60 + n as u64));
    }
    assert_eq!(answers.known.len(), MOST_ANSWERS);
    assert_eq!(answers.by_age.len(), MOST_ANSWERS);
    assert!(answers.find(&fingerprint(0)).is_none());
    assert!(answers.find(&fingerprint(1)).is_some());
    assert!(answers.find(&fingerprint(MOST_ANSWERS)).is_some());
    answers.keep(fingerprint(1), None, Duration::from_secs(1));
    assert_eq!(answers.by_age.len(), MOST_ANSWERS, "an answer has one age");
}

#[test]
fn answers_are_not_believed_for_longer_than_an_hour() {
    let mut answers = VerificationCache::default();
    assert_eq!(answers.time, DEFAULT_TIME);
    answers.with_ttl(Duration::MAX);
    assert_eq!(answers.time, MOST_TIME);
}
