//! A certificate for `localhost`, and a client that trusts it.

use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};

use rcgen::{Certificate, CertificateParams, KeyPair};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use toolwire::transport::http::tls;
use toolwire_tests::peer::within;

static IDENTITY: LazyLock<(Certificate, KeyPair)> = LazyLock::new(|| {
    let key = KeyPair::generate().unwrap();
    let names = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    (names.self_signed(&key).unwrap(), key)
});

/// Returns the TLS configuration of the server.
pub(crate) fn config() -> Arc<ServerConfig> {
    let (certificate, key) = &*IDENTITY;
    let (chain, key) = (certificate.pem(), key.serialize_pem());
    tls::config_from_pem(chain.as_bytes(), key.as_bytes()).unwrap()
}

pub(crate) async fn connect(address: SocketAddr) -> TlsStream<TcpStream> {
    let mut roots = RootCertStore::empty();
    roots.add(IDENTITY.0.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let socket = within(TcpStream::connect(address)).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let connector = TlsConnector::from(Arc::new(config));
    within(connector.connect(name, socket)).await.unwrap()
}
