//! HTTPS.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::Empty;
use hyper::Request;
use hyper::body::Bytes;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use toolwire::transport::http::{HttpLimits, HttpOptions, tls};
use toolwire_tests::peer::within;

use crate::listener::{RunningListener, closed};

/// A certificate for `localhost` and its private key.
struct Identity {
    certificate: rcgen::Certificate,
    key: KeyPair,
}

impl Identity {
    fn new() -> Self {
        let key = KeyPair::generate().expect("a generated key");
        let names = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
        let certificate = names.self_signed(&key).expect("the key can sign");
        Self { certificate, key }
    }

    async fn serve(&self) -> RunningListener {
        self.serve_with(|_| {}).await
    }

    async fn serve_with(&self, change: impl FnOnce(&mut HttpLimits)) -> RunningListener {
        let chain = self.certificate.pem();
        let key = self.key.serialize_pem();
        let config = tls::config_from_pem(chain.as_bytes(), key.as_bytes())
            .expect("the certificate matches the key");
        let mut limits = HttpLimits::default();
        change(&mut limits);
        RunningListener::start(HttpOptions::new().with_limits(limits).with_tls(config)).await
    }

    /// Connects and offers these ALPN protocols.
    async fn connect(&self, running: &RunningListener, protocols: &[&str]) -> TlsStream<TcpStream> {
        let mut roots = RootCertStore::empty();
        roots
            .add(self.certificate.der().clone())
            .expect("a certificate");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("ring supports the default versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = protocols
            .iter()
            .map(|name| name.as_bytes().to_vec())
            .collect();
        let name = ServerName::try_from("localhost").expect("a name");
        let socket = running.connect().await;
        within(TlsConnector::from(Arc::new(config)).connect(name, socket))
            .await
            .expect("the TLS handshake succeeds")
    }
}

async fn expect_http_1_response(stream: &mut TlsStream<TcpStream>, running: &RunningListener) {
    let address = running.address;
    let request = format!("GET /nowhere HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream
        .write_all(request.as_bytes())
        .await
        .expect("the server reads");
    let mut response = Vec::new();
    within(stream.read_to_end(&mut response))
        .await
        .expect("the server responds");
    assert!(response.starts_with(b"HTTP/1.1 404"));
}

#[tokio::test]
async fn alpn_selects_the_http_version() {
    let identity = Identity::new();
    let running = identity.serve().await;

    let mut stream = identity.connect(&running, &[]).await;
    expect_http_1_response(&mut stream, &running).await;

    let mut stream = identity.connect(&running, &["http/1.1"]).await;
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
    expect_http_1_response(&mut stream, &running).await;

    let stream = identity.connect(&running, &["http/1.1", "h2"]).await;
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let (mut client, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .unwrap();
    let connection = tokio::spawn(connection);
    let url = format!("https://localhost:{}/nowhere", running.address.port());
    let request = Request::get(url).body(Empty::<Bytes>::new()).unwrap();
    let response = within(client.send_request(request)).await.unwrap();
    assert_eq!(response.status(), 404);
    running.end().await;
    within(connection).await.unwrap().unwrap();
}

#[tokio::test]
async fn plain_http_closes_only_its_own_connection() {
    let identity = Identity::new();
    let running = identity.serve().await;
    let mut plain = running.connect().await;
    plain
        .write_all(b"GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .await
        .unwrap();
    let mut response = Vec::new();
    // The connection may end in several ways, but it ends without a response in clear text.
    let _ = within(plain.read_to_end(&mut response)).await;
    assert!(!response.starts_with(b"HTTP"), "{response:?}");
    let mut stream = identity.connect(&running, &[]).await;
    expect_http_1_response(&mut stream, &running).await;
    running.end().await;
}

/// The first bytes of an incomplete handshake: none, or the header of a TLS record.
const BEGINNINGS: [&[u8]; 2] = [b"", &[22, 3, 1, 2, 0]];

#[tokio::test]
async fn incomplete_handshake_is_closed_after_the_deadline() {
    let identity = Identity::new();
    let running = identity
        .serve_with(|limits| limits.header_deadline = Duration::from_millis(100))
        .await;
    for beginning in BEGINNINGS {
        let mut client = running.connect().await;
        client.write_all(beginning).await.unwrap();
        assert_eq!(closed(client).await, b"", "{beginning:?}");
    }
    running.end().await;
}

#[tokio::test]
async fn shutdown_does_not_wait_for_handshakes() {
    let identity = Identity::new();
    let hour = Duration::from_secs(3600);
    let running = identity
        .serve_with(|limits| (limits.header_deadline, limits.drain) = (hour, hour))
        .await;
    let mut clients = Vec::new();
    for beginning in BEGINNINGS {
        let mut client = running.connect().await;
        client.write_all(beginning).await.unwrap();
        clients.push(client);
    }
    // Connections are accepted in order, so the others have been accepted as well.
    let mut stream = identity.connect(&running, &[]).await;
    expect_http_1_response(&mut stream, &running).await;
    running.end().await;
    for client in clients {
        closed(client).await;
    }
}

#[test]
fn certificate_and_key_that_do_not_match_are_rejected() {
    let (one, other) = (Identity::new(), Identity::new());
    let chain = one.certificate.pem();
    let check = |chain: &str, key: &str, expected: &str| {
        let error = tls::config_from_pem(chain.as_bytes(), key.as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), expected);
    };
    let key = one.key.serialize_pem();
    check("", &key, "there is no certificate in the chain");
    check(&key, &key, "there is no certificate in the chain");
    check(&chain, "", "there is no readable private key");
    check(&chain, &chain, "there is no readable private key");
    check(
        &chain,
        &other.key.serialize_pem(),
        "the certificate cannot be used with the key",
    );
}
