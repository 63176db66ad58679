use proptest::prelude::*;
use toolwire_types::RawJson;

use super::*;

const NOW: Duration = Duration::from_secs(1_800_000_000);
const TTL: Duration = Duration::from_secs(300);
const NONCE: [u8; 24] = [7; 24];

fn key(seed: u8) -> StateKey {
    StateKey::new([seed; 32])
}

fn ring() -> KeyRing {
    KeyRing::new(key(1))
}

fn binding() -> Binding<'static> {
    Binding {
        principal: Some("alice"),
        method: "tools/call",
        name: "book",
        params_digest: [9; 32],
        audience: "https://example.com/mcp",
    }
}

fn sealed() -> String {
    seal(&ring(), &binding(), b"step 2", NOW, TTL, NONCE).unwrap()
}

#[test]
fn token_opens_only_for_the_same_request() {
    let token = sealed();
    let opened = |binding: &Binding<'_>| open(&ring(), binding, &token, NOW).ok();
    assert_eq!(opened(&binding()).as_deref(), Some(&b"step 2"[..]));

    let others = [
        Binding {
            principal: None,
            ..binding()
        },
        Binding {
            principal: Some(""),
            ..binding()
        },
        Binding {
            principal: Some("bob"),
            ..binding()
        },
        Binding {
            method: "prompts/get",
            ..binding()
        },
        Binding {
            name: "cancel",
            ..binding()
        },
        Binding {
            params_digest: [8; 32],
            ..binding()
        },
        Binding {
            audience: "https://example.com/other",
            ..binding()
        },
        // The same characters with another boundary.
        Binding {
            principal: Some("alicet"),
            method: "ools/call",
            ..binding()
        },
        Binding {
            method: "tools/callb",
            name: "ook",
            ..binding()
        },
    ];
    for other in others {
        assert_eq!(opened(&other), None, "{other:?}");
    }
}

#[test]
fn anonymous_differs_from_the_principal_with_an_empty_name() {
    let anonymous = Binding {
        principal: None,
        ..binding()
    };
    let empty = Binding {
        principal: Some(""),
        ..binding()
    };
    let token = seal(&ring(), &anonymous, b"", NOW, TTL, NONCE).unwrap();
    assert!(open(&ring(), &anonymous, &token, NOW).is_ok());
    assert!(open(&ring(), &empty, &token, NOW).is_err());
}

#[test]
fn token_opens_only_before_it_expires() {
    #[track_caller]
    fn check(now: Duration, expected: bool) {
        let opened = open(&ring(), &binding(), &sealed(), now);
        assert_eq!(opened.is_ok(), expected, "{now:?}");
    }
    let moment = Duration::from_millis(1);
    check(NOW, true);
    check(NOW + TTL - moment, true);
    check(NOW + TTL, false);
    check(Duration::MAX, false);
    check(NOW - MAX_CLOCK_SKEW, true);
    check(NOW - MAX_CLOCK_SKEW - moment, false);
    check(Duration::ZERO, false);
}

#[test]
fn newest_key_seals_and_every_key_opens() {
    let rotated = KeyRing::new(key(2)).with_older(key(3)).with_older(key(1));
    assert!(open(&rotated, &binding(), &sealed(), NOW).is_ok());

    let newer = seal(&rotated, &binding(), b"", NOW, TTL, NONCE).unwrap();
    assert!(open(&KeyRing::new(key(2)), &binding(), &newer, NOW).is_ok());
    assert!(open(&ring(), &binding(), &newer, NOW).is_err());
}

#[test]
fn payload_size_is_limited() {
    let ring = ring().with_max_payload(10);
    for length in [0, 9, 10] {
        let payload = vec![1; length];
        let token = seal(&ring, &binding(), &payload, NOW, TTL, NONCE).unwrap();
        assert_eq!(open(&ring, &binding(), &token, NOW), Ok(payload));
    }
    assert_eq!(
        seal(&ring, &binding(), &[1; 11], NOW, TTL, NONCE),
        Err(SealError::TooLarge { limit: 10 })
    );
    let generous = ring.clone().with_max_payload(11);
    let token = seal(&generous, &binding(), &[1; 11], NOW, TTL, NONCE).unwrap();
    assert!(open(&ring, &binding(), &token, NOW).is_err());
    assert!(
        open(
            &ring,
            &binding(),
            &format!("tw1.{}", "A".repeat(1_000_000)),
            NOW
        )
        .is_err()
    );
}

