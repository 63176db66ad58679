//! The rules of views (extension `io.modelcontextprotocol/ui`).
//!
//! A server checks what its author wrote before it is sent. A host reads the same metadata from an untrusted server:
//! [`document`] checks what it reads, [`policy`] builds the content security policy, and [`host`] speaks with the view.
//! [`bundle`] puts the files of a view into its document, and [`first_script`] finds the place for a script before all
//! others.

pub mod bundle;
pub mod document;
pub mod first_script;
pub mod host;
mod html_tag;
pub mod policy;

use std::fmt;

use serde_json::json;
use toolwire_types::apps::{EXTENSION_ID, FLAT_URI_KEY, META_KEY, MIME_TYPE, ToolUi};
use toolwire_types::{ClientCapabilities, RawJson, Tool};

/// The revision of the messages between a host and a view.
pub const REVISION: &str = "2026-01-26";

/// The maximum size of a view's document in bytes.
pub const MAX_DOCUMENT_BYTES: usize = 4 * 1024 * 1024;

/// The maximum length of the URI of a view in bytes.
const MAX_URI_BYTES: usize = 2048;

/// The scheme of the URIs of views.
const SCHEME: &str = "ui://";

/// A caller of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the extension defines these two callers"
)]
pub enum ToolCaller {
    /// The model.
    Model,
    /// A view.
    App,
}

impl ToolCaller {
    /// Returns the name of the caller in `visibility`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::App => "app",
        }
    }
}

/// The reason why a view or its metadata cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidView(String);

impl InvalidView {
    fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for InvalidView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for InvalidView {}

/// Checks the URI of a view.
///
/// # Errors
/// Returns an error if the URI does not start with `ui://`, is too long, or contains spaces or control characters.
pub fn check_uri(uri: &str) -> Result<(), InvalidView> {
    let rest = uri.strip_prefix(SCHEME).unwrap_or_default();
    if rest.is_empty() {
        return Err(InvalidView::new(
            "the URI of a view starts with `ui://`, as in `ui://weather/forecast`",
        ));
    }
    if uri.len() > MAX_URI_BYTES {
        return Err(InvalidView::new(format!(
            "the URI of a view has at most {MAX_URI_BYTES} bytes"
        )));
    }
    if !rest.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(InvalidView::new(
            "the URI of a view contains a space or a character outside ASCII; encode it with %",
        ));
    }
    Ok(())
}

/// Checks the document of a view.
///
/// # Errors
/// Returns an error if the text is not a whole HTML document, or if it is too large.
pub fn check_document(html: &str) -> Result<(), InvalidView> {
    if html.len() > MAX_DOCUMENT_BYTES {
        return Err(InvalidView::new(format!(
            "the document has {} bytes, and at most {MAX_DOCUMENT_BYTES} are allowed",
            html.len()
        )));
    }
    let start = html.trim_start_matches('\u{feff}').trim_start();
    let starts_with = |tag: &str| {
        let start = start.get(..tag.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(tag))
    };
    if starts_with("<!doctype html") || starts_with("<html") {
        Ok(())
    } else {
        Err(InvalidView::new(
            "a view is a whole HTML document, which starts with `<!doctype html>`",
        ))
    }
}

/// Checks which callers see a tool.
///
/// # Errors
/// Returns an error if the list is empty, or contains another name than `model` and `app`.
pub fn check_visibility(visibility: &[String]) -> Result<(), InvalidView> {
    let is_known = |name: &String| {
        let known = [ToolCaller::Model, ToolCaller::App];
        known.iter().any(|caller| caller.name() == name)
    };
    match visibility.iter().find(|name| !is_known(name)) {
        Some(unknown) => Err(InvalidView::new(format!(
            "{unknown:?} is not a caller of a tool; use `model`, `app` or both"
        ))),
        None if visibility.is_empty() => Err(InvalidView::new(
            "a tool is visible to `model`, `app` or both",
        )),
        None => Ok(()),
    }
}

/// Returns the settings with which a client declares that it shows views.
#[must_use]
pub fn client_settings() -> RawJson {
    json!({ "mimeTypes": [MIME_TYPE] }).into()
}

/// Returns `true` if a client shows views: its declaration lists the MIME type of views.
#[must_use]
pub fn shows_views(client: &ClientCapabilities) -> bool {
    #[derive(serde::Deserialize)]
    struct Settings {
        #[serde(rename = "mimeTypes")]
        mime_types: Vec<String>,
    }

    let settings = client.extension(EXTENSION_ID);
    let settings = settings.and_then(|settings| settings.parse::<Settings>().ok());
    settings.is_some_and(|settings| settings.mime_types.iter().any(|name| name == MIME_TYPE))
}

/// Returns the URI of a tool's view: the nested member of `_meta`, or the deprecated key.
///
/// ```
/// use serde_json::json;
/// use toolwire_proto::apps::view_uri;
/// use toolwire_types::{Meta, Tool};
///
/// let meta = Meta::new().with("ui", json!({"resourceUri": "ui://weather/forecast"}));
/// let tool = Tool::new("forecast", json!({"type": "object"})).with_meta(meta);
/// assert_eq!(view_uri(&tool).as_deref(), Some("ui://weather/forecast"));
/// ```
#[must_use]
pub fn view_uri(tool: &Tool) -> Option<String> {
    let meta = tool.meta.as_ref()?;
    let nested = tool_ui(tool).and_then(|ui| ui.resource_uri);
    nested.or_else(|| meta.get_as(FLAT_URI_KEY).ok().flatten())
}

