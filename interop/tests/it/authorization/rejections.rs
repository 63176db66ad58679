//! Users who deny access, and requests that the authorization server rejects.

use http::header::LOCATION;
use serde_json::json;
use toolwire::Error;
use toolwire_auth::client::{AuthError, MemoryTokenStore, OAuthConfig};

use super::browser::Choice;
use super::token_file::TokenFile;
use super::{error_chain, in_both_eras, try_to_call, who_calls};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn user_who_denies_is_asked_once() {
    in_both_eras(&[], async |fixture, version| {
        fixture.browser.choose(Choice::Deny);
        let rejected = fixture.try_to_connect(fixture.oauth(), version).await;
        let why = reason(&rejected.expect_err("the user denied"));
        let expected = "access_denied (End-User aborted interaction)";
        assert!(why.ends_with(expected), "{why}");
        assert_eq!(fixture.browser.opened().len(), 1);
        assert_eq!(
            fixture.take_events().await,
            ["registered", "asked for login"]
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn denied_additional_scope_leaves_the_login_valid() {
    in_both_eras(&[], async |fixture, version| {
        let client = fixture.connect(fixture.oauth(), version).await;
        let before = who_calls(&client).await;
        fixture.browser.choose(Choice::Deny);
        let rejected = try_to_call(&client, "write", json!({"text": "a"})).await;
        let why = reason(&rejected.expect_err("the user denied"));
        assert!(why.contains("access_denied"), "{why}");
        assert_eq!(fixture.browser.opened().len(), 2);
        // The user is not asked again in a row: the server's rejection is final.
        let rejected = try_to_call(&client, "write", json!({"text": "a"})).await;
        let rejected = rejected.expect_err("the user denied");
        assert_eq!(rejected.http_status(), Some(403));
        assert_eq!(who_calls(&client).await, before);
        assert_eq!(fixture.browser.opened().len(), 2);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn authorization_server_requires_a_challenge_and_a_registered_redirect() {
    in_both_eras(&[], async |fixture, version| {
        let client = fixture.connect(fixture.oauth(), version).await;
        who_calls(&client).await;
        let opened = fixture.browser.opened();
        let url = opened.first().expect("a page was opened");

        let without_challenge = url.replace("&code_challenge", "&other");
        let page = fixture.browser.get(&without_challenge).await;
        let location = page.headers.get(LOCATION).expect("the page redirects");
        let location = location.to_str().expect("the header is text");
        assert!(location.contains("error=invalid_request"), "{location}");

        let other_redirect = url.replace("callback", "elsewhere");
        let page = fixture.browser.get(&other_redirect).await;
        assert_eq!(page.status, 400);
        assert!(page.headers.get(LOCATION).is_none());
        assert!(page.text.contains("invalid_redirect_uri"), "{page:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn client_without_a_login_handler_reports_the_missing_scopes() {
    in_both_eras(&[], async |fixture, version| {
        let stored = OAuthConfig::from_store(MemoryTokenStore::new());
        let rejected = fixture.try_to_connect(stored, version).await;
        let rejected = rejected.expect_err("there is no login");
        assert!(AuthError::from_error(&rejected).is_some_and(AuthError::needs_login));

        let file = TokenFile::new("missing", version);
        let login = fixture.oauth().with_store(file.store());
        login
            .log_in(&fixture.server.url)
            .await
            .expect("the login is stored");
        let client = fixture
            .connect(OAuthConfig::from_store(file.store()), version)
            .await;
        let rejected = try_to_call(&client, "write", json!({"text": "a"})).await;
        let rejected = rejected.expect_err("the user cannot be asked");
        let problem = AuthError::from_error(&rejected).expect("the error has a cause");
        assert!(problem.needs_login());
        let wanted = problem.required_scopes().unwrap_or_default();
        assert!(wanted.contains("notes:write"), "{wanted}");
    })
    .await;
}

/// Returns the reason why there is no token.
fn reason(error: &Error) -> String {
    let reason = AuthError::from_error(error).map(ToString::to_string);
    reason.unwrap_or_else(|| panic!("{}", error_chain(error)))
}
