use std::sync::Arc;

use toolwire_proto::request_state::{KeyRing, StateKey};

use super::*;
use crate::proxy::store::MemoryProxyStore;

fn store(key: u8) -> SealedStore {
    SealedStore {
        store: Arc::new(MemoryProxyStore::default()),
        keys: KeyRing::new(StateKey::new([key; 32])),
        issuer: "https://a".to_owned(),
    }
}

fn consent(client_id: &str) -> Consent<'_> {
    Consent {
        client_id,
        registered_redirect: "http://127.0.0.1/cb",
        scopes: "a b",
    }
}

/// Returns the cookies that a response sets as the headers of the next request.
fn next_request(response: &Response<()>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for set in response.headers().get_all(SET_COOKIE) {
        let text = set.to_str().unwrap();
        let pair = text.split(';').next().unwrap();
        headers.append(COOKIE, HeaderValue::from_str(pair).unwrap());
    }
    headers
}

fn cookies(store: &SealedStore, browser: &BrowserSession) -> HeaderMap {
    let mut response = Response::new(());
    browser.set_browser_cookie(store, &mut response).unwrap();
    browser.set_logins_cookie(store, &mut response).unwrap();
    next_request(&response)
}

#[test]
fn browser_is_identified_by_its_sealed_cookie() {
    let store = store(1);
    let mut browser = BrowserSession::new().unwrap();
    browser.add_consent(&consent("one"));
    browser.add_login("state");
    let known = BrowserSession::from_cookies(&store, &cookies(&store, &browser)).unwrap();
    assert_eq!(known.id(), browser.id());
    assert!(known.has_consented_to(&consent("one")));
    assert!(known.has_login("state"));
    assert!(!known.has_login("other"));
}

#[test]
fn consent_covers_one_client_redirect_uri_and_scopes() {
    let mut browser = BrowserSession::new().unwrap();
    let given = consent("one");
    browser.add_consent(&given);
    assert!(browser.has_consented_to(&Consent {
        scopes: "b a",
        ..given
    }));
    for other in [
        consent("two"),
        Consent {
            registered_redirect: "https://evil.test/cb",
            ..given
        },
        Consent {
            scopes: "a b c",
            ..given
        },
        Consent {
            scopes: "a",
            ..given
        },
    ] {
        assert!(!browser.has_consented_to(&other), "{other:?}");
    }
}

#[test]
fn client_consent_ignores_scopes() {
    let mut browser = BrowserSession::new().unwrap();
    let given = consent("one");
    let redirect = given.registered_redirect;
    assert!(!browser.has_consented_to_client("one", redirect));
    browser.add_consent(&given);
    assert!(browser.has_consented_to_client("one", redirect));
    for (client_id, redirect) in [
        ("two", redirect),
        ("on", "ehttp://127.0.0.1/cb"),
        ("one", "http://127.0.0.1/c"),
        ("one", ""),
        ("", ""),
    ] {
        assert!(!browser.has_consented_to_client(client_id, redirect));
    }
}

#[test]
fn cookies_of_other_browsers_and_keys_are_ignored() {
    let (own, other) = (store(1), store(2));
    let mut browser = BrowserSession::new().unwrap();
    browser.add_login("state");
    assert!(BrowserSession::from_cookies(&own, &cookies(&other, &browser)).is_none());
    assert!(BrowserSession::from_cookies(&own, &HeaderMap::new()).is_none());

    // The logins of one browser in the cookies of another.
    let stolen = cookies(&own, &browser);
    let mut headers = cookies(&own, &BrowserSession::new().unwrap());
    let victim = headers.get(COOKIE).unwrap().clone();
    let logins = stolen.get_all(COOKIE).iter().nth(1).unwrap().clone();
    headers.clear();
    headers.append(COOKIE, victim.clone());
    headers.append(COOKIE, logins);
    let known = BrowserSession::from_cookies(&own, &headers).unwrap();
    assert!(!known.has_login("state"));

    // Two cookies with one name are ambiguous.
    headers.append(COOKIE, victim);
    assert!(BrowserSession::from_cookies(&own, &headers).is_none());
}

#[test]
fn cookies_are_host_only_and_http_only() {
    let store = store(1);
    let mut response = Response::new(());
    let mut browser = BrowserSession::new().unwrap();
    browser.add_login("state");
    browser.set_browser_cookie(&store, &mut response).unwrap();
    browser.set_logins_cookie(&store, &mut response).unwrap();
    let cookies: Vec<_> = response.headers().get_all(SET_COOKIE).iter().collect();
    assert_eq!(cookies.len(), 2);
    for (cookie, age) in cookies.iter().zip(["2592000", "600"]) {
        let text = cookie.to_str().unwrap();
        assert!(text.starts_with("__Host-toolwire-"), "{text}");
        let rules = format!("; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age={age}");
        assert!(text.ends_with(&rules), "{text}");
        assert!(!text.to_ascii_lowercase().contains("domain"));
    }
}

#[test]
fn last_login_removes_its_cookie() {
    let store = store(1);
    let mut browser = BrowserSession::new().unwrap();
    browser.add_login("one");
    browser.remove_login("one");
    let mut response = Response::new(());
    browser.set_logins_cookie(&store, &mut response).unwrap();
    let text = response
        .headers()
        .get(SET_COOKIE)
        .unwrap()
        .to_str()
        .unwrap();
    assert!(text.ends_with("Max-Age=0"), "{text}");
}

#[test]
fn consents_and_logins_are_limited() {
    let mut browser = BrowserSession::new().unwrap();
    let names: Vec<String> = (0..=MAX_CONSENTS).map(|at| at.to_string()).collect();
    for name in &names[..MAX_CONSENTS] {
        browser.add_consent(&consent(name));
    }
    assert!(browser.has_consented_to(&consent("0")));
    browser.add_consent(&consent(&names[MAX_CONSENTS]));
    assert!(!browser.has_consented_to(&consent("0")));
    assert!(browser.has_consented_to(&consent("1")));

    for name in &names[..MAX_LOGINS] {
        browser.add_login(name);
    }
    assert!(browser.has_login("0"));
    browser.add_login(&names[MAX_LOGINS]);
    assert!(!browser.has_login("0"));
    assert!(browser.has_login("1"));
    // The cookies stay far below the header limit, and each cookie below the limit of browsers.
    let headers = cookies(&store(1), &browser);
    for cookie in headers.values() {
        assert!(cookie.len() < 4_096, "{}", cookie.len());
    }
    let bytes: usize = headers.values().map(HeaderValue::len).sum();
    assert!(bytes < 6_000, "{bytes}");
}
