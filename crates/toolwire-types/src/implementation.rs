//! Small types that many other types contain: implementation names, icons, roles and annotations.
//!
//! The URLs of icons and websites come from the peer. This crate does not fetch them, and code that does must treat
//! them as untrusted.

use serde::{Deserialize, Serialize};

use crate::number;
use crate::object::object;
use crate::result::Extra;
use crate::setters::setters;

/// The name and version of a client or a server.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Implementation {
    /// The name for programmatic use.
    pub name: String,
    /// The title, a display name for users (since 2025-06-18).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The version of the software, in its own scheme.
    pub version: String,
    /// The description (since 2025-11-25).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The icons (since 2025-11-25).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icons: Option<Vec<Icon>>,
    /// The URL of the website (since 2025-11-25).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub website_url: Option<String>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

object!(Implementation = Implementation::new("", "");
    "name" => name required,
    "title" => title,
    "version" => version required,
    "description" => description,
    "icons" => icons,
    "websiteUrl" => website_url;
    others stored
);

impl Implementation {
    /// Creates an implementation with a name and a version.
    #[must_use]
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            title: None,
            version: version.into(),
            description: None,
            icons: None,
            website_url: None,
            extra: Extra::new(),
        }
    }

    setters! {
        with_title(title: into String);
        with_description(description: into String);
        with_icon(icons: push Icon);
        with_website_url(website_url: into String);
    }
}

/// An icon of a tool, a resource, a prompt or an implementation (since 2025-11-25).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Icon {
    /// The `https:` or `data:` URL of the image.
    pub src: String,
    /// The MIME type, if the URL does not state it correctly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The sizes in which to show the icon: `"48x48"`, or `"any"` for a scalable format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Vec<String>>,
    /// The background that the icon is designed for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub theme: Option<IconTheme>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

object!(Icon = Icon::new("");
    "src" => src required,
    "mimeType" => mime_type,
    "sizes" => sizes,
    "theme" => theme;
    others stored
);

impl Icon {
    /// Creates an icon from its URL.
    #[must_use]
    pub fn new(src: impl Into<String>) -> Self {
        Self {
            src: src.into(),
            mime_type: None,
            sizes: None,
            theme: None,
            extra: Extra::new(),
        }
    }

    setters! {
        with_mime_type(mime_type: into String);
        with_theme(theme: some IconTheme);
    }

    /// Adds a size such as `"48x48"` or `"any"`.
    #[must_use]
    pub fn with_size(mut self, size: impl Into<String>) -> Self {
        self.sizes.get_or_insert_default().push(size.into());
        self
    }
}

/// The background that an icon is designed for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum IconTheme {
    /// A light background.
    Light,
    /// A dark background.
    Dark,
    /// A theme that this crate does not define.
    #[serde(untagged)]
    Other(String),
}

/// The sender of a message, or the intended audience of content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(
    clippy::exhaustive_enums,
    reason = "every revision defines exactly these two roles"
)]
pub enum Role {
    /// The user.
    User,
    /// The model.
    Assistant,
}

/// Hints about how a client uses or displays an item.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Annotations {
    /// The intended audience.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audience: Option<Vec<Role>>,
    /// The importance, from 0 (optional) to 1 (required).
    #[serde(
        default,
        serialize_with = "number::shortest_option",
        skip_serializing_if = "Option::is_none"
    )]
    pub priority: Option<f64>,
    /// The time of the last change, as an ISO 8601 date and time (since 2025-06-18).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Annotations {
    /// Creates annotations without any hint.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the intended audience.
    #[must_use]
    pub fn with_audience(mut self, audience: impl IntoIterator<Item = Role>) -> Self {
        self.audience = Some(audience.into_iter().collect());
        self
    }

    setters! {
        /// Sets the priority, from 0 (optional) to 1 (required).
        with_priority(priority: some f64);
        /// Sets the time of the last change, as an ISO 8601 date and time.
        with_last_modified(last_modified: into String);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::round_trip::check;

    #[test]
    fn implementation_of_every_revision_round_trips() {
        check::<Implementation>(json!({"name": "calc", "version": "1.0"}));
        check::<Implementation>(json!({
            "name": "calc", "title": "Calculator", "version": "1.0", "description": "adds", "websiteUrl": "https://a.b",
            "icons": [{"src": "data:,", "mimeType": "image/png", "sizes": ["48x48", "any"], "theme": "dark"}],
        }));
    }

    #[test]
    fn unknown_members_and_themes_round_trip() {
        check::<Implementation>(json!({"name": "a", "version": "1", "vendor": {"deep": [1, 2.5]}}));
        check::<Icon>(json!({"src": "https://a/b", "theme": "sepia", "animated": true}));
        check::<Annotations>(json!({"audience": ["user"], "colour": "red"}));
    }

    #[test]
    fn integral_priority_is_written_without_a_fraction() {
        check::<Annotations>(json!({"priority": 1}));
        check::<Annotations>(json!({"priority": 0.25, "lastModified": "2025-01-12T15:00:58Z"}));
    }

    #[test]
    fn built_values_serialize_to_wire_format() {
        let built = Implementation::new("calc", "1.0")
            .with_title("Calculator")
            .with_description("adds")
            .with_website_url("https://a.b")
            .with_icon(
                Icon::new("data:,")
                    .with_mime_type("image/png")
                    .with_size("any")
                    .with_theme(IconTheme::Light),
            );
        assert_eq!(
            serde_json::to_value(built).unwrap(),
            json!({
                "name": "calc", "title": "Calculator", "version": "1.0", "description": "adds",
                "icons": [{"src": "data:,", "mimeType": "image/png", "sizes": ["any"], "theme": "light"}],
                "websiteUrl": "https://a.b",
            })
        );
    }
}
