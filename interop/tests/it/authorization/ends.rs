//! The end of a login: the user logs out, or the authorization server takes a token back.

use toolwire::auth::client::LogoutOutcome;
use toolwire_interop::Variation::Opaque;

use super::logins::ONE_LOGIN;
use super::{Scene, in_both_eras, who_calls};

/// The user is known to the authorization server, and only has to agree again.
const LOGIN_AGAIN: [&str; 2] = ["asked for consent", "granted authorization_code"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn logging_out_takes_the_tokens_back() {
    in_both_eras(&[Opaque], async |scene, version| {
        let oauth = scene.oauth();
        let client = scene.connect(oauth.clone(), version).await;
        who_calls(&client).await;
        let before = introspect(scene).await;
        assert!(before.contains(r#""active":true"#), "{before}");

        let url = &scene.server.url;
        let ended = oauth.log_out(url).await;
        assert!(matches!(ended, Ok(LogoutOutcome::Revoked)), "{ended:?}");
        assert_eq!(introspect(scene).await, r#"{"active":false}"#);
        assert!(oauth.account(url).await.expect("a store").is_none());
        let again = oauth.log_out(url).await;
        assert!(
            matches!(again, Ok(LogoutOutcome::NobodyWasLoggedIn)),
            "{again:?}"
        );
        assert_eq!(scene.seen().await, [&ONE_LOGIN[..], &["revoked"]].concat());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_token_is_renewed() {
    in_both_eras(&[Opaque], async |scene, version| {
        let client = scene.connect(scene.oauth(), version).await;
        let before = who_calls(&client).await;
        assert_ne!(scene.test_page("lose").await, "0");
        assert_eq!(who_calls(&client).await, before);
        let renewed = ["granted refresh_token"];
        assert_eq!(scene.seen().await, [&ONE_LOGIN[..], &renewed].concat());
        assert_eq!(scene.browser.opened().len(), 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_login_that_was_taken_back_leads_to_a_new_one() {
    in_both_eras(&[Opaque], async |scene, version| {
        let client = scene.connect(scene.oauth(), version).await;
        let before = who_calls(&client).await;
        let client_id = scene.browser.asked_for("client_id").unwrap_or_default();
        let url = format!("{}/token/revocation", scene.provider.issuer());
        let token = scene.server.last_token();
        let fields = [("token", token.expose()), ("client_id", &client_id)];
        let page = scene.browser.post(&url, &fields).await;
        assert_eq!(page.status, 200, "{page:?}");

        assert_eq!(who_calls(&client).await, before);
        let in_vain = ["refused invalid_grant"];
        let expected = [&ONE_LOGIN[..], &in_vain, &LOGIN_AGAIN].concat();
        assert_eq!(scene.seen().await, expected);
    })
    .await;
}

/// What the authorization server says about the token that was shown last.
async fn introspect(scene: &Scene<'_>) -> String {
    let url = format!("{}/token/introspection", scene.provider.issuer());
    let token = scene.server.last_token();
    let fields = [
        ("token", token.expose()),
        ("client_id", "resource-server"),
        ("client_secret", "secret of the resource server"),
    ];
    scene.browser.post(&url, &fields).await.text
}
