//! The contents of a resource: text, or binary data encoded as base64.

use serde::de::{Error as _, IgnoredAny};
use serde::{Deserialize, Deserializer, Serialize};

use crate::meta::Meta;
use crate::raw::RawJson;
use crate::result::Extra;
use crate::setters::setters;

/// The contents of a resource or of one part of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum ResourceContents {
    /// Text contents.
    Text(TextResourceContents),
    /// Binary contents.
    Blob(BlobResourceContents),
    /// An object with neither `text` nor `blob`, stored unchanged.
    Unknown(RawJson),
}

impl ResourceContents {
    /// Creates text contents.
    #[must_use]
    pub fn text(uri: impl Into<String>, text: impl Into<String>) -> Self {
        TextResourceContents::new(uri, text).into()
    }

    /// Creates binary contents from base64.
    #[must_use]
    pub fn blob(uri: impl Into<String>, base64: impl Into<String>) -> Self {
        BlobResourceContents::new(uri, base64).into()
    }

    /// Returns the text, or `None` if these are not text contents.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(contents) => Some(&contents.text),
            _ => None,
        }
    }
}

impl<'de> Deserialize<'de> for ResourceContents {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Shape {
            text: Option<IgnoredAny>,
            blob: Option<IgnoredAny>,
        }

        let raw = RawJson::deserialize(deserializer)?;
        if !raw.is_object() {
            return Err(D::Error::custom("resource contents must be an object"));
        }
        let shape: Shape = raw.parse().map_err(D::Error::custom)?;
        let contents = match shape {
            Shape { text: Some(_), .. } => raw.parse().map(Self::Text),
            Shape { blob: Some(_), .. } => raw.parse().map(Self::Blob),
            Shape { .. } => Ok(Self::Unknown(raw)),
        };
        contents.map_err(D::Error::custom)
    }
}

impl From<TextResourceContents> for ResourceContents {
    fn from(contents: TextResourceContents) -> Self {
        Self::Text(contents)
    }
}

impl From<BlobResourceContents> for ResourceContents {
    fn from(contents: BlobResourceContents) -> Self {
        Self::Blob(contents)
    }
}

/// Text contents of a resource.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TextResourceContents {
    /// The URI of the contents.
    pub uri: String,
    /// The MIME type of the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The text.
    pub text: String,
    /// The `_meta` object (since 2025-06-18).
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl TextResourceContents {
    /// Creates text contents.
    #[must_use]
    pub fn new(uri: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            mime_type: None,
            text: text.into(),
            meta: None,
            extra: Extra::new(),
        }
    }

    setters! {
        with_mime_type(mime_type: into String);
        with_meta(meta: some Meta);
    }
}

/// Binary contents of a resource.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct BlobResourceContents {
    /// The URI of the contents.
    pub uri: String,
    /// The MIME type of the data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The data, encoded as base64.
    pub blob: String,
    /// The `_meta` object (since 2025-06-18).
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl BlobResourceContents {
    /// Creates binary contents from base64.
    #[must_use]
    pub fn new(uri: impl Into<String>, base64: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            mime_type: None,
            blob: base64.into(),
            meta: None,
            extra: Extra::new(),
        }
    }

    setters! {
        with_mime_type(mime_type: into String);
        with_meta(meta: some Meta);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::round_trip::check;

    #[test]
    fn contents_are_parsed_by_member() {
        let text = json!({"uri": "a:b", "mimeType": "text/plain", "text": "x", "_meta": {"k": 1}});
        assert!(matches!(check(text), ResourceContents::Text(_)));
        let blob = json!({"uri": "a:b", "blob": "AA==", "annotations": {"priority": 1}});
        assert!(matches!(check(blob), ResourceContents::Blob(_)));
        let both = json!({"uri": "a:b", "text": "x", "blob": "AA=="});
        assert!(matches!(check(both), ResourceContents::Text(_)));
    }

    #[test]
    fn unknown_contents_round_trip_byte_for_byte() {
        let text = r#"{ "uri":"a:b", "stream" : [1.0,{"b":1,"a":2}] }"#;
        let contents: ResourceContents = serde_json::from_str(text).unwrap();
        assert!(matches!(contents, ResourceContents::Unknown(_)));
        assert_eq!(serde_json::to_string(&contents).unwrap(), text);
    }

    #[test]
    fn malformed_contents_are_rejected() {
        for invalid in [
            r#""text""#,
            r#"["a:b"]"#,
            r#"{"text":"no uri"}"#,
            r#"{"uri":"a:b","text":1}"#,
        ] {
            assert!(serde_json::from_str::<ResourceContents>(invalid).is_err());
        }
    }
}
