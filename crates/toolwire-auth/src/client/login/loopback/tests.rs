//! A login and the requests that can reach its port.

use std::sync::Mutex;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::task::JoinHandle;

use super::*;
use crate::client::login::callback_request::{LONGEST_HEAD, REQUEST_TIMEOUT};

const URL: &str = "https://auth.example.com/authorize?state=right";

fn check(query: &str) -> CallbackOutcome {
    let has = |pair| query.split('&').any(|own| own == pair);
    match (has("state=right"), has("code=1") && !has("iss=wrong")) {
        (false, _) => CallbackOutcome::Unrelated,
        (true, true) => CallbackOutcome::Success,
        (true, false) => CallbackOutcome::Failure,
    }
}

/// A login in progress.
struct Attempt {
    host: String,
    outcome: JoinHandle<Result<String, AuthError>>,
}

impl Attempt {
    async fn begin(login: LoopbackLogin) -> Self {
        Self::begin_at(login.without_browser(), URL).await
    }

    async fn begin_at(login: LoopbackLogin, url: &'static str) -> Self {
        let login = login.with_url_display(|_| {});
        let pending = login.begin(None).await.unwrap();
        let uri = pending.redirect_uri().to_owned();
        let host = uri.strip_prefix("http://").unwrap();
        let host = host.strip_suffix("/callback").unwrap().to_owned();
        let outcome = tokio::spawn(async move { pending.finish(url, &check).await });
        Self { host, outcome }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(&self.host).await.unwrap()
    }

    /// Sends a request line with the expected host. Returns the response.
    async fn request(&self, line: &str) -> String {
        self.send(&format!("{line} HTTP/1.1\r\nHost: {}\r\n\r\n", self.host))
            .await
    }

    async fn send(&self, head: &str) -> String {
        let mut stream = self.connect().await;
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).await.unwrap();
        response
    }

    /// Sends the expected redirect and checks that the login succeeds.
    async fn succeed(self) {
        let response = self.request("GET /callback?code=1&state=right").await;
        assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
        assert_eq!(self.outcome.await.unwrap().unwrap(), "code=1&state=right");
    }
}

#[tokio::test]
async fn redirect_completes_the_login() {
    Attempt::begin(LoopbackLogin::new()).await.succeed().await;
}

#[tokio::test]
async fn other_requests_are_rejected_and_the_login_continues() {
    let attempt = Attempt::begin(LoopbackLogin::new()).await;
    for line in [
        "GET /favicon.ico",
        "GET /",
        "GET /callback",
        "POST /callback?code=1&state=right",
        "GET /elsewhere?code=1&state=right",
    ] {
        let response = attempt.request(line).await;
        assert!(response.starts_with("HTTP/1.1 404 "), "{line}: {response}");
    }
    let rebound = "GET /callback?code=1&state=right HTTP/1.1\r\nHost: evil.example\r\n\r\n";
    let response = attempt.send(rebound).await;
    assert!(response.starts_with("HTTP/1.1 404 "), "{response}");
    let forged = attempt.request("GET /callback?code=2&state=wrong").await;
    assert!(forged.starts_with("HTTP/1.1 400 "), "{forged}");
    attempt.succeed().await;
}

#[tokio::test]
async fn pages_contain_nothing_from_the_request() {
    let attempt = Attempt::begin(LoopbackLogin::new()).await;
    let evil = "<script>alert(1)</script>";
    for line in [
        format!("GET /{evil}"),
        format!("GET /callback?state={evil}"),
        format!("GET /callback?error={evil}&state=right"),
    ] {
        let response = attempt.request(&line).await;
        assert!(!response.contains("script"), "{response}");
        for header in [
            "content-security-policy: default-src 'none'; frame-ancestors 'none'\r\n",
            "x-content-type-options: nosniff\r\n",
            "cache-control: no-store\r\n",
            "referrer-policy: no-referrer\r\n",
        ] {
            assert!(response.contains(header), "{response}");
        }
    }
}

