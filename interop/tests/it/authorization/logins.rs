//! A user logs in, and is left alone as long as that lasts.

use serde_json::json;
use toolwire::auth::client::OAuthConfig;
use toolwire_interop::Variation;

use super::token_file::TokenFile;
use super::{call, call_until_renewed, in_both_eras, who_calls};

/// What the authorization server does for one login.
pub(super) const ONE_LOGIN: [&str; 4] = [
    "registered",
    "asked for login",
    "asked for consent",
    "granted authorization_code",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_request_leads_to_a_login() {
    in_both_eras(&[], async |scene, version| {
        let oauth = scene.oauth();
        let client = scene.connect(oauth.clone(), version).await;
        assert_eq!(client.version(), version);

        let account = oauth.account(&scene.server.url).await.expect("it is kept");
        let account = account.expect("somebody logged in");
        assert_eq!(account.issuer(), scene.provider.issuer());
        assert_eq!(account.resource(), scene.server.url);
        assert!(account.can_refresh() && !account.is_bound());

        let caller = who_calls(&client).await;
        assert_eq!(caller, ["ann", account.client_id(), "notes:read"]);
        assert_eq!(scene.seen().await, ONE_LOGIN);
        let resource = scene.browser.asked_for("resource");
        assert_eq!(resource.as_deref(), Some(scene.server.url.as_str()));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_login_can_come_before_any_call() {
    in_both_eras(&[], async |scene, version| {
        let oauth = scene.oauth().with_scopes("openid notes:write");
        let oauth = oauth.expect("it is a scope");
        let account = oauth.log_in(&scene.server.url).await;
        let account = account.expect("the user agrees");
        assert_eq!(account.user(), Some("ann"));
        assert_eq!(account.scopes(), Some("notes:write notes:read"));
        assert_eq!(scene.seen().await, ONE_LOGIN);

        let client = scene.connect(oauth, version).await;
        who_calls(&client).await;
        assert_eq!(
            call(&client, "write", json!({"text": "a"})).await,
            "written: a"
        );
        assert!(scene.seen().await.is_empty());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_is_renewed_without_the_user() {
    in_both_eras(&[Variation::Short], async |scene, version| {
        let client = scene.connect(scene.oauth(), version).await;
        let before = who_calls(&client).await;
        // Each refresh token is good once, so the second comes from the first.
        call_until_renewed(scene, &client).await;
        call_until_renewed(scene, &client).await;
        assert_eq!(who_calls(&client).await, before);
        assert_eq!(scene.browser.opened().len(), 1);
        check_renewals(&scene.seen().await);
    })
    .await;
}

/// One login, and nothing but renewals after it.
fn check_renewals(seen: &[String]) {
    let (login, renewals) = seen.split_at(ONE_LOGIN.len());
    assert_eq!(login, ONE_LOGIN);
    assert!(renewals.len() >= 2, "{renewals:?}");
    assert!(renewals.iter().all(|what| what == "granted refresh_token"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_that_needs_more_asks_for_more() {
    in_both_eras(&[], async |scene, version| {
        let client = scene.connect(scene.oauth(), version).await;
        who_calls(&client).await;
        let first = scene.browser.asked_for("scope");
        assert_eq!(first.as_deref(), Some("notes:read offline_access"));

        let written = call(&client, "write", json!({"text": "a"})).await;
        assert_eq!(written, "written: a");
        let second = scene.browser.asked_for("scope").unwrap_or_default();
        let mut second: Vec<&str> = second.split(' ').collect();
        second.sort_unstable();
        assert_eq!(second, ["notes:read", "notes:write", "offline_access"]);
        let caller = who_calls(&client).await;
        assert_eq!(
            caller.last().map(String::as_str),
            Some("notes:read notes:write")
        );

        assert_eq!(scene.browser.opened().len(), 2);
        let seen = scene.seen().await;
        // The user is known by now, and is asked for the rest only.
        let more = ["asked for consent", "granted authorization_code"];
        assert_eq!(seen, [&ONE_LOGIN[..], &more].concat());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stored_login_is_enough() {
    in_both_eras(&[], async |scene, version| {
        let file = TokenFile::new("stored", version);
        let store = file.store();
        let client = scene.connect(scene.oauth().with_store(store), version);
        let first = who_calls(&client.await).await;

        let again = scene.connect(scene.oauth().with_store(file.store()), version);
        assert_eq!(who_calls(&again.await).await, first);
        // Not even a way to log in is needed.
        let unattended = scene.connect(OAuthConfig::from_store(file.store()), version);
        assert_eq!(who_calls(&unattended.await).await, first);
        assert_eq!(scene.seen().await, ONE_LOGIN);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_that_share_a_file_share_its_refresh_tokens() {
    in_both_eras(&[Variation::Short], async |scene, version| {
        let file = TokenFile::new("shared", version);
        let one = scene.connect(scene.oauth().with_store(file.store()), version);
        let one = one.await;
        let other = scene
            .connect(OAuthConfig::from_store(file.store()), version)
            .await;
        // Whoever used a refresh token a second time would lose the login for both.
        tokio::join!(
            call_until_renewed(scene, &one),
            call_until_renewed(scene, &other)
        );
        tokio::join!(
            call_until_renewed(scene, &one),
            call_until_renewed(scene, &other)
        );
        check_renewals(&scene.seen().await);
    })
    .await;
}