#[test]
fn token_has_an_expiry_time() {
    assert_eq!(expiry(&sealed()), Some(NOW + TTL));
    assert_eq!(expiry("tw1."), None);
    assert_eq!(expiry("other"), None);
    // A lifetime that is out of range never expires. A time of issue that is out of range is an error.
    let for_ever = seal(&ring(), &binding(), b"", NOW, Duration::MAX, NONCE).unwrap();
    let far = Duration::from_secs(10_000_000_000);
    assert!(open(&ring(), &binding(), &for_ever, far).is_ok());
    assert_eq!(
        seal(&ring(), &binding(), b"", Duration::MAX, TTL, NONCE),
        Err(SealError::TimeOutOfRange)
    );
}

#[test]
fn ring_with_the_maximum_payload_limit_opens_tokens() {
    let ring = ring().with_max_payload(usize::MAX);
    assert!(open(&ring, &binding(), &sealed(), NOW).is_ok());
}

#[test]
fn modified_or_truncated_token_does_not_open() {
    let token = sealed();
    for index in 0..token.len() {
        assert!(open(&ring(), &binding(), &token[..index], NOW).is_err());
        for bit in 0..7 {
            let mut bytes = token.clone().into_bytes();
            bytes[index] ^= 1 << bit;
            let Ok(changed) = String::from_utf8(bytes) else {
                continue;
            };
            let opened = open(&ring(), &binding(), &changed, NOW);
            assert!(opened.is_err(), "byte {index} bit {bit}");
        }
    }
    for changed in [
        format!("{token}A"),
        format!("{token}="),
        format!(" {token}"),
    ] {
        assert!(open(&ring(), &binding(), &changed, NOW).is_err());
    }
}

#[test]
fn every_failure_looks_the_same() {
    let expired = open(&ring(), &binding(), &sealed(), NOW + TTL).unwrap_err();
    let nonsense = open(&ring(), &binding(), "nonsense", NOW).unwrap_err();
    let foreign = open(&KeyRing::new(key(2)), &binding(), &sealed(), NOW).unwrap_err();
    assert_eq!(expired, nonsense);
    assert_eq!(expired, foreign);
    let error = ErrorObject::from(expired);
    assert_eq!(error.code, -32602);
    assert_eq!(error.message, "requestState is invalid or has expired");
    assert_eq!(error.data, None);
}

#[test]
fn secrets_do_not_print() {
    let secret = KeyRing::new(StateKey::new([0xab; 32])).with_older(StateKey::new([0xcd; 32]));
    let printed = format!("{secret:?}");
    for part in ["171", "205", "ab, ", "abab", "cdcd"] {
        assert!(!printed.contains(part), "{printed}");
    }
}

#[test]
fn token_hides_its_payload_and_is_url_safe() {
    let payload = b"the secret step two of the plan";
    let token = seal(&ring(), &binding(), payload, NOW, TTL, NONCE).unwrap();
    let bytes = URL_SAFE_NO_PAD
        .decode(&token[TOKEN_PREFIX.len()..])
        .unwrap();
    assert!(memchr::memmem::find(&bytes, b"secret").is_none());
    assert!(
        token
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
    );
}

#[test]
fn fingerprints_distinguish_tokens() {
    let other = seal(&ring(), &binding(), b"step 2", NOW, TTL, [8; 24]).unwrap();
    assert_eq!(fingerprint(&sealed()), fingerprint(&sealed()));
    assert_ne!(fingerprint(&sealed()), fingerprint(&other));
}

fn digest(text: &str) -> [u8; 32] {
    let raw = RawJson::from_string(text.to_owned()).unwrap();
    params_digest(Some(raw.as_raw_value()))
}

