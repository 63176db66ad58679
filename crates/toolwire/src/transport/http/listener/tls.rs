//! HTTPS.
//!
//! Any `rustls` configuration can be served with; [`config_from_pem`] makes the usual one.

use std::io;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use crate::error::Error;

/// What clients may choose from when the configuration does not say: HTTP/2 first.
#[cfg(feature = "http2")]
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];
#[cfg(not(feature = "http2"))]
const PROTOCOLS: [&[u8]; 1] = [b"http/1.1"];

/// A configuration from the two files that certificate authorities hand out: the chain, own certificate first, and the
/// private key. Clients are not asked for certificates.
///
/// ```no_run
/// use toolwire::Server;
/// use toolwire::transport::http::{HttpOptions, tls};
///
/// # async fn serve() -> Result<(), Box<dyn std::error::Error>> {
/// let config = tls::config_from_pem(
///     &std::fs::read("fullchain.pem")?,
///     &std::fs::read("privkey.pem")?,
/// )?;
/// let options = HttpOptions::new().with_public_hosts(["mcp.example.com"]).with_tls(config);
/// Server::new("demo", "1.0.0").serve_http_with("0.0.0.0:8443", options).await?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// When there is no certificate or no key, or they do not belong together.
pub fn config_from_pem(cert_chain_pem: &[u8], key_pem: &[u8]) -> Result<Arc<ServerConfig>, Error> {
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(cert_chain_pem)
        .collect::<Result<_, _>>()
        .map_err(|error| refused("the certificate chain is not readable PEM", error))?;
    if chain.is_empty() {
        let error = "no `BEGIN CERTIFICATE` in it";
        return Err(refused("there is no certificate in the chain", error));
    }
    let key = PrivateKeyDer::from_pem_slice(key_pem)
        .map_err(|error| refused("there is no readable private key", error))?;
    // Named, so that no choice of the whole process is needed or made.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| refused("no version of TLS can be offered", error))?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|error| refused("the certificate cannot be used with the key", error))?;
    Ok(Arc::new(config))
}

fn refused(
    what: &'static str,
    error: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> Error {
    Error::io(what, io::Error::new(io::ErrorKind::InvalidInput, error))
}

/// What shakes hands with clients.
pub(super) fn acceptor(config: &Arc<ServerConfig>) -> TlsAcceptor {
    let mut config = Arc::clone(config);
    if config.alpn_protocols.is_empty() {
        let offered = PROTOCOLS.iter().map(|name| name.to_vec()).collect();
        Arc::make_mut(&mut config).alpn_protocols = offered;
    }
    TlsAcceptor::from(config)
}
