use proptest::prelude::*;
use serde_json::{Value, json};
use toolwire_types::auth::Jwk;

use super::*;

const NOW: u64 = 1_700_000_000;
const ISSUER: &str = "https://auth.example.com";

fn rules() -> TokenRules {
    let resource = ResourceIndicator::parse("https://mcp.example.com/mcp").unwrap();
    TokenRules::new(ISSUER, resource)
}

fn claims(changes: Value) -> AccessTokenClaims {
    let mut claims = json!({"iss": ISSUER, "aud": "https://mcp.example.com/mcp", "exp": NOW + 600, "sub": "ann"});
    if let (Value::Object(claims), Value::Object(changes)) = (&mut claims, changes) {
        claims.extend(changes);
    }
    serde_json::from_value(claims).unwrap()
}

#[track_caller]
fn check(changes: Value, expected: Result<(), AccessTokenError>) {
    let text = changes.to_string();
    assert_eq!(
        rules().check_claims(&claims(changes), NOW),
        expected,
        "{text}"
    );
}

#[test]
fn a_token_is_for_this_resource() {
    let refused = Err(AccessTokenError::Audience);
    check(json!({}), Ok(()));
    check(
        json!({"aud": ["https://other.example", "https://MCP.example.com:443/mcp"]}),
        Ok(()),
    );
    check(json!({"aud": "https://mcp.example.com"}), refused);
    check(json!({"aud": "https://mcp.example.com/mcp/"}), refused);
    check(json!({"aud": "https://other.example/mcp"}), refused);
    check(json!({"aud": "app"}), refused);
    check(json!({"aud": []}), refused);
    check(json!({"aud": ""}), refused);
    check(json!({"aud": null}), refused);
    let base = ResourceIndicator::parse("https://mcp.example.com").unwrap();
    let both = rules().with_resource(base);
    let token = claims(json!({"aud": "https://mcp.example.com/"}));
    assert_eq!(both.check_claims(&token, NOW), Ok(()));
    let by_id = rules().with_audience("api://6f1a");
    let token = |audience: &str| claims(json!({"aud": audience}));
    assert_eq!(by_id.check_claims(&token("api://6f1a"), NOW), Ok(()));
    assert_eq!(
        by_id.check_claims(&token("API://6f1a"), NOW),
        Err(AccessTokenError::Audience)
    );
    assert_eq!(
        by_id.check_claims(&token("https://mcp.example.com/mcp"), NOW),
        Ok(())
    );
}

#[test]
fn a_token_is_of_a_trusted_issuer() {
    let refused = Err(AccessTokenError::Issuer);
    check(json!({"iss": "https://evil.example"}), refused);
    check(json!({"iss": "https://auth.example.com/"}), refused);
    check(json!({"iss": "https://AUTH.example.com"}), refused);
    check(json!({"iss": null}), refused);
    let both = rules().with_issuer("https://evil.example");
    let token = claims(json!({"iss": "https://evil.example"}));
    assert_eq!(both.check_claims(&token, NOW), Ok(()));
}

#[test]
fn times_count_with_the_leeway_and_not_beyond() {
    let leeway = DEFAULT_LEEWAY;
    check(json!({"exp": NOW - leeway + 1}), Ok(()));
    check(json!({"exp": NOW - leeway}), Err(AccessTokenError::Expired));
    check(json!({"exp": 0}), Err(AccessTokenError::Expired));
    check(json!({"exp": null}), Err(AccessTokenError::Expired));
    check(json!({"exp": u64::MAX}), Ok(()));
    check(json!({"nbf": NOW + leeway}), Ok(()));
    check(
        json!({"nbf": NOW + leeway + 1}),
        Err(AccessTokenError::NotYet),
    );
    check(json!({"nbf": u64::MAX}), Err(AccessTokenError::NotYet));
    check(json!({"iat": NOW + leeway}), Ok(()));
    check(
        json!({"iat": NOW + leeway + 1}),
        Err(AccessTokenError::FromTheFuture),
    );
    check(json!({"iat": 0}), Ok(()));
}

#[test]
fn the_leeway_is_bounded() {
    let over = |seconds: u64| claims(json!({"exp": NOW - seconds}));
    let none = rules().with_leeway(0);
    assert_eq!(
        none.check_claims(&over(0), NOW),
        Err(AccessTokenError::Expired)
    );
    let most = rules().with_leeway(u64::MAX);
    assert_eq!(most.check_claims(&over(MAX_LEEWAY - 1), NOW), Ok(()));
    assert_eq!(
        most.check_claims(&over(MAX_LEEWAY), NOW),
        Err(AccessTokenError::Expired)
    );
}

#[test]
fn algorithms_come_from_the_rules_and_never_from_the_token() {
    let judged = |rules: &TokenRules, alg: &str| rules.check_header(&JwtHeader::new(alg));
    for algorithm in SigningAlgorithm::ALL {
        assert_eq!(judged(&rules(), algorithm.as_str()), Ok(algorithm));
    }
    for alg in ["none", "None", "", "HS256", "HS512", "rs256", "RSA-OAEP"] {
        assert_eq!(
            judged(&rules(), alg),
            Err(AccessTokenError::Algorithm),
            "{alg}"
        );
    }
    let one = rules().with_algorithms([SigningAlgorithm::Es256]);
    assert_eq!(judged(&one, "ES256"), Ok(SigningAlgorithm::Es256));
    assert_eq!(judged(&one, "RS256"), Err(AccessTokenError::Algorithm));
}

