//! The kinds of input requests, and what to do if the command cannot respond to one.

use serde_json::Value;

/// A kind of input request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InputKind {
    Form,
    Url,
    Sampling,
}

impl InputKind {
    /// Returns the kind that needs the capabilities of an error.
    pub(crate) fn of_required(capabilities: &Value) -> Option<Self> {
        if let Some(elicitation) = capabilities.get("elicitation") {
            return Some(match elicitation.get("url") {
                Some(_) => Self::Url,
                None => Self::Form,
            });
        }
        capabilities.get("sampling").map(|_| Self::Sampling)
    }

    /// Returns how the user of the command responds.
    pub(crate) fn advice(self) -> &'static str {
        match self {
            Self::Form => {
                "the server asks the user for input: run the command in a terminal, or pass \
                --answer FIELD=VALUE for each field, or --decline" // tidy: allow(answer) name of the option
            }
            Self::Url => {
                "the server asks the user to open a page: run the command in a terminal, or pass --decline"
            }
            Self::Sampling => {
                "the server requests a message of a model: run the command in a terminal and write it, or pass \
                --model-response TEXT, or --decline"
            }
        }
    }
}

/// The kinds of input requests that the command responds to.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct InputCapabilities {
    pub(crate) form: bool,
    pub(crate) url: bool,
    pub(crate) sampling: bool,
}

impl InputCapabilities {
    pub(crate) fn has(self, kind: InputKind) -> bool {
        match kind {
            InputKind::Form => self.form,
            InputKind::Url => self.url,
            InputKind::Sampling => self.sampling,
        }
    }
}

/// Returns the kind of input request that a text of the server is about, because the client did not declare it.
pub(crate) fn undeclared_input(text: &str) -> Option<InputKind> {
    let text = text.to_ascii_lowercase();
    if text.contains("elicit") {
        return Some(InputKind::Form);
    }
    // "sampling" alone is also a word of other subjects.
    let phrases = ["sampling/createmessage", "support sampling"];
    let is_sampling = phrases.iter().any(|phrase| text.contains(phrase));
    is_sampling.then_some(InputKind::Sampling)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn kind_follows_from_the_required_capabilities() {
        for (capabilities, kind) in [
            (json!({"elicitation": {}}), Some(InputKind::Form)),
            (json!({"elicitation": {"form": {}}}), Some(InputKind::Form)),
            (json!({"elicitation": {"url": {}}}), Some(InputKind::Url)),
            (json!({"sampling": {}}), Some(InputKind::Sampling)),
            (json!({"roots": {}}), None),
            (json!(null), None),
        ] {
            assert_eq!(
                InputKind::of_required(&capabilities),
                kind,
                "{capabilities}"
            );
        }
    }

    #[test]
    fn kind_follows_from_the_text_of_a_server() {
        for (text, kind) in [
            (
                "Client does not support form elicitation.",
                Some(InputKind::Form),
            ),
            (
                "Client does not support sampling",
                Some(InputKind::Sampling),
            ),
            (
                "Method not found: sampling/createMessage",
                Some(InputKind::Sampling),
            ),
            ("the sampling rate is too low", None),
        ] {
            assert_eq!(undeclared_input(text), kind, "{text}");
        }
    }
}
