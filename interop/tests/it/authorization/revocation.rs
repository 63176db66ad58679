//! The end of a login: the user logs out, or the authorization server revokes a token.

use toolwire_auth::client::LogoutOutcome;
use toolwire_interop::Variation::Opaque;

use super::logins::ONE_LOGIN;
use super::{Fixture, in_both_eras, who_calls};

/// The user is known to the authorization server and only consents again.
const LOGIN_AGAIN: [&str; 2] = ["asked for consent", "granted authorization_code"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn logout_revokes_the_tokens() {
    in_both_eras(&[Opaque], async |fixture, version| {
        let oauth = fixture.oauth();
        let client = fixture.connect(oauth.clone(), version).await;
        who_calls(&client).await;
        let before = introspect(fixture).await;
        assert!(before.contains(r#""active":true"#), "{before}");

        let url = &fixture.server.url;
        let ended = oauth.log_out(url).await;
        assert!(matches!(ended, Ok(LogoutOutcome::Revoked)), "{ended:?}");
        assert_eq!(introspect(fixture).await, r#"{"active":false}"#);
        assert!(oauth.account(url).await.expect("a store").is_none());
        let again = oauth.log_out(url).await;
        assert!(matches!(again, Ok(LogoutOutcome::NotLoggedIn)), "{again:?}");
        assert_eq!(
            fixture.take_events().await,
            [&ONE_LOGIN[..], &["revoked"]].concat()
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn revoked_access_token_is_refreshed() {
    in_both_eras(&[Opaque], async |fixture, version| {
        let client = fixture.connect(fixture.oauth(), version).await;
        let before = who_calls(&client).await;
        assert_ne!(fixture.test_page("delete-access-tokens").await, "0");
        assert_eq!(who_calls(&client).await, before);
        let renewed = ["granted refresh_token"];
        assert_eq!(
            fixture.take_events().await,
            [&ONE_LOGIN[..], &renewed].concat()
        );
        assert_eq!(fixture.browser.opened().len(), 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn revoked_login_starts_a_new_login() {
    in_both_eras(&[Opaque], async |fixture, version| {
        let client = fixture.connect(fixture.oauth(), version).await;
        let before = who_calls(&client).await;
        let client_id = fixture
            .browser
            .last_parameter("client_id")
            .unwrap_or_default();
        let url = format!("{}/token/revocation", fixture.provider.issuer());
        let token = fixture.server.last_token();
        let fields = [("token", token.expose()), ("client_id", &client_id)];
        let page = fixture.browser.post(&url, &fields).await;
        assert_eq!(page.status, 200, "{page:?}");

        assert_eq!(who_calls(&client).await, before);
        let rejected = ["rejected invalid_grant"];
        let expected = [&ONE_LOGIN[..], &rejected, &LOGIN_AGAIN].concat();
        assert_eq!(fixture.take_events().await, expected);
    })
    .await;
}

/// Returns what the authorization server reports about the last token.
async fn introspect(fixture: &Fixture<'_>) -> String {
    let url = format!("{}/token/introspection", fixture.provider.issuer());
    let token = fixture.server.last_token();
    let fields = [
        ("token", token.expose()),
        ("client_id", "resource-server"),
        ("client_secret", "secret of the resource server"),
    ];
    fixture.browser.post(&url, &fields).await.text
}
