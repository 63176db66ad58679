//! Property tests for untrusted documents and texts: parsing never panics, takes linear time, and accepts only valid
//! values.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::sample::Index;
use serde::de::DeserializeOwned;
use toolwire_proto::scopes::ScopeSet;
use toolwire_types::ProtocolVersion;

use crate::documents::{
    AccessTokenClaims, AuthorizationServerMetadata, ClientIdMetadataDocument, DpopProofClaims,
    IntrospectionResponse, JwkSet, JwtHeader, OAuthError, ProtectedResourceMetadata, Secret,
    TokenResponse,
};
use crate::rules::authorization_response::{self, ExpectedResponse};
use crate::rules::credentials::{Credentials, is_in_query};
use crate::rules::dpop::{self, DEFAULT_PROOF_AGE, ExpectedProof};
use crate::rules::jwt_claims::{DEFAULT_LEEWAY, TokenRules, client_of, scopes_of};
use crate::rules::metadata_rules::{
    IssuerPolicy, check_client_id_document, check_identity, check_resource, check_server, keys_url,
};
use crate::rules::resource_indicator::ResourceIndicator;
use crate::rules::signing_algorithm::SigningAlgorithm;
use crate::rules::token_response::{GrantedToken, consequence};
use crate::rules::well_known::{resource_metadata_url, server_metadata_urls};
use crate::rules::{challenge, endpoints, form, jwk_rules, redirect_uri};

const ISSUER: &str = "https://auth.example.com";
const RESOURCE: &str = "https://mcp.example.com/mcp";
const NOW: u64 = 1_800_000_000;

/// A function that parses a document and applies all its rules.
type DocumentCheck = fn(&[u8]);

/// A valid document of each kind.
const DOCUMENTS: &[(&str, DocumentCheck)] = &[
    (
        r#"{"issuer":"https://auth.example.com","authorization_endpoint":"https://auth.example.com/a","token_endpoint":"https://auth.example.com/t","jwks_uri":"https://auth.example.com/k","code_challenge_methods_supported":["S256"],"grant_types_supported":["authorization_code"],"scopes_supported":["read"]}"#,
        check_server_document,
    ),
    (
        r#"{"resource":"https://mcp.example.com/mcp","authorization_servers":["https://auth.example.com"],"scopes_supported":["read"],"bearer_methods_supported":["header"]}"#,
        check_resource_document,
    ),
    (
        r#"{"client_id":"https://app.example.com/client","client_name":"App","redirect_uris":["http://127.0.0.1/callback"],"token_endpoint_auth_method":"none"}"#,
        check_client_document,
    ),
    (
        r#"{"keys":[{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0","use":"sig","kid":"a"},{"kty":"RSA","n":"AQAB","e":"AQAB","alg":"RS256","key_ops":["verify"]},{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#,
        check_keys,
    ),
    (
        r#"{"alg":"ES256","typ":"dpop+jwt","kid":"a","crit":["b64"],"jwk":{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}}"#,
        check_header_document,
    ),
    (
        r#"{"iss":"https://auth.example.com","sub":"ann","aud":["https://mcp.example.com/mcp"],"exp":1800000600,"nbf":1800000000,"iat":1.8e9,"client_id":"app","scope":"read write","scp":["mail"],"cnf":{"jkt":"x"}}"#,
        check_claims_document,
    ),
    (
        r#"{"active":true,"iss":"https://auth.example.com","username":"ann","aud":"https://mcp.example.com/mcp","exp":1800000600,"scope":"read"}"#,
        check_introspection_document,
    ),
    (
        r#"{"jti":"1","htm":"POST","htu":"https://mcp.example.com/mcp","iat":1800000000,"ath":"x","nonce":"n"}"#,
        check_proof,
    ),
    (
        r#"{"access_token":"abc","token_type":"Bearer","expires_in":3600,"refresh_token":"def","scope":"read write"}"#,
        check_token,
    ),
    (
        r#"{"error":"invalid_grant","error_description":"over","error_uri":"https://auth.example.com/"}"#,
        check_error,
    ),
];

fn read<T: DeserializeOwned>(text: &[u8]) -> Option<T> {
    serde_json::from_slice(text).ok()
}

fn check_server_document(text: &[u8]) {
    let Some(metadata) = read::<AuthorizationServerMetadata>(text) else {
        return;
    };
    let policy = IssuerPolicy::new(ProtocolVersion::LATEST);
    let accepted = [
        check_server(&metadata, ISSUER, policy).is_ok(),
        check_identity(&metadata, ISSUER, policy).is_ok(),
        keys_url(&metadata, ISSUER, policy).is_ok(),
    ];
    if accepted.contains(&true) {
        assert_eq!(metadata.issuer, ISSUER);
    }
    if let Ok(url) = keys_url(&metadata, ISSUER, policy) {
        assert_eq!(endpoints::check_named_by(url, ISSUER), Ok(()));
    }
}

