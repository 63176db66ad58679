//! Client ID metadata documents: the client id is an untrusted URL that the proxy fetches.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use toolwire_auth::DocumentFetcher;
use toolwire_auth::testing::pkce::Verifier;
use toolwire_tests::http_client_stack::raw::{RawServer, client as http_client};
use toolwire_tests::http_client_stack::tls::{Authority, accept_tls};

use super::browser::sealed_request;
use super::fixture::{Client, ProxyFixture, parameters};

const URL: &str = "https://app.invalid/client.json";
const REDIRECT: &str = "https://app.invalid/callback";

fn document() -> Value {
    json!({
        "client_id": URL, "client_name": "Described", "redirect_uris": [REDIRECT, "http://127.0.0.1/cb"],
        "token_endpoint_auth_method": "none",
    })
}

fn client_with_document(url: &str, redirect: &str) -> Client {
    Client {
        id: url.to_owned(),
        secret: None,
        redirect: redirect.to_owned(),
        verifier: Verifier::from_random([7; 32]),
    }
}

/// Returns a fixture whose proxy reaches one site with a fixed response, and the number of requests to the site.
async fn with_site(status: &str, body: impl Into<String>) -> (ProxyFixture, Arc<AtomicUsize>) {
    let (authority, site) = (Authority::new(), RawServer::bind().await);
    let acceptor = authority.acceptor("app.invalid", &[]);
    let http = authority
        .trusted_by(http_client())
        .with_resolve_override("app.invalid", site.address);
    let body = body.into();
    let response = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let requests = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&requests);
    tokio::spawn(async move {
        loop {
            if let Some(mut connection) = accept_tls(&acceptor, site.accept().await).await {
                counted.fetch_add(1, Ordering::SeqCst);
                connection.respond(&response).await;
            }
        }
    });
    let fixture = ProxyFixture::with(|config| {
        config.with_document_fetcher(DocumentFetcher::with_http_client(http))
    })
    .await;
    (fixture, requests)
}

