use serde_json::Value;

use super::super::config::tests::purpose;
use super::*;
use crate::test_http::CannedHttp;

fn canned(status: u16, response: Value) -> (CannedHttp, DocumentFetcher) {
    let http = CannedHttp::new(move |_| (status, response.to_string()));
    let fetcher = DocumentFetcher::with_http_client(http.clone());
    (http, fetcher)
}

#[tokio::test]
async fn google_token_has_the_subject_and_audience() {
    let (http, fetcher) = canned(
        200,
        json!({"aud": "client", "azp": "client", "sub": "42", "scope": "email", "exp": "4000000000"}),
    );
    let verifier = GoogleTokens::new(fetcher);
    for _ in 0..2 {
        let claims = verifier.verify(&"t".into(), &purpose()).await.unwrap();
        assert_eq!(claims.iss.as_deref(), Some("https://accounts.google.com"));
        assert_eq!(claims.aud, Some("client".into()));
        assert_eq!(claims.sub.as_deref(), Some("42"));
        assert_eq!(claims.exp, Some(4_000_000_000));
    }
    assert_eq!(http.urls(), ["https://oauth2.googleapis.com/tokeninfo"]);
    let request = http.last();
    assert_eq!(request.headers()["authorization"], "Bearer t");
    assert!(request.headers()["authorization"].is_sensitive());
}

#[tokio::test]
async fn github_token_has_the_subject_and_audience() {
    let (http, fetcher) = canned(
        200,
        json!({"id": 1, "scopes": ["repo", "user"], "user": {"login": "ann", "id": 42}, "app": {"client_id": "app"}}),
    );
    let verifier = GitHubTokens::new("app", &"hidden".into(), fetcher);
    let claims = verifier.verify(&"gho_t".into(), &purpose()).await.unwrap();
    assert_eq!(
        claims.iss.as_deref(),
        Some("https://github.com/login/oauth")
    );
    assert_eq!(claims.aud, Some("app".into()));
    assert_eq!(claims.sub.as_deref(), Some("42"));
    assert_eq!(
        claims.scope,
        Some(vec!["repo".to_owned(), "user".to_owned()].into())
    );
    assert_eq!(claims.extra["login"], "ann");
    assert!(claims.exp.is_some());
    assert_eq!(
        http.urls(),
        ["https://api.github.com/applications/app/token"]
    );
    let request = http.last();
    assert_eq!(&request.body()[..], br#"{"access_token":"gho_t"}"#);
    // `app:hidden`
    assert_eq!(request.headers()["authorization"], "Basic YXBwOmhpZGRlbg==");
    assert!(request.headers().contains_key("user-agent"));
    assert!(!format!("{verifier:?}").contains("hidden"));
}

#[tokio::test]
async fn unknown_token_differs_from_a_failed_request() {
    for (status, is_known_to_be_bad) in [
        (400, true),
        (404, true),
        (422, true),
        (401, false),
        (403, false),
        (429, false),
        (500, false),
    ] {
        let (_, fetcher) = canned(status, json!({}));
        let google = GoogleTokens::new(fetcher.clone());
        let github = GitHubTokens::new("app", &"hidden".into(), fetcher);
        let verifiers: [&dyn TokenVerifier; 2] = [&google, &github];
        for verifier in verifiers {
            let error = verifier.verify(&"t".into(), &purpose()).await.unwrap_err();
            let is_invalid = matches!(error, TokenError::Invalid(_));
            assert_eq!(is_invalid, is_known_to_be_bad, "{status}");
        }
    }
}
