use std::sync::Arc;

use toolwire_proto::request_state::{KeyRing, StateKey};

use super::*;
use crate::store::MemoryProxyStore;

fn vault(key: u8) -> SealedStore {
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

/// The cookies that an answer sets, as the next request brings them.
fn next_request(answer: &Response<()>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for set in answer.headers().get_all(SET_COOKIE) {
        let text = set.to_str().unwrap();
        let pair = text.split(';').next().unwrap();
        headers.append(COOKIE, HeaderValue::from_str(pair).unwrap());
    }
    headers
}

fn kept(vault: &SealedStore, browser: &BrowserSession) -> HeaderMap {
    let mut answer = Response::new(());
    browser.keep(vault, &mut answer).unwrap();
    browser.keep_logins(vault, &mut answer).unwrap();
    next_request(&answer)
}

#[test]
fn a_browser_is_known_by_what_we_said() {
    let vault = vault(1);
    let mut browser = BrowserSession::new().unwrap();
    browser.agree_to(&consent("one"));
    browser.begin("state");
    let known = BrowserSession::known(&vault, &kept(&vault, &browser)).unwrap();
    assert_eq!(known.id(), browser.id());
    assert!(known.has_agreed_to(&consent("one")));
    assert!(known.has_begun("state"));
    assert!(!known.has_begun("other"));
}

#[test]
fn consent_is_for_one_client_one_way_back_and_these_scopes() {
    let mut browser = BrowserSession::new().unwrap();
    let given = consent("one");
    browser.agree_to(&given);
    assert!(browser.has_agreed_to(&Consent {
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
        assert!(!browser.has_agreed_to(&other), "{other:?}");
    }
}

#[test]
fn consent_to_a_client_is_found_whatever_the_scopes_were() {
    let mut browser = BrowserSession::new().unwrap();
    let given = consent("one");
    let redirect = given.registered_redirect;
    assert!(!browser.has_consented_to_client("one", redirect));
    browser.agree_to(&given);
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
fn cookies_of_others_say_nothing() {
    let (own, other) = (vault(1), vault(2));
    let mut browser = BrowserSession::new().unwrap();
    browser.begin("state");
    assert!(BrowserSession::known(&own, &kept(&other, &browser)).is_none());
    assert!(BrowserSession::known(&own, &HeaderMap::new()).is_none());

    // The logins of one browser in the jar of another.
    let stolen = kept(&own, &browser);
    let mut headers = kept(&own, &BrowserSession::new().unwrap());
    let victim = headers.get(COOKIE).unwrap().clone();
    let logins = stolen.get_all(COOKIE).iter().nth(1).unwrap().clone();
    headers.clear();
    headers.append(COOKIE, victim.clone());
    headers.append(COOKIE, logins);
    let known = BrowserSession::known(&own, &headers).unwrap();
    assert!(!known.has_begun("state"));

    // Two cookies of one name: nobody knows which one is ours.
    headers.append(COOKIE, victim);
    assert!(BrowserSession::known(&own, &headers).is_none());
}

#[test]
fn cookies_stay_with_this_host_and_out_of_scripts() {
    let vault = vault(1);
    let mut answer = Response::new(());
    let mut browser = BrowserSession::new().unwrap();
    browser.begin("state");
    browser.keep(&vault, &mut answer).unwrap();
    browser.keep_logins(&vault, &mut answer).unwrap();
    let cookies: Vec<_> = answer.headers().get_all(SET_COOKIE).iter().collect();
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
fn the_last_login_takes_its_cookie_along() {
    let vault = vault(1);
    let mut browser = BrowserSession::new().unwrap();
    browser.begin("one");
    browser.end("one");
    let mut answer = Response::new(());
    browser.keep_logins(&vault, &mut answer).unwrap();
    let text = answer.headers().get(SET_COOKIE).unwrap().to_str().unwrap();
    assert!(text.ends_with("Max-Age=0"), "{text}");
}

#[test]
fn a_browser_remembers_up_to_its_limits() {
    let mut browser = BrowserSession::new().unwrap();
    let names: Vec<String> = (0..=MAX_CONSENTS).map(|at| at.to_string()).collect();
    for name in &names[..MAX_CONSENTS] {
        browser.agree_to(&consent(name));
    }
    assert!(browser.has_agreed_to(&consent("0")));
    browser.agree_to(&consent(&names[MAX_CONSENTS]));
    assert!(!browser.has_agreed_to(&consent("0")));
    assert!(browser.has_agreed_to(&consent("1")));

    for name in &names[..MAX_LOGINS] {
        browser.begin(name);
    }
    assert!(browser.has_begun("0"));
    browser.begin(&names[MAX_LOGINS]);
    assert!(!browser.has_begun("0"));
    assert!(browser.has_begun("1"));
    // What a browser sends along stays far below the limit of all headers, and each cookie below that of browsers.
    let headers = kept(&vault(1), &browser);
    for cookie in headers.values() {
        assert!(cookie.len() < 4_096, "{}", cookie.len());
    }
    let bytes: usize = headers.values().map(HeaderValue::len).sum();
    assert!(bytes < 6_000, "{bytes}");
}
