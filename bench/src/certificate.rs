//! A certificate for this run in two files, and how servers and the load use it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rcgen::{CertificateParams, KeyPair};
use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector};

/// A new self-signed certificate of 127.0.0.1 and its key, in a temporary directory that exists until this is dropped.
#[derive(Debug)]
pub struct Certificate {
    directory: PathBuf,
}

impl Certificate {
    /// Creates the certificate and writes the files.
    ///
    /// # Errors
    /// Returns an error if the files cannot be written.
    pub fn create() -> io::Result<Self> {
        static CREATED: AtomicUsize = AtomicUsize::new(0);
        let number = CREATED.fetch_add(1, Ordering::Relaxed);
        let name = format!("toolwire-certificate-{}-{number}", std::process::id());
        let this = Self {
            directory: std::env::temp_dir().join(name),
        };
        let key = KeyPair::generate().map_err(io::Error::other)?;
        let certificate = CertificateParams::new(["127.0.0.1".to_owned()])
            .and_then(|params| params.self_signed(&key))
            .map_err(io::Error::other)?;
        fs::create_dir(&this.directory)?;
        fs::write(this.certificate(), certificate.pem())?;
        fs::write(this.key(), key.serialize_pem())?;
        Ok(this)
    }

    /// Returns the PEM file of the certificate.
    #[must_use]
    pub fn certificate(&self) -> PathBuf {
        self.directory.join("certificate.pem")
    }

    /// Returns the PEM file of the private key.
    #[must_use]
    pub fn key(&self) -> PathBuf {
        self.directory.join("key.pem")
    }
}

impl Drop for Certificate {
    fn drop(&mut self) {
        // A leftover directory is not worth an error.
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// Returns the TLS side of a server with this certificate and key.
pub(crate) fn acceptor(certificate: &Path, key: &Path) -> io::Result<TlsAcceptor> {
    let certificate = CertificateDer::from_pem_file(certificate).map_err(io::Error::other)?;
    let key = PrivateKeyDer::from_pem_file(key).map_err(io::Error::other)?;
    let config = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .map_err(io::Error::other)?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Returns the TLS side of a client that trusts this certificate. It resumes no TLS session, so that all handshakes
/// are complete.
pub(crate) fn connector(trusted: &Path) -> io::Result<TlsConnector> {
    let mut roots = RootCertStore::empty();
    let certificate = CertificateDer::from_pem_file(trusted).map_err(io::Error::other)?;
    roots.add(certificate).map_err(io::Error::other)?;
    let mut config = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.resumption = Resumption::disabled();
    Ok(TlsConnector::from(Arc::new(config)))
}

/// An explicit provider, because the process has no default.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}
