//! How the certificate of a server is verified: `--cacert` and `--insecure`.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme};
use toolwire::transport::http_client::HyperClient;

use crate::connection_arguments::TlsOptions;
use crate::failure::Failure;
use crate::screen::Screen;

/// Returns the HTTP client for these options, or `None` if the default one fits. Warns about `--insecure`.
pub(crate) fn http_client(
    options: &TlsOptions,
    screen: &Screen,
) -> Result<Option<HyperClient>, Failure> {
    if options.insecure {
        screen.warn(
            "--insecure accepts any certificate: others on the network can read and change the messages",
        );
    }
    another_http_client(options)
}

/// Returns an HTTP client as [`http_client`] does, without the warning.
pub(crate) fn another_http_client(options: &TlsOptions) -> Result<Option<HyperClient>, Failure> {
    if options.insecure {
        let http = HyperClient::new().with_tls(Arc::new(accepting_any()?));
        return Ok(Some(http));
    }
    let Some(path) = &options.cacert else {
        return Ok(None);
    };
    let shown = path.display();
    let pem = std::fs::read(path).map_err(|error| {
        Failure::usage(format!("{shown} cannot be read: {error}")).with_advice("check --cacert")
    })?;
    let http = HyperClient::new().with_root_certificates(&pem);
    let http = http.map_err(|error| {
        let failure = Failure::usage(format!("--cacert {shown}: {}", error.message()));
        failure.with_default_advice(error.advice().unwrap_or("give certificates in PEM"))
    })?;
    Ok(Some(http))
}

fn accepting_any() -> Result<ClientConfig, Failure> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = Arc::new(AnyCertificate(Arc::clone(&provider)));
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Failure::usage(format!("TLS cannot be used: {error}")))?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    Ok(config)
}

/// Accepts every certificate. The server must still have the key of its certificate.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, cert, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, cert, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
