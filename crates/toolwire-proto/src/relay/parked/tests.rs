use proptest::prelude::*;
use serde_json::json;

use super::*;

type Call = ParkedCall<u32, &'static str>;

const SECOND: Duration = Duration::from_secs(1);

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

fn response(key: &str, value: i64) -> (String, RawJson) {
    (key.to_owned(), json!(value).into())
}

fn keys(call: &Call) -> Vec<&str> {
    call.open_requests()
        .iter()
        .map(|request| request.key.as_str())
        .collect()
}

/// Returns a call that is parked in round 0 with the requests `q1` and `q2` of the ids 11 and 12.
fn parked() -> Call {
    let mut call = Call::new();
    assert!(call.request_input(11, "elicitation/create", None, seconds(1)));
    assert!(call.request_input(12, "roots/list", None, seconds(1)));
    assert_eq!(call.park("ask 0", seconds(1)), Some(seconds(601)));
    call
}

#[test]
fn requests_within_the_window_are_sent_together() {
    let mut call = Call::new();
    assert_eq!(call.park_at(), None);
    assert!(call.request_input(1, "elicitation/create", None, seconds(5)));
    assert_eq!(call.park_at(), Some(seconds(5) + COLLECT_WINDOW));
    assert!(call.request_input(2, "roots/list", None, seconds(5) + COLLECT_WINDOW / 2));
    assert_eq!(call.park_at(), Some(seconds(5) + COLLECT_WINDOW));
    assert_eq!(keys(&call), ["q1", "q2"]);
    call.park("ask", seconds(6));
    assert_eq!(call.park_at(), None);
}

#[test]
fn next_round_continues_and_other_requests_are_asked_again() {
    let mut call = parked();
    let round = call.receive_round(1, &[response("q2", 7), response("q9", 8)], seconds(2));
    assert_eq!(round, Round::Continue(vec![(12, json!(7).into())]));
    assert_eq!(keys(&call), ["q1"]);
    assert_eq!(call.park_at(), Some(seconds(2) + COLLECT_WINDOW));
    call.park("ask 1", seconds(3));
    let round = call.receive_round(2, &[response("q1", 9)], seconds(4));
    assert_eq!(round, Round::Continue(vec![(11, json!(9).into())]));
    assert_eq!(call.park_at(), None);
    // Keys are not used again.
    call.request_input(13, "roots/list", None, seconds(5));
    assert_eq!(keys(&call), ["q3"]);
}

#[test]
fn repeated_round_gets_the_same_outcome_and_no_second_effect() {
    let mut call = parked();
    let responses = [response("q1", 1), response("q2", 2)];
    assert!(
        matches!(call.receive_round(1, &responses, seconds(2)), Round::Continue(taken) if taken.len() == 2)
    );
    assert_eq!(call.receive_round(1, &responses, seconds(2)), Round::Join);
    call.request_input(13, "roots/list", None, seconds(3));
    call.park("ask 1", seconds(3));
    assert_eq!(
        call.receive_round(1, &responses, seconds(4)),
        Round::Repeat("ask 1")
    );
    assert!(matches!(
        call.receive_round(2, &[], seconds(5)),
        Round::Continue(_)
    ));
    call.finish("done", seconds(6));
    assert_eq!(
        call.receive_round(2, &[], seconds(7)),
        Round::Repeat("done")
    );
    assert_eq!(call.receive_round(1, &responses, seconds(7)), Round::Gone);
    assert_eq!(call.receive_round(3, &[], seconds(7)), Round::Gone);
    assert_eq!(
        call.receive_round(2, &[], seconds(66) - SECOND / 2),
        Round::Repeat("done")
    );
    assert_eq!(call.receive_round(2, &[], seconds(66)), Round::Gone);
}

#[test]
fn parked_call_expires_at_its_deadline() {
    let mut call = parked();
    assert!(!call.clone().expire(seconds(601) - SECOND / 2));
    assert!(call.is_open());
    assert_eq!(call.receive_round(1, &[], seconds(601)), Round::Gone);
    assert!(!call.is_open());
    assert!(!call.request_input(1, "roots/list", None, seconds(601)));
    let mut other = Call::new();
    assert_eq!(other.park("ask", seconds(1)), Some(seconds(601)));
    assert_eq!(PARKED_TIMEOUT, seconds(600));
}

#[test]
fn upstream_that_ends_a_parked_call_ends_the_next_round() {
    let mut call = parked();
    call.finish("upstream lost", seconds(2));
    assert!(call.open_requests().is_empty());
    assert_eq!(
        call.receive_round(1, &[response("q1", 1)], seconds(3)),
        Round::Repeat("upstream lost")
    );
    // The previous round gets its own outcome again.
    assert_eq!(
        call.receive_round(0, &[], seconds(3)),
        Round::Repeat("ask 0")
    );
    call.finish("again", seconds(3));
    assert_eq!(
        call.receive_round(1, &[], seconds(3)),
        Round::Repeat("upstream lost")
    );
}

