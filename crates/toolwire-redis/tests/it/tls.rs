//! Encrypted connections.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use toolwire::Principal;
use toolwire::store::{Bus as _, NonceStore as _};
use toolwire_redis::{ConnectError, Redis, RedisOptions};

use crate::engine::{Engine, free_port};

/// A certificate authority, and certificates of it.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        // Without a name of its own, the certificates look self-signed.
        params
            .distinguished_name
            .push(DnType::CommonName, "test authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    fn pem(&self) -> String {
        self.0.pem()
    }

    /// Returns a certificate for a host and its private key.
    fn certificate(&self, host: &str) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![host.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        (certificate.pem(), key.serialize_pem())
    }
}

/// Starts an engine with a certificate for `host`. Returns it and its port.
fn start(authority: &Authority, host: &str, verifies_clients: bool) -> (Engine, u16) {
    let directory = std::env::temp_dir().join(format!("toolwire-tls-{}", free_port()));
    fs::create_dir_all(&directory).unwrap();
    let (certificate, key) = authority.certificate(host);
    let write = |name: &str, text: &str| {
        let path = directory.join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let files = [
        write("root.pem", &authority.pem()),
        write("certificate.pem", &certificate),
        write("key.pem", &key),
    ];
    let port = free_port();
    let engine = Engine::start_with(&[
        "--tls-port",
        &port.to_string(),
        "--tls-ca-cert-file",
        &files[0],
        "--tls-cert-file",
        &files[1],
        "--tls-key-file",
        &files[2],
        "--tls-auth-clients",
        if verifies_clients { "yes" } else { "no" },
    ]);
    remove(&directory);
    (engine, port)
}

/// Removes the files, which the engine has read.
fn remove(directory: &Path) {
    fs::remove_dir_all(directory).unwrap();
}

fn options(authority: &Authority) -> RedisOptions {
    RedisOptions::new("test").with_root_certificates(authority.pem())
}

#[tokio::test]
async fn stores_use_an_encrypted_connection() {
    let authority = Authority::new();
    let (_engine, port) = start(&authority, "localhost", false);
    let url = format!("rediss://localhost:{port}");
    let redis = Redis::connect(&url, options(&authority)).await.unwrap();
    let owner = Principal::anonymous();
    let lifetime = Duration::from_secs(60);
    let nonces = redis.nonces();
    assert!(nonces.mark_used(&owner, &[1; 32], lifetime).await.unwrap());
    redis.bus().subscribe().await.unwrap();
}

#[tokio::test]
async fn wrong_certificate_is_rejected_with_the_remedy() {
    let authority = Authority::new();
    let (_engine, port) = start(&authority, "localhost", false);
    let connect = async |host: &str, authority: &Authority| {
        let url = format!("rediss://{host}:{port}");
        let error = Redis::connect(&url, options(authority)).await.unwrap_err();
        assert!(matches!(error, ConnectError::Certificate(_)), "{error}");
        error.to_string()
    };
    let text = connect("localhost", &Authority::new()).await;
    assert!(text.contains("pass the root certificate"), "{text}");
    let text = connect("127.0.0.1", &authority).await;
    assert!(text.contains("use a name in the certificate"), "{text}");
    let invalid = RedisOptions::new("test").with_root_certificates("no certificate");
    let connected = Redis::connect(&format!("rediss://localhost:{port}"), invalid).await;
    assert!(connected.is_err());
}

#[tokio::test]
async fn engine_can_verify_its_clients() {
    let authority = Authority::new();
    let (_engine, port) = start(&authority, "localhost", true);
    let url = format!("rediss://localhost:{port}");
    let rejected = Redis::connect(&url, options(&authority)).await;
    assert!(rejected.is_err(), "a client without a certificate");
    let (certificate, key) = authority.certificate("client");
    let options = options(&authority).with_client_certificate(certificate, key);
    assert!(!format!("{options:?}").contains("PRIVATE"));
    Redis::connect(&url, options).await.unwrap();
}
