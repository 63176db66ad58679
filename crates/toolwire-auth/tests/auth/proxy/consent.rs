//! The consent page: its content, and its protection against forged decisions.

use serde_json::json;

use super::browser::{location, sealed_request};
use super::fixture::{HOST, ORIGIN, ProxyFixture, REDIRECT, form_to, parameters};

#[tokio::test]
async fn denied_consent_redirects_with_access_denied() {
    let fixture = ProxyFixture::new().await;
    let client = fixture.client().await;
    let mut browser = fixture.browser();
    let sealed = sealed_request(&browser.open(&client.authorize(&[])).await);
    let denied = [("request", sealed.as_str()), ("decision", "deny")];
    let redirect = location(&browser.submit("/consent", &denied).await);
    assert!(redirect.starts_with(REDIRECT), "{redirect}");
    let redirect_parameters = parameters(&redirect);
    assert_eq!(redirect_parameters["error"], "access_denied");
    assert_eq!(redirect_parameters["state"], "the state");
    assert_eq!(redirect_parameters["iss"], ORIGIN);
    for decision in ["", "ALLOW", "allow ", "other"] {
        let pairs = [("request", sealed.as_str()), ("decision", decision)];
        let response = browser.submit("/consent", &pairs).await;
        assert_eq!(
            (response.status(), response.header("location")),
            (400, None)
        );
    }
    // The next request asks for consent again.
    sealed_request(&browser.open(&client.authorize(&[])).await);
}

#[tokio::test]
async fn consent_of_another_page_or_browser_is_rejected() {
    let fixture = ProxyFixture::new().await;
    let client = fixture.client().await;
    let mut victim = fixture.browser();
    let sealed = sealed_request(&victim.open(&client.authorize(&[])).await);
    let pairs = [("request", sealed.as_str()), ("decision", "allow")];
    let form = form_to("/consent", &pairs);
    for origin in [
        "https://evil.test",
        "null",
        "http://mcp.example.com.evil.test",
    ] {
        let response = victim.send(form.clone().with("Origin", origin)).await;
        assert_eq!(response.status(), 403, "{origin}");
    }
    for site in ["cross-site", "same-site", "none"] {
        let response = victim.send(form.clone().with("Sec-Fetch-Site", site)).await;
        assert_eq!(response.status(), 400, "{site}");
        assert_eq!(response.header("location"), None);
    }
    // The victim's browser cannot submit the request of the attacker's page.
    let mut attacker = fixture.browser();
    let sealed = sealed_request(&attacker.open(&client.authorize(&[])).await);
    let pairs = [("request", sealed.as_str()), ("decision", "allow")];
    assert_eq!(victim.submit("/consent", &pairs).await.status(), 400);
    // A browser without cookies cannot submit it, either. Browsers omit cookies from forms of other sites.
    let mut without_cookies = fixture.browser();
    assert_eq!(
        without_cookies.submit("/consent", &pairs).await.status(),
        400
    );
    assert!(
        !without_cookies
            .cookies
            .contains_key("__Host-toolwire-logins")
    );
}

#[tokio::test]
async fn changed_consent_request_is_rejected() {
    let fixture = ProxyFixture::new().await;
    let client = fixture.client().await;
    let mut browser = fixture.browser();
    let sealed = sealed_request(&browser.open(&client.authorize(&[])).await);
    let (start, end) = sealed.split_at(sealed.len() / 2);
    let swapped = format!("{end}{start}");
    let cut = &sealed[..sealed.len() - 4];
    let cookie = browser.cookies["__Host-toolwire-browser"].clone();
    for forged in ["", "forged", &swapped, cut, &cookie] {
        let pairs = [("request", forged), ("decision", "allow")];
        let response = browser.submit("/consent", &pairs).await;
        assert_eq!(response.status(), 400, "{forged}");
        assert_eq!(response.header("location"), None);
    }
    let pairs = [
        ("request", sealed.as_str()),
        ("decision", "deny"),
        ("decision", "allow"),
    ];
    assert_eq!(browser.submit("/consent", &pairs).await.status(), 400);
}

#[tokio::test]
async fn client_name_is_escaped() {
    let fixture = ProxyFixture::new().await;
    let attack = "</dd><script>alert(1)</script><img src=x onerror=alert(1)>\r\nSet-Cookie: a=b";
    let client = fixture
        .register(json!({
            "client_name": attack, "redirect_uris": ["http://127.0.0.1/cb"],
            "token_endpoint_auth_method": "none",
        }))
        .await;
    let mut browser = fixture.browser();
    let target = client.authorize(&[("redirect_uri", "http://127.0.0.1:5000/cb")]);
    let page = browser.open(&target).await;
    let text = page.text();
    assert!(
        !text.contains("<script") && !text.contains("<img"),
        "{text}"
    );
    assert!(text.contains("&lt;script&gt;"), "{text}");
    // One warning for the loopback redirect URI, and one for the unverified client name.
    assert_eq!(text.matches("class=\"warning\"").count(), 2, "{text}");
    assert!(text.contains("<dd>127.0.0.1</dd>"), "{text}");
    assert_eq!(browser.cookies.len(), 1);
}

#[tokio::test]
async fn consent_page_has_security_headers() {
    let fixture = ProxyFixture::new().await;
    let client = fixture.client().await;
    let mut browser = fixture.browser();
    let page = browser.open(&client.authorize(&[])).await;
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'; "), "{policy}");
    assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
    assert_eq!(page.header("x-frame-options"), Some("DENY"));
    assert_eq!(page.header("cache-control"), Some("no-store"));
    assert_eq!(page.header("referrer-policy"), Some("same-origin"));
    assert_eq!(
        page.header("content-type"),
        Some("text/html; charset=utf-8")
    );
    assert_eq!(page.header("access-control-allow-origin"), None);
    let cookie = page.header("set-cookie").unwrap();
    for rule in [
        "__Host-",
        "; Path=/",
        "; Secure",
        "; HttpOnly",
        "; SameSite=Lax",
    ] {
        assert!(cookie.contains(rule), "{cookie}");
    }
    assert!(!cookie.contains(HOST), "{cookie}");
}

#[tokio::test]
async fn consent_page_shows_the_configured_server_name() {
    let fixture = ProxyFixture::with(|config| config.with_name("Notes & more")).await;
    let client = fixture.client().await;
    let page = fixture.browser().open(&client.authorize(&[])).await;
    assert!(
        page.text().contains("use Notes &amp; more?"),
        "{}",
        page.text()
    );
}
