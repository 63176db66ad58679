//! Redirects: the proxy redirects only to registered redirect URIs.

use serde_json::json;

use super::browser::{location, sealed_request};
use super::fixture::{ORIGIN, ProxyFixture, REDIRECT, error_of, parameters, registration};

#[tokio::test]
async fn unregistered_redirect_uri_returns_400_without_a_redirect() {
    let fixture = ProxyFixture::new().await;
    let client = fixture.client().await;
    let mut browser = fixture.browser();
    for redirect in [
        "https://evil.test/callback",
        "https://app.example.com/callback/",
        "https://app.example.com/callback?next=https://evil.test",
        "https://app.example.com/callback#",
        "https://app.example.com:8443/callback",
        "https://app.example.com.evil.test/callback",
        "https://app.example.com@evil.test/callback",
        "https://app.example.com\\@evil.test/callback",
        "http://app.example.com/callback",
        "https://app.example.com/x/../callback",
        "//evil.test/callback",
        "javascript:alert(1)",
        "data:text/html,x",
        "https://app.example.com/callback\r\nSet-Cookie: a=b",
        "",
    ] {
        // The same holds for a request with another error, which is normally sent in a redirect.
        for fault in [("state", "the state"), ("response_type", "token")] {
            let target = client.authorize(&[("redirect_uri", redirect), fault]);
            let response = browser.open(&target).await;
            assert_eq!(response.status(), 400, "{redirect}");
            assert_eq!(response.header("location"), None, "{redirect}");
        }
    }
    let unknown = client.authorize(&[("client_id", "unknown")]);
    let response = browser.open(&unknown).await;
    assert_eq!(
        (response.status(), response.header("location")),
        (400, None)
    );
    let duplicate = format!("{}&redirect_uri=https://evil.test", client.authorize(&[]));
    assert_eq!(browser.open(&duplicate).await.status(), 400);
    assert!(browser.cookies.is_empty());
}

#[tokio::test]
async fn errors_are_redirected_only_to_a_client_with_consent() {
    let fixture = ProxyFixture::new().await;
    let client = fixture.client().await;
    let other = fixture.client().await;
    let challenge = client.verifier.challenge();
    let mut consented = fixture.browser();
    fixture
        .consent_and_log_in(&mut consented, &client.authorize(&[]))
        .await;
    // The user of this browser has denied consent.
    let mut denied = fixture.browser();
    let sealed = sealed_request(&denied.open(&client.authorize(&[])).await);
    let pairs = [("request", sealed.as_str()), ("decision", "deny")];
    location(&denied.submit("/consent", &pairs).await);
    for (changes, expected) in [
        (
            vec![("response_type", "token")],
            "unsupported_response_type",
        ),
        (vec![("code_challenge", "")], "invalid_request"),
        (vec![("code_challenge_method", "")], "invalid_request"),
        (vec![("code_challenge_method", "plain")], "invalid_request"),
        (vec![("code_challenge", &challenge[1..])], "invalid_request"),
        (
            vec![("resource", "https://other.example.com/mcp")],
            "invalid_target",
        ),
        (
            vec![("resource", "https://mcp.example.com/mcp/other")],
            "invalid_target",
        ),
        (vec![("response_mode", "fragment")], "invalid_request"),
        (vec![("scope", "\"")], "invalid_scope"),
    ] {
        let target = client.authorize(&changes);
        for browser in [&mut fixture.browser(), &mut denied] {
            let response = browser.open(&target).await;
            assert_eq!(response.status(), 400, "{changes:?}");
            assert_eq!(response.header("location"), None, "{changes:?}");
        }
        // Consent to one client does not apply to another.
        let response = consented.open(&other.authorize(&changes)).await;
        assert_eq!(
            (response.status(), response.header("location")),
            (400, None)
        );

        let redirect = location(&consented.open(&target).await);
        assert!(redirect.starts_with(REDIRECT), "{redirect}");
        let redirect_parameters = parameters(&redirect);
        assert_eq!(redirect_parameters["error"], expected, "{changes:?}");
        assert_eq!(redirect_parameters["state"], "the state");
        assert_eq!(redirect_parameters["iss"], ORIGIN);
        assert!(!redirect_parameters.contains_key("code"));
    }
}