#[test]
fn digest_ignores_spelling() {
    #[track_caller]
    fn check(one: &str, other: &str) {
        assert_eq!(digest(one), digest(other), "{one} {other}");
    }
    check(
        r#"{"a":1,"b":[true,null]}"#,
        " { \"b\" : [ true , null ] ,\n\"a\":1 } ",
    );
    check(r#"{"a":{"x":1,"y":2}}"#, r#"{"a":{"y":2,"x":1}}"#);
    check("42", "42.0");
    check("42", "4.2e1");
    check("0", "-0.0");
    check(r#""A""#, r#""\u0041""#);
    assert_eq!(params_digest(None), digest("{}"));
}

#[test]
fn digest_distinguishes_values() {
    let values = [
        "null",
        "false",
        "true",
        "0",
        "1",
        "-1",
        "1.5",
        r#""""#,
        r#""1""#,
        r#""null""#,
        "[]",
        "{}",
        "[[]]",
        "[[],[]]",
        "[1,2]",
        "[2,1]",
        "[12]",
        r#"["a","b"]"#,
        r#"["ab"]"#,
        r#"{"a":1}"#,
        r#"{"a":"1"}"#,
        r#"{"b":1}"#,
        r#"{"a":1,"b":2}"#,
        r#"{"a":2,"b":1}"#,
        r#"{"a":null}"#,
        "9007199254740992",
        "9007199254740993",
        "18446744073709551615",
        "18446744073709551614",
        "1e300",
        "1e301",
        "1e999",
        "2e999",
    ];
    for (index, one) in values.iter().enumerate() {
        for other in &values[index + 1..] {
            assert_ne!(digest(one), digest(other), "{one} {other}");
        }
    }
}

#[test]
fn arguments_deeper_than_the_parser_allows_have_a_digest() {
    let deep = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    assert_ne!(digest(&deep(100_000)), digest(&deep(100_001)));
}

proptest! {
    #[test]
    fn any_payload_round_trips(
        payload in proptest::collection::vec(any::<u8>(), 0..200),
        principal in any::<Option<String>>(),
        name in any::<String>(),
        nonce in any::<[u8; 24]>(),
    ) {
        let binding = Binding { principal: principal.as_deref(), name: &name, ..binding() };
        let token = seal(&ring(), &binding, &payload, NOW, TTL, nonce).unwrap();
        prop_assert_eq!(open(&ring(), &binding, &token, NOW), Ok(payload));
    }

    #[test]
    fn another_binding_does_not_open(
        one in any::<(Option<String>, String, String, [u8; 32])>(),
        other in any::<(Option<String>, String, String, [u8; 32])>(),
    ) {
        fn bind(parts: &(Option<String>, String, String, [u8; 32])) -> Binding<'_> {
            Binding {
                principal: parts.0.as_deref(),
                method: &parts.1,
                name: &parts.2,
                params_digest: parts.3,
                audience: "a",
            }
        }
        let token = seal(&ring(), &bind(&one), b"x", NOW, TTL, NONCE).unwrap();
        prop_assert_eq!(open(&ring(), &bind(&other), &token, NOW).is_ok(), one == other);
    }

    #[test]
    fn forged_tokens_do_not_open(bytes in proptest::collection::vec(any::<u8>(), 0..120), text in any::<String>()) {
        let shaped = format!("tw1.{}", URL_SAFE_NO_PAD.encode(bytes));
        prop_assert!(open(&ring(), &binding(), &shaped, NOW).is_err());
        prop_assert!(open(&ring(), &binding(), &text, NOW).is_err());
    }
}

#[test]
fn key_is_parsed_from_64_hexadecimal_digits() {
    let check = |digits: &str, expected: Option<u8>| {
        let key = StateKey::from_hex(digits);
        assert_eq!(
            key.map(|key| key.0),
            expected.map(|byte| [byte; 32]),
            "{digits}"
        );
    };
    check(&"0f".repeat(32), Some(0x0f));
    check(&"aB".repeat(32), Some(0xab));
    check(&"0f".repeat(31), None);
    check(&"0f".repeat(33), None);
    check(&format!("{}0", "0f".repeat(31)), None);
    check(&format!("+{}", "0".repeat(63)), None);
    check(&format!("{}é", "0".repeat(62)), None);
    check("", None);
}
