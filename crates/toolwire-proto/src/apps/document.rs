//! The document of a view, as a host reads it from an untrusted server.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use toolwire_types::apps::{META_KEY, MIME_TYPE, ViewUi};
use toolwire_types::{Meta, ReadResourceResult, Resource, ResourceContents};

use crate::apps::policy::{content_security_policy, frame_permissions, ignored_origins};
use crate::apps::{InvalidView, MAX_DOCUMENT_BYTES, check_document};

/// A view that a host can show: its HTML document and its metadata.
#[derive(Debug, Clone, PartialEq)]
pub struct ViewDocument {
    uri: String,
    html: String,
    ui: Option<ViewUi>,
}

impl ViewDocument {
    /// Reads the document from the result of `resources/read`.
    ///
    /// # Errors
    /// Returns an error if the result has no contents of this URI, if their MIME type is not that of views, or if they
    /// are not an HTML document of at most 4 MiB.
    pub fn read(uri: &str, result: &ReadResourceResult) -> Result<Self, InvalidView> {
        let contents = result.contents.iter().find(|contents| {
            let named = match contents {
                ResourceContents::Text(text) => &text.uri,
                ResourceContents::Blob(blob) => &blob.uri,
                _ => return false,
            };
            named == uri
        });
        let (mime_type, html, meta) = match contents {
            Some(ResourceContents::Text(text)) => {
                (&text.mime_type, text.text.clone(), text.meta.as_ref())
            }
            Some(ResourceContents::Blob(blob)) => {
                (&blob.mime_type, decoded(&blob.blob)?, blob.meta.as_ref())
            }
            _ => {
                return Err(InvalidView::new(format!(
                    "the server returned no contents for `{uri}`"
                )));
            }
        };
        if mime_type.as_deref() != Some(MIME_TYPE) {
            let given = mime_type.as_deref().unwrap_or("absent");
            return Err(InvalidView::new(format!(
                "the MIME type of `{uri}` is {given}, and that of a view is {MIME_TYPE}"
            )));
        }
        check_document(&html)?;
        Ok(Self {
            uri: uri.to_owned(),
            html,
            ui: view_ui(meta),
        })
    }

    /// Returns `true` if the contents have metadata of their own. Otherwise that of the list entry applies.
    #[must_use]
    pub fn has_ui(&self) -> bool {
        self.ui.is_some()
    }

    /// Adds the metadata of the entry in `resources/list`. The metadata of the contents takes precedence.
    #[must_use]
    pub fn with_list_entry(mut self, entry: &Resource) -> Self {
        if self.ui.is_none() && entry.uri == self.uri {
            self.ui = view_ui(entry.meta.as_ref());
        }
        self
    }

    /// Returns the URI of the view.
    #[must_use]
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// Returns the HTML document.
    #[must_use]
    pub fn html(&self) -> &str {
        &self.html
    }

    /// Returns the metadata of the view.
    #[must_use]
    pub fn ui(&self) -> ViewUi {
        self.ui.clone().unwrap_or_default()
    }

    /// Returns the value of the header `Content-Security-Policy` for the document.
    #[must_use]
    pub fn content_security_policy(&self) -> String {
        content_security_policy(&self.ui().csp.unwrap_or_default())
    }

    /// Returns the attribute `allow` of the frame. It is empty without permissions.
    #[must_use]
    pub fn frame_permissions(&self) -> String {
        frame_permissions(&self.ui().permissions.unwrap_or_default())
    }

    /// Returns what the view asks for and does not get, one sentence each.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let csp = self.ui().csp.unwrap_or_default();
        let ignored = ignored_origins(&csp).into_iter();
        ignored
            .map(|origin| format!("{origin:?} is not an origin and is ignored"))
            .collect()
    }
}

fn view_ui(meta: Option<&Meta>) -> Option<ViewUi> {
    meta?.get_as(META_KEY).ok().flatten()
}

