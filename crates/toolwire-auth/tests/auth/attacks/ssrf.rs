//! Server-side request forgery: URLs of internal hosts as an address, as a name, in metadata and in redirects.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use toolwire_auth::documents::Secret;
use toolwire_auth::{DocumentFetcher, Introspection, JwtVerifier, TokenVerifier};

use super::fixture::AttackFixture;
use crate::resource::issuer::Issuer;
use crate::resource::protected_server::{ISSUER, ProtectedServer, config, whoami};

/// A local server that counts its connections.
struct CountingServer {
    port: u16,
    connections: Arc<AtomicUsize>,
}

impl CountingServer {
    /// Starts a server that calls `respond` with its port for every connection.
    async fn listen(respond: impl Fn(u16) -> String + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&connections);
        tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::SeqCst);
                let mut headers = Vec::new();
                while !headers.windows(4).any(|end| end == b"\r\n\r\n") {
                    if socket.read_buf(&mut headers).await.unwrap_or(0) == 0 {
                        break;
                    }
                }
                let _ = socket.write_all(respond(port).as_bytes()).await;
            }
        });
        Self { port, connections }
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

fn ok(body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}")
}

/// Loopback, private and link-local hosts in all notations.
const INTERNAL_HOSTS: &[&str] = &[
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

/// Returns `true` if the verifier could be built and accepts the token.
async fn accepts_token<E: std::fmt::Debug>(
    verifier: Result<impl TokenVerifier + 'static, E>,
    token: &str,
) -> bool {
    let Ok(verifier) = verifier else {
        return false;
    };
    let server = ProtectedServer::with(config().with_verifier(verifier)).await;
    let response = server.send_message(token, &whoami()).await;
    assert!(
        matches!(response.status(), 200 | 503),
        "{}: {}",
        response.status(),
        response.text()
    );
    response.status() == 200
}

#[tokio::test]
async fn keys_and_introspection_are_not_requested_from_internal_hosts() {
    let issuer = Issuer::new();
    let keys = serde_json::to_string(&issuer.keys()).unwrap();
    let internal = CountingServer::listen(move |_| ok(&keys)).await;
    let token = issuer.token(&AttackFixture::claims("ann"));
    let fetcher = DocumentFetcher::new().with_timeout(std::time::Duration::from_secs(2));
    for host in INTERNAL_HOSTS {
        for scheme in ["https", "http"] {
            let url = format!("{scheme}://{host}:{}/keys", internal.port);
            let verifier = JwtVerifier::new(Vec::<String>::new(), &fetcher);
            let by_keys = verifier.with_keys_at(ISSUER, &*url, &fetcher);
            assert!(!accepts_token(by_keys, &token).await, "{url}");
            let password = Secret::new("password");
            let introspection = Introspection::new(&*url, "app", &password, fetcher.clone());
            assert!(!accepts_token(introspection, "opaque").await, "{url}");
        }
    }
    assert_eq!(
        internal.connections(),
        0,
        "the verifier connected to an internal host"
    );
    // A fetcher that permits loopback reaches the server, so the test can fail.
    let local = DocumentFetcher::with_loopback_allowed();
    let url = format!("http://127.0.0.1:{}/keys", internal.port);
    let verifier = JwtVerifier::new(Vec::<String>::new(), &local);
    assert!(accepts_token(verifier.with_keys_at(ISSUER, url, &local), &token).await);
    assert_eq!(internal.connections(), 1);
}

#[tokio::test]
async fn issuer_metadata_with_an_internal_jwks_uri_causes_no_connection() {
    let issuer = Issuer::new();
    let keys = serde_json::to_string(&issuer.keys()).unwrap();
    let internal = CountingServer::listen(move |_| ok(&keys)).await;
    let port = internal.port;
    let local = DocumentFetcher::with_loopback_allowed();
    for target in [
        format!("https://10.0.0.1:{port}/keys"),
        format!("http://127.0.0.1.nip.io:{port}/keys"),
        "file:///etc/passwd".to_owned(),
        "https://169.254.169.254/latest/meta-data".to_owned(),
    ] {
        let public = CountingServer::listen(move |own| {
            let name = format!("http://127.0.0.1:{own}");
            ok(&json!({"issuer": name, "jwks_uri": target}).to_string())
        })
        .await;
        let name = format!("http://127.0.0.1:{}", public.port);
        let mut claims = AttackFixture::claims("ann");
        claims["iss"] = json!(name);
        let verifier: Result<_, ()> = Ok(JwtVerifier::new([name], &local));
        assert!(!accepts_token(verifier, &issuer.token(&claims)).await);
        assert_ne!(public.connections(), 0);
    }
    assert_eq!(internal.connections(), 0);
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let issuer = Issuer::new();
    let keys = serde_json::to_string(&issuer.keys()).unwrap();
    let internal = CountingServer::listen(move |_| ok(&keys)).await;
    let token = issuer.token(&AttackFixture::claims("ann"));
    let local = DocumentFetcher::with_loopback_allowed();
    for status in [301, 302, 303, 307, 308] {
        for target in [
            format!("http://127.0.0.1:{}/keys", internal.port),
            format!("http://localhost:{}/keys", internal.port),
            format!("//127.0.0.1:{}/keys", internal.port),
            "https://169.254.169.254/".to_owned(),
        ] {
            let public = CountingServer::listen(move |_| {
                format!(
                    "HTTP/1.1 {status} X\r\nConnection: close\r\nLocation: {target}\r\nContent-Length: 0\r\n\r\n"
                )
            })
            .await;
            let url = format!("http://127.0.0.1:{}/keys", public.port);
            let verifier = JwtVerifier::new(Vec::<String>::new(), &local);
            let by_keys = verifier.with_keys_at(ISSUER, &*url, &local);
            assert!(!accepts_token(by_keys, &token).await);
            let introspection =
                Introspection::new(url, "app", &Secret::new("password"), local.clone());
            assert!(!accepts_token(introspection, "opaque").await);
            assert_eq!(public.connections(), 2);
        }
    }
    assert_eq!(
        internal.connections(),
        0,
        "the verifier followed a redirect"
    );
}
