//! The failure of a command: the step that failed, the message, the advice and the exit code.

use std::error::Error as StdError;
use std::fmt::Write;

use rustls::CertificateError;
use serde_json::{Value, json};
use toolwire::transport::http_client::{HttpError, HttpPhase};
use toolwire::{Error, ErrorObject};
use toolwire_auth::client::AuthError;

use crate::show::plain_text;
use crate::target::Target;

/// What to do if a tool asks the user and the command runs without a terminal.
pub(crate) const INPUT_ADVICE: &str = "the server asks the user for input: run the command in a terminal, or pass \
    --answer FIELD=VALUE for each field, or --decline"; // tidy: allow(answer) name of the option

const URL_ADVICE: &str =
    "the server asks the user to open a page: run the command in a terminal, or pass --decline";

/// The exit codes, as described in `--help`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Success = 0,
    /// The tool reported an error, or a check found a fault.
    ToolFailed = 1,
    Usage = 2,
    NoConnection = 3,
    /// The server returned an error or violated the protocol.
    Protocol = 4,
    Timeout = 5,
    /// The credentials were rejected or are missing.
    Unauthorized = 6,
    TerminalClosed = 129,
    Interrupted = 130,
    Terminated = 143,
}

/// The reason why a command failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    /// The step that failed: `DNS`, `TCP`, `HTTP`, …
    step: Option<&'static str>,
    message: String,
    advice: Option<String>,
    /// More lines, printed unchanged: the usage of a tool, or the last lines of the server's standard error.
    details: Option<String>,
    rpc: Option<ErrorObject>,
    status: Option<u16>,
    /// `true` if a login is required, possibly with the scopes in `required_scopes`.
    needs_login: bool,
    required_scopes: Option<String>,
}

/// The phase in which the client failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Connecting,
    Calling,
}

impl Failure {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self {
            exit,
            step: None,
            message: message.into(),
            advice: None,
            details: None,
            rpc: None,
            status: None,
            needs_login: false,
            required_scopes: None,
        }
    }

    /// Creates a failure for an invalid command line.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// Creates a failure without a message: the reader of the output is gone, or the user interrupted the command.
    pub(crate) fn silent(exit: Exit) -> Self {
        Self::new(exit, "")
    }

    pub(crate) fn with_advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    /// Adds advice unless the failure has some already.
    pub(crate) fn with_default_advice(mut self, advice: &str) -> Self {
        self.advice.get_or_insert_with(|| advice.to_owned());
        self
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn advice(&self) -> Option<&str> {
        self.advice.as_deref()
    }

    /// Returns the step that failed.
    pub(crate) fn step(&self) -> Option<&'static str> {
        self.step
    }

    /// Returns the message and the advice in one line, for a warning.
    pub(crate) fn message_with_advice(&self) -> String {
        match &self.advice {
            Some(advice) => format!("{}; {advice}", self.message),
            None => self.message.clone(),
        }
    }

    /// Inserts text before the message.
    pub(crate) fn with_context(mut self, context: &str) -> Self {
        self.message.insert_str(0, context);
        self
    }

    pub(crate) fn with_details(mut self, details: impl Into<String>) -> Self {
        self.details = Some(details.into());
        self
    }

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

    /// Adds how to log in to `target`, if a login is required.
    pub(crate) fn at(self, target: &Target) -> Self {
        match target {
            Target::Http(endpoint) if self.needs_login => {
                let url = &endpoint.url;
                let advice = match &self.required_scopes {
                    Some(scopes) => format!("log in with: toolwire login {url} --scope '{scopes}'"),
                    None => format!(
                        "log in with: toolwire login {url} (or pass a token with --bearer-env VARIABLE)"
                    ),
                };
                self.with_advice(advice)
            }
            _ => self,
        }
    }

    /// Adds how to respond to an input request, if the server requires input and the client cannot give any.
    pub(crate) fn with_input_advice(self) -> Self {
        let rpc = self.rpc.as_ref();
        let data = rpc.and_then(|rpc| rpc.data.as_ref()?.to_value().ok());
        let data = data.unwrap_or_default();
        let required = &data["requiredCapabilities"]["elicitation"];
        let is_elicitation =
            required.is_object() || rpc.is_some_and(|rpc| is_about_input(&rpc.message));
        match (is_elicitation, required.get("url")) {
            (true, Some(_)) => self.with_advice(URL_ADVICE),
            (true, None) => self.with_advice(INPUT_ADVICE),
            (false, _) => self,
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

    /// Returns the text for standard error. It is empty if there is no message.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        if self.message.is_empty() {
            return text;
        }
        let message = plain_text(&self.message);
        let _ = match self.step {
            Some(step) => writeln!(text, "toolwire: {step}: {message}"),
            None => writeln!(text, "toolwire: {message}"),
        };
        if let Some(data) = self.rpc.as_ref().and_then(|rpc| rpc.data.as_ref()) {
            let _ = writeln!(text, "  data: {}", plain_text(data.get()));
        }
        if let Some(advice) = &self.advice {
            let _ = writeln!(text, "  try: {}", plain_text(advice));
        }
        if let Some(details) = &self.details {
            let _ = writeln!(text, "{}", plain_text(details));
        }
        text
    }

    /// Returns the failure as one JSON object, for `--json`.
    pub(crate) fn json(&self) -> Value {
        let mut error = json!({"exit": self.exit as i32, "message": self.message});
        if let Some(step) = self.step {
            error["step"] = step.into();
        }
        if let Some(advice) = &self.advice {
            error["advice"] = advice.as_str().into();
        }
        if let Some(details) = &self.details {
            error["details"] = details.as_str().into();
        }
        if let Some(status) = self.status {
            error["httpStatus"] = status.into();
        }
        if let Some(rpc) = &self.rpc {
            // A value that `serde_json` cannot represent, such as a number out of range, is left out.
            error["rpc"] = serde_json::to_value(rpc)
                .unwrap_or_else(|_| json!({"code": rpc.code, "message": rpc.message}));
        }
        json!({ "error": error })
    }

    pub(crate) fn is_silent(&self) -> bool {
        self.message.is_empty()
    }
}