fn decoded(base64: &str) -> Result<String, InvalidView> {
    // Four characters encode three bytes.
    if base64.len() / 4 > MAX_DOCUMENT_BYTES / 3 + 1 {
        return Err(InvalidView::new(format!(
            "the document is too large: at most {MAX_DOCUMENT_BYTES} bytes are allowed"
        )));
    }
    let bytes = STANDARD.decode(base64).ok();
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    text.ok_or_else(|| InvalidView::new("the document is not base64 of UTF-8 text"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const URI: &str = "ui://a/b";
    const HTML: &str = "<!doctype html><p>a";

    fn read(contents: Value) -> Result<ViewDocument, InvalidView> {
        let result = json!({"contents": contents});
        ViewDocument::read(URI, &serde_json::from_value(result).expect("valid"))
    }

    #[test]
    fn contents_must_be_a_view() {
        let check = |contents: Value, expected: &str| {
            let message = read(contents).err().map(|error| error.to_string());
            let message = message.unwrap_or_default();
            assert!(
                message.contains(expected) && message.is_empty() == expected.is_empty(),
                "{message}"
            );
        };
        let text = |mime_type: &str| json!([{"uri": URI, "mimeType": mime_type, "text": HTML}]);
        let blob = |data: String| json!([{"uri": URI, "mimeType": MIME_TYPE, "blob": data}]);
        check(text(MIME_TYPE), "");
        check(blob(STANDARD.encode(HTML)), "");
        check(text("text/html"), "is text/html, and that of a view");
        check(text("text/html; profile=mcp-app"), "that of a view");
        check(
            json!([{"uri": URI, "text": HTML}]),
            "is absent, and that of a view",
        );
        check(json!([]), "no contents for `ui://a/b`");
        check(
            json!([{"uri": "ui://other", "mimeType": MIME_TYPE, "text": HTML}]),
            "no contents for `ui://a/b`",
        );
        check(
            json!([{"uri": URI, "mimeType": MIME_TYPE, "text": "<p>a"}]),
            "whole HTML document",
        );
        check(blob("%%%".to_owned()), "not base64");
        check(blob(STANDARD.encode([0xff, 0xfe])), "not base64 of UTF-8");
        check(blob("A".repeat(6 * 1024 * 1024)), "too large");
        let large = format!("<html>{}", "a".repeat(MAX_DOCUMENT_BYTES - 5));
        check(blob(STANDARD.encode(large)), "4194305 bytes");
    }

    #[test]
    fn metadata_of_the_contents_takes_precedence() {
        let check = |contents: Option<Value>, entry: Option<Value>, expected: Option<bool>| {
            let mut item = json!({"uri": URI, "mimeType": MIME_TYPE, "text": HTML});
            if let Some(ui) = contents {
                item["_meta"] = json!({ "ui": ui });
            }
            let mut listed = Resource::new(URI, "b");
            listed.meta = entry.map(|ui| Meta::new().with("ui", ui));
            let document = read(json!([item]))
                .expect("a view")
                .with_list_entry(&listed);
            assert_eq!(document.ui().prefers_border, expected);
        };
        let border = |border: bool| Some(json!({"prefersBorder": border}));
        check(None, None, None);
        check(border(true), None, Some(true));
        check(None, border(false), Some(false));
        check(border(true), border(false), Some(true));
        let document = read(json!([{"uri": URI, "mimeType": MIME_TYPE, "text": HTML}]));
        let other = Resource::new("ui://other", "b")
            .with_meta(Meta::new().with("ui", json!({"prefersBorder": true})));
        let document = document.expect("a view").with_list_entry(&other);
        assert!(!document.has_ui());
    }

    #[test]
    fn policy_and_warnings_come_from_the_metadata() {
        let ui = json!({
            "csp": {"connectDomains": ["https://a.example", "*"]},
            "permissions": {"camera": {}, "later": {}},
        });
        let item = json!({"uri": URI, "mimeType": MIME_TYPE, "text": HTML, "_meta": {"ui": ui}});
        let document = read(json!([item])).expect("a view");
        assert!(
            document
                .content_security_policy()
                .contains("connect-src https://a.example;")
        );
        assert_eq!(document.frame_permissions(), "camera *");
        assert_eq!(
            document.warnings(),
            ["\"*\" is not an origin and is ignored"]
        );
    }
}
