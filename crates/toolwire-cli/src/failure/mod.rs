//! The failure of a command: the step that failed, the message, the advice and the exit code.

mod causes;

use std::fmt::Write;

use serde_json::{Value, json};
use toolwire::ErrorObject;

use crate::input_kind::{InputKind, undeclared_input};
use crate::show::plain_text;
use crate::target::Target;

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
        let Some(rpc) = &self.rpc else {
            return self;
        };
        let data = rpc.data.as_ref().and_then(|data| data.to_value().ok());
        let required = data.as_ref().map(|data| &data["requiredCapabilities"]);
        let input = required.and_then(InputKind::of_required);
        match input.or_else(|| undeclared_input(&rpc.message)) {
            Some(input) => self.with_advice(input.advice()),
            None => self,
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

#[cfg(test)]
mod tests {
    use toolwire::{Error, RawJson};

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
}
