//! Nobody is sent anywhere that their client has not registered.

use serde_json::json;

use super::browser::{location, sealed_request};
use super::stage::{ORIGIN, REDIRECT, Stage, error_of, parameters, registration};

#[tokio::test]
async fn a_redirect_that_is_not_registered_is_never_followed() {
    let stage = Stage::new().await;
    let client = stage.client().await;
    let mut browser = stage.browser();
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
        // Also when the request has other faults, which a client would be told by a redirect.
        for fault in [("state", "the state"), ("response_type", "token")] {
            let target = client.authorize(&[("redirect_uri", redirect), fault]);
            let answer = browser.open(&target).await;
            assert_eq!(answer.status(), 400, "{redirect}");
            assert_eq!(answer.header("location"), None, "{redirect}");
        }
    }
    let unknown = client.authorize(&[("client_id", "unknown")]);
    let answer = browser.open(&unknown).await;
    assert_eq!((answer.status(), answer.header("location")), (400, None));
    let doubled = format!("{}&redirect_uri=https://evil.test", client.authorize(&[]));
    assert_eq!(browser.open(&doubled).await.status(), 400);
    assert!(browser.cookies.is_empty());
}

#[tokio::test]
async fn errors_are_redirected_only_to_a_client_with_consent() {
    let stage = Stage::new().await;
    let client = stage.client().await;
    let other = stage.client().await;
    let challenge = client.verifier.challenge();
    let mut consented = stage.browser();
    stage.agree(&mut consented, &client.authorize(&[])).await;
    // The user of this browser has seen the page, and has denied.
    let mut denied = stage.browser();
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
        for browser in [&mut stage.browser(), &mut denied] {
            let answer = browser.open(&target).await;
            assert_eq!(answer.status(), 400, "{changes:?}");
            assert_eq!(answer.header("location"), None, "{changes:?}");
        }
        // Consent to one client is none to another.
        let answer = consented.open(&other.authorize(&changes)).await;
        assert_eq!((answer.status(), answer.header("location")), (400, None));

        let back = location(&consented.open(&target).await);
        assert!(back.starts_with(REDIRECT), "{back}");
        let brought = parameters(&back);
        assert_eq!(brought["error"], expected, "{changes:?}");
        assert_eq!(brought["state"], "the state");
        assert_eq!(brought["iss"], ORIGIN);
        assert!(!brought.contains_key("code"));
    }
}

#[tokio::test]
async fn a_client_of_2025_03_26_names_no_resource() {
    let stage = Stage::new().await;
    let client = stage.client().await;
    let mut browser = stage.browser();
    let target = client.authorize(&[("resource", "")]);
    let back = stage.agree(&mut browser, &target).await;
    let code = &parameters(&back)["code"];
    let mut form = client.redeeming(code);
    form.retain(|(name, _)| *name != "resource");
    assert_eq!(stage.token(&form).await.status(), 200);
}

#[tokio::test]
async fn a_state_comes_back_as_it_was_or_not_at_all() {
    let stage = Stage::new().await;
    let client = stage.client().await;
    let mut browser = stage.browser();
    let strange = "a&code=stolen#b?c=\"d\" <e>%0D%0A";
    let target = client.authorize(&[("state", strange)]);
    let back = stage.agree(&mut browser, &target).await;
    assert_eq!(parameters(&back)["state"], strange);
    assert_ne!(parameters(&back)["code"], "stolen");

    for broken in ["a\r\nSet-Cookie: b=c", "\0", "ü", &"s".repeat(4097)] {
        let answer = browser.open(&client.authorize(&[("state", broken)])).await;
        let back = location(&answer);
        assert_eq!(parameters(&back)["error"], "invalid_request");
        assert!(!parameters(&back).contains_key("state"));
        assert!(answer.head.all("set-cookie").next().is_none());
    }
}

#[tokio::test]
async fn a_program_on_the_users_machine_may_listen_on_any_port() {
    let stage = Stage::new().await;
    let client = stage
        .register(json!({
            "redirect_uris": ["http://127.0.0.1/cb"], "token_endpoint_auth_method": "none",
        }))
        .await;
    let mut browser = stage.browser();
    let target = client.authorize(&[("redirect_uri", "http://127.0.0.1:51004/cb")]);
    let back = stage.agree(&mut browser, &target).await;
    assert!(
        back.starts_with("http://127.0.0.1:51004/cb?code="),
        "{back}"
    );
    // The next time it is another port. Any program could have sent the user here, so they are asked again.
    let target = client.authorize(&[("redirect_uri", "http://127.0.0.1:51005/cb")]);
    let back = stage.agree(&mut browser, &target).await;
    assert!(
        back.starts_with("http://127.0.0.1:51005/cb?code="),
        "{back}"
    );
    // The code is for that port.
    let code = &parameters(&back)["code"];
    let mut form = client.redeeming(code);
    form.retain(|(name, _)| *name != "redirect_uri");
    form.push(("redirect_uri", "http://127.0.0.1:51004/cb"));
    assert_eq!(error_of(&stage.token(&form).await), "invalid_grant");
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
async fn hosts_can_be_limited() {
    let stage = Stage::with(|config| config.with_redirect_hosts(["app.example.com"])).await;
    let client = stage.client().await;
    sealed_request(&stage.browser().open(&client.authorize(&[])).await);
    for (uri, expected) in [
        ("https://APP.example.com/cb", 201),
        ("http://127.0.0.1/cb", 201),
        ("https://other.example.com/cb", 400),
    ] {
        let metadata = json!({"redirect_uris": [uri], "token_endpoint_auth_method": "none"});
        let answer = stage.endpoint.ask(&registration(&metadata)).await;
        assert_eq!(answer.status(), expected, "{uri}");
    }
}

#[tokio::test]
async fn requests_have_a_longest() {
    let stage = Stage::new().await;
    let client = stage.client().await;
    let mut browser = stage.browser();
    let target = format!("/authorize?client_id={}", "c".repeat(2049));
    assert_eq!(browser.open(&target).await.status(), 400);
    let longest = "s".repeat(4096);
    let target = client.authorize(&[("state", &longest)]);
    let back = stage.agree(&mut browser, &target).await;
    assert_eq!(parameters(&back)["state"], longest);
}
