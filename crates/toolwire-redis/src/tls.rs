//! The certificates of encrypted connections.

use std::fmt;

use redis::{ClientTlsConfig, TlsCertificates};

/// The certificates that options name.
#[derive(Clone, Default)]
pub(crate) struct TlsOptions {
    /// The root certificates, in PEM format. Those of the system if `None`.
    pub(crate) roots: Option<Vec<u8>>,
    /// The certificate of this client and its private key, in PEM format.
    pub(crate) client: Option<(Vec<u8>, Vec<u8>)>,
}

impl TlsOptions {
    pub(crate) fn certificates(&self) -> Option<TlsCertificates> {
        if self.roots.is_none() && self.client.is_none() {
            return None;
        }
        let client = self.client.clone();
        Some(TlsCertificates {
            client_tls: client.map(|(client_cert, client_key)| ClientTlsConfig {
                client_cert,
                client_key,
            }),
            root_cert: self.roots.clone(),
        })
    }
}

impl fmt::Debug for TlsOptions {
    /// Omits the private key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsOptions")
            .field("roots", &self.roots.is_some())
            .field("client", &self.client.is_some())
            .finish()
    }
}

/// Makes `ring` the cryptography of the process, unless the program has chosen one.
pub(crate) fn install_provider() {
    // An error means that there is one already.
    let _ = rustls::crypto::ring::default_provider().install_default();
}