fn check_resource_document(text: &[u8]) {
    let Some(metadata) = read::<ProtectedResourceMetadata>(text) else {
        return;
    };
    if let Ok(checked) = check_resource(&metadata, RESOURCE) {
        assert!(checked.resource.contains(RESOURCE));
        assert!(!checked.authorization_servers.is_empty());
        for issuer in &checked.authorization_servers {
            assert_eq!(endpoints::check_named_by(issuer, RESOURCE), Ok(()));
        }
    }
}

fn check_client_document(text: &[u8]) {
    let Some(document) = read::<ClientIdMetadataDocument>(text) else {
        return;
    };
    let id = "https://app.example.com/client";
    if check_client_id_document(&document, id).is_ok() {
        assert_eq!(document.client_id, id);
        for uri in document.metadata.redirect_uris.iter().flatten() {
            assert_eq!(redirect_uri::check(uri), Ok(()));
        }
    }
}

fn check_keys(text: &[u8]) {
    for key in read::<JwkSet>(text).into_iter().flat_map(|set| set.keys) {
        let matching = SigningAlgorithm::ALL.iter().filter(|one| one.matches(&key));
        assert!(matching.count() <= 6, "{key:?}");
        let _ = (jwk_rules::thumbprint(&key), jwk_rules::is_secret(&key));
        assert!(key.kty != "oct" || !SigningAlgorithm::Es256.matches(&key));
    }
}

fn check_header_document(text: &[u8]) {
    let Some(header) = read::<JwtHeader>(text) else {
        return;
    };
    let outcome = rules().check_header(&header);
    assert!(outcome.is_err() || header.crit.is_none());
    if let Ok((algorithm, _)) = dpop::check_header(&header) {
        assert_eq!(algorithm.as_str(), header.alg);
        assert!(header.jwk.is_some_and(|key| algorithm.matches(&key)));
    }
}

fn rules() -> TokenRules {
    let resource = ResourceIndicator::parse(RESOURCE).unwrap();
    TokenRules::new(ISSUER, resource)
}

fn check_accepted(claims: &AccessTokenClaims) {
    let resource = ResourceIndicator::parse(RESOURCE).unwrap();
    let mut audiences = claims.aud.iter().flat_map(|audience| audience.iter());
    assert!(audiences.any(|audience| resource.is_named_by(audience)));
    assert!(claims.exp.is_none_or(|end| end + DEFAULT_LEEWAY > NOW));
}

fn check_claims_document(text: &[u8]) {
    let Some(claims) = read::<AccessTokenClaims>(text) else {
        return;
    };
    let _ = (scopes_of(&claims), client_of(&claims));
    if rules().check_claims(&claims, NOW).is_ok() {
        assert_eq!(claims.iss.as_deref(), Some(ISSUER));
        assert!(
            rules()
                .expiry_of(&claims)
                .is_some_and(|expiry| expiry > NOW)
        );
        check_accepted(&claims);
    }
}

fn check_introspection_document(text: &[u8]) {
    let Some(response) = read::<IntrospectionResponse>(text) else {
        return;
    };
    if rules().check_claims(&response.claims, NOW).is_ok() {
        check_accepted(&response.claims);
    }
}

fn check_proof(text: &[u8]) {
    let Some(claims) = read::<DpopProofClaims>(text) else {
        return;
    };
    let expected = ExpectedProof {
        method: "POST",
        url: RESOURCE,
        now: NOW,
        max_age: DEFAULT_PROOF_AGE,
        token: None,
        nonces: &[],
    };
    if dpop::check_claims(&claims, &expected).is_ok() {
        assert_eq!(claims.htm, "POST");
        assert!(claims.iat.abs_diff(NOW) <= DEFAULT_PROOF_AGE);
    }
}

fn check_token(text: &[u8]) {
    let Some(response) = read::<TokenResponse>(text) else {
        return;
    };
    if GrantedToken::read(&response, None, NOW).is_ok() {
        let token = response.access_token.expose();
        assert!(token.bytes().all(|byte| byte.is_ascii_graphic()));
    }
}

fn check_error(text: &[u8]) {
    let error = read::<OAuthError>(text);
    for status in [200, 400, 401, 500] {
        let _ = consequence(status, error.as_ref());
    }
}

/// Runs all parsers of plain text.
fn read_text(text: &str) {
    let _ = challenge::parse([text, text]);
    let _ = Credentials::read([text]);
    let _ = (is_in_query(text), form::decode(text));
    let expected = ExpectedResponse {
        state: &Secret::new("state"),
        issuer: ISSUER,
        declares_iss: true,
    };
    let _ = authorization_response::read(text, &expected);
    let _ = authorization_response::state_of(text);
    let _ = ScopeSet::parse(text);
    let _ = (endpoints::check(text), redirect_uri::check(text));
    let _ = endpoints::check_named_by(text, ISSUER);
    let _ = ResourceIndicator::parse(text).map(|one| one.contains(text));
    let _ = (resource_metadata_url(text), dpop::target(text));
    let _ = server_metadata_urls(text, ProtocolVersion::LATEST);
}

