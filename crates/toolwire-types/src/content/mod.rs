//! Content blocks, which tool results and prompt messages consist of.
//!
//! A block of an unknown type is stored byte for byte, so that proxies and older clients can forward it. Binary data
//! stays base64 text; this module does not decode it.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::implementation::{Annotations, Icon};
use crate::meta::Meta;
use crate::raw::RawJson;
use crate::resources::{Resource, ResourceContents};
use crate::result::{Extra, lenient_optional_integer};
use crate::setters::setters;

/// One block of content.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ContentBlock {
    /// A text block.
    Text(TextContent),
    /// An image.
    Image(ImageContent),
    /// Audio (since 2025-03-26).
    Audio(AudioContent),
    /// A link to a resource (since 2025-06-18).
    ResourceLink(ResourceLink),
    /// An embedded resource with its contents.
    Resource(EmbeddedResource),
    /// An object with another `type`, stored unchanged.
    Unknown(RawJson),
}

impl ContentBlock {
    /// Creates a text block.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        TextContent::new(text).into()
    }

    /// Creates an image from base64 data.
    #[must_use]
    pub fn image(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        ImageContent::new(data, mime_type).into()
    }

    /// Creates audio from base64 data.
    #[must_use]
    pub fn audio(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        AudioContent::new(data, mime_type).into()
    }

    /// Creates a link to a resource.
    #[must_use]
    pub fn resource_link(uri: impl Into<String>, name: impl Into<String>) -> Self {
        ResourceLink::new(uri, name).into()
    }

    /// Creates an embedded resource from its contents.
    #[must_use]
    pub fn resource(contents: impl Into<ResourceContents>) -> Self {
        EmbeddedResource::new(contents).into()
    }

    /// Returns the text, or `None` if this is not a text block.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(content) => Some(&content.text),
            _ => None,
        }
    }
}

impl Serialize for ContentBlock {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(content) => content.serialize(serializer),
            Self::Image(content) => content.serialize(serializer),
            Self::Audio(content) => content.serialize(serializer),
            Self::ResourceLink(content) => content.serialize(serializer),
            Self::Resource(content) => content.serialize(serializer),
            Self::Unknown(content) => content.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ContentBlock {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawJson::deserialize(deserializer)?;
        let kind = match leading_kind(raw.get()) {
            Some(kind) => Cow::Borrowed(kind),
            None => kind(&raw).map_err(D::Error::custom)?,
        };
        let block = match kind.as_ref() {
            "text" => raw.parse().map(Self::Text),
            "image" => raw.parse().map(Self::Image),
            "audio" => raw.parse().map(Self::Audio),
            "resource_link" => raw.parse().map(Self::ResourceLink),
            "resource" => raw.parse().map(Self::Resource),
            _ => {
                // `kind` borrows from `raw`, which moves in the next line.
                drop(kind);
                return Ok(Self::Unknown(raw));
            }
        };
        block.map_err(D::Error::custom)
    }
}

/// Parses a list of blocks, with an initial capacity of one: most lists have one block, and a block is large.
pub(crate) fn blocks<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<ContentBlock>, D::Error> {
    struct Blocks;

    impl<'de> Visitor<'de> for Blocks {
        type Value = Vec<ContentBlock>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a sequence")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Self::Value, A::Error> {
            let Some(first) = elements.next_element()? else {
                return Ok(Vec::new());
            };
            let mut blocks = vec![first];
            while let Some(block) = elements.next_element()? {
                blocks.push(block);
            }
            Ok(blocks)
        }
    }

    deserializer.deserialize_seq(Blocks)
}

/// Returns the `type` of a content block if it is the first member and known.
///
/// Most peers write `type` first. The rest of the block is validated when the block is parsed as that type.
fn leading_kind(block: &str) -> Option<&str> {
    let (kind, _) = block.strip_prefix("{\"type\":\"")?.split_once('"')?;
    let known = ["text", "image", "audio", "resource_link", "resource"];
    known.contains(&kind).then_some(kind)
}

/// Returns the `type` of a content block that is not parsed yet.
pub(crate) fn kind(raw: &RawJson) -> serde_json::Result<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Kind<'a> {
        #[serde(borrow, rename = "type")]
        kind: Cow<'a, str>,
    }

    if !raw.is_object() {
        return Err(serde_json::Error::custom("content must be an object"));
    }
    serde_json::from_str::<Kind<'_>>(raw.get()).map(|block| block.kind)
}

