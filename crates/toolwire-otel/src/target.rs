//! What a request is about: the tool, prompt or resource that it names.

use std::borrow::Cow;

use opentelemetry::KeyValue;
use serde::Deserialize;
use serde_json::value::RawValue;
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
    /// Returns the target of a request with this method, this name or URI, and these parameters.
    pub(crate) fn of(method: &str, name: Option<&str>, params: Option<&RawValue>) -> Self {
        match (method, name) {
            ("tools/call", Some(name)) => Self::Tool(recorded_name(name).to_owned()),
            ("prompts/get", Some(name)) => Self::prompt(name),
            ("resources/read" | "resources/subscribe" | "resources/unsubscribe", Some(uri)) => {
                Self::resource(uri)
            }
            // No header repeats the name or URI of these methods.
            ("completion/complete" | "resources/directory/read" | "skills/get", None) => {
                params.map_or(Self::Nothing, |params| Self::of_params(method, params))
            }
            _ => Self::Nothing,
        }
    }

    /// Returns the target that parameters name: by `uri`, or by the reference of a completion.
    fn of_params(method: &str, params: &RawValue) -> Self {
        let named: NamedTarget<'_> = serde_json::from_str(params.get()).unwrap_or_default();
        let reference = match named.reference {
            Some(reference) if method == "completion/complete" => reference,
            _ => Reference {
                name: None,
                uri: named.uri,
            },
        };
        match (reference.uri, reference.name) {
            (Some(uri), _) => Self::resource(&uri),
            (None, Some(name)) => Self::prompt(&name),
            (None, None) => Self::Nothing,
        }
    }

    fn prompt(name: &str) -> Self {
        Self::Prompt(recorded_name(name).to_owned())
    }

    fn resource(sent: &str) -> Self {
        let uri = recorded_uri(sent).into_owned();
        let sent = (uri != sent).then(|| sent.to_owned());
        Self::Resource { uri, sent }
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

/// The members of parameters that name a target.
#[derive(Default, Deserialize)]
#[serde(default)]
struct NamedTarget<'a> {
    #[serde(borrow)]
    uri: Option<Cow<'a, str>>,
    /// Of a completion.
    #[serde(rename = "ref", borrow)]
    reference: Option<Reference<'a>>,
}

/// A reference to a prompt or to a resource template.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Reference<'a> {
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    uri: Option<Cow<'a, str>>,
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
            let target = Target::of(method, name, None);
            assert_eq!(target.span_name(method), expected, "{method} {name:?}");
        };
        check("tools/call", Some("add"), "tools/call add");
        check("prompts/get", Some("review"), "prompts/get review");
        check("resources/read", Some("file:///a"), "resources/read");
        check("tasks/get", Some("7"), "tasks/get");
        check("tools/list", None, "tools/list");
    }

    #[test]
    fn parameters_name_a_target() {
        let check = |method: &str, params: &str, expected: Target| {
            let params: &RawValue = serde_json::from_str(params).unwrap();
            assert_eq!(Target::of(method, None, Some(params)), expected, "{params}");
        };
        let uri = |uri: &str| Target::Resource {
            uri: uri.to_owned(),
            sent: None,
        };
        let completion = "completion/complete";
        let prompt = Target::Prompt("review".to_owned());
        check(completion, r#"{"ref":{"name":"review"}}"#, prompt);
        check(completion, r#"{"ref":{"uri":"note:x"}}"#, uri("note:x"));
        check(completion, r#"{"ref":7}"#, Target::Nothing);
        check("skills/get", r#"{"uri":"skill:x"}"#, uri("skill:x"));
        check("skills/list", r#"{"uri":"skill:x"}"#, Target::Nothing);
    }

    #[test]
    fn message_has_the_uri_as_it_is_recorded() {
        let uri = "https://me:a secret@a.test/x?a secret";
        let target = Target::of("resources/read", Some(uri), None);
        let message = target.recorded_message(&format!("resource not found: {uri}"));
        assert_eq!(message, "resource not found: https://a.test/x");
    }
}
