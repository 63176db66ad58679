//! The question: who can be made to answer it, and what stands on the page.

use serde_json::json;

use super::browser::{location, sealed_request};
use super::stage::{HOST, ORIGIN, REDIRECT, Stage, form_to, parameters};

#[tokio::test]
async fn a_user_may_say_no() {
    let stage = Stage::new().await;
    let client = stage.client().await;
    let mut browser = stage.browser();
    let sealed = sealed_request(&browser.open(&client.authorize(&[])).await);
    let denied = [("request", sealed.as_str()), ("decision", "deny")];
    let back = location(&browser.submit("/consent", &denied).await);
    assert!(back.starts_with(REDIRECT), "{back}");
    let brought = parameters(&back);
    assert_eq!(brought["error"], "access_denied");
    assert_eq!(brought["state"], "the state");
    assert_eq!(brought["iss"], ORIGIN);
    for decision in ["", "ALLOW", "allow ", "other"] {
        let pairs = [("request", sealed.as_str()), ("decision", decision)];
        let answer = browser.submit("/consent", &pairs).await;
        assert_eq!((answer.status(), answer.header("location")), (400, None));
    }
    // And is asked again.
    sealed_request(&browser.open(&client.authorize(&[])).await);
}

#[tokio::test]
async fn no_other_page_can_answer_for_the_user() {
    let stage = Stage::new().await;
    let client = stage.client().await;
    let mut victim = stage.browser();
    let sealed = sealed_request(&victim.open(&client.authorize(&[])).await);
    let pairs = [("request", sealed.as_str()), ("decision", "allow")];
    let form = form_to("/consent", &pairs);
    for origin in [
        "https://evil.test",
        "null",
        "http://mcp.example.com.evil.test",
    ] {
        let answer = victim.send(form.clone().with("Origin", origin)).await;
        assert_eq!(answer.status(), 403, "{origin}");
    }
    for site in ["cross-site", "same-site", "none"] {
        let answer = victim.send(form.clone().with("Sec-Fetch-Site", site)).await;
        assert_eq!(answer.status(), 400, "{site}");
        assert_eq!(answer.header("location"), None);
    }
    // What an attacker was asked, the victim cannot be made to answer.
    let mut attacker = stage.browser();
    let sealed = sealed_request(&attacker.open(&client.authorize(&[])).await);
    let pairs = [("request", sealed.as_str()), ("decision", "allow")];
    assert_eq!(victim.submit("/consent", &pairs).await.status(), 400);
    // Nor anybody without cookies: browsers leave them out of forms of other sites.
    let mut nobody = stage.browser();
    assert_eq!(nobody.submit("/consent", &pairs).await.status(), 400);
    assert!(!nobody.cookies.contains_key("__Host-toolwire-logins"));
}

#[tokio::test]
async fn what_is_asked_cannot_be_changed() {
    let stage = Stage::new().await;
    let client = stage.client().await;
    let mut browser = stage.browser();
    let sealed = sealed_request(&browser.open(&client.authorize(&[])).await);
    let (start, end) = sealed.split_at(sealed.len() / 2);
    let swapped = format!("{end}{start}");
    let cut = &sealed[..sealed.len() - 4];
    let cookie = browser.cookies["__Host-toolwire-browser"].clone();
    for forged in ["", "forged", &swapped, cut, &cookie] {
        let pairs = [("request", forged), ("decision", "allow")];
        let answer = browser.submit("/consent", &pairs).await;
        assert_eq!(answer.status(), 400, "{forged}");
        assert_eq!(answer.header("location"), None);
    }
    let pairs = [
        ("request", sealed.as_str()),
        ("decision", "deny"),
        ("decision", "allow"),
    ];
    assert_eq!(browser.submit("/consent", &pairs).await.status(), 400);
}

#[tokio::test]
async fn what_a_client_calls_itself_stays_text() {
    let stage = Stage::new().await;
    let attack = "</dd><script>alert(1)</script><img src=x onerror=alert(1)>\r\nSet-Cookie: a=b";
    let client = stage
        .register(json!({
            "client_name": attack, "redirect_uris": ["http://127.0.0.1/cb"],
            "token_endpoint_auth_method": "none",
        }))
        .await;
    let mut browser = stage.browser();
    let target = client.authorize(&[("redirect_uri", "http://127.0.0.1:5000/cb")]);
    let page = browser.open(&target).await;
    let text = page.text();
    assert!(
        !text.contains("<script") && !text.contains("<img"),
        "{text}"
    );
    assert!(text.contains("&lt;script&gt;"), "{text}");
    // It comes back to the user's machine, and nobody knows the name.
    assert_eq!(text.matches("class=\"warning\"").count(), 2, "{text}");
    assert!(text.contains("<dd>127.0.0.1</dd>"), "{text}");
    assert_eq!(browser.cookies.len(), 1);
}

#[tokio::test]
async fn the_page_cannot_be_framed_kept_or_scripted() {
    let stage = Stage::new().await;
    let client = stage.client().await;
    let mut browser = stage.browser();
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
async fn the_server_is_called_by_its_name() {
    let stage = Stage::with(|config| config.with_name("Notes & more")).await;
    let client = stage.client().await;
    let page = stage.browser().open(&client.authorize(&[])).await;
    assert!(
        page.text().contains("use Notes &amp; more?"),
        "{}",
        page.text()
    );
}
