use proptest::prelude::*;
use serde_json::{Value, json};
use toolwire_types::{ElicitRequestFormParams, ElicitRequestURLParams};

use super::*;

fn request(text: &str) -> InputRequest {
    ElicitRequestFormParams::new(text, json!({"type": "object", "properties": {}})).into()
}

fn responses(value: Value) -> InputResponses {
    serde_json::from_value(value).expect("input responses")
}

fn raw(value: Value) -> RawJson {
    RawJson::from(value)
}

/// Ends the run and starts the next one, with the state passed through a client.
fn next_run(journal: &mut Journal) -> Option<Vec<String>> {
    let pending = journal.suspend().expect("a round is left")?;
    let keys = pending.iter().map(|(key, _)| key.to_owned()).collect();
    let (read, _) = Journal::from_state(&journal.to_state(None)).expect("its own words");
    *journal = read;
    Some(keys)
}

#[test]
fn input_is_requested_once() {
    let mut journal = Journal::default();
    let none = InputResponses::new();
    let name = request("Who?");
    let found = journal.look_up("name", EntryDigest::of(&name), &none);
    assert_eq!(found, Ok(JournalLookup::Absent));
    journal.request_input("name", name.clone());
    assert_eq!(next_run(&mut journal), Some(vec!["name".to_owned()]));

    let sent = responses(json!({"name": 1, "stranger": 2}));
    let found = journal.look_up("name", EntryDigest::of(&name), &sent);
    assert_eq!(found, Ok(JournalLookup::Received(raw(json!(1)))));
    journal.store("name", EntryDigest::of(&name), raw(json!(1)));
    let found = journal.look_up("stranger", EntryDigest::of(&request("What?")), &sent);
    assert_eq!(found, Ok(JournalLookup::Absent), "it was not requested");
    journal.request_input("stranger", request("What?"));
    assert_eq!(next_run(&mut journal), Some(vec!["stranger".to_owned()]));

    // Responses of earlier rounds are stored. Later responses under their keys are ignored.
    let sent = responses(json!({"name": "other"}));
    let found = journal.look_up("name", EntryDigest::of(&name), &sent);
    assert_eq!(found, Ok(JournalLookup::Stored(raw(json!(1)))));
    let found = journal.look_up("stranger", EntryDigest::of(&request("What?")), &sent);
    assert_eq!(found, Ok(JournalLookup::Absent), "left out by the client");
}

#[test]
fn response_to_another_request_is_ignored() {
    let mut journal = Journal::default();
    let sent = responses(json!({"ok": {"action": "accept"}}));
    journal.request_input("ok", request("Delete 3 files?"));
    next_run(&mut journal);
    let changed = EntryDigest::of(&request("Delete 500 files?"));
    assert_eq!(
        journal.look_up("ok", changed, &sent),
        Ok(JournalLookup::Absent)
    );

    // The same holds for a stored response.
    let mut journal = Journal::default();
    journal.store(
        "ok",
        EntryDigest::of(&request("Delete 3 files?")),
        raw(json!(1)),
    );
    journal.request_rerun();
    next_run(&mut journal);
    assert_eq!(
        journal.look_up("ok", changed, &sent),
        Ok(JournalLookup::Absent)
    );
}

#[test]
fn key_has_one_purpose() {
    let mut journal = Journal::default();
    let none = InputResponses::new();
    let reused = || Err(InvalidKey::Reused("k".to_owned()));
    let (one, other) = (
        EntryDigest::of(&request("1")),
        EntryDigest::of(&request("2")),
    );
    assert_eq!(journal.look_up("k", one, &none), Ok(JournalLookup::Absent));
    assert_eq!(journal.look_up("k", one, &none), Ok(JournalLookup::Absent));
    assert_eq!(journal.look_up("k", other, &none), reused());
    assert_eq!(journal.look_up("k", EntryDigest::EFFECT, &none), reused());

    // An effect was executed: its key has no other use in any later run.
    let mut journal = Journal::default();
    journal.store("k", EntryDigest::EFFECT, raw(json!(7)));
    journal.request_rerun();
    next_run(&mut journal);
    assert_eq!(journal.look_up("k", one, &none), reused());
    let mut journal = Journal::default();
    journal.store("k", one, raw(json!(7)));
    assert_eq!(journal.look_up("k", EntryDigest::EFFECT, &none), reused());
}