/// One change of a text.
#[derive(Debug, Clone)]
enum Edit {
    Set(Index, u8),
    Insert(Index, Vec<u8>),
    Remove(Index, usize),
    Repeat(Index, usize, usize),
    Cut(Index),
}

impl Edit {
    fn apply(&self, text: &mut Vec<u8>) {
        let position = |index: &Index, text: &[u8]| index.index(text.len() + 1);
        match self {
            Self::Set(index, byte) => {
                let at = position(index, text);
                if let Some(old) = text.get_mut(at) {
                    *old = *byte;
                }
            }
            Self::Insert(index, bytes) => {
                let at = position(index, text);
                text.splice(at..at, bytes.iter().copied());
            }
            Self::Remove(index, count) => {
                let at = position(index, text);
                text.drain(at..text.len().min(at + count));
            }
            Self::Repeat(index, count, times) => {
                let at = position(index, text);
                let piece = text[at..text.len().min(at + count)].repeat(*times);
                text.splice(at..at, piece);
            }
            Self::Cut(index) => text.truncate(position(index, text)),
        }
    }
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    // Fragments with a meaning for a parser.
    let pieces = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..8),
        prop::sample::select(vec![
            "\"",
            "\\",
            "\\u0000",
            "\\ud800",
            "null",
            "[]",
            "{}",
            "-1",
            "1e999",
            "\u{202e}",
            "%00",
            "//",
            "..",
            "@",
            "#",
            "?",
            "\"exp\":0,",
            "\"aud\":[],",
            "\"alg\":\"none\",",
            "[[[[[[[["
        ])
        .prop_map(|piece| piece.as_bytes().to_vec()),
    ];
    let edit = prop_oneof![
        (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Edit::Set(at, byte)),
        (any::<Index>(), pieces).prop_map(|(at, piece)| Edit::Insert(at, piece)),
        (any::<Index>(), 1..20_usize).prop_map(|(at, count)| Edit::Remove(at, count)),
        (any::<Index>(), 1..40_usize, 1..4_usize)
            .prop_map(|(at, count, times)| Edit::Repeat(at, count, times)),
        any::<Index>().prop_map(Edit::Cut),
    ];
    prop::collection::vec(edit, 0..4)
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for (_, check) in DOCUMENTS {
            check(&bytes);
        }
        read_text(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn changed_documents_never_panic(edits in edits()) {
        for (good, check) in DOCUMENTS {
            let mut text = good.as_bytes().to_vec();
            for edit in &edits {
                edit.apply(&mut text);
            }
            check(&text);
        }
    }

    #[test]
    fn changed_texts_never_panic(edits in edits()) {
        for good in [
            "Bearer realm=\"a\", error=\"invalid_token\", DPoP algs=\"ES256\"",
            "code=abc&state=state&iss=https%3A%2F%2Fauth.example.com",
            "https://user@mcp.example.com:443/a/../mcp?a=b#c",
            "files:read files:write",
        ] {
            let mut text = good.as_bytes().to_vec();
            for edit in &edits {
                edit.apply(&mut text);
            }
            read_text(&String::from_utf8_lossy(&text));
        }
    }
}

#[test]
fn valid_documents_are_accepted() {
    let policy = IssuerPolicy::new(ProtocolVersion::LATEST);
    let text = |number: usize| DOCUMENTS[number].0.as_bytes();
    let server = read(text(0)).unwrap();
    assert_eq!(check_server(&server, ISSUER, policy), Ok(()));
    assert!(check_resource(&read(text(1)).unwrap(), RESOURCE).is_ok());
    let client = read(text(2)).unwrap();
    let id = "https://app.example.com/client";
    assert_eq!(check_client_id_document(&client, id), Ok(()));
    assert_eq!(read::<JwkSet>(text(3)).unwrap().keys.len(), 3);
    let claims = read(text(5)).unwrap();
    assert_eq!(rules().check_claims(&claims, NOW), Ok(()));
    let response: IntrospectionResponse = read(text(6)).unwrap();
    assert_eq!(rules().check_claims(&response.claims, NOW), Ok(()));
    let token = read(text(8)).unwrap();
    assert!(GrantedToken::read(&token, None, NOW).is_ok());
}

/// A parser with quadratic time needs minutes for these texts.
#[test]
fn long_texts_take_linear_time() {
    const LENGTH: usize = 1 << 15;
    for piece in [
        "a",
        " ",
        ",",
        "=",
        "\"",
        "\\",
        "Bearer a=",
        "a=\"",
        ", ",
        "a=b&",
        "%41",
        "../",
        ":",
        "[",
        "é",
    ] {
        let text = piece.repeat(LENGTH / piece.len());
        let start_time = Instant::now();
        for start in ["", "Bearer ", "https://a.example/", "{\"issuer\":\""] {
            let text = format!("{start}{text}");
            read_text(&text);
            for (_, check) in DOCUMENTS {
                check(text.as_bytes());
            }
        }
        let elapsed = start_time.elapsed();
        assert!(
            elapsed < Duration::from_secs(10),
            "{piece:?} took {elapsed:?}"
        );
    }
}
