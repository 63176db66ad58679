//! Confused deputy: the provider redirects a known user without asking, so the proxy itself must obtain consent.

use serde_json::json;

use super::browser::{Browser, location, sealed_request};
use super::fixture::{Client, ProxyFixture, REDIRECT, parameters};

/// Consents in a browser, and returns the authorization URL of the provider.
async fn begin(browser: &mut Browser, client: &Client) -> String {
    let page = browser.open(&client.authorize(&[])).await;
    let sealed = sealed_request(&page);
    let allowed = [("request", sealed.as_str()), ("decision", "allow")];
    location(&browser.submit("/consent", &allowed).await)
}

fn token_requests_at_the_provider(fixture: &ProxyFixture) -> usize {
    fixture.provider.state.lock().unwrap().forms.len()
}

#[tokio::test]
async fn login_can_be_completed_only_in_the_browser_that_consented() {
    let fixture = ProxyFixture::new().await;
    let client = fixture.client().await;
    let mut attacker = fixture.browser();
    let url = begin(&mut attacker, &client).await;
    // The victim opens the attacker's link, and the provider redirects the victim at once.
    let callback = fixture.provider.log_in(&url);
    let mut victim = fixture.browser();
    let rejected = victim.open(&callback).await;
    assert_eq!(rejected.status(), 400);
    assert_eq!(rejected.header("location"), None);

    // The result is the same if the victim has already logged in with this client.
    let mut known = fixture.browser();
    fixture
        .consent_and_log_in(&mut known, &client.authorize(&[]))
        .await;
    let before = token_requests_at_the_provider(&fixture);
    assert_eq!(known.open(&callback).await.status(), 400);
    begin_again(&mut known, &client).await;
    assert_eq!(known.open(&callback).await.status(), 400);
    assert_eq!(token_requests_at_the_provider(&fixture), before);
}

/// Starts a login in a browser with consent, and returns the authorization URL of the provider.
async fn begin_again(browser: &mut Browser, client: &Client) -> String {
    location(&browser.open(&client.authorize(&[])).await)
}

#[tokio::test]
async fn consent_is_stored_for_one_client_redirect_uri_scope_and_browser() {
    const OTHER_REDIRECT: &str = "https://app.example.com/other";
    let fixture =
        ProxyFixture::with(|config| config.with_supported_scopes(["read", "write"])).await;
    let metadata =
        json!({"redirect_uris": [REDIRECT, OTHER_REDIRECT], "token_endpoint_auth_method": "none"});
    let client = fixture.register(metadata).await;
    let other = fixture.client().await;
    let mut browser = fixture.browser();
    let target = client.authorize(&[("scope", "read")]);
    fixture.consent_and_log_in(&mut browser, &target).await;

    let again = location(&browser.open(&target).await);
    assert!(again.starts_with(&fixture.provider.issuer), "{again}");
    let more = client.authorize(&[("scope", "read write")]);
    sealed_request(&browser.open(&more).await);
    let of_other_client = other.authorize(&[("scope", "read")]);
    sealed_request(&browser.open(&of_other_client).await);
    let other_redirect = client.authorize(&[("scope", "read"), ("redirect_uri", OTHER_REDIRECT)]);
    sealed_request(&browser.open(&other_redirect).await);
    let mut other_browser = fixture.browser();
    sealed_request(&other_browser.open(&target).await);
}

#[tokio::test]
async fn loopback_redirect_uri_requires_consent_each_time() {
    let fixture = ProxyFixture::new().await;
    let metadata =
        json!({"redirect_uris": ["http://127.0.0.1/cb"], "token_endpoint_auth_method": "none"});
    let client = fixture.register(metadata).await;
    let mut browser = fixture.browser();
    for _ in 0..2 {
        fixture
            .consent_and_log_in(&mut browser, &client.authorize(&[]))
            .await;
    }
}