#[test]
fn types_are_those_of_access_tokens() {
    let check = |typ: Option<&str>, usual: bool, strict: bool| {
        let mut header = JwtHeader::new("ES256");
        header.typ = typ.map(str::to_owned);
        assert_eq!(rules().check_header(&header).is_ok(), usual, "{typ:?}");
        let rules = rules().needing_access_token_type();
        assert_eq!(rules.check_header(&header).is_ok(), strict, "{typ:?}");
    };
    check(Some("at+jwt"), true, true);
    check(Some("AT+JWT"), true, true);
    check(Some("application/at+jwt"), true, true);
    check(Some("JWT"), true, false);
    check(None, true, false);
    for other in [
        "dpop+jwt",
        "oauth-id-jag+jwt",
        "logout+jwt",
        "",
        "text/at+jwt",
        "application/",
    ] {
        check(Some(other), false, false);
    }
}

#[test]
fn critical_members_and_keys_of_the_token_do_not_count() {
    let mut header = JwtHeader::new("ES256");
    header.crit = Some(vec!["exp".to_owned()]);
    assert_eq!(
        rules().check_header(&header),
        Err(AccessTokenError::Critical)
    );
    header.crit = Some(Vec::new());
    assert_eq!(
        rules().check_header(&header),
        Err(AccessTokenError::Critical)
    );
    // A key in the header is ignored: only keys of the issuer verify its tokens.
    let header = JwtHeader::new("ES256").with_jwk(Jwk::ec("P-256", "AA", "AA"));
    assert_eq!(rules().check_header(&header), Ok(SigningAlgorithm::Es256));
}

#[test]
fn introspection_says_that_a_token_is_good_and_for_whom() {
    let check = |answer: Value, expected: Result<(), AccessTokenError>| {
        let text = answer.to_string();
        let answer: IntrospectionResponse = serde_json::from_value(answer).unwrap();
        assert_eq!(
            rules().check_introspection(&answer, NOW),
            expected,
            "{text}"
        );
    };
    let aud = "https://mcp.example.com/mcp";
    check(json!({"active": true, "aud": aud}), Ok(()));
    check(
        json!({"active": true, "aud": [aud], "iss": ISSUER, "exp": NOW + 1}),
        Ok(()),
    );
    check(
        json!({"active": false, "aud": aud}),
        Err(AccessTokenError::NotActive),
    );
    check(json!({"active": true}), Err(AccessTokenError::Audience));
    check(
        json!({"active": true, "aud": "https://other.example"}),
        Err(AccessTokenError::Audience),
    );
    check(
        json!({"active": true, "aud": aud, "iss": "https://evil.example"}),
        Err(AccessTokenError::Issuer),
    );
    check(
        json!({"active": true, "aud": aud, "exp": NOW - 600}),
        Err(AccessTokenError::Expired),
    );
    check(
        json!({"active": true, "aud": aud, "nbf": NOW + 600}),
        Err(AccessTokenError::NotYet),
    );
}

#[test]
fn scopes_are_found_in_their_usual_claims() {
    let check = |changes: Value, expected: &str| {
        let scopes = scopes_of(&claims(changes)).unwrap();
        assert_eq!(scopes.to_string(), expected);
    };
    check(json!({}), "");
    check(json!({"scope": "a b"}), "a b");
    check(json!({"scope": ["a", "b"]}), "a b");
    check(json!({"scp": ["a", "b"]}), "a b");
    check(json!({"scp": "a b", "scope": "c a"}), "c a b");
    assert!(scopes_of(&claims(json!({"scope": "\""}))).is_err());
}

proptest! {
    #[test]
    fn no_times_make_it_panic_and_none_outlive_their_end(exp: u64, nbf: Option<u64>, iat: Option<u64>, now: u64) {
        let mut token = claims(json!({}));
        (token.exp, token.nbf, token.iat) = (Some(exp), nbf, iat);
        if rules().check_claims(&token, now).is_ok() {
            prop_assert!(now < exp.saturating_add(DEFAULT_LEEWAY));
        }
    }
}

#[test]
fn the_client_is_found_under_all_its_names() {
    let check = |claims: Value, expected: Option<&str>| {
        let claims: AccessTokenClaims = serde_json::from_value(claims).unwrap();
        assert_eq!(client_of(&claims), expected);
    };
    check(json!({"client_id": "a", "azp": "b"}), Some("a"));
    check(json!({"azp": "b", "cid": "c"}), Some("b"));
    check(json!({"cid": "c", "appid": "d"}), Some("c"));
    check(json!({"appid": "d"}), Some("d"));
    check(json!({"appid": 1}), None);
    check(json!({}), None);
}
