use proptest::prelude::*;
use serde_json::{Value, json};
use toolwire_types::{ElicitRequestFormParams, ElicitRequestURLParams};

use super::*;

fn question(text: &str) -> InputRequest {
    ElicitRequestFormParams::new(text, json!({"type": "object", "properties": {}})).into()
}

fn responses(value: Value) -> InputResponses {
    serde_json::from_value(value).expect("answers")
}

fn raw(value: Value) -> RawJson {
    RawJson::from(value)
}

/// Ends the run and begins the next one, as it happens on the way through a client.
fn next_run(journal: &mut Journal) -> Option<Vec<String>> {
    let wanted = journal.suspend().expect("a round is left")?;
    let keys = wanted.iter().map(|(key, _)| key.to_owned()).collect();
    let (read, _) = Journal::from_state(&journal.to_state(None)).expect("its own words");
    *journal = read;
    Some(keys)
}

#[test]
fn an_answer_is_asked_for_once() {
    let mut journal = Journal::default();
    let none = InputResponses::new();
    let name = question("Who?");
    let found = journal.look_up("name", EntryDigest::of(&name), &none);
    assert_eq!(found, Ok(JournalLookup::Nothing));
    journal.want("name", name.clone());
    assert_eq!(next_run(&mut journal), Some(vec!["name".to_owned()]));

    let sent = responses(json!({"name": 1, "stranger": 2}));
    let found = journal.look_up("name", EntryDigest::of(&name), &sent);
    assert_eq!(found, Ok(JournalLookup::Arrived(raw(json!(1)))));
    journal.remember("name", EntryDigest::of(&name), raw(json!(1)));
    let found = journal.look_up("stranger", EntryDigest::of(&question("What?")), &sent);
    assert_eq!(found, Ok(JournalLookup::Nothing), "nobody asked for it");
    journal.want("stranger", question("What?"));
    assert_eq!(next_run(&mut journal), Some(vec!["stranger".to_owned()]));

    // Answers of earlier rounds are remembered, whatever the client says under their keys now.
    let sent = responses(json!({"name": "other"}));
    let found = journal.look_up("name", EntryDigest::of(&name), &sent);
    assert_eq!(found, Ok(JournalLookup::Remembered(raw(json!(1)))));
    let found = journal.look_up("stranger", EntryDigest::of(&question("What?")), &sent);
    assert_eq!(found, Ok(JournalLookup::Nothing), "left out by the client");
}

#[test]
fn an_answer_to_another_question_is_none() {
    let mut journal = Journal::default();
    let sent = responses(json!({"ok": {"action": "accept"}}));
    journal.want("ok", question("Delete 3 files?"));
    next_run(&mut journal);
    let changed = EntryDigest::of(&question("Delete 500 files?"));
    assert_eq!(
        journal.look_up("ok", changed, &sent),
        Ok(JournalLookup::Nothing)
    );

    // The same for one that was remembered.
    let mut journal = Journal::default();
    journal.remember(
        "ok",
        EntryDigest::of(&question("Delete 3 files?")),
        raw(json!(1)),
    );
    journal.wait();
    next_run(&mut journal);
    assert_eq!(
        journal.look_up("ok", changed, &sent),
        Ok(JournalLookup::Nothing)
    );
}

#[test]
fn a_key_means_one_thing() {
    let mut journal = Journal::default();
    let none = InputResponses::new();
    let reused = || Err(InvalidKey::Reused("k".to_owned()));
    let (one, other) = (
        EntryDigest::of(&question("1")),
        EntryDigest::of(&question("2")),
    );
    assert_eq!(journal.look_up("k", one, &none), Ok(JournalLookup::Nothing));
    assert_eq!(journal.look_up("k", one, &none), Ok(JournalLookup::Nothing));
    assert_eq!(journal.look_up("k", other, &none), reused());
    assert_eq!(journal.look_up("k", EntryDigest::EFFECT, &none), reused());

    // An effect took place: nothing else may have its key, in no later run.
    let mut journal = Journal::default();
    journal.remember("k", EntryDigest::EFFECT, raw(json!(7)));
    journal.wait();
    next_run(&mut journal);
    assert_eq!(journal.look_up("k", one, &none), reused());
    let mut journal = Journal::default();
    journal.remember("k", one, raw(json!(7)));
    assert_eq!(journal.look_up("k", EntryDigest::EFFECT, &none), reused());
}