#[test]
fn number_of_open_requests_is_limited() {
    let mut call = Call::new();
    for id in 0..16 {
        assert!(call.request_input(id, "roots/list", None, seconds(0)));
    }
    assert!(!call.request_input(16, "roots/list", None, seconds(0)));
    assert_eq!(call.open_requests().len(), MAX_OPEN_REQUESTS);
}

fn id(number: usize) -> CallId {
    let mut id = [0; 16];
    id[..8].copy_from_slice(&(number as u64).to_be_bytes());
    id
}

fn principal(number: usize) -> PrincipalDigest {
    let mut digest = [0; 32];
    digest[..8].copy_from_slice(&(number as u64).to_be_bytes());
    digest
}

#[test]
fn oldest_call_of_a_principal_is_replaced() {
    let mut calls = ParkedCalls::new();
    for number in 0..MAX_PARKED_PER_PRINCIPAL {
        assert!(
            calls
                .insert(id(number), principal(1), parked(), seconds(1))
                .is_empty()
        );
    }
    assert!(
        calls
            .insert(id(100), principal(2), parked(), seconds(1))
            .is_empty()
    );
    let removed = calls.insert(id(101), principal(1), parked(), seconds(1));
    assert_eq!(
        removed.iter().map(|(id, _)| *id).collect::<Vec<_>>(),
        [id(0)]
    );
    assert!(removed[0].1.is_open());
    assert!(calls.get_mut(id(0), principal(1)).is_none());
    assert!(calls.get_mut(id(101), principal(1)).is_some());
    assert!(calls.get_mut(id(101), principal(2)).is_none());
    // A call that has ended gives way first.
    let ended = calls.get_mut(id(5), principal(1)).unwrap();
    ended.finish("done", seconds(1));
    let removed = calls.insert(id(102), principal(1), parked(), seconds(1));
    assert_eq!(removed[0].0, id(5));
}

#[test]
fn number_of_calls_in_all_is_limited() {
    let mut calls = ParkedCalls::new();
    calls.insert(id(0), principal(0), parked(), seconds(1));
    for number in 1..MAX_PARKED - 1 {
        calls.insert(id(number), principal(number), parked(), seconds(1));
    }
    // Principal 5 has two calls, all others have one.
    calls.insert(id(5000), principal(5), parked(), seconds(1));
    assert_eq!(calls.len(), MAX_PARKED);
    let removed = calls.insert(id(5001), principal(6000), parked(), seconds(1));
    assert_eq!(removed[0].0, id(5));
    assert_eq!(calls.len(), MAX_PARKED);
    let removed = calls.insert(id(5002), principal(6001), parked(), seconds(1));
    assert_eq!(removed[0].0, id(0));
}

#[test]
fn expired_calls_are_removed() {
    let mut calls = ParkedCalls::new();
    let mut done = parked();
    done.finish("done", seconds(2));
    calls.insert(id(1), principal(1), parked(), seconds(1));
    calls.insert(id(2), principal(1), done, seconds(2));
    let removed = calls.expire(seconds(62));
    assert!(removed.len() == 1 && !removed[0].1.is_open());
    let removed = calls.insert(id(3), principal(1), parked(), seconds(601));
    assert!(removed.len() == 1 && removed[0].0 == id(1) && removed[0].1.is_open());
    assert_eq!(calls.len(), 1);
    let late = calls.get_mut(id(3), principal(1)).unwrap();
    assert_eq!(late.receive_round(1, &[], seconds(601)), Round::Gone);
    assert_eq!(calls.expire(seconds(601)).len(), 1);
    assert!(calls.is_empty());
}

proptest! {
    /// Whatever a client repeats, each request of the upstream gets at most one response.
    #[test]
    fn each_request_gets_at_most_one_response(
        steps in prop::collection::vec((0..4_u8, 0..5_u32, 0..6_u32), 0..60),
    ) {
        let mut call = ParkedCall::<u32, u32>::new();
        let (mut next_id, mut now) = (0, Duration::ZERO);
        let mut answered = std::collections::HashSet::new();
        for (step, round, key) in steps {
            now += COLLECT_WINDOW;
            match step {
                0 => {
                    call.request_input(next_id, "roots/list", None, now);
                    next_id += 1;
                }
                1 => {
                    call.park(call.round(), now);
                }
                2 => {
                    let responses = [response(&format!("q{key}"), 0)];
                    if let Round::Continue(taken) = call.receive_round(round, &responses, now) {
                        for (id, _) in taken {
                            prop_assert!(answered.insert(id));
                        }
                    }
                }
                _ if round == 4 => call.finish(99, now),
                _ => {}
            }
            prop_assert!(call.open_requests().len() <= MAX_OPEN_REQUESTS);
            let all_open = call.open_requests().iter().all(|request| !answered.contains(&request.id));
            prop_assert!(all_open);
        }
    }
}
