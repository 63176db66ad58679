//! Making the server knock at doors that are closed to the attacker: by a literal, by a name, by a redirect.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use toolwire_auth::documents::Secret;
use toolwire_auth::{DocumentFetcher, Introspection, JwtVerifier, TokenVerifier};

use super::house::House;
use crate::auth::guarded::{Guarded, ISSUER, config, whoami};
use crate::auth::issuer::Issuer;

/// Something inside that must not be reached.
struct Inside {
    port: u16,
    knocks: Arc<AtomicUsize>,
}

impl Inside {
    /// Answers everybody who comes.
    async fn listen(answer: impl Fn(u16) -> String + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let knocks = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&knocks);
        tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::SeqCst);
                let mut head = Vec::new();
                while !head.windows(4).any(|end| end == b"\r\n\r\n") {
                    if socket.read_buf(&mut head).await.unwrap_or(0) == 0 {
                        break;
                    }
                }
                let _ = socket.write_all(answer(port).as_bytes()).await;
            }
        });
        Self { port, knocks }
    }

    fn knocks(&self) -> usize {
        self.knocks.load(Ordering::SeqCst)
    }
}

fn ok(body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}")
}

/// This machine and its neighbours, in every way one can write them.
const INSIDE: &[&str] = &[
    "127.0.0.1",
    "127.1",
    "127.0.1",
    "2130706433",
    "0x7f000001",
    "0x7f.0.0.1",
    "0177.0.0.1",
    "017700000001",
    "127.0.0.1.",
    "127.000.000.001",
    "0",
    "0.0.0.0",
    "[::]",
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[64:ff9b:1::7f00:1]",
    "[2002:7f00:1::]",
    "[2001:0:7f00:1::]",
    "[fe80::5efe:7f00:1]",
    "[fe80::1]",
    "[fe80::1%25eth0]",
    "[fd00:ec2::254]",
    "[fc00::1]",
    "[ff02::1]",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.0.1",
    "100.64.0.1",
    "169.254.169.254",
    "169.254.170.2",
    "[::ffff:a9fe:a9fe]",
    "[64:ff9b::a9fe:a9fe]",
    "192.0.0.1",
    "198.18.0.1",
    "224.0.0.1",
    "255.255.255.255",
    "localhost",
    "LOCALHOST",
    "localhost.",
    "１２７.0.0.1",
    "127。0。0。1",
    "ⓛocalhost",
    "user@127.0.0.1",
    "example.com@127.0.0.1",
];

/// Asks the verifier, if it could be made at all; says whether it let the token in.
async fn lets_in<E: std::fmt::Debug>(
    verifier: Result<impl TokenVerifier + 'static, E>,
    token: &str,
) -> bool {
    let Ok(verifier) = verifier else {
        return false;
    };
    let guarded = Guarded::with(config().with_verifier(verifier)).await;
    let answer = guarded.say(token, &whoami()).await;
    assert!(
        matches!(answer.status(), 200 | 503),
        "{}: {}",
        answer.status(),
        answer.text()
    );
    answer.status() == 200
}

#[tokio::test]
async fn keys_and_answers_are_not_fetched_from_inside() {
    let issuer = Issuer::new();
    let keys = serde_json::to_string(&issuer.keys()).unwrap();
    let inside = Inside::listen(move |_| ok(&keys)).await;
    let token = issuer.token(&House::claims("ann"));
    let fetcher = DocumentFetcher::new().with_time_limit(std::time::Duration::from_secs(2));
    for host in INSIDE {
        for scheme in ["https", "http"] {
            let url = format!("{scheme}://{host}:{}/keys", inside.port);
            let verifier = JwtVerifier::new(Vec::<String>::new(), &fetcher);
            let by_keys = verifier.with_keys_at(ISSUER, &*url, &fetcher);
            assert!(!lets_in(by_keys, &token).await, "{url}");
            let password = Secret::new("password");
            let asking = Introspection::new(&*url, "app", &password, fetcher.clone());
            assert!(!lets_in(asking, "opaque").await, "{url}");
        }
    }
    assert_eq!(inside.knocks(), 0, "somebody came in");
    // The same place is reached by whoever is allowed to, so this can fail.
    let local = DocumentFetcher::with_loopback_allowed();
    let url = format!("http://127.0.0.1:{}/keys", inside.port);
    let verifier = JwtVerifier::new(Vec::<String>::new(), &local);
    assert!(lets_in(verifier.with_keys_at(ISSUER, url, &local), &token).await);
    assert_eq!(inside.knocks(), 1);
}

#[tokio::test]
async fn metadata_does_not_lead_inside() {
    let issuer = Issuer::new();
    let keys = serde_json::to_string(&issuer.keys()).unwrap();
    let inside = Inside::listen(move |_| ok(&keys)).await;
    let port = inside.port;
    let local = DocumentFetcher::with_loopback_allowed();
    for goal in [
        format!("https://10.0.0.1:{port}/keys"),
        format!("http://127.0.0.1.nip.io:{port}/keys"),
        "file:///etc/passwd".to_owned(),
        "https://169.254.169.254/latest/meta-data".to_owned(),
    ] {
        let public = Inside::listen(move |own| {
            let name = format!("http://127.0.0.1:{own}");
            ok(&json!({"issuer": name, "jwks_uri": goal}).to_string())
        })
        .await;
        let name = format!("http://127.0.0.1:{}", public.port);
        let mut claims = House::claims("ann");
        claims["iss"] = json!(name);
        let verifier: Result<_, ()> = Ok(JwtVerifier::new([name], &local));
        assert!(!lets_in(verifier, &issuer.token(&claims)).await);
        assert_ne!(public.knocks(), 0);
    }
    assert_eq!(inside.knocks(), 0);
}

#[tokio::test]
async fn redirects_do_not_lead_inside() {
    let issuer = Issuer::new();
    let keys = serde_json::to_string(&issuer.keys()).unwrap();
    let inside = Inside::listen(move |_| ok(&keys)).await;
    let token = issuer.token(&House::claims("ann"));
    let local = DocumentFetcher::with_loopback_allowed();
    for status in [301, 302, 303, 307, 308] {
        for goal in [
            format!("http://127.0.0.1:{}/keys", inside.port),
            format!("http://localhost:{}/keys", inside.port),
            format!("//127.0.0.1:{}/keys", inside.port),
            "https://169.254.169.254/".to_owned(),
        ] {
            let public = Inside::listen(move |_| {
                format!(
                    "HTTP/1.1 {status} X\r\nConnection: close\r\nLocation: {goal}\r\nContent-Length: 0\r\n\r\n"
                )
            })
            .await;
            let url = format!("http://127.0.0.1:{}/keys", public.port);
            let verifier = JwtVerifier::new(Vec::<String>::new(), &local);
            let by_keys = verifier.with_keys_at(ISSUER, &*url, &local);
            assert!(!lets_in(by_keys, &token).await);
            let asking = Introspection::new(url, "app", &Secret::new("password"), local.clone());
            assert!(!lets_in(asking, "opaque").await);
            assert_eq!(public.knocks(), 2);
        }
    }
    assert_eq!(inside.knocks(), 0, "somebody followed");
}