#[test]
fn an_effect_is_under_way_once() {
    let mut journal = Journal::default();
    assert_eq!(journal.begin("k"), Ok(()));
    assert_eq!(journal.begin("other"), Ok(()));
    let again = journal.begin("k");
    assert_eq!(again, Err(InvalidKey::UnderWay("k".to_owned())));
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
fn a_run_that_ends_by_itself_asks_nothing() {
    let mut journal = Journal::default();
    journal.remember("k", EntryDigest::EFFECT, raw(json!(1)));
    assert_eq!(journal.suspend(), Ok(None));
    journal.wait();
    assert_eq!(journal.suspend(), Ok(Some(InputRequests::new())));
    journal.want("q", question("?"));
    journal.remember("q", EntryDigest::of(&question("?")), raw(json!(1)));
    assert_eq!(journal.suspend(), Ok(None), "it was answered meanwhile");
    assert!(Journal::default().is_blank());
    assert!(!journal.is_blank());
}

#[test]
fn rounds_are_bounded() {
    let mut journal = Journal::default();
    for _ in 0..MAX_ROUNDS {
        journal.wait();
        assert!(next_run(&mut journal).is_some());
    }
    journal.wait();
    let error = journal.suspend().expect_err("too many");
    assert!(ErrorObject::from(error).message.contains("64 rounds"));
}

#[test]
fn the_mark_of_an_address_does_not_depend_on_its_id() {
    let url = ElicitRequestURLParams::new("Go", "https://example.com");
    let named = url.clone().with_elicitation_id("1");
    assert_eq!(
        EntryDigest::of(&url.clone().into()),
        EntryDigest::of(&named.into())
    );
    let other = ElicitRequestURLParams::new("Go", "https://example.org");
    assert_ne!(EntryDigest::of(&url.into()), EntryDigest::of(&other.into()));
    assert_ne!(
        EntryDigest::of(&question("1")),
        EntryDigest::of(&question("2"))
    );
}

#[test]
fn states_of_another_shape_are_refused() {
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
    assert!(journal.is_blank());
    assert_eq!(author, None);
}

proptest! {
    /// What a journal knows and the author's text survive the way through a client.
    #[test]
    fn a_state_is_read_as_it_was_written(
        author in proptest::option::of(".*"),
        values in proptest::collection::btree_map("[a-z]{1,8}", ".*", 0..8),
        asked in proptest::collection::btree_map("[A-Z]{1,8}", ".*", 0..8),
    ) {
        let mut journal = Journal::default();
        for (key, value) in &values {
            journal.remember(key, EntryDigest::EFFECT, raw(json!(value)));
        }
        for (key, text) in &asked {
            journal.want(key, question(text));
        }
        journal.suspend().unwrap();
        let (mut read, text) = Journal::from_state(&journal.to_state(author.clone())).unwrap();
        prop_assert_eq!(text, author);
        let answers: InputResponses = asked.keys().map(|key| (key.clone(), json!(key))).collect();
        for (key, value) in values {
            let found = read.look_up(&key, EntryDigest::EFFECT, &answers);
            prop_assert_eq!(found, Ok(JournalLookup::Remembered(raw(json!(value)))));
        }
        for (key, text) in asked {
            let found = read.look_up(&key, EntryDigest::of(&question(&text)), &answers);
            prop_assert_eq!(found, Ok(JournalLookup::Arrived(raw(json!(key)))));
        }
    }
}
