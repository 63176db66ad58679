use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

fn meta(value: Value) -> Meta {
    serde_json::from_value(value).expect("metadata")
}

fn parent() -> TraceContext {
    TraceContext::new(PARENT).expect("a span")
}

#[test]
fn traceparent_is_four_fields_of_lower_case_digits() {
    let check = |text: &str, reason: Option<&str>| match (TraceContext::new(text), reason) {
        (Ok(context), None) => assert_eq!(context.traceparent(), Some(text)),
        (Err(error), Some(reason)) => {
            assert!(error.to_string().contains(reason), "{text}: {error}");
        }
        (outcome, _) => panic!("{text}: {outcome:?}"),
    };
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let span = "00f067aa0ba902b7";
    check(PARENT, None);
    check(&format!("00-{trace}-{span}-00"), None);
    check(&format!("00-{trace}-{span}-ff"), None);
    let digits = Some("hexadecimal digits");
    check("", digits);
    check(&PARENT[..54], digits);
    check(&PARENT.to_uppercase(), digits);
    check(&PARENT.replace('-', "_"), digits);
    check(&format!("00-{span}-{trace}-01"), digits);
    check(&format!("0g-{trace}-{span}-01"), digits);
    check(&format!("é{}", &PARENT[2..]), digits);
    check(&format!(" {PARENT}"), digits);
    check(&format!("ff-{trace}-{span}-01"), Some("version ff"));
    check(&format!("{PARENT}-"), Some("55 characters"));
    check(&format!("{PARENT} "), Some("55 characters"));
    let zeros = Some("all zeros");
    check(&format!("00-{}-{span}-01", "0".repeat(32)), zeros);
    check(&format!("00-{trace}-{}-01", "0".repeat(16)), zeros);
}

#[test]
fn later_versions_of_traceparent_may_be_longer() {
    let later = format!("cc{}", &PARENT[2..]);
    let accepted = |text: String| TraceContext::new(text).is_ok();
    assert!(accepted(later.clone()));
    assert!(accepted(
        format!("{later}-what the future brings").replace(' ', "-")
    ));
    assert!(!accepted(format!("{later}.more")));
    assert!(!accepted(format!("{later}-a b")));
    assert!(!accepted(format!("{later}-é")));
    let room = LATER_TRACEPARENT_BYTES - TRACEPARENT_BYTES;
    assert!(accepted(format!("{later}{}", "-".repeat(room))));
    assert!(!accepted(format!("{later}{}", "-".repeat(room + 1))));
}

#[test]
fn ids_and_flags_are_parsed_from_the_traceparent() {
    let context = parent();
    assert_eq!(context.trace_id(), Some("4bf92f3577b34da6a3ce929d0e0e4736"));
    assert_eq!(context.parent_id(), Some("00f067aa0ba902b7"));
    assert!(context.is_sampled() && !context.is_empty());
    for (flags, sampled) in [("00", false), ("02", false), ("03", true), ("ff", true)] {
        let context = TraceContext::new(format!("{}{flags}", &PARENT[..53])).expect("a span");
        assert_eq!(context.is_sampled(), sampled, "{flags}");
    }
    let empty = TraceContext::default();
    assert!(empty.is_empty() && !empty.is_sampled());
    assert_eq!((empty.trace_id(), empty.parent_id()), (None, None));
}

#[test]
fn tracestate_is_a_bounded_list_of_entries() {
    let check = |text: &str, is_valid: bool| {
        let outcome = parent().with_tracestate(text);
        assert_eq!(outcome.is_ok(), is_valid, "{text}: {outcome:?}");
    };
    for valid in [
        "rojo=00f067aa0ba902b7",
        "rojo=1,congo=t61rcWkgMzE",
        "a=1 , b=2,,c=3",
        "tenant@system=x",
        "0vendor=a b",
        "a/b_c-d*e=!~",
    ] {
        check(valid, true);
    }
    for bad in [
        "", ",", "a", "a=", "=a", "A=1", "a=b=c", "a=é", "é=a", "a b=c", "@a=1", "a@b@c=1", "-a=1",
        "a=\n",
    ] {
        check(bad, false);
    }
    let entries = |count: usize| {
        (0..count)
            .map(|n| format!("k{n}=v"))
            .collect::<Vec<_>>()
            .join(",")
    };
    check(&entries(TRACESTATE_ENTRIES), true);
    check(&entries(TRACESTATE_ENTRIES + 1), false);
    let whole = |length: usize| format!("a={},b={}", "v".repeat(256), "v".repeat(length - 261));
    assert_eq!(whole(TRACESTATE_BYTES).len(), TRACESTATE_BYTES);
    check(&whole(TRACESTATE_BYTES), true);
    check(&whole(TRACESTATE_BYTES + 1), false);
    check(&format!("a={}", "v".repeat(257)), false);
    check(&format!("{}=v", "a".repeat(256)), true);
    check(&format!("{}=v", "a".repeat(257)), false);
    let named = |text: String, limit: usize| {
        let error = parent().with_tracestate(text).expect_err("over a limit");
        assert!(error.reason.contains(&limit.to_string()), "{error}");
    };
    named(whole(TRACESTATE_BYTES + 1), TRACESTATE_BYTES);
    named(entries(TRACESTATE_ENTRIES + 1), TRACESTATE_ENTRIES);
    let alone = TraceContext::default()
        .with_tracestate("a=b")
        .expect_err("no span");
    assert!(alone.to_string().contains("requires a traceparent"));
}