#[tokio::test]
async fn error_response_ends_the_login() {
    let attempt = Attempt::begin(LoopbackLogin::new()).await;
    let response = attempt
        .request("GET /callback?error=access_denied&state=right")
        .await;
    assert!(response.contains("did not succeed"), "{response}");
    let query = attempt.outcome.await.unwrap().unwrap();
    assert_eq!(query, "error=access_denied&state=right");
}

#[tokio::test]
async fn code_of_another_issuer_shows_the_failure_page() {
    let attempt = Attempt::begin(LoopbackLogin::new()).await;
    let response = attempt
        .request("GET /callback?code=1&state=right&iss=wrong")
        .await;
    assert!(response.contains("did not succeed"), "{response}");
    assert!(!response.contains("logged in"), "{response}");
    attempt.outcome.await.unwrap().unwrap();
}

#[tokio::test]
async fn slow_connections_do_not_block_the_redirect() {
    let attempt = Attempt::begin(LoopbackLogin::new()).await;
    let mut slow = Vec::new();
    // More than are read at once.
    for _ in 0..MAX_CONNECTIONS + 8 {
        let mut stream = attempt.connect().await;
        stream.write_all(b"GET /callback?").await.unwrap();
        slow.push(stream);
    }
    let redirect = async {
        // The oldest connections were closed.
        let mut rest = Vec::new();
        let first = slow.first_mut().unwrap();
        let _ = first.read_to_end(&mut rest).await;
        assert!(rest.is_empty());
        attempt.succeed().await;
    };
    // Before the timeout of the first connection.
    tokio::time::timeout(REQUEST_TIMEOUT / 2, redirect)
        .await
        .unwrap();
}

#[tokio::test]
async fn oversized_request_headers_close_the_connection() {
    let attempt = Attempt::begin(LoopbackLogin::new()).await;
    let head = |length: usize| {
        let start = format!("GET / HTTP/1.1\r\nHost: {}\r\nX: ", attempt.host);
        let padding = "x".repeat(length - start.len() - 4);
        format!("{start}{padding}\r\n\r\n")
    };
    let longest = attempt.send(&head(LONGEST_HEAD)).await;
    assert!(longest.starts_with("HTTP/1.1 404 "), "{longest}");
    let mut stream = attempt.connect().await;
    let too_long = head(LONGEST_HEAD + 1);
    // The server may close the connection before everything is sent.
    let _ = stream.write_all(too_long.as_bytes()).await;
    let mut response = Vec::new();
    let _ = stream.read_to_end(&mut response).await;
    assert!(response.is_empty());
    attempt.succeed().await;
}

#[tokio::test]
async fn port_in_use_is_named_in_the_error() {
    let first = LoopbackLogin::new().begin(None).await.unwrap();
    let uri = first.redirect_uri().to_owned();
    let port = uri.split([':', '/']).nth(4).unwrap();
    let login = LoopbackLogin::new().with_port(port.parse().unwrap());
    let error = login.begin(None).await.unwrap_err();
    let text = error.to_string();
    assert!(text.contains(&format!("127.0.0.1:{port}")), "{text}");
    assert!(
        error.advice().unwrap().contains("another port"),
        "{error:?}"
    );
    drop(first);
    let again = login.begin(None).await.unwrap();
    assert!(again.redirect_uri().contains(port));
}

#[tokio::test]
async fn registered_port_is_reused_if_free() {
    let first = LoopbackLogin::new().begin(None).await.unwrap();
    let uri = first.redirect_uri().to_owned();
    let in_use = LoopbackLogin::new().begin(Some(&uri)).await.unwrap();
    assert_ne!(in_use.redirect_uri(), uri);
    drop(first);
    let later = LoopbackLogin::new().begin(Some(&uri)).await.unwrap();
    assert_eq!(later.redirect_uri(), uri);
    for other in ["http://0.0.0.0:7/callback", "https://a.example/callback"] {
        let login = LoopbackLogin::new().begin(Some(other)).await.unwrap();
        let uri = login.redirect_uri();
        assert!(uri.starts_with("http://127.0.0.1:"), "{uri}");
    }
}

