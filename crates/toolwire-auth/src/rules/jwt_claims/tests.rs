use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::documents::Jwk;

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
fn audience_must_be_this_resource() {
    let rejected = Err(AccessTokenError::Audience);
    check(json!({}), Ok(()));
    check(
        json!({"aud": ["https://other.example", "https://MCP.example.com:443/mcp"]}),
        Ok(()),
    );
    check(json!({"aud": "https://mcp.example.com"}), rejected);
    check(json!({"aud": "https://mcp.example.com/mcp/"}), rejected);
    check(json!({"aud": "https://other.example/mcp"}), rejected);
    check(json!({"aud": "app"}), rejected);
    check(json!({"aud": []}), rejected);
    check(json!({"aud": ""}), rejected);
    check(json!({"aud": null}), rejected);
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
fn issuer_must_be_trusted() {
    let rejected = Err(AccessTokenError::Issuer);
    check(json!({"iss": "https://evil.example"}), rejected);
    check(json!({"iss": "https://auth.example.com/"}), rejected);
    check(json!({"iss": "https://AUTH.example.com"}), rejected);
    check(json!({"iss": null}), rejected);
    let both = rules().with_issuer("https://evil.example");
    let token = claims(json!({"iss": "https://evil.example"}));
    assert_eq!(both.check_claims(&token, NOW), Ok(()));
}

#[test]
fn times_are_checked_with_the_leeway() {
    let leeway = DEFAULT_LEEWAY;
    check(json!({"exp": NOW - leeway + 1}), Ok(()));
    check(json!({"exp": NOW - leeway}), Err(AccessTokenError::Expired));
    check(json!({"exp": 0}), Err(AccessTokenError::Expired));
    check(json!({"exp": null}), Err(AccessTokenError::Expired));
    check(json!({"exp": u64::MAX}), Ok(()));
    check(json!({"nbf": NOW + leeway}), Ok(()));
    check(
        json!({"nbf": NOW + leeway + 1}),
        Err(AccessTokenError::NotYetValid),
    );
    check(json!({"nbf": u64::MAX}), Err(AccessTokenError::NotYetValid));
    check(json!({"iat": NOW + leeway}), Ok(()));
    check(
        json!({"iat": NOW + leeway + 1}),
        Err(AccessTokenError::IssuedInFuture),
    );
    check(json!({"iat": 0}), Ok(()));
}

#[test]
fn leeway_is_limited() {
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
fn permitted_algorithms_come_from_the_rules() {
    let outcome = |rules: &TokenRules, alg: &str| rules.check_header(&JwtHeader::new(alg));
    for algorithm in SigningAlgorithm::ALL {
        assert_eq!(outcome(&rules(), algorithm.as_str()), Ok(algorithm));
    }
    for alg in ["none", "None", "", "HS256", "HS512", "rs256", "RSA-OAEP"] {
        assert_eq!(
            outcome(&rules(), alg),
            Err(AccessTokenError::Algorithm),
            "{alg}"
        );
    }
}

#[test]
fn token_type_must_be_an_access_token() {
    let check = |typ: Option<&str>, usual: bool, strict: bool| {
        let mut header = JwtHeader::new("ES256");
        header.typ = typ.map(str::to_owned);
        assert_eq!(rules().check_header(&header).is_ok(), usual, "{typ:?}");
        let rules = rules().with_access_token_type_required();
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
fn critical_members_are_rejected_and_header_keys_are_ignored() {
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
    // A key in the header is ignored. Only keys of the issuer verify its tokens.
    let header = JwtHeader::new("ES256").with_jwk(Jwk::ec("P-256", "AA", "AA"));
    assert_eq!(rules().check_header(&header), Ok(SigningAlgorithm::Es256));
}

#[test]
fn scopes_are_read_from_the_usual_claims() {
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
    fn times_never_panic_and_expired_tokens_are_rejected(exp: u64, nbf: Option<u64>, iat: Option<u64>, now: u64) {
        let mut token = claims(json!({}));
        (token.exp, token.nbf, token.iat) = (Some(exp), nbf, iat);
        if rules().check_claims(&token, now).is_ok() {
            prop_assert!(now < exp.saturating_add(DEFAULT_LEEWAY));
        }
    }
}

#[test]
fn client_is_read_from_the_usual_claims() {
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
