//! Whom we trust, and the TLS handshake.
//!
//! By default the certificates that the machine trusts are read, once, when the first HTTPS connection is made.

use std::fmt;
use std::io;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{CertificateError, ClientConfig, RootCertStore};
use tokio::sync::OnceCell;
use tokio_rustls::TlsConnector;

use crate::transport::http_client::deadline::Deadline;
use crate::transport::http_client::place::Place;
use crate::transport::http_client::wire::Wire;
use crate::transport::http_client::{HttpFailure, HttpStep};

/// Whose certificates are accepted.
#[derive(Clone)]
pub(super) struct Trust {
    native: bool,
    added: Vec<CertificateDer<'static>>,
    /// The configuration, once it is there. One that the caller gave is there from the beginning.
    ready: Arc<OnceCell<Arc<ClientConfig>>>,
}

impl Trust {
    /// The certificates that this machine trusts.
    pub(super) fn native() -> Self {
        Self {
            native: true,
            added: Vec::new(),
            ready: Arc::default(),
        }
    }

    /// A configuration that the caller made.
    pub(super) fn given(config: Arc<ClientConfig>) -> Self {
        Self {
            native: false,
            added: Vec::new(),
            ready: Arc::new(OnceCell::new_with(Some(config))),
        }
    }

    /// Trusts these certificates too.
    pub(super) fn add(&mut self, pem: &[u8]) -> Result<(), HttpFailure> {
        let certificates: Vec<_> = CertificateDer::pem_slice_iter(pem)
            .collect::<Result<_, _>>()
            .map_err(|error| {
                unusable("the root certificates are not readable PEM").with_source(error)
            })?;
        if certificates.is_empty() {
            return Err(unusable(
                "there is no certificate among the root certificates",
            ));
        }
        let mut checked = RootCertStore::empty();
        for certificate in &certificates {
            checked.add(certificate.clone()).map_err(|error| {
                unusable("a root certificate cannot be used").with_source(error)
            })?;
        }
        self.added.extend(certificates);
        self.ready = Arc::default();
        Ok(())
    }

    /// Trusts only what was added.
    pub(super) fn forget_native(&mut self) {
        self.native = false;
        self.ready = Arc::default();
    }

    /// Shakes hands with the place over a connection that is open, and offers these protocols.
    pub(super) async fn shake_hands(
        &self,
        wire: Wire,
        place: &Place,
        protocols: &[&str],
        deadline: Deadline,
    ) -> Result<Wire, HttpFailure> {
        let name = ServerName::try_from(place.name().to_owned()).map_err(|error| {
            HttpFailure::new(
                HttpStep::Prepare,
                format!("no certificate can be for the name {}", place.name()),
            )
            .with_advice("use a name of letters, digits, hyphens and dots, or an address")
            .with_source(error)
        })?;
        let mut config = ClientConfig::clone(self.config().await?);
        config.alpn_protocols = protocols
            .iter()
            .map(|name| name.as_bytes().to_vec())
            .collect();
        let shaking = || format!("the TLS handshake with {place}");
        let connector = TlsConnector::from(Arc::new(config));
        deadline
            .bound(HttpStep::Tls, shaking, connector.connect(name, wire))
            .await?
            .map(Wire::tls)
            .map_err(|error| explain(place, error))
    }

    async fn config(&self) -> Result<&Arc<ClientConfig>, HttpFailure> {
        self.ready
            .get_or_try_init(|| async {
                let mut roots = RootCertStore::empty();
                if self.native {
                    // Files are read, hundreds of them on some machines.
                    let found = tokio::task::spawn_blocking(rustls_native_certs::load_native_certs)
                        .await
                        .map_err(|stopped| no_roots().with_source(stopped))?;
                    for error in &found.errors {
                        tracing::debug!(%error, "some trusted certificates cannot be read");
                    }
                    roots.add_parsable_certificates(found.certs);
                }
                roots.add_parsable_certificates(self.added.iter().cloned());
                if roots.is_empty() {
                    return Err(no_roots());
                }
                // Named, so that no choice of the whole process is needed or made.
                let provider = Arc::new(rustls::crypto::ring::default_provider());
                let config = ClientConfig::builder_with_provider(provider)
                    .with_safe_default_protocol_versions()
                    .map_err(|error| {
                        HttpFailure::new(HttpStep::Tls, "no version of TLS can be offered")
                            .with_source(error)
                    })?
                    .with_root_certificates(roots)
                    .with_no_client_auth();
                Ok(Arc::new(config))
            })
            .await
    }
}

fn unusable(what: &str) -> HttpFailure {
    HttpFailure::new(HttpStep::Prepare, what)
        .with_advice("give one or more certificates in PEM, each with its `BEGIN CERTIFICATE` line")
}

fn no_roots() -> HttpFailure {
    HttpFailure::new(HttpStep::Tls, "this machine has no root certificates, so nobody can be trusted").with_advice(
        "install the ca-certificates of the system, set SSL_CERT_FILE, or give certificates with `with_root_certificates`",
    )
}

fn explain(place: &Place, error: io::Error) -> HttpFailure {
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref());
    let (what, advice) = match cause {
        Some(rustls::Error::InvalidCertificate(problem)) => refused_certificate(place, problem),
        Some(rustls::Error::InvalidMessage(_)) => (
            format!("{place} does not speak TLS"),
            "use a URL with http:// if this server has no certificate, or another port",
        ),
        Some(rustls::Error::PeerIncompatible(_)) => (
            format!("{place} has no version or cipher of TLS in common with us"),
            "let the server offer TLS 1.2 or 1.3",
        ),
        Some(rustls::Error::AlertReceived(_)) => (
            format!("{place} refused the TLS handshake"),
            "check the host name, and whether the server asks for a certificate of the client",
        ),
        Some(_) => (
            format!("the TLS handshake with {place} failed"),
            "check that a TLS server listens on that port",
        ),
        None => (
            format!("the connection to {place} broke during the TLS handshake"),
            "check that a TLS server listens on that port and that nothing between filters it",
        ),
    };
    HttpFailure::new(HttpStep::Tls, what)
        .with_advice(advice)
        .with_source(error)
}

fn refused_certificate(place: &Place, problem: &CertificateError) -> (String, &'static str) {
    let (what, advice) = match problem {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => (
            "has expired",
            "have it renewed, or correct the clock of this machine",
        ),
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => (
            "is not valid yet",
            "correct the clock of this machine or of the server",
        ),
        CertificateError::UnknownIssuer => (
            "comes from an issuer that this machine does not trust",
            "give the issuer's certificate with `with_root_certificates` or in SSL_CERT_FILE",
        ),
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => (
            "is for another name",
            "use the name that the certificate was made for",
        ),
        CertificateError::Revoked => ("was revoked", "have it replaced"),
        _ => ("cannot be accepted", "have it replaced"),
    };
    (format!("the certificate of {place} {what}"), advice)
}

impl fmt::Debug for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trust")
            .field("native", &self.native)
            .field("added", &self.added.len())
            .finish_non_exhaustive()
    }
}
