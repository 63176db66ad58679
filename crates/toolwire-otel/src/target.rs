//! What a request is about: the tool, prompt or resource that it names.

use std::borrow::Cow;

use opentelemetry::KeyValue;
use toolwire_proto::observed::{recorded_message, recorded_name, recorded_uri};

use crate::conventions::{attribute, value};

/// The tool, prompt or resource that a request names, as it is recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    Tool(String),
    Prompt(String),
    Resource {
        uri: String,
        /// The URI that was sent, if the recorded one lacks a part of it.
        sent: Option<String>,
    },
    Nothing,
}

impl Target {
    /// Returns the target of a request with this method and this name or URI.
    pub(crate) fn of(method: &str, name: Option<&str>) -> Self {
        let Some(name) = name else {
            return Self::Nothing;
        };
        match method {
            "tools/call" => Self::Tool(recorded_name(name).to_owned()),
            "prompts/get" => Self::Prompt(recorded_name(name).to_owned()),
            "resources/read" | "resources/subscribe" | "resources/unsubscribe" => {
                let uri = recorded_uri(name).into_owned();
                let sent = (uri != name).then(|| name.to_owned());
                Self::Resource { uri, sent }
            }
            _ => Self::Nothing,
        }
    }

    /// Returns the name of the span: the method, and the name of a tool or prompt. A URI is never part of it.
    pub(crate) fn span_name(&self, method: &str) -> Cow<'static, str> {
        match self {
            Self::Tool(name) | Self::Prompt(name) => format!("{method} {name}").into(),
            Self::Resource { .. } | Self::Nothing => recorded_name(method).to_owned().into(),
        }
    }

    /// Returns the message of an error for the status of the span. A URI in it is recorded like the target.
    pub(crate) fn recorded_message(&self, message: &str) -> String {
        match self {
            Self::Resource {
                uri,
                sent: Some(sent),
            } => recorded_message(&message.replace(sent, uri)),
            _ => recorded_message(message),
        }
    }

    /// Adds the attributes of the span.
    pub(crate) fn add_to(&self, attributes: &mut Vec<KeyValue>) {
        match self {
            Self::Tool(name) => {
                attributes.push(KeyValue::new(attribute::TOOL_NAME, name.clone()));
                attributes.push(KeyValue::new(
                    attribute::OPERATION_NAME,
                    value::EXECUTE_TOOL,
                ));
            }
            Self::Prompt(name) => {
                attributes.push(KeyValue::new(attribute::PROMPT_NAME, name.clone()));
            }
            Self::Resource { uri, .. } => {
                attributes.push(KeyValue::new(attribute::RESOURCE_URI, uri.clone()));
            }
            Self::Nothing => {}
        }
    }
}

/// Returns `true` if a method opens a stream, which has no usual end.
pub(crate) fn is_stream(method: &str) -> bool {
    matches!(method, "subscriptions/listen" | "events/stream")
}

/// Returns `true` if the outcome of a method may ask for input.
pub(crate) fn may_ask_input(method: &str) -> bool {
    matches!(method, "tools/call" | "prompts/get" | "resources/read")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn span_name_has_tools_and_prompts_only() {
        let check = |method: &str, name: Option<&str>, expected: &str| {
            let target = Target::of(method, name);
            assert_eq!(target.span_name(method), expected, "{method} {name:?}");
        };
        check("tools/call", Some("add"), "tools/call add");
        check("prompts/get", Some("review"), "prompts/get review");
        check("resources/read", Some("file:///a"), "resources/read");
        check("tasks/get", Some("7"), "tasks/get");
        check("tools/list", None, "tools/list");
    }

    #[test]
    fn message_has_the_uri_as_it_is_recorded() {
        let uri = "https://me:a secret@a.test/x?a secret";
        let target = Target::of("resources/read", Some(uri));
        let message = target.recorded_message(&format!("resource not found: {uri}"));
        assert_eq!(message, "resource not found: https://a.test/x");
    }
}
