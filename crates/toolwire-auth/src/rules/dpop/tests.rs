use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::documents::{Confirmation, Jwk};

const NOW: u64 = 1_562_262_618;
const URL: &str = "https://resource.example.org/protectedresource";

/// RFC 9449, section 7.1.
const TOKEN: &str = "Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU";
const TOKEN_HASH: &str = "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo";

fn key() -> Jwk {
    Jwk::ec(
        "P-256",
        "l8tFrhx-34tV3hRICRDY9zCkDlpBhF42UQUfWVAWBFs",
        "9VE4jf_Ok_o64zbTTlcuNJajHmt6v9TDVrU0CdvGRDA",
    )
}

fn header() -> JwtHeader {
    JwtHeader::new("ES256").with_typ(PROOF_TYPE).with_jwk(key())
}

#[test]
fn claims_match_the_rfc_example() {
    let token = Secret::new(TOKEN);
    let url = "HTTPS://Resource.example.org:443/protectedresource?a=b#c";
    let claims = proof_claims("GET", url, NOW, [0; 16], Some(&token), Some("n")).unwrap();
    assert_eq!(
        serde_json::to_value(claims).unwrap(),
        json!({
            "jti": "AAAAAAAAAAAAAAAAAAAAAA", "htm": "GET", "htu": URL, "iat": NOW, "ath": TOKEN_HASH, "nonce": "n",
        })
    );
    let plain = proof_claims("POST", URL, NOW, [0; 16], None, None).unwrap();
    assert_eq!((plain.ath, plain.nonce), (None, None));
    assert!(proof_claims("POST", "mcp.example.com", NOW, [0; 16], None, None).is_err());
}

#[test]
fn target_is_normalised() {
    let check = |url: &str, expected: &str| assert_eq!(target(url).unwrap(), expected);
    check("https://a.example", "https://a.example/");
    check("https://A.example:443/", "https://a.example/");
    check("http://a.example:80/b?c", "http://a.example/b");
    check("https://a.example:8443/B/?c#d", "https://a.example:8443/B/");
}

#[test]
fn header_needs_a_matching_public_key() {
    let (algorithm, thumbprint) = check_header(&header()).unwrap();
    assert_eq!(algorithm, SigningAlgorithm::Es256);
    assert_eq!(thumbprint, "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I");

    let check_rejected = |change: fn(&mut JwtHeader), expected: DpopProofError| {
        let mut header = header();
        change(&mut header);
        assert_eq!(check_header(&header), Err(expected), "{header:?}");
    };
    check_rejected(|header| header.typ = None, DpopProofError::Type);
    check_rejected(
        |header| header.typ = Some("JWT".to_owned()),
        DpopProofError::Type,
    );
    check_rejected(
        |header| header.crit = Some(Vec::new()),
        DpopProofError::Critical,
    );
    check_rejected(
        |header| header.alg = "none".to_owned(),
        DpopProofError::Algorithm,
    );
    check_rejected(
        |header| header.alg = "HS256".to_owned(),
        DpopProofError::Algorithm,
    );
    check_rejected(
        |header| header.alg = "RS256".to_owned(),
        DpopProofError::Key,
    );
    check_rejected(|header| header.jwk = None, DpopProofError::Key);
    check_rejected(
        |header| header.jwk = Some(Jwk::okp("Ed25519", "AA")),
        DpopProofError::Key,
    );
    check_rejected(
        |header| {
            let key = header.jwk.as_mut().unwrap();
            key.extra.insert("d".to_owned(), "AA".into());
        },
        DpopProofError::Key,
    );
    check_rejected(
        |header| header.jwk.as_mut().unwrap().y = None,
        DpopProofError::Key,
    );
}

#[track_caller]
fn check(change: impl Fn(&mut DpopProofClaims), expected: Result<(), DpopProofError>) {
    let token = Secret::new(TOKEN);
    let mut claims = proof_claims("GET", URL, NOW, [1; 16], Some(&token), Some("n2")).unwrap();
    change(&mut claims);
    let wanted = ExpectedProof {
        method: "GET",
        url: URL,
        now: NOW,
        max_age: DEFAULT_PROOF_AGE,
        token: Some(&token),
        nonces: &["n1", "n2"],
    };
    assert_eq!(check_claims(&claims, &wanted), expected, "{claims:?}");
}

#[test]
fn proof_is_valid_for_one_request() {
    check(|_| {}, Ok(()));
    check(
        |claims| claims.htm = "POST".to_owned(),
        Err(DpopProofError::Method),
    );
    check(
        |claims| claims.htm = "get".to_owned(),
        Err(DpopProofError::Method),
    );
    check(
        |claims| claims.htu = "HTTPS://RESOURCE.example.org:443/protectedresource".to_owned(),
        Ok(()),
    );
    for url in [
        "https://resource.example.org/protectedresource?",
        "https://resource.example.org/protectedresource?a",
        "https://resource.example.org/protectedresource#a",
        "https://resource.example.org/protectedresource/",
        "https://resource.example.org/",
        "https://evil.example/protectedresource",
        "http://resource.example.org/protectedresource",
        "",
    ] {
        check(
            |claims| claims.htu = url.to_owned(),
            Err(DpopProofError::Url),
        );
    }
}