#[tokio::test]
async fn authorization_without_a_resource_is_accepted() {
    let fixture = ProxyFixture::new().await;
    let client = fixture.client().await;
    let mut browser = fixture.browser();
    // Clients of revision 2025-03-26 send no resource.
    let target = client.authorize(&[("resource", "")]);
    let redirect = fixture.consent_and_log_in(&mut browser, &target).await;
    let code = &parameters(&redirect)["code"];
    let mut form = client.redeem_form(code);
    form.retain(|(name, _)| *name != "resource");
    assert_eq!(fixture.token(&form).await.status(), 200);
}

#[tokio::test]
async fn state_is_returned_unchanged_or_rejected() {
    let fixture = ProxyFixture::new().await;
    let client = fixture.client().await;
    let mut browser = fixture.browser();
    let unusual = "a&code=stolen#b?c=\"d\" <e>%0D%0A";
    let target = client.authorize(&[("state", unusual)]);
    let redirect = fixture.consent_and_log_in(&mut browser, &target).await;
    assert_eq!(parameters(&redirect)["state"], unusual);
    assert_ne!(parameters(&redirect)["code"], "stolen");

    for invalid in ["a\r\nSet-Cookie: b=c", "\0", "ü", &"s".repeat(4097)] {
        let response = browser.open(&client.authorize(&[("state", invalid)])).await;
        let redirect = location(&response);
        assert_eq!(parameters(&redirect)["error"], "invalid_request");
        assert!(!parameters(&redirect).contains_key("state"));
        assert!(response.headers.all("set-cookie").next().is_none());
    }
}

#[tokio::test]
async fn loopback_redirect_uri_may_have_any_port() {
    let fixture = ProxyFixture::new().await;
    let client = fixture
        .register(json!({
            "redirect_uris": ["http://127.0.0.1/cb"], "token_endpoint_auth_method": "none",
        }))
        .await;
    let mut browser = fixture.browser();
    let target = client.authorize(&[("redirect_uri", "http://127.0.0.1:51004/cb")]);
    let redirect = fixture.consent_and_log_in(&mut browser, &target).await;
    assert!(
        redirect.starts_with("http://127.0.0.1:51004/cb?code="),
        "{redirect}"
    );
    // The next login has another port. Any local program could have started it, so the user is asked for consent again.
    let target = client.authorize(&[("redirect_uri", "http://127.0.0.1:51005/cb")]);
    let redirect = fixture.consent_and_log_in(&mut browser, &target).await;
    assert!(
        redirect.starts_with("http://127.0.0.1:51005/cb?code="),
        "{redirect}"
    );
    // The code is bound to the redirect URI with that port.
    let code = &parameters(&redirect)["code"];
    let mut form = client.redeem_form(code);
    form.retain(|(name, _)| *name != "redirect_uri");
    form.push(("redirect_uri", "http://127.0.0.1:51004/cb"));
    assert_eq!(error_of(&fixture.token(&form).await), "invalid_grant");
    for other in [
        "http://localhost:51004/cb",
        "http://[::1]:51004/cb",
        "http://127.0.0.1/",
    ] {
        let target = client.authorize(&[("redirect_uri", other)]);
        assert_eq!(browser.open(&target).await.status(), 400, "{other}");
    }
}

#[tokio::test]
async fn configured_redirect_hosts_reject_other_hosts() {
    let fixture =
        ProxyFixture::with(|config| config.with_redirect_hosts(["app.example.com"])).await;
    let client = fixture.client().await;
    sealed_request(&fixture.browser().open(&client.authorize(&[])).await);
    for (uri, expected) in [
        ("https://APP.example.com/cb", 201),
        ("http://127.0.0.1/cb", 201),
        ("https://other.example.com/cb", 400),
    ] {
        let metadata = json!({"redirect_uris": [uri], "token_endpoint_auth_method": "none"});
        let response = fixture.endpoint.request(&registration(&metadata)).await;
        assert_eq!(response.status(), expected, "{uri}");
    }
}

#[tokio::test]
async fn oversized_client_id_returns_400_and_longest_state_is_accepted() {
    let fixture = ProxyFixture::new().await;
    let client = fixture.client().await;
    let mut browser = fixture.browser();
    let target = format!("/authorize?client_id={}", "c".repeat(2049));
    assert_eq!(browser.open(&target).await.status(), 400);
    let longest = "s".repeat(4096);
    let target = client.authorize(&[("state", &longest)]);
    let redirect = fixture.consent_and_log_in(&mut browser, &target).await;
    assert_eq!(parameters(&redirect)["state"], longest);
}