impl From<std::io::Error> for Failure {
    /// Creates a failure for an output that cannot be written.
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            // The reader of the output has closed it.
            std::io::ErrorKind::BrokenPipe => Self::silent(Exit::Success),
            _ => Self::new(
                Exit::NoConnection,
                format!("the output cannot be written: {error}"),
            ),
        }
    }
}

/// Returns `true` if a text of the server is about an input request that the client did not declare.
pub(crate) fn is_about_input(text: &str) -> bool {
    text.to_ascii_lowercase().contains("elicit")
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
    use toolwire::RawJson;

    use super::*;
    use crate::show::escaped_json;

    #[test]
    fn server_error_is_shown_with_its_data() {
        let mut rpc = ErrorObject::invalid_params("no such tool");
        rpc.data = Some(json!({"name": "x"}).into());
        let failure = Failure::of(&Error::from(rpc), Phase::Calling);
        assert_eq!(failure.exit, Exit::Protocol);
        assert_eq!(
            failure.text(),
            "toolwire: protocol: no such tool (-32602)\n  data: {\"name\":\"x\"}\n"
        );
        assert_eq!(failure.json()["error"]["rpc"]["code"], -32602);
    }

    #[test]
    fn data_out_of_range_is_left_out() {
        let mut rpc = ErrorObject::invalid_params("too much");
        rpc.data = Some(RawJson::from_string("1e999".to_owned()).expect("JSON"));
        let failure = Failure::of(&Error::from(rpc), Phase::Calling);
        let expected = json!({"code": -32602, "message": "too much"});
        assert_eq!(failure.json()["error"]["rpc"], expected);
    }

    #[test]
    fn control_characters_from_a_server_do_not_reach_the_terminal() {
        let rpc = ErrorObject::invalid_params("\u{1b}[2Jgone");
        let text = Failure::of(&Error::from(rpc), Phase::Calling).text();
        assert!(!text.contains('\u{1b}'), "{text:?}");
    }

    #[test]
    fn hidden_characters_from_a_server_do_not_reach_the_terminal() {
        let hidden = "\u{1b}\u{7f}\u{9b}\u{202e}\u{200b}\u{e0041}";
        let mut rpc = ErrorObject::invalid_params(hidden);
        rpc.data = Some(json!({hidden: hidden}).into());
        let failure = Failure::of(&Error::from(rpc), Phase::Calling)
            .with_advice(hidden)
            .with_details(hidden);
        let json = failure.json();
        let printed = escaped_json(&json.to_string()).into_owned();
        for text in [&failure.text(), &printed] {
            let is_hidden = |c: &char| hidden.contains(*c);
            assert_eq!(text.chars().find(is_hidden), None, "{text:?}");
        }
        assert_eq!(serde_json::from_str::<Value>(&printed).unwrap(), json);
    }

    #[test]
    fn closed_output_is_not_a_failure() {
        let failure = Failure::from(std::io::Error::from(std::io::ErrorKind::BrokenPipe));
        assert_eq!(failure.exit, Exit::Success);
        assert!(failure.is_silent());
    }

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
