use proptest::prelude::*;

use super::*;
use crate::rules::challenge::read::LONGEST_HEADER;

const METADATA: &str = "https://mcp.example.com/.well-known/oauth-protected-resource";

#[track_caller]
fn check(headers: &[&str], expected: &[Challenge]) {
    assert_eq!(parse(headers.iter().copied()), expected, "{headers:?}");
}

#[test]
fn examples_of_the_specification_are_parsed() {
    check(
        &[&format!(
            "Bearer resource_metadata=\"{METADATA}\",\n                         scope=\"files:read\""
        )
        .replace('\n', " ")],
        &[Challenge {
            scope: Some("files:read".to_owned()),
            ..Challenge::bearer().with_resource_metadata(METADATA)
        }],
    );
    check(
        &[&format!(
            "Bearer error=\"insufficient_scope\", scope=\"files:write\", resource_metadata=\"{METADATA}\", \
             error_description=\"File write permission required for this operation\""
        )],
        &[Challenge {
            scope: Some("files:write".to_owned()),
            ..Challenge::bearer()
                .with_error(ChallengeError::InsufficientScope)
                .with_resource_metadata(METADATA)
                .with_error_description("File write permission required for this operation")
        }],
    );
}

#[test]
fn several_challenges_are_separated() {
    let realm = |realm: &str| Challenge::bearer().with_realm(realm);
    check(&["Bearer"], &[Challenge::bearer()]);
    check(&["bearer, DPOP"], &[Challenge::bearer(), Challenge::dpop()]);
    check(
        &["Bearer realm=\"a\", DPoP algs=\"ES256 PS256\""],
        &[realm("a"), Challenge::dpop().with_algs("ES256 PS256")],
    );
    check(
        &["Basic realm=\"no\", charset=\"UTF-8\", Bearer realm=\"a\""],
        &[realm("a")],
    );
    check(&["Negotiate YWJj, Bearer realm=a"], &[realm("a")]);
    check(&["Negotiate YWJj==,Bearer realm=a"], &[realm("a")]);
    check(&["Negotiate YWJj==", "Bearer realm=a"], &[realm("a")]);
    check(
        &["Bearer realm=a", "Bearer realm=b"],
        &[realm("a"), realm("b")],
    );
    check(&["", ",", " , Bearer ,, realm=a,"], &[realm("a")]);
    check(&["Bearer token68==, realm=a"], &[realm("a")]);
    // By the grammar, this is an opaque value and not a parameter.
    check(&["Bearer realm="], &[Challenge::bearer()]);
}

#[test]
fn values_may_be_quoted_and_names_ignore_case() {
    let realm = |realm: &str| Challenge::bearer().with_realm(realm);
    check(
        &["Bearer realm=\"a, b=c\\\"d\\\\\""],
        &[realm("a, b=c\"d\\")],
    );
    check(
        &["Bearer realm=\"Bearer error=x, DPoP\""],
        &[realm("Bearer error=x, DPoP")],
    );
    check(&["Bearer REALM = \"a\""], &[realm("a")]);
    check(&["Bearer realm=\"\""], &[realm("")]);
    check(&["Bearer unknown=1, realm=a, unknown=2"], &[realm("a")]);
    check(
        &["Bearer realm=\"a\" error=\"invalid_token\""],
        &[realm("a").with_error(ChallengeError::InvalidToken)],
    );
    check(
        &[&format!("Bearer resource_metadata={METADATA}, realm=a")],
        &[realm("a").with_resource_metadata(METADATA)],
    );
    check(
        &["Bearer error=\"made_up\""],
        &[Challenge::bearer().with_error(ChallengeError::Other("made_up".to_owned()))],
    );
}

