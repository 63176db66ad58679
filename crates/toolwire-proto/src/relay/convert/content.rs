//! Content blocks, the contents of resources, and annotations.

use toolwire_types::{ContentBlock, ProtocolVersion, RawJson};

use crate::features::VersionFeatures;
use crate::raw_object::{RawArray, RawObject};
use crate::relay::convert::{Conversion, Feature, MemberRule};
use crate::stamp::{Stamp as _, Target};

/// The kinds of blocks that not all revisions define.
const KINDS: [MemberRule; 2] = [
    ("audio", ProtocolVersion::has_audio),
    ("resource_link", ProtocolVersion::has_resource_links),
];

const BLOCK: &[MemberRule] = &[("_meta", ProtocolVersion::has_titles)];

/// The members of a resource link, which are those of a resource, and absent in other blocks.
const LINKED: &[MemberRule] = &[
    ("_meta", ProtocolVersion::has_titles),
    ("title", ProtocolVersion::has_titles),
    ("icons", ProtocolVersion::has_icons),
];

/// The features by which contents differ between revisions.
const FEATURES: [Feature; 4] = [
    ProtocolVersion::has_audio,
    ProtocolVersion::has_resource_links,
    ProtocolVersion::has_titles,
    ProtocolVersion::has_icons,
];

impl Conversion {
    /// Converts the blocks of a list.
    pub(super) fn blocks(self, blocks: &mut RawArray<'_>) {
        let replaced: Vec<(usize, RawJson)> = (0..blocks.len())
            .filter_map(|index| Some((index, self.replacement(&blocks.written_at(index)?)?)))
            .collect();
        for (index, block) in replaced {
            blocks.set(index, block);
        }
        blocks.objects_mut().for_each(|block| self.block(block));
    }

    /// Converts the single block of a prompt message.
    pub(super) fn content_member(self, message: &mut RawObject<'_>) {
        let replacement = message
            .written("content")
            .and_then(|block| self.replacement(&block));
        match replacement {
            Some(block) => message.set("content", block),
            None => {
                if let Some(block) = message.object_mut("content") {
                    self.block(block);
                }
            }
        }
    }

    /// Converts the contents of a resource.
    pub(super) fn resource_contents(self, contents: &mut RawObject<'_>) {
        self.remove_lost(contents, BLOCK);
    }

    /// Converts the annotations of a block or a resource.
    pub(super) fn annotations(self, object: &mut RawObject<'_>) {
        if self.loses(ProtocolVersion::has_titles)
            && let Some(annotations) = object.object_mut("annotations")
        {
            annotations.remove("lastModified");
        }
    }

    /// Returns `true` if contents, prompts or resources may have members or kinds that the receiver's revision lost.
    pub(super) fn changes_content(self) -> bool {
        FEATURES.iter().any(|has_feature| self.loses(*has_feature))
    }

    fn block(self, block: &mut RawObject<'_>) {
        let is_linked = block.text("type").as_deref() == Some("resource_link");
        self.remove_lost(block, if is_linked { LINKED } else { BLOCK });
        self.annotations(block);
        if let Some(resource) = block.object_mut("resource") {
            self.resource_contents(resource);
        }
    }

    /// Returns the text block that replaces a block of a kind that the receiver's revision does not define.
    fn replacement(self, block: &str) -> Option<RawJson> {
        let kind = RawObject::of_checked(block)?.text("type")?.into_owned();
        let is_lost = KINDS
            .iter()
            .any(|(lost, has_feature)| *lost == kind && self.loses(*has_feature));
        if !is_lost {
            return None;
        }
        let mut block: ContentBlock = serde_json::from_str(block).ok()?;
        block.stamp(&Target::new(self.to));
        RawJson::from_serialize(&block).ok()
    }
}
