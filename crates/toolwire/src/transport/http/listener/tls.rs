//! TLS for the HTTP listener.
//!
//! The listener accepts any `rustls` configuration. [`config_from_pem`] creates a common one.

use std::io;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use crate::error::Error;

/// The protocols that are offered if the configuration names none, in order of preference.
#[cfg(feature = "http2")]
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];
#[cfg(not(feature = "http2"))]
const PROTOCOLS: [&[u8]; 1] = [b"http/1.1"];

/// Creates a configuration from the PEM text of a certificate chain and its private key. The chain starts with the
/// certificate of the server. Client certificates are not requested.
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
/// Returns an error if the certificate or the key is missing, or if they do not match.
pub fn config_from_pem(cert_chain_pem: &[u8], key_pem: &[u8]) -> Result<Arc<ServerConfig>, Error> {
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(cert_chain_pem)
        .collect::<Result<_, _>>()
        .map_err(|error| invalid("the certificate chain is not readable PEM", error))?;
    if chain.is_empty() {
        let error = "it contains no `BEGIN CERTIFICATE`";
        return Err(invalid("there is no certificate in the chain", error));
    }
    let key = PrivateKeyDer::from_pem_slice(key_pem)
        .map_err(|error| invalid("there is no readable private key", error))?;
    // An explicit provider, so that the process-wide default is neither needed nor set.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| invalid("the provider supports no TLS version", error))?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|error| invalid("the certificate cannot be used with the key", error))?;
    Ok(Arc::new(config))
}

fn invalid(
    what: &'static str,
    error: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> Error {
    Error::io(what, io::Error::new(io::ErrorKind::InvalidInput, error))
}

/// Returns the acceptor of TLS handshakes.
pub(super) fn acceptor(config: &Arc<ServerConfig>) -> TlsAcceptor {
    let mut config = Arc::clone(config);
    if config.alpn_protocols.is_empty() {
        let offered = PROTOCOLS.iter().map(|name| name.to_vec()).collect();
        Arc::make_mut(&mut config).alpn_protocols = offered;
    }
    TlsAcceptor::from(config)
}
