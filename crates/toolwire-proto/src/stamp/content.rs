//! Content blocks: kinds that a revision does not define become descriptive text.

use toolwire_types::{
    Annotations, AudioContent, BlobResourceContents, ContentBlock, EmbeddedResource, ImageContent,
    ProtocolVersion, ResourceContents, ResourceLink, TextContent, TextResourceContents,
};

use crate::features::VersionFeatures;
use crate::stamp::{Stamp, Target, keep_if};

impl Stamp for ContentBlock {
    fn stamp(&mut self, target: &Target<'_>) {
        if let Some(text) = replacement(self, target.version) {
            *self = Self::Text(text);
        }
        match self {
            Self::Text(content) => content.stamp(target),
            Self::Image(content) => content.stamp(target),
            Self::Audio(content) => content.stamp(target),
            Self::ResourceLink(content) => content.stamp(target),
            Self::Resource(content) => content.stamp(target),
            _ => {}
        }
    }
}

/// Returns the text that replaces a block in a revision that does not define its kind.
///
/// An embedded resource could contain the audio data, but it requires a URI, which audio content does not have.
fn replacement(block: &ContentBlock, version: ProtocolVersion) -> Option<TextContent> {
    let (text, annotations) = match block {
        ContentBlock::Audio(audio) if !version.has_audio() => {
            (describe_audio(audio), &audio.annotations)
        }
        ContentBlock::ResourceLink(link) if !version.has_resource_links() => {
            (describe_resource_link(link), &link.annotations)
        }
        _ => return None,
    };
    let mut content = TextContent::new(text);
    content.annotations.clone_from(annotations);
    Some(content)
}

/// Describes audio for a client that cannot play it.
fn describe_audio(audio: &AudioContent) -> String {
    format!("[audio omitted: {}]", audio.mime_type)
}

fn describe_resource_link(link: &ResourceLink) -> String {
    let name = link.title.as_ref().unwrap_or(&link.name);
    match &link.description {
        Some(description) => format!("[resource: {name}, {}] {description}", link.uri),
        None => format!("[resource: {name}, {}]", link.uri),
    }
}

impl Stamp for TextContent {
    fn stamp(&mut self, target: &Target<'_>) {
        self.annotations.stamp(target);
        keep_if(target.version.has_titles(), &mut self.meta);
    }
}

impl Stamp for ImageContent {
    fn stamp(&mut self, target: &Target<'_>) {
        self.annotations.stamp(target);
        keep_if(target.version.has_titles(), &mut self.meta);
    }
}

impl Stamp for AudioContent {
    fn stamp(&mut self, target: &Target<'_>) {
        self.annotations.stamp(target);
        keep_if(target.version.has_titles(), &mut self.meta);
    }
}

impl Stamp for ResourceLink {
    fn stamp(&mut self, target: &Target<'_>) {
        self.annotations.stamp(target);
        keep_if(target.version.has_titles(), &mut self.title);
        keep_if(target.version.has_titles(), &mut self.meta);
        keep_if(target.version.has_icons(), &mut self.icons);
    }
}

impl Stamp for EmbeddedResource {
    fn stamp(&mut self, target: &Target<'_>) {
        self.resource.stamp(target);
        self.annotations.stamp(target);
        keep_if(target.version.has_titles(), &mut self.meta);
    }
}

impl Stamp for ResourceContents {
    fn stamp(&mut self, target: &Target<'_>) {
        match self {
            Self::Text(contents) => contents.stamp(target),
            Self::Blob(contents) => contents.stamp(target),
            _ => {}
        }
    }
}

impl Stamp for TextResourceContents {
    fn stamp(&mut self, target: &Target<'_>) {
        keep_if(target.version.has_titles(), &mut self.meta);
    }
}

impl Stamp for BlobResourceContents {
    fn stamp(&mut self, target: &Target<'_>) {
        keep_if(target.version.has_titles(), &mut self.meta);
    }
}

impl Stamp for Annotations {
    fn stamp(&mut self, target: &Target<'_>) {
        keep_if(target.version.has_titles(), &mut self.last_modified);
    }
}
