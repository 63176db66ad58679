//! Property tests: untrusted input of issuers and clients never grants access and never panics.

use std::sync::{Arc, LazyLock, Mutex};

use http::Request;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

use crate::documents::{AccessTokenClaims, IntrospectionResponse};
use crate::fetch::DocumentFetcher;
use crate::jws::test_keys::TestKey;
use crate::resource::config::tests::ISSUER;
use crate::resource::*;
use crate::rules::signing_algorithm::SigningAlgorithm;
use crate::test_http::CannedHttp;

const RESOURCE: &str = "https://mcp.example.com/mcp";

/// Returns a fetcher that returns this text for every URL.
fn fetcher_with_response(text: String) -> DocumentFetcher {
    DocumentFetcher::with_http_client(CannedHttp::new(move |_| (200, text.clone())))
}

fn with_keys(fetcher: DocumentFetcher) -> ResourceServer {
    let config = ResourceServerConfig::new(RESOURCE, [ISSUER]);
    config.with_fetcher(fetcher).build().unwrap()
}

fn with_introspection(fetcher: DocumentFetcher) -> ResourceServer {
    let url = "https://auth.example.com/introspect";
    let verifier = Introspection::new(url, "app", &"password".into(), fetcher).unwrap();
    let config = ResourceServerConfig::new(RESOURCE, [ISSUER]);
    config.with_verifier(verifier).build().unwrap()
}

/// Returns the token info if the server accepts the header.
fn authorized(server: &ResourceServer, authorization: &[u8]) -> Option<TokenInfo> {
    let mut request = Request::new(());
    let value = HeaderValue::from_bytes(authorization).ok()?;
    request.headers_mut().insert(AUTHORIZATION, value);
    let (head, ()) = request.into_parts();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(server.authorize(&head)).ok()
}

/// A valid token, and the keys that verify it.
static SIGNED: LazyLock<(String, Value)> = LazyLock::new(|| {
    let key = TestKey::new(SigningAlgorithm::EdDsa);
    let claims = json!({"iss": ISSUER, "aud": RESOURCE, "sub": "ann", "exp": now() + 6000});
    let token = key.token(&json!({"alg": "EdDSA"}), &claims);
    (token, json!({"keys": [key.public()]}))
});

/// Returns a text with one part replaced by another.
fn changed(text: &str, at: &Index, count: usize, part: &str) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    let at = at.index(characters.len());
    let end = characters.len().min(at + count);
    characters.splice(at..end, part.chars());
    characters.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn arbitrary_header_is_rejected(bytes in prop::collection::vec(0x20..=0xff_u8, 0..200)) {
        let keys = SIGNED.1.to_string();
        let server = with_keys(fetcher_with_response(keys));
        let scheme = |name: &str| [name.as_bytes(), b" ", &bytes].concat();
        for header in [bytes.clone(), scheme("Bearer"), scheme("DPoP"), scheme("bearer")] {
            prop_assert!(authorized(&server, &header).is_none());
        }
    }

    #[test]
    fn arbitrary_metadata_and_keys_grant_no_access(
        text in any::<String>(),
        (at, count) in (any::<Index>(), 0..30_usize),
        part in "[\\[\\]{}\":,a-z0-9]{0,6}",
    ) {
        let header = format!("Bearer {}", SIGNED.0);
        let metadata = json!({"issuer": ISSUER, "jwks_uri": "https://auth.example.com/keys"});
        let metadata = changed(&metadata.to_string(), &at, count, &part);
        for text in [text, metadata] {
            let server = with_keys(fetcher_with_response(text));
            prop_assert!(authorized(&server, header.as_bytes()).is_none());
        }
        // Keys may be unchanged after a change without meaning.
        let fetcher = fetcher_with_response(changed(&SIGNED.1.to_string(), &at, count, &part));
        let verifier = JwtVerifier::new(Vec::<String>::new(), &fetcher);
        let url = "https://auth.example.com/keys";
        let verifier = verifier.with_keys_at(ISSUER, url, &fetcher).unwrap();
        let config = ResourceServerConfig::new(RESOURCE, [ISSUER]).with_verifier(verifier);
        let token = authorized(&config.build().unwrap(), header.as_bytes());
        prop_assert!(token.is_none_or(|token| token.subject.as_deref() == Some("ann")));
    }

    #[test]
    fn introspection_response_grants_access_only_to_its_subject(
        text in any::<String>(),
        (at, count) in (any::<Index>(), 0..30_usize),
        part in "[\\[\\]{}\":,a-z0-9]{0,6}",
    ) {
        let valid = json!({"active": true, "sub": "ann", "aud": RESOURCE, "scope": "read", "exp": now() + 60});
        for text in [text, changed(&valid.to_string(), &at, count, &part)] {
            let server = with_introspection(fetcher_with_response(text.clone()));
            if let Some(token) = authorized(&server, b"Bearer opaque") {
                let response: IntrospectionResponse = serde_json::from_str(&text).unwrap();
                prop_assert!(response.active);
                let AccessTokenClaims { sub, aud, .. } = response.claims;
                prop_assert!(aud.is_some_and(|aud| aud.iter().any(|one| one == RESOURCE)));
                prop_assert_eq!(token.subject, sub.or(response.username));
            }
        }
    }
}

#[test]
fn valid_tokens_are_accepted() {
    let (token, keys) = &*SIGNED;
    let requests = Arc::new(Mutex::new(0));
    let (counted, keys) = (Arc::clone(&requests), keys.to_string());
    let http = CannedHttp::new(move |request| {
        *counted.lock().unwrap() += 1;
        let metadata = json!({"issuer": ISSUER, "jwks_uri": "https://auth.example.com/keys"});
        match request.uri().path() {
            "/keys" => (200, keys.clone()),
            _ => (200, metadata.to_string()),
        }
    });
    let server = with_keys(DocumentFetcher::with_http_client(http));
    let ann = authorized(&server, format!("Bearer {token}").as_bytes()).unwrap();
    assert_eq!(ann.subject.as_deref(), Some("ann"));
    assert!(ann.expires_at.is_some());
    assert_eq!(*requests.lock().unwrap(), 2);
    let response = json!({"active": true, "sub": "ann", "aud": RESOURCE});
    let server = with_introspection(fetcher_with_response(response.to_string()));
    let ann = authorized(&server, b"Bearer opaque").unwrap();
    // The token has no stated expiry, so streams opened with it end after 1 h.
    let left = ann.expires_at.unwrap().duration_since(UNIX_EPOCH).unwrap() - since_epoch();
    let hour = Duration::from_secs(3600 + 60);
    assert!(
        left <= hour && left > hour - Duration::from_secs(60),
        "{left:?}"
    );
}