#[test]
fn effect_runs_once_at_a_time() {
    let mut journal = Journal::default();
    assert_eq!(journal.begin("k"), Ok(()));
    assert_eq!(journal.begin("other"), Ok(()));
    let again = journal.begin("k");
    assert_eq!(again, Err(InvalidKey::Running("k".to_owned())));
    journal.end("k");
    assert_eq!(journal.begin("k"), Ok(()));
}

#[test]
fn keys_are_bounded() {
    let mut journal = Journal::default();
    let mut length = |length: usize| {
        let found = journal.look_up(
            &"k".repeat(length),
            EntryDigest::EFFECT,
            &InputResponses::new(),
        );
        found.is_ok()
    };
    assert!(!length(0));
    assert!(length(1));
    assert!(length(256));
    assert!(!length(257));
}

#[test]
fn completed_run_requests_no_input() {
    let mut journal = Journal::default();
    journal.store("k", EntryDigest::EFFECT, raw(json!(1)));
    assert_eq!(journal.suspend(), Ok(None));
    journal.request_rerun();
    assert_eq!(journal.suspend(), Ok(Some(InputRequests::new())));
    journal.request_input("q", request("?"));
    journal.store("q", EntryDigest::of(&request("?")), raw(json!(1)));
    assert_eq!(
        journal.suspend(),
        Ok(None),
        "a response was stored meanwhile"
    );
    assert!(Journal::default().is_empty());
    assert!(!journal.is_empty());
}

#[test]
fn rounds_are_bounded() {
    let mut journal = Journal::default();
    for _ in 0..MAX_ROUNDS {
        journal.request_rerun();
        assert!(next_run(&mut journal).is_some());
    }
    journal.request_rerun();
    let error = journal.suspend().expect_err("too many");
    assert!(ErrorObject::from(error).message.contains("64 rounds"));
}

#[test]
fn digest_of_a_url_request_ignores_the_elicitation_id() {
    let url = ElicitRequestURLParams::new("Go", "https://example.com");
    let named = url.clone().with_elicitation_id("1");
    assert_eq!(
        EntryDigest::of(&url.clone().into()),
        EntryDigest::of(&named.into())
    );
    let other = ElicitRequestURLParams::new("Go", "https://example.org");
    assert_ne!(EntryDigest::of(&url.into()), EntryDigest::of(&other.into()));
    assert_ne!(
        EntryDigest::of(&request("1")),
        EntryDigest::of(&request("2"))
    );
}

#[test]
fn states_of_another_form_are_rejected() {
    for text in [
        "",
        "{",
        "[]",
        "{}",
        "7",
        r#"{"k":{"a":["x",1]}}"#,
        r#"{"q":{"a":"AA"}}"#,
    ] {
        assert!(Journal::from_state(text).is_err(), "{text}");
    }
    let (journal, author) = Journal::from_state(r#"{"r":0}"#).expect("nothing is known");
    assert!(journal.is_empty());
    assert_eq!(author, None);
}

proptest! {
    /// The values of a journal and the handler's state round-trip through a client.
    #[test]
    fn state_round_trips(
        author in proptest::option::of(".*"),
        values in proptest::collection::btree_map("[a-z]{1,8}", ".*", 0..8),
        requested in proptest::collection::btree_map("[A-Z]{1,8}", ".*", 0..8),
    ) {
        let mut journal = Journal::default();
        for (key, value) in &values {
            journal.store(key, EntryDigest::EFFECT, raw(json!(value)));
        }
        for (key, text) in &requested {
            journal.request_input(key, request(text));
        }
        journal.suspend().unwrap();
        let (mut read, text) = Journal::from_state(&journal.to_state(author.clone())).unwrap();
        prop_assert_eq!(text, author);
        let responses_by_key: InputResponses = requested.keys().map(|key| (key.clone(), json!(key))).collect();
        for (key, value) in values {
            let found = read.look_up(&key, EntryDigest::EFFECT, &responses_by_key);
            prop_assert_eq!(found, Ok(JournalLookup::Stored(raw(json!(value)))));
        }
        for (key, text) in requested {
            let found = read.look_up(&key, EntryDigest::of(&request(&text)), &responses_by_key);
            prop_assert_eq!(found, Ok(JournalLookup::Received(raw(json!(key)))));
        }
    }
}