#[tokio::test(start_paused = true)]
async fn login_times_out() {
    let start = tokio::time::Instant::now();
    let attempt = Attempt::begin(LoopbackLogin::new()).await;
    let text = attempt.outcome.await.unwrap().unwrap_err().to_string();
    assert!(text.contains("within 300 s"), "{text}");
    assert_eq!(start.elapsed().as_secs(), 300);
    let short = LoopbackLogin::new().with_timeout(Duration::from_secs(1));
    let attempt = Attempt::begin(short).await;
    let text = attempt.outcome.await.unwrap().unwrap_err().to_string();
    assert!(text.contains("within 1 s"), "{text}");
}

#[tokio::test]
async fn only_https_and_loopback_urls_are_shown_and_opened() {
    for url in [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "-incognito https://auth.example.com",
        "--help",
        "http://auth.example.com/authorize",
        "https://auth.example.com/authorize\nHost: x",
        "https://user@auth.example.com/",
        "",
    ] {
        let login = LoopbackLogin::new()
            .with_browser_opener(|url| panic!("opened: {url}"))
            .with_url_display(|url| panic!("shown: {url}"));
        let pending = login.begin(None).await.unwrap();
        let outcome = pending.finish(url, &|_| CallbackOutcome::Success).await;
        assert!(outcome.is_err(), "{url:?}");
    }
}

#[tokio::test]
async fn valid_url_is_opened_unchanged() {
    let opened = Arc::new(Mutex::new(Vec::new()));
    let recorded = Arc::clone(&opened);
    let login = LoopbackLogin::new().with_browser_opener(move |url| {
        recorded.lock().unwrap().push(url.to_owned());
        // The URL could not be opened. The user still sees it.
        false
    });
    let attempt = Attempt::begin_at(login, URL).await;
    attempt.succeed().await;
    assert_eq!(*opened.lock().unwrap(), [URL]);
}

/// Returns a login with these pasted texts, and the errors that its prompts show.
fn login_with_pastes(
    texts: &'static [&'static str],
) -> (LoopbackLogin, Arc<Mutex<Vec<Option<&'static str>>>>) {
    let prompts = Arc::new(Mutex::new(Vec::new()));
    let texts = Mutex::new(texts.iter().copied());
    let recorded = Arc::clone(&prompts);
    let login = LoopbackLogin::new().with_paste_prompt(move |error| {
        recorded.lock().unwrap().push(error);
        std::future::ready(texts.lock().unwrap().next().map(str::to_owned))
    });
    (login, prompts)
}

#[tokio::test]
async fn redirect_url_can_be_pasted() {
    let (login, prompts) = login_with_pastes(&[
        "what?",
        "http://127.0.0.1:1/callback?code=3&state=wrong",
        "http://127.0.0.1:1/callback?code=1&state=right\n",
    ]);
    let attempt = Attempt::begin(login).await;
    assert_eq!(
        attempt.outcome.await.unwrap().unwrap(),
        "code=1&state=right"
    );
    let prompts = prompts.lock().unwrap();
    assert_eq!(
        *prompts,
        [None, Some(pasted::NO_QUERY), Some(pasted::OTHER_LOGIN)]
    );
}

#[tokio::test]
async fn redirect_is_awaited_after_the_last_paste() {
    let (login, prompts) = login_with_pastes(&["code=2&state=wrong"]);
    let attempt = Attempt::begin(login).await;
    attempt.succeed().await;
    let prompts = prompts.lock().unwrap();
    assert_eq!(*prompts, [None, Some(pasted::OTHER_LOGIN)]);
}

#[test]
fn debug_output_shows_only_the_port() {
    let shown = format!("{:?}", LoopbackLogin::new().with_port(7));
    assert_eq!(shown, "LoopbackLogin { port: 7, .. }");
}