/// Returns `true` if a caller may use a tool.
///
/// A tool without a valid `visibility` is visible to all callers. The host hides the others from the model, and rejects
/// their calls by views.
#[must_use]
pub fn is_visible_to(tool: &Tool, caller: ToolCaller) -> bool {
    let visibility = tool_ui(tool).and_then(|ui| ui.visibility);
    visibility.is_none_or(|names| names.iter().any(|name| name == caller.name()))
}

fn tool_ui(tool: &Tool) -> Option<ToolUi> {
    tool.meta.as_ref()?.get_as(META_KEY).ok().flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use toolwire_types::Meta;

    use super::*;

    fn message(outcome: Result<(), InvalidView>) -> String {
        let error = outcome.err().map(|error| error.to_string());
        error.unwrap_or_default()
    }

    #[test]
    fn uri_has_the_scheme_of_views() {
        let check = |uri: &str, expected: &str| {
            let message = message(check_uri(uri));
            assert!(
                message.contains(expected) && message.is_empty() == expected.is_empty(),
                "{uri}: {message}"
            );
        };
        check("ui://a", "");
        check("ui://weather/forecast?x=%20#y", "");
        check("ui://", "starts with `ui://`");
        check("UI://a", "starts with `ui://`");
        check("https://a.example/ui://", "starts with `ui://`");
        check("", "starts with `ui://`");
        check("ui://a b", "space");
        check("ui://a\n", "space");
        check("ui://ä", "outside ASCII");
        check(&format!("ui://{}", "a".repeat(MAX_URI_BYTES - 5)), "");
        check(&format!("ui://{}", "a".repeat(MAX_URI_BYTES - 4)), "2048");
    }

    #[test]
    fn document_is_whole_and_bounded() {
        let check = |html: &str, expected: &str| {
            let message = message(check_document(html));
            assert!(
                message.contains(expected) && message.is_empty() == expected.is_empty(),
                "{message}"
            );
        };
        check("<!doctype html><p>a", "");
        check("\u{feff}\n <!DOCTYPE HTML>", "");
        check("<html lang=en>", "");
        check("", "whole HTML document");
        check("<p>a</p>", "whole HTML document");
        check("<!doctyp", "whole HTML document");
        let padded = |bytes: usize| format!("<html>{}", "a".repeat(bytes - 6));
        check(&padded(MAX_DOCUMENT_BYTES), "");
        check(&padded(MAX_DOCUMENT_BYTES + 1), "4194305 bytes");
    }

    #[test]
    fn visibility_has_two_names() {
        let check = |names: &[&str], expected: &str| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(message(check_visibility(&names)), expected, "{names:?}");
        };
        check(&["model"], "");
        check(&["app"], "");
        check(&["model", "app"], "");
        check(&[], "a tool is visible to `model`, `app` or both");
        check(
            &["app", "user"],
            "\"user\" is not a caller of a tool; use `model`, `app` or both",
        );
    }

    #[test]
    fn client_shows_views_if_it_lists_their_type() {
        let check = |settings: Value, expected: bool| {
            let capabilities = json!({"extensions": {EXTENSION_ID: settings}});
            let client = serde_json::from_value(capabilities).expect("valid");
            assert_eq!(shows_views(&client), expected, "{settings}");
        };
        check(json!({"mimeTypes": [MIME_TYPE]}), true);
        check(
            json!({"mimeTypes": ["text/plain", MIME_TYPE], "later": 1}),
            true,
        );
        check(json!({"mimeTypes": ["text/html"]}), false);
        check(json!({"mimeTypes": [MIME_TYPE, 1]}), false);
        check(json!({"mimeTypes": MIME_TYPE}), false);
        check(json!({}), false);
        check(Value::Null, false);
        check(client_settings().to_value().expect("JSON"), true);
        assert!(!shows_views(&ClientCapabilities::default()));
    }

    #[test]
    fn metadata_of_tools_is_read_from_both_keys() {
        let check = |meta: Value, uri: Option<&str>, visible: [bool; 2]| {
            let meta: Meta = serde_json::from_value(meta).expect("an object");
            let tool = Tool::new("t", json!({"type": "object"})).with_meta(meta);
            assert_eq!(view_uri(&tool).as_deref(), uri, "{tool:?}");
            let callers = [ToolCaller::Model, ToolCaller::App];
            assert_eq!(callers.map(|caller| is_visible_to(&tool, caller)), visible);
        };
        check(json!({}), None, [true, true]);
        check(
            json!({FLAT_URI_KEY: "ui://old"}),
            Some("ui://old"),
            [true, true],
        );
        check(
            json!({"ui": {"resourceUri": "ui://new"}, FLAT_URI_KEY: "ui://old"}),
            Some("ui://new"),
            [true, true],
        );
        check(
            json!({"ui": {"visibility": ["app"]}, FLAT_URI_KEY: "ui://old"}),
            Some("ui://old"),
            [false, true],
        );
        check(
            json!({"ui": {"visibility": ["model"]}}),
            None,
            [true, false],
        );
        check(json!({"ui": {"visibility": []}}), None, [false, false]);
        check(
            json!({"ui": {"visibility": ["later"]}}),
            None,
            [false, false],
        );
        check(json!({"ui": 1, FLAT_URI_KEY: 2}), None, [true, true]);
        let without = Tool::new("t", json!({"type": "object"}));
        assert_eq!(view_uri(&without), None);
    }
}