#[test]
fn baggage_is_a_bounded_list_of_entries() {
    let check = |text: &str, is_valid: bool| {
        let outcome = TraceContext::default().with_baggage(text);
        assert_eq!(outcome.is_ok(), is_valid, "{text}: {outcome:?}");
    };
    for valid in [
        "userId=alice",
        "a=1,b=2",
        "a = 1 ; flag ; p = q , b=",
        "a=%20x=y",
    ] {
        check(valid, true);
    }
    for bad in [
        "", "a", "a=1,", "=1", "a b=1", "a=b c", "a=\"x\"", "a=é", "a=1;", "a=1;=x", "a=\\",
        "a=1\n",
    ] {
        check(bad, false);
    }
    let entries = |count: usize| vec!["k=v"; count].join(",");
    check(&entries(BAGGAGE_ENTRIES), true);
    check(&entries(BAGGAGE_ENTRIES + 1), false);
    check(&format!("k={}", "v".repeat(BAGGAGE_BYTES - 2)), true);
    check(&format!("k={}", "v".repeat(BAGGAGE_BYTES - 1)), false);
    let named = |text: String, limit: usize| {
        let error = TraceContext::default()
            .with_baggage(text)
            .expect_err("over a limit");
        assert!(error.reason.contains(&limit.to_string()), "{error}");
    };
    named(
        format!("k={}", "v".repeat(BAGGAGE_BYTES - 1)),
        BAGGAGE_BYTES,
    );
    named(entries(BAGGAGE_ENTRIES + 1), BAGGAGE_ENTRIES);
}

#[test]
fn malformed_metadata_counts_as_absent() {
    let check = |given: Value, expected: Value| {
        let mut written = Meta::new();
        TraceContext::from_meta(&meta(given.clone())).to_meta(&mut written);
        assert_eq!(
            serde_json::to_value(written).expect("JSON"),
            expected,
            "{given}"
        );
    };
    let all = || json!({"traceparent": PARENT, "tracestate": "a=b", "baggage": "k=v"});
    check(all(), all());
    check(json!({"other": 1}), json!({}));
    check(
        json!({"traceparent": PARENT, "tracestate": "A", "baggage": 1}),
        json!({"traceparent": PARENT}),
    );
    check(
        json!({"traceparent": "x", "tracestate": "a=b", "baggage": "k=v"}),
        json!({"baggage": "k=v"}),
    );
    check(json!({"tracestate": "a=b"}), json!({}));
    check(
        json!({"traceparent": null, "tracestate": ["a=b"], "baggage": {}}),
        json!({}),
    );
    check(json!({"baggage": "x".repeat(100_000)}), json!({}));
    check(json!({"Traceparent": PARENT}), json!({}));
}

#[test]
fn writing_replaces_only_its_own_keys() {
    let mut given = meta(json!({"progressToken": 1, "traceparent": "old", "baggage": "old=1"}));
    parent().to_meta(&mut given);
    assert_eq!(
        serde_json::to_value(given).expect("JSON"),
        json!({"progressToken": 1, "traceparent": PARENT, "baggage": "old=1"})
    );
}

proptest! {
    /// Parsing returns for any input of a peer, and parsed values can be written again.
    #[test]
    fn parsed_context_round_trips(
        traceparent in prop_oneof![Just(PARENT.to_owned()), ".{0,60}", "[0-9a-f-]{50,60}"],
        tracestate in "[a-c=,@ é]{0,12}",
        baggage in "[a-c=,; \"é]{0,12}",
    ) {
        let given = meta(json!({"traceparent": traceparent, "tracestate": tracestate, "baggage": baggage}));
        let context = TraceContext::from_meta(&given);
        let _read = (context.trace_id(), context.parent_id(), context.is_sampled());
        let mut written = Meta::new();
        context.to_meta(&mut written);
        prop_assert_eq!(TraceContext::from_meta(&written), context);
    }
}