#[tokio::test]
async fn client_with_a_document_needs_no_registration() {
    let (fixture, requests) = with_site("200 OK", document().to_string()).await;
    let client = client_with_document(URL, REDIRECT);
    let mut browser = fixture.browser();
    let page = browser.open(&client.authorize(&[])).await;
    sealed_request(&page);
    for shown in ["Described", URL, "<dd>app.invalid</dd>"] {
        assert!(page.text().contains(shown), "{}", page.text());
    }
    // The owner of the domain publishes the name and the redirect URI, so the page has no warning.
    assert!(!page.text().contains("class=\"warning\""));
    let tokens = fixture.tokens(&client).await;
    let access = tokens["access_token"].as_str().unwrap();
    assert_eq!(fixture.whoami(access).await.status(), 200);
    let refresh = tokens["refresh_token"].as_str().unwrap();
    assert_eq!(
        fixture.token(&client.refresh_form(refresh)).await.status(),
        200
    );
    // The document is fetched once and cached.
    assert_eq!(requests.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn consent_page_warns_of_a_loopback_redirect_uri() {
    let (fixture, _) = with_site("200 OK", document().to_string()).await;
    let client = client_with_document(URL, "http://127.0.0.1:51004/cb");
    let page = fixture.browser().open(&client.authorize(&[])).await;
    assert!(page.text().contains("class=\"warning\""), "{}", page.text());
}

#[tokio::test]
async fn redirect_uri_or_secret_that_is_not_in_the_document_is_rejected() {
    let (fixture, _) = with_site("200 OK", document().to_string()).await;
    let client = client_with_document(URL, "https://evil.test/callback");
    let response = fixture.browser().open(&client.authorize(&[])).await;
    assert_eq!(
        (response.status(), response.header("location")),
        (400, None)
    );
    // A document has no secret, so a request with a secret is rejected.
    let client = client_with_document(URL, REDIRECT);
    let code = fixture.code(&client).await;
    let mut form = client.redeem_form(&code);
    form.push(("client_secret", "made up"));
    assert_eq!(fixture.token(&form).await.status(), 401);
}

#[tokio::test]
async fn invalid_documents_are_rejected() {
    let mut other = document();
    other["client_id"] = json!("https://app.invalid/other.json");
    let mut unsafe_redirect = document();
    unsafe_redirect["redirect_uris"] = json!([REDIRECT, "http://evil.test/"]);
    let mut secret = document();
    secret["client_secret"] = json!("s");
    let mut signed = document();
    signed["token_endpoint_auth_method"] = json!("private_key_jwt");
    let mut nameless = document();
    nameless["client_name"] = json!(null);
    for invalid in [
        other,
        unsafe_redirect,
        secret,
        signed,
        nameless,
        json!([]),
        json!("x"),
    ] {
        let (fixture, _) = with_site("200 OK", invalid.to_string()).await;
        let response = fixture
            .browser()
            .open(&client_with_document(URL, REDIRECT).authorize(&[]))
            .await;
        assert_eq!(response.status(), 400, "{invalid}");
        assert_eq!(response.header("location"), None);
    }
    let (fixture, requests) = with_site("404 Not Found", "").await;
    for _ in 0..3 {
        let response = fixture
            .browser()
            .open(&client_with_document(URL, REDIRECT).authorize(&[]))
            .await;
        assert_eq!(response.status(), 400);
    }
    // The failure is cached, so the site gets one request.
    assert_eq!(requests.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn oversized_document_is_rejected() {
    let of_size = |size: usize| {
        let text = document().to_string();
        let padding = " ".repeat(size - text.len());
        format!("{text}{padding}")
    };
    for (size, expected) in [(64 * 1024, 200), (64 * 1024 + 1, 400)] {
        let (fixture, _) = with_site("200 OK", of_size(size)).await;
        let response = fixture
            .browser()
            .open(&client_with_document(URL, REDIRECT).authorize(&[]))
            .await;
        assert_eq!(response.status(), expected, "{size}");
    }
}

#[tokio::test]
async fn document_url_of_an_internal_host_causes_no_connection() {
    let internal = RawServer::bind().await;
    let port = internal.address.port();
    let fixture = ProxyFixture::new().await;
    for url in [
        format!("https://127.0.0.1:{port}/client.json"),
        format!("https://localhost:{port}/client.json"),
        format!("https://[::1]:{port}/client.json"),
        format!("https://[::ffff:127.0.0.1]:{port}/client.json"),
        format!("https://2130706433:{port}/client.json"),
        format!("https://0x7f.1:{port}/client.json"),
        format!("https://0177.0.0.1:{port}/client.json"),
        format!("https://127.1:{port}/client.json"),
        format!("https://0.0.0.0:{port}/client.json"),
        format!("http://127.0.0.1:{port}/client.json"),
        "https://169.254.169.254/latest/meta-data".to_owned(),
        "https://10.0.0.1/client.json".to_owned(),
        "https://[fd00:ec2::254]/client.json".to_owned(),
        "https://user@app.invalid/client.json".to_owned(),
        "https://app.invalid/a/../client.json".to_owned(),
        "https://app.invalid".to_owned(),
    ] {
        let response = fixture
            .browser()
            .open(&client_with_document(&url, REDIRECT).authorize(&[]))
            .await;
        assert_eq!(response.status(), 400, "{url}");
        assert_eq!(response.header("location"), None, "{url}");
        assert!(internal.has_no_connection().await, "{url}");
    }
}

#[tokio::test]
async fn redirect_to_an_internal_host_is_not_followed() {
    let internal = RawServer::bind().await;
    for target in [
        internal.url("/client.json"),
        format!("https://{}/client.json", internal.address),
        format!("https://localhost:{}/client.json", internal.address.port()),
    ] {
        for status in ["301 X", "302 X", "303 X", "307 X", "308 X"] {
            let headers = format!("{status}\r\nLocation: {target}");
            let (fixture, requests) = with_site(&headers, "").await;
            let response = fixture
                .browser()
                .open(&client_with_document(URL, REDIRECT).authorize(&[]))
                .await;
            assert_eq!(response.status(), 400, "{headers}");
            assert_eq!(requests.load(Ordering::SeqCst), 1);
            assert!(internal.has_no_connection().await, "{headers}");
        }
    }
}

#[tokio::test]
async fn consent_to_a_client_does_not_apply_to_another_redirect_uri_or_client() {
    let (fixture, _) = with_site("200 OK", document().to_string()).await;
    let client = client_with_document(URL, REDIRECT);
    let mut browser = fixture.browser();
    let redirect = fixture
        .consent_and_log_in(&mut browser, &client.authorize(&[]))
        .await;
    assert!(parameters(&redirect).contains_key("code"));
    assert_eq!(browser.open(&client.authorize(&[])).await.status(), 303);
    // Another redirect URI of the same client requires consent.
    let target = client.authorize(&[("redirect_uri", "http://127.0.0.1:1/cb")]);
    sealed_request(&browser.open(&target).await);
    let registered = fixture.client().await;
    sealed_request(&browser.open(&registered.authorize(&[])).await);
}
