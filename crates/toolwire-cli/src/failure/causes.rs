//! The failures that errors of the client, of HTTP and of the login cause.

use std::error::Error as StdError;
use std::fmt::Write;

use rustls::CertificateError;
use toolwire::Error;
use toolwire::transport::http_client::{HttpError, HttpPhase};
use toolwire_auth::client::AuthError;

use crate::failure::{Exit, Failure, Phase};

impl Failure {
    /// Creates a failure from an error of the client.
    pub(crate) fn of(error: &Error, phase: Phase) -> Self {
        let mut failure = match find_cause(error) {
            Some(failure) => Self::of_http(failure),
            None => Self::of_client(error, phase),
        };
        failure.rpc = error.rpc().cloned();
        failure.status = error.http_status();
        failure
    }

    /// Creates a failure from an error of the login.
    pub(crate) fn of_login(error: &AuthError) -> Self {
        // A server that cannot be reached gets the same message in every command.
        if let Some(failure) = error.find_source() {
            return Self::of_http(failure);
        }
        let advice = error.advice().map(str::to_owned);
        let mut message = error.to_string();
        if let Some(advice) = &advice
            && let Some(what) = message.strip_suffix(&format!("; {advice}"))
        {
            message.truncate(what.len());
        }
        add_causes(&mut message, error.source());
        Self {
            step: Some("login"),
            advice,
            needs_login: error.needs_login(),
            required_scopes: error.required_scopes().map(str::to_owned),
            ..Self::new(Exit::Unauthorized, message)
        }
    }

    /// Creates a failure from an error of the HTTP client.
    pub(crate) fn of_http(failure: &HttpError) -> Self {
        if let HttpPhase::Authorize = failure.phase()
            && let Some(error) = failure.source().and_then(<dyn StdError>::downcast_ref)
        {
            return Self::of_login(error);
        }
        let (step, exit) = match failure.phase() {
            HttpPhase::Prepare => ("address", Exit::Usage),
            HttpPhase::Resolve => ("DNS", Exit::NoConnection),
            HttpPhase::Connect => ("TCP", Exit::NoConnection),
            HttpPhase::Proxy => ("proxy", Exit::NoConnection),
            HttpPhase::Tls => ("TLS", Exit::NoConnection),
            HttpPhase::Redirect => ("HTTP redirect", Exit::NoConnection),
            _ => ("HTTP", Exit::NoConnection),
        };
        let mut message = failure.message().to_owned();
        add_causes(&mut message, failure.source());
        let mut advice = failure.advice().map(str::to_owned);
        match certificate_error(failure) {
            Some(CertificateError::UnknownIssuer) => {
                advice = Some(
                    "trust its issuer with --cacert FILE, or accept any certificate with --insecure"
                        .to_owned(),
                );
            }
            Some(_) => {
                let other = advice.unwrap_or_else(|| "replace it".to_owned());
                advice = Some(format!(
                    "{other}, or accept any certificate with --insecure"
                ));
            }
            None => {}
        }
        Self {
            step: Some(step),
            advice,
            ..Self::new(exit, message)
        }
    }

    fn of_client(error: &Error, phase: Phase) -> Self {
        let mut message = error.to_string();
        add_causes(&mut message, error.source());
        if let Some(status) = error.http_status() {
            return Self::of_status(status, message);
        }
        if error.is_timeout() {
            let what = match phase {
                Phase::Connecting => "the server did not respond in time while connecting",
                Phase::Calling => "the server did not respond in time",
            };
            // The rest of the message quotes the output of a server process.
            let message = message.replacen("no response within the timeout", what, 1);
            return Self {
                step: Some("protocol"),
                ..Self::new(Exit::Timeout, message)
            }
            .with_advice("allow more time with --timeout, or see the messages with --verbose");
        }
        if let Some(ended) = error.server_exit() {
            let failure = Self {
                step: Some("process"),
                ..Self::new(Exit::NoConnection, message)
            };
            let stderr = ended.stderr.trim_end();
            // A single line is part of the message already.
            return match stderr.lines().count() {
                0 => failure.with_advice(
                    "run the command directly to see why it exits; pass environment variables that it needs with --env VARIABLE",
                ),
                1 => failure,
                _ => failure.with_details(format!("its standard error:\n{}", indented(stderr))),
            };
        }
        if error.is_invalid_request() {
            return Self::usage(message);
        }
        let is_unreachable = error.is_closed() || (phase == Phase::Connecting && is_io(error));
        if is_unreachable {
            return Self {
                step: Some("connection"),
                ..Self::new(Exit::NoConnection, message)
            };
        }
        Self {
            step: Some("protocol"),
            ..Self::new(Exit::Protocol, message)
        }
    }

    fn of_status(status: u16, message: String) -> Self {
        let (exit, advice) = match status {
            401 => (
                Exit::Unauthorized,
                Some(
                    "pass a token with --bearer-env VARIABLE, or a header with --header 'Authorization: …'",
                ),
            ),
            403 => (
                Exit::Unauthorized,
                Some("the server denies access; ask for access or use other credentials"),
            ),
            404 | 405 => (
                Exit::Protocol,
                Some("check the path of the URL; many servers listen at /mcp"),
            ),
            500.. => (Exit::Protocol, Some("the server failed; check its log")),
            _ => (Exit::Protocol, None),
        };
        Self {
            step: Some("HTTP"),
            advice: advice.map(str::to_owned),
            ..Self::new(exit, message)
        }
    }
}

/// Returns the reason why the certificate of the server was rejected.
fn certificate_error(failure: &HttpError) -> Option<&CertificateError> {
    let error = failure.source()?.downcast_ref::<std::io::Error>()?;
    match error.get_ref()?.downcast_ref::<rustls::Error>()? {
        rustls::Error::InvalidCertificate(reason) => Some(reason),
        _ => None,
    }
}

fn find_cause<T: StdError + 'static>(error: &dyn StdError) -> Option<&T> {
    let mut source = error.source();
    while let Some(error) = source {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        source = error.source();
    }
    None
}

fn is_io(error: &Error) -> bool {
    error
        .source()
        .is_some_and(<dyn StdError>::is::<std::io::Error>)
}

/// Appends the causes of an error that the message does not contain yet.
fn add_causes(message: &mut String, mut source: Option<&(dyn StdError + 'static)>) {
    while let Some(cause) = source {
        let text = cause.to_string();
        // The error number adds nothing to the text and differs between systems.
        let text = text.split(" (os error ").next().unwrap_or_default();
        if !message.contains(text) {
            let _ = write!(message, ": {text}");
        }
        source = cause.source();
    }
}

fn indented(text: &str) -> String {
    let lines = text.lines().map(|line| format!("    {line}"));
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejected_credentials_have_their_own_exit_code() {
        fn check(status: u16, exit: Exit) {
            assert_eq!(
                Failure::of_status(status, String::new()).exit,
                exit,
                "{status}"
            );
        }
        check(401, Exit::Unauthorized);
        check(403, Exit::Unauthorized);
        check(404, Exit::Protocol);
        check(503, Exit::Protocol);
    }
}
