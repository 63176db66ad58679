//! Users who say no, and requests that the authorization server refuses.

use http::header::LOCATION;
use serde_json::json;
use toolwire::Error;
use toolwire::auth::client::{AuthError, MemoryTokenStore, OAuthConfig};

use super::browser::Choice;
use super::token_file::TokenFile;
use super::{in_both_eras, story, try_to_call, who_calls};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_who_denies_is_asked_once() {
    in_both_eras(&[], async |scene, version| {
        scene.browser.choose(Choice::Deny);
        let refused = scene.try_to_connect(scene.oauth(), version).await;
        let why = reason(&refused.expect_err("the user said no"));
        let expected = "access_denied (End-User aborted interaction)";
        assert!(why.ends_with(expected), "{why}");
        assert_eq!(scene.browser.opened().len(), 1);
        assert_eq!(scene.seen().await, ["registered", "asked for login"]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_who_denies_more_keeps_the_rest() {
    in_both_eras(&[], async |scene, version| {
        let client = scene.connect(scene.oauth(), version).await;
        let before = who_calls(&client).await;
        scene.browser.choose(Choice::Deny);
        let refused = try_to_call(&client, "write", json!({"text": "a"})).await;
        let why = reason(&refused.expect_err("the user said no"));
        assert!(why.contains("access_denied"), "{why}");
        assert_eq!(scene.browser.opened().len(), 2);
        // The same question is not asked twice in a row: the server's answer stands.
        let refused = try_to_call(&client, "write", json!({"text": "a"})).await;
        let refused = refused.expect_err("the user said no");
        assert_eq!(refused.http_status(), Some(403));
        assert_eq!(who_calls(&client).await, before);
        assert_eq!(scene.browser.opened().len(), 2);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_authorization_server_insists_on_a_challenge_and_on_the_redirect() {
    in_both_eras(&[], async |scene, version| {
        let client = scene.connect(scene.oauth(), version).await;
        who_calls(&client).await;
        let opened = scene.browser.opened();
        let url = opened.first().expect("it was sent there");

        let without = url.replace("&code_challenge", "&other");
        let page = scene.browser.get(&without).await;
        let location = page.headers.get(LOCATION).expect("it goes back");
        let location = location.to_str().expect("it is text");
        assert!(location.contains("error=invalid_request"), "{location}");

        let elsewhere = url.replace("callback", "elsewhere");
        let page = scene.browser.get(&elsewhere).await;
        assert_eq!(page.status, 400);
        assert!(page.headers.get(LOCATION).is_none());
        assert!(page.text.contains("invalid_redirect_uri"), "{page:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_asks_nobody_says_what_is_missing() {
    in_both_eras(&[], async |scene, version| {
        let nobody = OAuthConfig::from_store(MemoryTokenStore::new());
        let refused = scene.try_to_connect(nobody, version).await;
        let refused = refused.expect_err("nobody is logged in");
        assert!(AuthError::from_error(&refused).is_some_and(AuthError::needs_login));

        let file = TokenFile::new("missing", version);
        let login = scene.oauth().with_store(file.store());
        login.log_in(&scene.server.url).await.expect("it is kept");
        let client = scene
            .connect(OAuthConfig::from_store(file.store()), version)
            .await;
        let refused = try_to_call(&client, "write", json!({"text": "a"})).await;
        let refused = refused.expect_err("nobody can be asked for more");
        let problem = AuthError::from_error(&refused).expect("there is no token for it");
        assert!(problem.needs_login());
        let wanted = problem.wanted_scopes().unwrap_or_default();
        assert!(wanted.contains("notes:write"), "{wanted}");
    })
    .await;
}

/// Why there was no token.
fn reason(error: &Error) -> String {
    let reason = AuthError::from_error(&error).map(ToString::to_string);
    reason.unwrap_or_else(|| panic!("{}", story(error)))
}