#[test]
fn malformed_headers_return_the_complete_challenges_before() {
    let realm = |realm: &str| Challenge::bearer().with_realm(realm);
    check(&["Bearer realm=\"a"], &[]);
    check(&["Bearer realm=\"a\\"], &[]);
    check(&["Bearer realm=a, error="], &[]);
    check(&["Bearer realm=a, error=, scope=b"], &[]);
    check(&["Bearer realm=a, DPoP algs=\"x"], &[realm("a")]);
    check(&["Bearer realm=a, \"x\""], &[]);
    check(&["Bearer realm=a, realm=b"], &[]);
    check(&["Bearer error=a, error=b, Bearer realm=a"], &[realm("a")]);
    check(&["Bearer realm=\"a\u{7}\""], &[]);
    check(&["Bearer realm=\"a\r\nb\""], &[]);
    check(&["=\"a\"", "Bearer"], &[Challenge::bearer()]);
    check(&["realm=a, Bearer"], &[Challenge::bearer()]);
    check(&["ü Bearer"], &[]);
}

#[test]
fn header_over_the_maximum_length_is_skipped() {
    let start = "Bearer realm=";
    let longest = format!("{start}{}", "a".repeat(LONGEST_HEADER - start.len()));
    assert_eq!(parse([longest.as_str()]).len(), 1);
    assert_eq!(
        parse([format!("{longest}a").as_str(), "Bearer"]),
        [Challenge::bearer()]
    );
}

#[test]
fn header_is_one_line() {
    let challenge = Challenge::bearer()
        .with_error(ChallengeError::Other("x\r\nSet-Cookie: a=b".to_owned()))
        .with_error_description("say \"no\" \\ ü\0\u{2028}")
        .with_resource_metadata("https://a/\nLocation: b");
    assert_eq!(
        challenge.to_string(),
        "Bearer error=\"x??Set-Cookie: a=b\", error_description=\"say \\\"no\\\" \\\\ ???\", \
         resource_metadata=\"https://a/?Location: b\""
    );
}

#[test]
fn each_error_has_its_status() {
    let status = |error| Challenge::bearer().with_error(error).status();
    assert_eq!(Challenge::bearer().status(), 401);
    assert_eq!(status(ChallengeError::InvalidRequest), 400);
    assert_eq!(status(ChallengeError::InvalidToken), 401);
    assert_eq!(status(ChallengeError::InsufficientScope), 403);
    assert_eq!(status(ChallengeError::UseDpopNonce), 401);
    assert_eq!(status(ChallengeError::InvalidDpopProof), 401);
}

#[test]
fn empty_scopes_are_omitted() {
    let scopes = ScopeSet::parse("files:read files:write").unwrap();
    let challenge = Challenge::bearer().with_scopes(&scopes);
    assert_eq!(
        challenge.to_string(),
        "Bearer scope=\"files:read files:write\""
    );
    assert_eq!(
        challenge.with_scopes(&ScopeSet::new()).to_string(),
        "Bearer"
    );
}

proptest! {
    #[test]
    fn challenge_round_trips(
        texts in prop::collection::vec(prop::option::of("[ -~]{0,20}"), 6),
        is_dpop in any::<bool>(),
    ) {
        let mut texts = texts.into_iter();
        let mut next = || texts.next().flatten();
        let challenge = Challenge {
            scheme: if is_dpop { TokenScheme::Dpop } else { TokenScheme::Bearer },
            realm: next(),
            error: next().map(ChallengeError::Other),
            error_description: next(),
            scope: next(),
            resource_metadata: next(),
            algs: next(),
        };
        let header = format!("{challenge}, {challenge}");
        prop_assert_eq!(parse([header.as_str()]), [challenge.clone(), challenge]);
    }

    #[test]
    fn written_header_is_one_line_of_ascii(text in any::<String>()) {
        let header = Challenge::bearer().with_realm(text).to_string();
        prop_assert!(header.bytes().all(|byte| (b' '..=b'~').contains(&byte)));
    }

    #[test]
    fn parsing_never_panics(text in any::<String>(), near in "[Bearr DPoP=,\"\\\\a]{0,40}") {
        let _ = parse([text.as_str(), near.as_str()]);
    }
}
