//! Clients whose id is the URL of a document about them: anybody can name one, so fetching it is where care is needed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use toolwire_auth::DocumentFetcher;
use toolwire_auth::testing::pkce::Verifier;

use super::browser::sealed_request;
use super::stage::{Client, Stage, parameters};
use crate::http_client_stack::raw::{RawServer, client as http_client};
use crate::http_client_stack::tls::{Authority, secured};

const URL: &str = "https://app.invalid/client.json";
const REDIRECT: &str = "https://app.invalid/callback";

fn document() -> Value {
    json!({
        "client_id": URL, "client_name": "Described", "redirect_uris": [REDIRECT, "http://127.0.0.1/cb"],
        "token_endpoint_auth_method": "none",
    })
}

fn described(url: &str, redirect: &str) -> Client {
    Client {
        id: url.to_owned(),
        secret: None,
        redirect: redirect.to_owned(),
        verifier: Verifier::from_random([7; 32]),
    }
}

/// A proxy that reaches one site, which always gives this answer; and how often the site was asked.
async fn with_site(status: &str, body: impl Into<String>) -> (Stage, Arc<AtomicUsize>) {
    let (authority, site) = (Authority::new(), RawServer::bind().await);
    let acceptor = authority.acceptor("app.invalid", &[]);
    let http = authority
        .trusted_by(http_client())
        .with_resolve_override("app.invalid", site.address);
    let body = body.into();
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    tokio::spawn(async move {
        loop {
            if let Some(mut connection) = secured(&acceptor, site.accept().await).await {
                counted.fetch_add(1, Ordering::SeqCst);
                connection.answer(&answer).await;
            }
        }
    });
    let stage =
        Stage::with(|config| config.with_document_fetcher(DocumentFetcher::with_http_client(http)))
            .await;
    (stage, asked)
}

#[tokio::test]
async fn a_client_with_a_document_needs_no_registration() {
    let (stage, asked) = with_site("200 OK", document().to_string()).await;
    let client = described(URL, REDIRECT);
    let mut browser = stage.browser();
    let page = browser.open(&client.authorize(&[])).await;
    sealed_request(&page);
    for shown in ["Described", URL, "<dd>app.invalid</dd>"] {
        assert!(page.text().contains(shown), "{}", page.text());
    }
    // Its owner vouches for the name, and the way back is the owner's.
    assert!(!page.text().contains("class=\"warning\""));
    let tokens = stage.tokens(&client).await;
    let access = tokens["access_token"].as_str().unwrap();
    assert_eq!(stage.whoami(access).await.status(), 200);
    let refresh = tokens["refresh_token"].as_str().unwrap();
    assert_eq!(stage.token(&client.refreshing(refresh)).await.status(), 200);
    // The document is fetched once for all of this.
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_way_back_to_the_users_machine_is_warned_of() {
    let (stage, _) = with_site("200 OK", document().to_string()).await;
    let client = described(URL, "http://127.0.0.1:51004/cb");
    let page = stage.browser().open(&client.authorize(&[])).await;
    assert!(page.text().contains("class=\"warning\""), "{}", page.text());
}

#[tokio::test]
async fn only_what_the_document_says_counts() {
    let (stage, _) = with_site("200 OK", document().to_string()).await;
    let client = described(URL, "https://evil.test/callback");
    let answer = stage.browser().open(&client.authorize(&[])).await;
    assert_eq!((answer.status(), answer.header("location")), (400, None));
    // A document holds no secret, so a client that comes with one is somebody else.
    let client = described(URL, REDIRECT);
    let code = stage.code(&client).await;
    let mut form = client.redeeming(&code);
    form.push(("client_secret", "made up"));
    assert_eq!(stage.token(&form).await.status(), 401);
}

#[tokio::test]
async fn documents_that_cannot_be_believed_are_refused() {
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
    for bad in [
        other,
        unsafe_redirect,
        secret,
        signed,
        nameless,
        json!([]),
        json!("x"),
    ] {
        let (stage, _) = with_site("200 OK", bad.to_string()).await;
        let answer = stage
            .browser()
            .open(&described(URL, REDIRECT).authorize(&[]))
            .await;
        assert_eq!(answer.status(), 400, "{bad}");
        assert_eq!(answer.header("location"), None);
    }
    let (stage, asked) = with_site("404 Not Found", "").await;
    for _ in 0..3 {
        let answer = stage
            .browser()
            .open(&described(URL, REDIRECT).authorize(&[]))
            .await;
        assert_eq!(answer.status(), 400);
    }
    // A site that has nothing is not asked by everybody who names it.
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn documents_have_a_largest() {
    let of_size = |size: usize| {
        let text = document().to_string();
        let padding = " ".repeat(size - text.len());
        format!("{text}{padding}")
    };
    for (size, expected) in [(64 * 1024, 200), (64 * 1024 + 1, 400)] {
        let (stage, _) = with_site("200 OK", of_size(size)).await;
        let answer = stage
            .browser()
            .open(&described(URL, REDIRECT).authorize(&[]))
            .await;
        assert_eq!(answer.status(), expected, "{size}");
    }
}

#[tokio::test]
async fn no_document_makes_us_knock_at_doors_inside() {
    let trap = RawServer::bind().await;
    let port = trap.address.port();
    let stage = Stage::new().await;
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
        let answer = stage
            .browser()
            .open(&described(&url, REDIRECT).authorize(&[]))
            .await;
        assert_eq!(answer.status(), 400, "{url}");
        assert_eq!(answer.header("location"), None, "{url}");
        assert!(trap.is_untouched().await, "{url}");
    }
}

#[tokio::test]
async fn no_redirect_makes_us_knock_at_doors_inside() {
    let trap = RawServer::bind().await;
    for place in [
        trap.url("/client.json"),
        format!("https://{}/client.json", trap.address),
        format!("https://localhost:{}/client.json", trap.address.port()),
    ] {
        for status in ["301 X", "302 X", "303 X", "307 X", "308 X"] {
            let head = format!("{status}\r\nLocation: {place}");
            let (stage, asked) = with_site(&head, "").await;
            let answer = stage
                .browser()
                .open(&described(URL, REDIRECT).authorize(&[]))
                .await;
            assert_eq!(answer.status(), 400, "{head}");
            assert_eq!(asked.load(Ordering::SeqCst), 1);
            assert!(trap.is_untouched().await, "{head}");
        }
    }
}

#[tokio::test]
async fn consent_to_one_document_is_none_to_another() {
    let (stage, _) = with_site("200 OK", document().to_string()).await;
    let client = described(URL, REDIRECT);
    let mut browser = stage.browser();
    let back = stage.agree(&mut browser, &client.authorize(&[])).await;
    assert!(parameters(&back).contains_key("code"));
    assert_eq!(browser.open(&client.authorize(&[])).await.status(), 303);
    // The other way back of the same client is asked about anew.
    let target = client.authorize(&[("redirect_uri", "http://127.0.0.1:1/cb")]);
    sealed_request(&browser.open(&target).await);
    let registered = stage.client().await;
    sealed_request(&browser.open(&registered.authorize(&[])).await);
}
