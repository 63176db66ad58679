//! Logins: the first one starts automatically, and later requests use and refresh its tokens.

use serde_json::json;
use toolwire_auth::client::OAuthConfig;
use toolwire_interop::Variation;

use super::token_file::TokenFile;
use super::{call, call_until_renewed, in_both_eras, who_calls};

/// The requests at the authorization server for one login.
pub(super) const ONE_LOGIN: [&str; 4] = [
    "registered",
    "asked for login",
    "asked for consent",
    "granted authorization_code",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rejected_request_starts_a_login() {
    in_both_eras(&[], async |fixture, version| {
        let oauth = fixture.oauth();
        let client = fixture.connect(oauth.clone(), version).await;
        assert_eq!(client.version(), version);

        let account = oauth
            .account(&fixture.server.url)
            .await
            .expect("the store is readable");
        let account = account.expect("there is a login");
        assert_eq!(account.issuer(), fixture.provider.issuer());
        assert_eq!(account.resource(), fixture.server.url);
        assert!(account.can_refresh() && !account.is_bound());

        let caller = who_calls(&client).await;
        assert_eq!(caller, ["ann", account.client_id(), "notes:read"]);
        assert_eq!(fixture.take_events().await, ONE_LOGIN);
        let resource = fixture.browser.last_parameter("resource");
        assert_eq!(resource.as_deref(), Some(fixture.server.url.as_str()));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn login_before_the_first_call_is_used_by_the_client() {
    in_both_eras(&[], async |fixture, version| {
        let oauth = fixture.oauth().with_scopes("openid notes:write");
        let oauth = oauth.expect("the scopes are valid");
        let account = oauth.log_in(&fixture.server.url).await;
        let account = account.expect("the user consents");
        assert_eq!(account.user(), Some("ann"));
        assert_eq!(account.scopes(), Some("notes:write notes:read"));
        assert_eq!(fixture.take_events().await, ONE_LOGIN);

        let client = fixture.connect(oauth, version).await;
        who_calls(&client).await;
        assert_eq!(
            call(&client, "write", json!({"text": "a"})).await,
            "written: a"
        );
        assert!(fixture.take_events().await.is_empty());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn token_is_refreshed_without_the_user() {
    in_both_eras(&[Variation::Short], async |fixture, version| {
        let client = fixture.connect(fixture.oauth(), version).await;
        let before = who_calls(&client).await;
        // Each refresh token is valid once, so the second comes from the first.
        call_until_renewed(fixture, &client).await;
        call_until_renewed(fixture, &client).await;
        assert_eq!(who_calls(&client).await, before);
        assert_eq!(fixture.browser.opened().len(), 1);
        check_renewals(&fixture.take_events().await);
    })
    .await;
}

/// Checks that there is one login, followed by refreshes only.
fn check_renewals(events: &[String]) {
    let (login, renewals) = events.split_at(ONE_LOGIN.len());
    assert_eq!(login, ONE_LOGIN);
    assert!(renewals.len() >= 2, "{renewals:?}");
    assert!(
        renewals
            .iter()
            .all(|event| event == "granted refresh_token")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tool_with_another_scope_requests_that_scope() {
    in_both_eras(&[], async |fixture, version| {
        let client = fixture.connect(fixture.oauth(), version).await;
        who_calls(&client).await;
        let first = fixture.browser.last_parameter("scope");
        assert_eq!(first.as_deref(), Some("notes:read offline_access"));

        let written = call(&client, "write", json!({"text": "a"})).await;
        assert_eq!(written, "written: a");
        let second = fixture.browser.last_parameter("scope").unwrap_or_default();
        let mut second: Vec<&str> = second.split(' ').collect();
        second.sort_unstable();
        assert_eq!(second, ["notes:read", "notes:write", "offline_access"]);
        let caller = who_calls(&client).await;
        assert_eq!(
            caller.last().map(String::as_str),
            Some("notes:read notes:write")
        );

        assert_eq!(fixture.browser.opened().len(), 2);
        let events = fixture.take_events().await;
        // The user is known, and is asked for consent only.
        let second_login = ["asked for consent", "granted authorization_code"];
        assert_eq!(events, [&ONE_LOGIN[..], &second_login].concat());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stored_login_is_used() {
    in_both_eras(&[], async |fixture, version| {
        let file = TokenFile::new("stored", version);
        let store = file.store();
        let client = fixture.connect(fixture.oauth().with_store(store), version);
        let first = who_calls(&client.await).await;

        let again = fixture.connect(fixture.oauth().with_store(file.store()), version);
        assert_eq!(who_calls(&again.await).await, first);
        // This client has no login handler.
        let unattended = fixture.connect(OAuthConfig::from_store(file.store()), version);
        assert_eq!(who_calls(&unattended.await).await, first);
        assert_eq!(fixture.take_events().await, ONE_LOGIN);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_with_one_store_share_its_refresh_tokens() {
    in_both_eras(&[Variation::Short], async |fixture, version| {
        let file = TokenFile::new("shared", version);
        let one = fixture.connect(fixture.oauth().with_store(file.store()), version);
        let one = one.await;
        let other = fixture
            .connect(OAuthConfig::from_store(file.store()), version)
            .await;
        // A second use of a refresh token would end the login of both clients.
        tokio::join!(
            call_until_renewed(fixture, &one),
            call_until_renewed(fixture, &other)
        );
        tokio::join!(
            call_until_renewed(fixture, &one),
            call_until_renewed(fixture, &other)
        );
        check_renewals(&fixture.take_events().await);
    })
    .await;
}
