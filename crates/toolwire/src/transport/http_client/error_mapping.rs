//! Maps errors of sockets, TLS and hyper to [`HttpError`], with a cause and advice.

use std::error::Error as StdError;
use std::io;

use http::Uri;
use hyper_util::client::legacy;
use rustls::CertificateError;
use rustls::pki_types::InvalidDnsNameError;

use crate::client::http::{HttpError, HttpPhase};
use crate::transport::http_client::authority::HostPort;
use crate::transport::http_client::stream::ConnectionProgress;

/// The reason why a request got no response headers.
enum FailureReason {
    /// The response is not valid HTTP.
    Malformed,
    /// The server closed the connection.
    Closed,
    /// No byte of the request was written.
    Unsent,
    /// Any other error of the connection.
    Lost,
}

/// Returns `true` if a reused connection failed before a byte of the response arrived.
///
/// A request may be sent again in this case if a second one has no effect of its own: RFC 9110, section 9.2.2.
pub(super) fn failed_without_response_on_reused_connection(error: &legacy::Error) -> bool {
    error
        .connect_info()
        .filter(|connected| !connected.is_negotiated_h2())
        .and_then(ConnectionProgress::of)
        .is_some_and(|progress| progress.is_written_again())
}

/// Maps the error of a request that got no response headers.
pub(super) fn no_response(uri: &Uri, error: legacy::Error) -> HttpError {
    if let Some(failure) = cause_of::<HttpError>(&error) {
        return failure.clone();
    }
    let cause = cause_of::<hyper::Error>(&error);
    // Without a connection, or with an error that returns the request to the caller, nothing was written.
    let is_unsent = error.connect_info().is_none() || cause.is_some_and(hyper::Error::is_canceled);
    let reason = match cause {
        Some(cause) if cause.is_parse() => FailureReason::Malformed,
        Some(cause) if cause.is_incomplete_message() => FailureReason::Closed,
        _ if is_unsent => FailureReason::Unsent,
        _ => FailureReason::Lost,
    };
    match HostPort::of(uri) {
        Ok(server) => error_for(&server, &reason).with_source(error),
        Err(failure) => failure,
    }
}

fn error_for(server: &HostPort, reason: &FailureReason) -> HttpError {
    match reason {
        FailureReason::Malformed => {
            let what = format!("the response of {server} is not valid HTTP");
            HttpError::new(HttpPhase::Receive, what).with_advice(
                "check the port, and whether the server requires https://; its headers may also be too large",
            )
        }
        FailureReason::Closed => {
            let what = format!("{server} closed the connection before it sent a response");
            HttpError::new(HttpPhase::Send, what).with_advice("check the log of the server")
        }
        FailureReason::Unsent => {
            let what = format!("{server} closed the connection before the request was sent");
            HttpError::new(HttpPhase::Send, what)
                .with_advice("try again")
                .before_arrival()
        }
        FailureReason::Lost => {
            let what = format!("the connection to {server} failed before a response arrived");
            HttpError::new(HttpPhase::Send, what)
                .with_advice("check the network and the log of the server")
        }
    }
}

/// Returns the error for response headers that exceed the limit.
pub(super) fn headers_too_large(uri: &Uri, limit: u32) -> HttpError {
    match HostPort::of(uri) {
        Ok(server) => {
            let what = format!("the response headers of {server} have more than {limit} bytes");
            HttpError::new(HttpPhase::Receive, what)
                .with_advice("allow more with `with_max_header_bytes` if this server needs them")
        }
        Err(failure) => failure,
    }
}

/// Maps the error of a response body.
pub(super) fn body_error(uri: &Uri, error: hyper::Error) -> HttpError {
    let server = match HostPort::of(uri) {
        Ok(server) => server,
        Err(failure) => return failure,
    };
    let is_timeout = error.is_timeout()
        || cause_of::<io::Error>(&error)
            .is_some_and(|error| error.kind() == io::ErrorKind::TimedOut);
    let what = if is_timeout {
        format!("{server} stopped sending before the end of its response")
    } else {
        format!("the response of {server} ended early")
    };
    HttpError::new(HttpPhase::Receive, what)
        .with_advice("check the network and the log of the server")
        .with_source(error)
}

/// Maps the error of a TCP connection.
pub(super) fn not_connected(
    host: &HostPort,
    error: impl StdError + Send + Sync + 'static,
) -> HttpError {
    let cause = cause_of::<io::Error>(&error);
    let (what, advice) = match cause.map(io::Error::kind) {
        Some(io::ErrorKind::ConnectionRefused) => (
            format!("{host} refused the connection"), // tidy: allow(refused) term of the system (ECONNREFUSED)
            "check that the server runs and listens on that port",
        ),
        _ => (
            format!("{host} cannot be reached"),
            "check the address, the network and its firewalls",
        ),
    };
    // The error of the system is more specific than the error of hyper-util that wraps it.
    let source: Box<dyn StdError + Send + Sync> = match cause.and_then(io::Error::raw_os_error) {
        Some(code) => Box::new(io::Error::from_raw_os_error(code)),
        None => Box::new(error),
    };
    HttpError::new(HttpPhase::Connect, what)
        .with_advice(advice)
        .with_source(source)
}

/// Maps the error of a host name that cannot be in a certificate.
pub(super) fn invalid_server_name(server: &HostPort, error: InvalidDnsNameError) -> HttpError {
    let what = format!("no certificate can be for the name {}", server.name());
    HttpError::new(HttpPhase::Prepare, what)
        .with_advice("use a name of letters, digits, hyphens and dots, or an address")
        .with_source(error)
}

/// Maps the error of a TLS handshake.
pub(super) fn no_tls(server: &HostPort, error: io::Error) -> HttpError {
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref());
    let (what, advice) = match cause {
        Some(rustls::Error::InvalidCertificate(problem)) => invalid_certificate(server, problem),
        Some(rustls::Error::InvalidMessage(_)) => (
            format!("{server} does not use TLS"),
            "use a URL with http:// if this server has no certificate, or another port",
        ),
        Some(rustls::Error::PeerIncompatible(_)) => (
            format!("{server} supports no version or cipher of TLS that this client supports"),
            "let the server offer TLS 1.2 or 1.3",
        ),
        Some(rustls::Error::AlertReceived(_)) => (
            format!("{server} rejected the TLS handshake"),
            "check the host name, and whether the server requires a client certificate",
        ),
        Some(_) => (
            format!("the TLS handshake with {server} failed"),
            "check that a TLS server listens on that port",
        ),
        None => (
            format!("the connection to {server} failed during the TLS handshake"),
            "check that a TLS server listens on that port and that no firewall blocks it",
        ),
    };
    HttpError::new(HttpPhase::Tls, what)
        .with_advice(advice)
        .with_source(error)
}

fn invalid_certificate(server: &HostPort, problem: &CertificateError) -> (String, &'static str) {
    let (what, advice) = match problem {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => (
            "has expired",
            "renew it, or correct the clock of this machine",
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
        CertificateError::Revoked => ("was revoked", "replace it"),
        _ => ("cannot be accepted", "replace it"),
    };
    (format!("the certificate of {server} {what}"), advice)
}

/// Returns the first error of this type in the chain of causes, which starts with the error itself.
fn cause_of<'a, E: StdError + 'static>(error: &'a (dyn StdError + 'static)) -> Option<&'a E> {
    std::iter::successors(Some(error), |error| (*error).source())
        .find_map(|error| error.downcast_ref())
}
