//! The provider knows its user and asks no more: then only this server can see to it that the user meant it.

use serde_json::json;

use super::browser::{Browser, location, sealed_request};
use super::stage::{Client, REDIRECT, Stage, parameters};

/// Agrees in a browser, and returns where the provider is.
async fn begin(browser: &mut Browser, client: &Client) -> String {
    let page = browser.open(&client.authorize(&[])).await;
    let sealed = sealed_request(&page);
    let allowed = [("request", sealed.as_str()), ("decision", "allow")];
    location(&browser.submit("/consent", &allowed).await)
}

fn codes_at_the_provider(stage: &Stage) -> usize {
    stage.provider.behaviour.lock().unwrap().forms.len()
}

#[tokio::test]
async fn a_login_that_somebody_else_agreed_to_ends_in_their_browser_only() {
    let stage = Stage::new().await;
    let client = stage.client().await;
    let mut attacker = stage.browser();
    let url = begin(&mut attacker, &client).await;
    // The victim opens the attacker's link, and the provider sends them on at once.
    let back = stage.provider.log_in(&url);
    let mut victim = stage.browser();
    let refused = victim.open(&back).await;
    assert_eq!(refused.status(), 400);
    assert_eq!(refused.header("location"), None);

    // Nor does it help that the victim is known here, or has logged in here with this very client.
    let mut known = stage.browser();
    stage.agree(&mut known, &client.authorize(&[])).await;
    let before = codes_at_the_provider(&stage);
    assert_eq!(known.open(&back).await.status(), 400);
    begin_again(&mut known, &client).await;
    assert_eq!(known.open(&back).await.status(), 400);
    assert_eq!(codes_at_the_provider(&stage), before);
}

/// A browser whose user has agreed before goes to the provider at once.
async fn begin_again(browser: &mut Browser, client: &Client) -> String {
    location(&browser.open(&client.authorize(&[])).await)
}

#[tokio::test]
async fn consent_is_remembered_for_one_client_one_way_back_and_one_browser() {
    const OTHER_REDIRECT: &str = "https://app.example.com/other";
    let stage = Stage::with(|config| config.with_supported_scopes(["read", "write"])).await;
    let metadata =
        json!({"redirect_uris": [REDIRECT, OTHER_REDIRECT], "token_endpoint_auth_method": "none"});
    let client = stage.register(metadata).await;
    let other = stage.client().await;
    let mut browser = stage.browser();
    let target = client.authorize(&[("scope", "read")]);
    stage.agree(&mut browser, &target).await;

    let again = location(&browser.open(&target).await);
    assert!(again.starts_with(&stage.provider.issuer), "{again}");
    let more = client.authorize(&[("scope", "read write")]);
    sealed_request(&browser.open(&more).await);
    let of_another = other.authorize(&[("scope", "read")]);
    sealed_request(&browser.open(&of_another).await);
    let elsewhere = client.authorize(&[("scope", "read"), ("redirect_uri", OTHER_REDIRECT)]);
    sealed_request(&browser.open(&elsewhere).await);
    let mut elsewhere = stage.browser();
    sealed_request(&elsewhere.open(&target).await);
}

#[tokio::test]
async fn a_way_back_to_the_users_machine_is_asked_about_each_time() {
    let stage = Stage::new().await;
    let metadata =
        json!({"redirect_uris": ["http://127.0.0.1/cb"], "token_endpoint_auth_method": "none"});
    let client = stage.register(metadata).await;
    let mut browser = stage.browser();
    for _ in 0..2 {
        stage.agree(&mut browser, &client.authorize(&[])).await;
    }
}

#[tokio::test]
async fn a_callback_counts_once() {
    let stage = Stage::new().await;
    let client = stage.client().await;
    let mut browser = stage.browser();
    let url = begin(&mut browser, &client).await;
    let cookies = browser.cookies.clone();
    let back = stage.provider.log_in(&url);
    assert!(location(&browser.open(&back).await).starts_with(REDIRECT));
    assert_eq!(browser.open(&back).await.status(), 400);
    // Also with the cookies of before.
    browser.cookies = cookies;
    assert_eq!(browser.open(&back).await.status(), 400);
    assert_eq!(codes_at_the_provider(&stage), 1);
}

#[tokio::test]
async fn of_two_callbacks_at_once_one_counts() {
    let stage = Stage::new().await;
    let client = stage.client().await;
    let mut browser = stage.browser();
    let url = begin(&mut browser, &client).await;
    let back = stage.provider.log_in(&url);
    let mut twin = browser.clone();
    let (one, other) = tokio::join!(browser.open(&back), twin.open(&back));
    let mut statuses = [one.status(), other.status()];
    statuses.sort_unstable();
    assert_eq!(statuses, [303, 400]);
    assert_eq!(codes_at_the_provider(&stage), 1);
}

#[tokio::test]
async fn cookies_that_nobody_gave_out_are_worth_nothing() {
    let stage = Stage::new().await;
    let stranger = Stage::new().await;
    let client = stage.client().await;
    let mut browser = stage.browser();
    let url = begin(&mut browser, &client).await;
    let back = stage.provider.log_in(&url);
    let good = browser.cookies.clone();
    assert_eq!(good.len(), 2);

    let mut foreign = stranger.browser();
    begin(&mut foreign, &stranger.client().await).await;
    for name in good.keys() {
        let value = &good[name];
        let mut flipped = value.clone().into_bytes();
        let at = flipped.len() / 2;
        flipped[at] = if flipped[at] == b'A' { b'B' } else { b'A' };
        let forgeries = [
            String::new(),
            "forged".to_owned(),
            String::from_utf8(flipped).unwrap(),
            foreign.cookies[name].clone(),
        ];
        for forged in forgeries {
            browser.cookies = good.clone();
            browser.cookies.insert(name.clone(), forged);
            assert_eq!(browser.open(&back).await.status(), 400, "{name}");
        }
        browser.cookies = good.clone();
        browser.cookies.remove(name);
        assert_eq!(browser.open(&back).await.status(), 400, "{name}");
    }
    // Swapped, they are no better.
    browser.cookies = good.clone();
    let values: Vec<String> = good.values().rev().cloned().collect();
    for (cookie, value) in browser.cookies.values_mut().zip(values) {
        *cookie = value;
    }
    assert_eq!(browser.open(&back).await.status(), 400);
    browser.cookies = good;
    assert!(location(&browser.open(&back).await).starts_with(REDIRECT));
}

#[tokio::test]
async fn the_state_for_the_provider_is_new_each_time_and_not_the_clients() {
    let stage = Stage::new().await;
    let client = stage.client().await;
    let mut browser = stage.browser();
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
async fn nothing_is_kept_for_the_provider_before_the_user_agrees() {
    let stage = Stage::new().await;
    let client = stage.client().await;
    let mut browser = stage.browser();
    sealed_request(&browser.open(&client.authorize(&[])).await);
    let names: Vec<&String> = browser.cookies.keys().collect();
    assert_eq!(names, ["__Host-toolwire-browser"]);
}
