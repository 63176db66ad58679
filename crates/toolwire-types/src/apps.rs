//! Views of tools: the extension `io.modelcontextprotocol/ui`.
//!
//! A tool names an HTML document, its view, in `_meta`. The host reads the document as a resource and shows it in a
//! sandboxed frame. This module contains the metadata of tools and views. The messages between the host and the view do
//! not reach the server; `toolwire-proto` has their rules.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::result::Extra;
use crate::setters::setters;

/// The id with which client and server declare the extension.
pub const EXTENSION_ID: &str = "io.modelcontextprotocol/ui";

/// The MIME type of a view.
pub const MIME_TYPE: &str = "text/html;profile=mcp-app";

/// The key of `_meta` for [`ToolUi`] in a tool, and for [`ViewUi`] in a resource or its contents.
pub const META_KEY: &str = "ui";

/// The deprecated key of `_meta` for the URI of a tool's view.
pub const FLAT_URI_KEY: &str = "ui/resourceUri";

/// The member `ui` in the `_meta` of a tool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolUi {
    /// The URI of the view, which starts with `ui://`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_uri: Option<String>,
    /// Which callers see the tool: `model`, `app` or both. Absent means both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visibility: Option<Vec<String>>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ToolUi {
    /// Creates metadata without members.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        with_resource_uri(resource_uri: into String);
        with_visibility(visibility: some Vec<String>);
    }
}

/// The member `ui` in the `_meta` of a view: of its resource, of its contents, or both.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ViewUi {
    /// The origins that the view may use besides its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub csp: Option<Csp>,
    /// The browser permissions that the view asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Permissions>,
    /// The domain that the view asks to be served from. The host defines its format.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// Whether the view prefers a border. Absent means that the host decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefers_border: Option<bool>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ViewUi {
    /// Creates metadata without members.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        with_csp(csp: some Csp);
        with_permissions(permissions: some Permissions);
        with_domain(domain: into String);
        with_prefers_border(prefers_border: some bool);
    }
}

/// The origins that a view may use besides its own, such as `https://api.example.com` or `https://*.example.com`.
///
/// ```
/// use toolwire_types::apps::Csp;
///
/// let csp = Csp::new().connect("https://api.example.com").resource("https://cdn.example.com");
/// let json = serde_json::to_string(&csp).unwrap();
/// assert_eq!(json, r#"{"connectDomains":["https://api.example.com"],"resourceDomains":["https://cdn.example.com"]}"#);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Csp {
    /// The origins of `fetch`, `XMLHttpRequest` and WebSocket connections.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub connect_domains: Vec<String>,
    /// The origins of scripts, styles, images, fonts and media.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resource_domains: Vec<String>,
    /// The origins of nested frames.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub frame_domains: Vec<String>,
    /// The origins of the document's base URI.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub base_uri_domains: Vec<String>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Csp {
    /// Creates a policy without other origins.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an origin for `fetch`, `XMLHttpRequest` and WebSocket connections.
    #[must_use]
    pub fn connect(mut self, origin: impl Into<String>) -> Self {
        self.connect_domains.push(origin.into());
        self
    }

    /// Adds an origin for scripts, styles, images, fonts and media.
    #[must_use]
    pub fn resource(mut self, origin: impl Into<String>) -> Self {
        self.resource_domains.push(origin.into());
        self
    }

    /// Adds an origin for nested frames.
    #[must_use]
    pub fn frame(mut self, origin: impl Into<String>) -> Self {
        self.frame_domains.push(origin.into());
        self
    }

    /// Adds an origin for the document's base URI.
    #[must_use]
    pub fn base_uri(mut self, origin: impl Into<String>) -> Self {
        self.base_uri_domains.push(origin.into());
        self
    }
}

/// The browser permissions that a view asks for. Each member is an empty object.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Permissions {
    /// The camera.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub camera: Option<Map<String, Value>>,
    /// The microphone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub microphone: Option<Map<String, Value>>,
    /// The location of the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub geolocation: Option<Map<String, Value>>,
    /// Writing to the clipboard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clipboard_write: Option<Map<String, Value>>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Permissions {
    /// Creates an empty set of permissions.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Asks for the camera.
        with_camera(camera = Map::new());
        /// Asks for the microphone.
        with_microphone(microphone = Map::new());
        /// Asks for the location of the device.
        with_geolocation(geolocation = Map::new());
        /// Asks for writing to the clipboard.
        with_clipboard_write(clipboard_write = Map::new());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::round_trip::check;

    #[test]
    fn metadata_round_trips() {
        check::<ToolUi>(json!({}));
        check::<ToolUi>(json!({"resourceUri": "ui://a/b", "visibility": ["app"], "later": 1}));
        check::<ViewUi>(json!({}));
        check::<ViewUi>(json!({
            "csp": {
                "connectDomains": ["https://a.example"],
                "resourceDomains": ["https://b.example"],
                "frameDomains": ["https://c.example"],
                "baseUriDomains": ["https://d.example"],
                "later": 1,
            },
            "permissions": {"camera": {}, "microphone": {}, "geolocation": {}, "clipboardWrite": {}, "later": {}},
            "domain": "a.example",
            "prefersBorder": false,
            "later": 1,
        }));
    }

    #[test]
    fn setters_write_the_members_of_the_specification() {
        let permissions = Permissions::new().with_camera().with_clipboard_write();
        let ui = ViewUi::new()
            .with_permissions(permissions)
            .with_prefers_border(true);
        let expected =
            json!({"permissions": {"camera": {}, "clipboardWrite": {}}, "prefersBorder": true});
        assert_eq!(serde_json::to_value(ui).unwrap(), expected);
        let ui = ToolUi::new()
            .with_resource_uri("ui://a/b")
            .with_visibility(vec!["app".to_owned()]);
        let expected = json!({"resourceUri": "ui://a/b", "visibility": ["app"]});
        assert_eq!(serde_json::to_value(ui).unwrap(), expected);
    }
}
