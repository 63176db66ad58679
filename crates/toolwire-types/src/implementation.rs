//! Who is speaking and for whom: implementation names, icons, roles and annotations.
//!
//! These small pieces appear inside many other types. Icon and website addresses come from the peer: nothing here
//! fetches them, and whoever does should treat them as untrusted.

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
    /// The name for programs.
    pub name: String,
    /// The name for people (since 2025-06-18).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The version of this software, in its own scheme.
    pub version: String,
    /// What it does (since 2025-11-25).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its pictures (since 2025-11-25).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icons: Option<Icons>,
    /// Where to read more (since 2025-11-25).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub website_url: Option<String>,
    /// Members this SDK does not know.
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
    others kept
);

impl Implementation {
    /// An implementation with a name and a version.
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

/// The icons of one thing, usually the same picture in several sizes.
pub type Icons = Vec<Icon>;

/// A picture that stands for a tool, a resource, a prompt or an implementation (since 2025-11-25).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Icon {
    /// An `https:` or `data:` address.
    pub src: String,
    /// The MIME type, when the address does not tell or tells wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Sizes it may be shown in: `"48x48"`, or `"any"` for a scalable format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Vec<String>>,
    /// The background it was drawn for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub theme: Option<IconTheme>,
    /// Members this SDK does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

object!(Icon = Icon::new("");
    "src" => src required,
    "mimeType" => mime_type,
    "sizes" => sizes,
    "theme" => theme;
    others kept
);

impl Icon {
    /// An icon at an address.
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

/// The background an icon was drawn for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum IconTheme {
    /// A light background.
    Light,
    /// A dark background.
    Dark,
    /// A theme of some later revision.
    #[serde(untagged)]
    Other(String),
}

/// Who speaks in a conversation, or who a piece of content is meant for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(
    clippy::exhaustive_enums,
    reason = "every revision knows exactly these two"
)]
pub enum Role {
    /// The person, or the program acting for one.
    User,
    /// The model.
    Assistant,
}

/// Hints about how a client may use or show something.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Annotations {
    /// Who it is meant for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audience: Option<Vec<Role>>,
    /// How much it matters, from 0 (optional) to 1 (required).
    #[serde(
        default,
        serialize_with = "number::shortest_option",
        skip_serializing_if = "Option::is_none"
    )]
    pub priority: Option<f64>,
    /// When it last changed, as an ISO 8601 date and time (since 2025-06-18).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
    /// Members this SDK does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Annotations {
    /// No hints yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets who it is meant for.
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
    fn an_implementation_reads_with_and_without_its_newer_members() {
        check::<Implementation>(json!({"name": "calc", "version": "1.0"}));
        check::<Implementation>(json!({
            "name": "calc", "title": "Calculator", "version": "1.0", "description": "adds", "websiteUrl": "https://a.b",
            "icons": [{"src": "data:,", "mimeType": "image/png", "sizes": ["48x48", "any"], "theme": "dark"}],
        }));
    }

    #[test]
    fn unknown_members_and_themes_survive() {
        check::<Implementation>(json!({"name": "a", "version": "1", "vendor": {"deep": [1, 2.5]}}));
        check::<Icon>(json!({"src": "https://a/b", "theme": "sepia", "animated": true}));
        check::<Annotations>(json!({"audience": ["user"], "colour": "red"}));
    }

    #[test]
    fn a_whole_priority_stays_a_whole_number() {
        check::<Annotations>(json!({"priority": 1}));
        check::<Annotations>(json!({"priority": 0.25, "lastModified": "2025-01-12T15:00:58Z"}));
    }

    #[test]
    fn builders_fill_the_members_they_name() {
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
