//! Server cards: documents that describe a server before a client connects (SEP-2127, a draft).
//!
//! A card has the identity of a server and the addresses of its endpoints. A catalog lists the cards of a domain.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::implementation::Icon;
use crate::result::Extra;

/// The media type of a server card.
pub const CARD_MEDIA_TYPE: &str = "application/mcp-server-card+json";

/// The media type of a catalog.
pub const CATALOG_MEDIA_TYPE: &str = "application/ai-catalog+json";

/// The path of a domain's catalog.
pub const CATALOG_PATH: &str = "/.well-known/ai-catalog.json";

/// The end of the recommended URL of a card, after the URL of the endpoint.
pub const CARD_SUFFIX: &str = "/server-card";

/// The value of `$schema` in a card.
pub const CARD_SCHEMA: &str =
    "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json";

/// A description of one server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ServerCard {
    /// The URL of the schema, which names the version of the format.
    #[serde(rename = "$schema")]
    pub schema: String,
    /// The name with a namespace in reverse DNS notation, such as `com.example/weather`.
    pub name: String,
    /// The version of the server.
    pub version: String,
    /// The description.
    pub description: String,
    /// The title, a display name for users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The URL of the website.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub website_url: Option<String>,
    /// The icons.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icons: Option<Vec<Icon>>,
    /// The endpoints of the server.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remotes: Vec<CardRemote>,
    /// Members that this type does not define, such as `repository`.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ServerCard {
    /// Creates a card of the current schema without endpoints.
    #[must_use]
    pub fn new(
        name: impl Into<String>,
        version: impl Into<String>,
        description: impl Into<String>,
    ) -> Self {
        Self {
            schema: CARD_SCHEMA.to_owned(),
            name: name.into(),
            version: version.into(),
            description: description.into(),
            title: None,
            website_url: None,
            icons: None,
            remotes: Vec::new(),
            extra: Extra::new(),
        }
    }
}

/// An endpoint in a [`ServerCard`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CardRemote {
    /// The transport: `streamable-http` or `sse`.
    #[serde(rename = "type")]
    pub transport: String,
    /// The URL. It may contain variables in braces, as in `https://{tenant}.example.com/mcp`.
    pub url: String,
    /// The protocol versions that the endpoint supports. Empty means that they are not stated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub supported_protocol_versions: Vec<String>,
    /// Members that this type does not define, such as `headers` and `variables`.
    #[serde(flatten)]
    pub extra: Extra,
}

impl CardRemote {
    /// Creates an endpoint of the Streamable HTTP transport.
    #[must_use]
    pub fn streamable_http(url: impl Into<String>) -> Self {
        Self {
            transport: "streamable-http".to_owned(),
            url: url.into(),
            supported_protocol_versions: Vec::new(),
            extra: Extra::new(),
        }
    }
}

/// A catalog of a domain. It may also list documents of other protocols.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CardCatalog {
    /// The version of the catalog format.
    pub spec_version: String,
    /// The entries. They stay unparsed, so that one invalid entry does not hide the others.
    pub entries: Vec<Value>,
    /// Members that this type does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl CardCatalog {
    /// Creates an empty catalog.
    #[must_use]
    pub fn new() -> Self {
        Self {
            spec_version: "1.0".to_owned(),
            entries: Vec::new(),
            extra: Extra::new(),
        }
    }
}

impl Default for CardCatalog {
    fn default() -> Self {
        Self::new()
    }
}

/// An entry of a [`CardCatalog`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CatalogEntry {
    /// The id of the described artifact, such as `urn:air:example.com:mcp:weather`.
    pub identifier: String,
    /// The media type of the described artifact: [`CARD_MEDIA_TYPE`] for a server card.
    // Drafts of the catalog before July 2026 called it `mediaType`.
    #[serde(rename = "type", alias = "mediaType")]
    pub media_type: String,
    /// The URL of the card.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The card itself, instead of its URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// Members that this type does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl CatalogEntry {
    /// Creates the entry of a server card at a URL.
    #[must_use]
    pub fn of_card(identifier: impl Into<String>, url: impl Into<String>) -> Self {
        Self {
            identifier: identifier.into(),
            media_type: CARD_MEDIA_TYPE.to_owned(),
            url: Some(url.into()),
            data: None,
            extra: Extra::new(),
        }
    }
}
