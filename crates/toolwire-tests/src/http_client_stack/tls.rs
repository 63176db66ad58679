//! Certificates for tests, and the server side of TLS.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use toolwire::transport::http_client::HyperClient;

use crate::http_client_stack::raw::RawConnection;
use crate::peer::within;

/// A certificate authority that is not among the root certificates of the system.
#[derive(Debug)]
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    /// Creates an authority.
    pub fn new() -> Self {
        Self::named("an authority")
    }

    /// Creates an authority with this common name.
    pub fn named(name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, key).unwrap())
    }

    /// Returns the certificate of the authority.
    pub fn certificate(&self) -> &CertificateDer<'static> {
        self.0.der()
    }

    /// Configures a client to trust this authority only.
    pub fn trusted_by(&self, http: HyperClient) -> HyperClient {
        http.without_native_roots()
            .with_root_certificates(self.0.pem().as_bytes())
            .unwrap()
    }

    /// Returns the TLS configuration of a server with a certificate for `name` and these ALPN protocols.
    pub fn acceptor(&self, name: &str, protocols: &[&str]) -> TlsAcceptor {
        self.acceptor_with(name, protocols, |_| {})
    }

    /// As [`Self::acceptor`], with a changed certificate.
    pub fn acceptor_with(
        &self,
        name: &str,
        protocols: &[&str],
        change: impl FnOnce(&mut CertificateParams),
    ) -> TlsAcceptor {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        change(&mut params);
        let certificate = params.signed_by(&key, &self.0).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
            )
            .unwrap();
        config.alpn_protocols = protocols
            .iter()
            .map(|name| name.as_bytes().to_vec())
            .collect();
        TlsAcceptor::from(Arc::new(config))
    }
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}

/// Runs the TLS handshake over a connection. Returns `None` if the handshake fails.
pub async fn accept_tls<S: AsyncRead + AsyncWrite + Unpin>(
    acceptor: &TlsAcceptor,
    connection: RawConnection<S>,
) -> Option<RawConnection<TlsStream<S>>> {
    let stream = within(acceptor.accept(connection.stream)).await.ok()?;
    Some(RawConnection { stream })
}
