//! The root certificates and the TLS configuration of the HTTP client.
//!
//! By default the client uses the root certificates of the system. It reads them once, when it opens the first HTTPS
//! connection.

use std::fmt;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio::sync::OnceCell;

use crate::client::http::{HttpError, HttpPhase};

/// The protocols that a server may choose from, the preferred one first.
const SERVER_PROTOCOLS: &[&str] = &["h2", "http/1.1"];

/// The protocols that a proxy may choose from: `CONNECT` is sent with HTTP/1.1.
const PROXY_PROTOCOLS: &[&str] = &["http/1.1"];

/// The root certificates, or a configuration of the caller.
#[derive(Clone)]
pub(super) struct TlsSettings {
    native: bool,
    added: Vec<CertificateDer<'static>>,
    /// The configurations, once they were needed. Those of a caller are set from the start.
    ready: Arc<OnceCell<TlsConfigs>>,
}

impl TlsSettings {
    /// Creates settings with the root certificates of the system.
    pub(super) fn native() -> Self {
        Self {
            native: true,
            added: Vec::new(),
            ready: Arc::default(),
        }
    }

    /// Creates settings from a configuration of the caller. Its list of protocols is not used.
    pub(super) fn from_config(config: &ClientConfig) -> Self {
        Self {
            native: false,
            added: Vec::new(),
            ready: Arc::new(OnceCell::new_with(Some(TlsConfigs::new(config)))),
        }
    }

    /// Adds root certificates in PEM.
    ///
    /// # Errors
    /// Returns an error if there is no certificate, or if one of them is invalid.
    pub(super) fn add(&mut self, pem: &[u8]) -> Result<(), HttpError> {
        let certificates: Vec<_> = CertificateDer::pem_slice_iter(pem)
            .collect::<Result<_, _>>()
            .map_err(|error| {
                invalid("the root certificates are not readable PEM").with_source(error)
            })?;
        if certificates.is_empty() {
            return Err(invalid(
                "there is no certificate among the root certificates",
            ));
        }
        let mut checked = RootCertStore::empty();
        for certificate in &certificates {
            checked
                .add(certificate.clone())
                .map_err(|error| invalid("a root certificate cannot be used").with_source(error))?;
        }
        self.added.extend(certificates);
        self.ready = Arc::default();
        Ok(())
    }

    /// Removes the root certificates of the system.
    pub(super) fn remove_native(&mut self) {
        self.native = false;
        self.ready = Arc::default();
    }

    /// Returns the configurations. The first call reads the root certificates.
    ///
    /// # Errors
    /// Returns an error if there are no root certificates.
    pub(super) async fn configs(&self) -> Result<&TlsConfigs, HttpError> {
        self.ready
            .get_or_try_init(|| async { Ok(TlsConfigs::new(&self.client_config().await?)) })
            .await
    }

    async fn client_config(&self) -> Result<ClientConfig, HttpError> {
        let mut roots = RootCertStore::empty();
        if self.native {
            // This reads files, hundreds of them on some machines.
            let loaded = tokio::task::spawn_blocking(rustls_native_certs::load_native_certs)
                .await
                .map_err(|stopped| no_roots().with_source(stopped))?;
            for error in &loaded.errors {
                tracing::debug!(%error, "some root certificates of the system cannot be read");
            }
            roots.add_parsable_certificates(loaded.certs);
        }
        roots.add_parsable_certificates(self.added.iter().cloned());
        if roots.is_empty() {
            return Err(no_roots());
        }
        // The provider is named, so that the client neither needs nor sets the default of the process.
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        Ok(ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| {
                HttpError::new(HttpPhase::Tls, "no version of TLS can be offered")
                    .with_source(error)
            })?
            .with_root_certificates(roots)
            .with_no_client_auth())
    }
}

/// The TLS configurations for the two kinds of peers, which differ in the offered protocols.
pub(super) struct TlsConfigs {
    servers: Arc<ClientConfig>,
    proxies: Arc<ClientConfig>,
}

impl TlsConfigs {
    fn new(config: &ClientConfig) -> Self {
        let offering = |protocols: &[&str]| {
            let mut config = config.clone();
            config.alpn_protocols = protocols
                .iter()
                .map(|name| name.as_bytes().into())
                .collect();
            Arc::new(config)
        };
        Self {
            servers: offering(SERVER_PROTOCOLS),
            proxies: offering(PROXY_PROTOCOLS),
        }
    }

    pub(super) fn for_servers(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.servers)
    }

    pub(super) fn for_proxies(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.proxies)
    }
}

fn invalid(what: &str) -> HttpError {
    HttpError::new(HttpPhase::Prepare, what)
        .with_advice("give one or more certificates in PEM, each with its `BEGIN CERTIFICATE` line")
}

fn no_roots() -> HttpError {
    HttpError::new(HttpPhase::Tls, "this machine has no root certificates, so no server can be verified").with_advice(
        "install the ca-certificates of the system, set SSL_CERT_FILE, or give certificates with `with_root_certificates`",
    )
}

impl fmt::Debug for TlsSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsSettings")
            .field("native", &self.native)
            .field("added", &self.added.len())
            .finish_non_exhaustive()
    }
}