impl From<&str> for ContentBlock {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for ContentBlock {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<TextContent> for ContentBlock {
    fn from(content: TextContent) -> Self {
        Self::Text(content)
    }
}

impl From<ImageContent> for ContentBlock {
    fn from(content: ImageContent) -> Self {
        Self::Image(content)
    }
}

impl From<AudioContent> for ContentBlock {
    fn from(content: AudioContent) -> Self {
        Self::Audio(content)
    }
}

impl From<ResourceLink> for ContentBlock {
    fn from(content: ResourceLink) -> Self {
        Self::ResourceLink(content)
    }
}

impl From<EmbeddedResource> for ContentBlock {
    fn from(content: EmbeddedResource) -> Self {
        Self::Resource(content)
    }
}

/// A text block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TextContent {
    #[serde(rename = "type")]
    kind: TextKind,
    /// The text.
    pub text: String,
    /// The annotations, which are hints for the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// The `_meta` object (since 2025-06-18).
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl TextContent {
    /// Creates a text block.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            kind: TextKind::Text,
            text: text.into(),
            annotations: None,
            meta: None,
            extra: Extra::new(),
        }
    }

    setters! {
        with_annotations(annotations: some Annotations);
        with_meta(meta: some Meta);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum TextKind {
    Text,
}

/// An image.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ImageContent {
    #[serde(rename = "type")]
    kind: ImageKind,
    /// The data, encoded as base64.
    pub data: String,
    /// The MIME type of the data.
    pub mime_type: String,
    /// The annotations, which are hints for the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// The `_meta` object (since 2025-06-18).
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ImageContent {
    /// Creates an image from base64 data.
    #[must_use]
    pub fn new(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self {
            kind: ImageKind::Image,
            data: data.into(),
            mime_type: mime_type.into(),
            annotations: None,
            meta: None,
            extra: Extra::new(),
        }
    }

    setters! {
        with_annotations(annotations: some Annotations);
        with_meta(meta: some Meta);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ImageKind {
    Image,
}

/// Audio (since 2025-03-26).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AudioContent {
    #[serde(rename = "type")]
    kind: AudioKind,
    /// The data, encoded as base64.
    pub data: String,
    /// The MIME type of the data.
    pub mime_type: String,
    /// The annotations, which are hints for the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// The `_meta` object (since 2025-06-18).
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl AudioContent {
    /// Creates audio from base64 data.
    #[must_use]
    pub fn new(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self {
            kind: AudioKind::Audio,
            data: data.into(),
            mime_type: mime_type.into(),
            annotations: None,
            meta: None,
            extra: Extra::new(),
        }
    }

    setters! {
        with_annotations(annotations: some Annotations);
        with_meta(meta: some Meta);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum AudioKind {
    Audio,
}

/// A link to a resource that the client can read or subscribe to (since 2025-06-18).
///
/// It has the members of [`Resource`]. The resource need not appear in `resources/list`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ResourceLink {
    #[serde(rename = "type")]
    kind: ResourceLinkKind,
    /// The URI.
    pub uri: String,
    /// The name for programmatic use.
    pub name: String,
    /// The title, a display name for users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The description of the resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The MIME type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The size in bytes, before any encoding.
    #[serde(
        default,
        deserialize_with = "lenient_optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub size: Option<u64>,
    /// The icons (since 2025-11-25).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icons: Option<Vec<Icon>>,
    /// The annotations, which are hints for the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// The `_meta` object.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ResourceLink {
    /// Creates a link to a resource.
    #[must_use]
    pub fn new(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Resource::new(uri, name).into()
    }
}

impl From<Resource> for ResourceLink {
    fn from(resource: Resource) -> Self {
        Self {
            kind: ResourceLinkKind::ResourceLink,
            uri: resource.uri,
            name: resource.name,
            title: resource.title,
            description: resource.description,
            mime_type: resource.mime_type,
            size: resource.size,
            icons: resource.icons,
            annotations: resource.annotations,
            meta: resource.meta,
            extra: resource.extra,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ResourceLinkKind {
    ResourceLink,
}

/// A resource with its contents, embedded in a tool result or a prompt message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EmbeddedResource {
    #[serde(rename = "type")]
    kind: EmbeddedResourceKind,
    /// The contents of the resource.
    pub resource: ResourceContents,
    /// The annotations, which are hints for the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// The `_meta` object (since 2025-06-18).
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl EmbeddedResource {
    /// Creates an embedded resource from its contents.
    #[must_use]
    pub fn new(contents: impl Into<ResourceContents>) -> Self {
        Self {
            kind: EmbeddedResourceKind::Resource,
            resource: contents.into(),
            annotations: None,
            meta: None,
            extra: Extra::new(),
        }
    }

    setters! {
        with_annotations(annotations: some Annotations);
        with_meta(meta: some Meta);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum EmbeddedResourceKind {
    Resource,
}

#[cfg(test)]
mod tests;