#[test]
fn proof_expires() {
    let at = |time: u64| move |claims: &mut DpopProofClaims| claims.iat = time;
    check(at(NOW - DEFAULT_PROOF_AGE), Ok(()));
    check(at(NOW - DEFAULT_PROOF_AGE - 1), Err(DpopProofError::Time));
    check(at(NOW + MAX_CLOCK_SKEW), Ok(()));
    check(at(NOW + MAX_CLOCK_SKEW + 1), Err(DpopProofError::Time));
    check(at(0), Err(DpopProofError::Time));
    check(at(u64::MAX), Err(DpopProofError::Time));
}

#[test]
fn proof_needs_its_token_and_a_valid_nonce() {
    check(|claims| claims.ath = None, Err(DpopProofError::Token));
    check(
        |claims| claims.ath = Some(String::new()),
        Err(DpopProofError::Token),
    );
    check(
        |claims| claims.ath = Some(token_hash(&Secret::new("other"))),
        Err(DpopProofError::Token),
    );
    check(|claims| claims.nonce = Some("n1".to_owned()), Ok(()));
    check(
        |claims| claims.nonce = Some("n0".to_owned()),
        Err(DpopProofError::Nonce),
    );
    check(|claims| claims.nonce = None, Err(DpopProofError::Nonce));
}

#[test]
fn id_length_is_limited() {
    let with = |length: usize| move |claims: &mut DpopProofClaims| claims.jti = "a".repeat(length);
    check(with(0), Err(DpopProofError::Id));
    check(with(1), Ok(()));
    check(with(LONGEST_JTI), Ok(()));
    check(with(LONGEST_JTI + 1), Err(DpopProofError::Id));
}

#[test]
fn token_endpoints_need_neither_token_nor_nonce() {
    let claims = proof_claims("POST", URL, NOW, [1; 16], None, None).unwrap();
    let wanted = ExpectedProof {
        method: "POST",
        url: URL,
        now: NOW,
        max_age: DEFAULT_PROOF_AGE,
        token: None,
        nonces: &[],
    };
    assert_eq!(check_claims(&claims, &wanted), Ok(()));
}

#[test]
fn bound_token_needs_a_proof_of_its_key() {
    let check = |bound: Option<&str>, scheme, proved: Option<&str>, expected: bool| {
        let claims = AccessTokenClaims {
            cnf: bound.map(Confirmation::to_key),
            ..AccessTokenClaims::default()
        };
        let outcome = check_binding(&claims, scheme, proved);
        assert_eq!(outcome.is_ok(), expected, "{bound:?} {scheme:?} {proved:?}");
    };
    check(None, TokenScheme::Bearer, None, true);
    check(Some("a"), TokenScheme::Dpop, Some("a"), true);
    check(Some("a"), TokenScheme::Dpop, Some("b"), false);
    check(Some("a"), TokenScheme::Dpop, None, false);
    check(Some("a"), TokenScheme::Bearer, None, false);
    check(Some("a"), TokenScheme::Bearer, Some("a"), false);
    check(None, TokenScheme::Dpop, Some("a"), false);

    let certificate = AccessTokenClaims {
        cnf: Some(serde_json::from_str(r#"{"x5t#S256": "a"}"#).unwrap()),
        ..AccessTokenClaims::default()
    };
    assert!(check_binding(&certificate, TokenScheme::Bearer, None).is_err());
}

proptest! {
    #[test]
    fn new_proof_is_accepted(now: u32, random: [u8; 16], path in "(/[a-zA-Z0-9]{0,4}){0,3}", query in "(\\?[a-z]{0,3})?") {
        let url = format!("https://a.example{path}{query}");
        let claims = proof_claims("POST", &url, now.into(), random, None, None).unwrap();
        let wanted = ExpectedProof {
            method: "POST",
            url: &url,
            now: now.into(),
            max_age: DEFAULT_PROOF_AGE,
            token: None,
            nonces: &[],
        };
        prop_assert_eq!(check_claims(&claims, &wanted), Ok(()));
    }
}

#[test]
fn proofs_are_required_by_metadata_or_dpop_only_challenges() {
    let plain = ProtectedResourceMetadata::new("https://a.example", ["https://b.example"]);
    let mut strict = plain.clone();
    strict.dpop_bound_access_tokens_required = Some(true);
    let (bearer, dpop) = (Challenge::bearer(), Challenge::dpop());
    assert!(is_required(&[], Some(&strict)));
    assert!(is_required(std::slice::from_ref(&bearer), Some(&strict)));
    assert!(is_required(std::slice::from_ref(&dpop), None));
    assert!(!is_required(&[bearer, dpop], Some(&plain)));
    assert!(!is_required(&[], Some(&plain)));
    assert!(!is_required(&[], None));
}