#[tokio::test]
async fn callback_is_accepted_once() {
    let fixture = ProxyFixture::new().await;
    let client = fixture.client().await;
    let mut browser = fixture.browser();
    let url = begin(&mut browser, &client).await;
    let cookies = browser.cookies.clone();
    let callback = fixture.provider.log_in(&url);
    assert!(location(&browser.open(&callback).await).starts_with(REDIRECT));
    assert_eq!(browser.open(&callback).await.status(), 400);
    // The same holds with the earlier cookies.
    browser.cookies = cookies;
    assert_eq!(browser.open(&callback).await.status(), 400);
    assert_eq!(token_requests_at_the_provider(&fixture), 1);
}

#[tokio::test]
async fn one_of_two_concurrent_callbacks_is_accepted() {
    let fixture = ProxyFixture::new().await;
    let client = fixture.client().await;
    let mut browser = fixture.browser();
    let url = begin(&mut browser, &client).await;
    let callback = fixture.provider.log_in(&url);
    let mut same_browser = browser.clone();
    let (one, other) = tokio::join!(browser.open(&callback), same_browser.open(&callback));
    let mut statuses = [one.status(), other.status()];
    statuses.sort_unstable();
    assert_eq!(statuses, [303, 400]);
    assert_eq!(token_requests_at_the_provider(&fixture), 1);
}

#[tokio::test]
async fn forged_cookies_are_rejected() {
    let fixture = ProxyFixture::new().await;
    let other_proxy = ProxyFixture::new().await;
    let client = fixture.client().await;
    let mut browser = fixture.browser();
    let url = begin(&mut browser, &client).await;
    let callback = fixture.provider.log_in(&url);
    let valid = browser.cookies.clone();
    assert_eq!(valid.len(), 2);

    let mut other_browser = other_proxy.browser();
    begin(&mut other_browser, &other_proxy.client().await).await;
    for name in valid.keys() {
        let value = &valid[name];
        let mut flipped = value.clone().into_bytes();
        let at = flipped.len() / 2;
        flipped[at] = if flipped[at] == b'A' { b'B' } else { b'A' };
        let forgeries = [
            String::new(),
            "forged".to_owned(),
            String::from_utf8(flipped).unwrap(),
            other_browser.cookies[name].clone(),
        ];
        for forged in forgeries {
            browser.cookies = valid.clone();
            browser.cookies.insert(name.clone(), forged);
            assert_eq!(browser.open(&callback).await.status(), 400, "{name}");
        }
        browser.cookies = valid.clone();
        browser.cookies.remove(name);
        assert_eq!(browser.open(&callback).await.status(), 400, "{name}");
    }
    // Swapped cookies are rejected.
    browser.cookies = valid.clone();
    let values: Vec<String> = valid.values().rev().cloned().collect();
    for (cookie, value) in browser.cookies.values_mut().zip(values) {
        *cookie = value;
    }
    assert_eq!(browser.open(&callback).await.status(), 400);
    browser.cookies = valid;
    assert!(location(&browser.open(&callback).await).starts_with(REDIRECT));
}

#[tokio::test]
async fn upstream_state_is_random_and_differs_from_the_client_state() {
    let fixture = ProxyFixture::new().await;
    let client = fixture.client().await;
    let mut browser = fixture.browser();
    let first = parameters(&begin(&mut browser, &client).await)["state"].clone();
    let second = parameters(&begin_again(&mut browser, &client).await)["state"].clone();
    assert_ne!(first, second);
    assert!(first.len() >= 43 && second.len() >= 43);
    for state in ["", "the+state", "unknown"] {
        let target = format!("/callback?code=c&state={state}");
        assert_eq!(browser.open(&target).await.status(), 400);
    }
}

#[tokio::test]
async fn no_login_is_stored_before_consent() {
    let fixture = ProxyFixture::new().await;
    let client = fixture.client().await;
    let mut browser = fixture.browser();
    sealed_request(&browser.open(&client.authorize(&[])).await);
    let names: Vec<&String> = browser.cookies.keys().collect();
    assert_eq!(names, ["__Host-toolwire-browser"]);
}
