//! The same request as a command, as an HTTP request, and as a program in three languages.
//!
//! Names, URIs and schemas come from a server, and arguments may. So each language has its own literals, and characters
//! that are invisible or control a terminal are written as escape sequences.

mod curl;
mod hidden_characters;
mod json_text;
mod literals;
mod python;
mod rust_test;
mod shell;
mod typescript;

use serde::Deserialize;
use serde_json::json;
use toolwire::{DetectedEra, ProtocolVersion, RawJson};

use crate::connection_arguments::Era;
use crate::snippet_form::SnippetForm;
use crate::target::Target;

/// A request.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Exchange {
    pub(crate) kind: ExchangeKind,
    /// The name of the tool or prompt, or the URI of the resource.
    pub(crate) name: String,
    /// The arguments, a JSON object. A resource has none.
    #[serde(default = "RawJson::empty_object")]
    pub(crate) arguments: RawJson,
    /// The input schema of a tool. It names the arguments that are also headers.
    pub(crate) schema: Option<RawJson>,
}

/// The kind of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ExchangeKind {
    Tools,
    Prompts,
    Resources,
}

/// The server of a request, and the connection to it.
#[derive(Debug)]
pub(crate) struct SnippetServer {
    address: Address,
    /// The era that the user has chosen.
    era: Era,
    /// The revision of the connection.
    version: ProtocolVersion,
    is_modern: bool,
}

#[derive(Debug)]
enum Address {
    Url(String),
    Command {
        program: String,
        arguments: Vec<String>,
    },
}

impl Exchange {
    fn method(&self) -> &'static str {
        match self.kind {
            ExchangeKind::Tools => "tools/call",
            ExchangeKind::Prompts => "prompts/get",
            ExchangeKind::Resources => "resources/read",
        }
    }

    fn params(&self) -> RawJson {
        let params = match self.kind {
            ExchangeKind::Resources => return json!({"uri": self.name}).into(),
            _ => [
                ("name", RawJson::from(json!(self.name))),
                ("arguments", self.arguments.clone()),
            ],
        };
        json_text::object(params)
    }
}

/// Returns the request in this form, without a line break at the end.
pub(crate) fn text(form: SnippetForm, exchange: &Exchange, server: &SnippetServer) -> String {
    match form {
        SnippetForm::Command => shell::command(exchange, server),
        SnippetForm::Curl => curl::command(exchange, server),
        SnippetForm::Rust => rust_test::test(exchange, server),
        SnippetForm::Typescript => typescript::program(exchange, server),
        SnippetForm::Python => python::program(exchange, server),
    }
}

impl SnippetServer {
    /// Headers and variables of the target are not part of snippets, because they may be secrets. Without a connection,
    /// the snippets are those for the latest revision.
    pub(crate) fn new(
        target: &Target,
        era: Era,
        connection: Option<(DetectedEra, ProtocolVersion)>,
    ) -> Self {
        let address = match target {
            Target::Http(endpoint) => Address::Url(endpoint.url.clone()),
            Target::Child(child) => {
                let arguments = child.arguments.iter();
                Address::Command {
                    program: child.program.to_string_lossy().into_owned(),
                    arguments: arguments
                        .map(|word| word.to_string_lossy().into_owned())
                        .collect(),
                }
            }
        };
        let is_modern = connection
            .as_ref()
            .is_none_or(|(era, _)| matches!(era, DetectedEra::Modern { .. }));
        let version = connection.map(|(_, version)| version);
        Self {
            address,
            era,
            version: version.unwrap_or(ProtocolVersion::LATEST),
            is_modern,
        }
    }
}

/// Exchanges for tests.
#[cfg(test)]
mod samples {
    use serde_json::{Value, json};
    use toolwire::{ProtocolVersion, RawJson};

    use crate::connection_arguments::Era;
    use crate::snippets::{Address, Exchange, ExchangeKind, SnippetServer};

    /// Text that ends quotation marks, hides characters, and controls a terminal.
    pub(super) const HOSTILE: &str = "it's \"#quoted\"## \\ %s $HOME `id` \u{202e}gnp \u{1b}[201~\u{3}\u{7f}\u{85} line\nbreak\ttab é 𝒳";

    pub(super) fn call(name: &str, arguments: Value) -> Exchange {
        Exchange {
            kind: ExchangeKind::Tools,
            name: name.to_owned(),
            arguments: RawJson::from(arguments),
            schema: None,
        }
    }

    pub(super) fn resource(uri: &str) -> Exchange {
        Exchange {
            kind: ExchangeKind::Resources,
            ..call(uri, json!({}))
        }
    }

    /// Returns a call with arguments that every language writes in its usual form.
    pub(super) fn plain() -> Exchange {
        let list = json!([true, null, {}]);
        let text = "a \"quoted\" \\ line\nbreak";
        call(
            "echo",
            json!({"text": text, "number": -12, "half": 0.5, "list": list}),
        )
    }

    /// Returns a call in which everything needs escape sequences.
    pub(super) fn escaped() -> Exchange {
        call(
            HOSTILE,
            json!({"text": HOSTILE, "number": 4_294_967_296_u64}),
        )
    }

    pub(super) fn of_command(arguments: &[&str]) -> SnippetServer {
        SnippetServer {
            address: Address::Command {
                program: "node".to_owned(),
                arguments: arguments.iter().map(|word| (*word).to_owned()).collect(),
            },
            ..of_url()
        }
    }

    pub(super) fn of_url() -> SnippetServer {
        SnippetServer {
            address: Address::Url("http://127.0.0.1:1/mcp".to_owned()),
            era: Era::Auto,
            version: ProtocolVersion::LATEST,
            is_modern: true,
        }
    }

    /// Fails if a text has a character that could hide text or control a terminal.
    pub(super) fn assert_visible(text: &str) {
        let hidden = text
            .chars()
            .find(|c| super::hidden_characters::is_hidden(*c));
        assert_eq!(hidden, None, "{text:?}");
    }
}
