//! Descriptors of tools, prompts, resources and implementations.

use toolwire_types::ProtocolVersion;

use crate::features::VersionFeatures;
use crate::raw_object::RawObject;
use crate::relay::convert::{Conversion, MemberRule};
use crate::stamp::describes_object;

const TOOL: &[MemberRule] = &[
    ("title", ProtocolVersion::has_titles),
    ("_meta", ProtocolVersion::has_titles),
    ("icons", ProtocolVersion::has_icons),
    ("annotations", ProtocolVersion::has_tool_annotations),
    ("execution", ProtocolVersion::has_core_tasks),
    ("outputSchema", ProtocolVersion::has_structured_output),
];

/// The members of prompts, resources and resource templates.
const NAMED: &[MemberRule] = &[
    ("title", ProtocolVersion::has_titles),
    ("_meta", ProtocolVersion::has_titles),
    ("icons", ProtocolVersion::has_icons),
];

const ARGUMENT: &[MemberRule] = &[("title", ProtocolVersion::has_titles)];

const IMPLEMENTATION: &[MemberRule] = &[
    ("title", ProtocolVersion::has_titles),
    ("description", ProtocolVersion::has_icons),
    ("icons", ProtocolVersion::has_icons),
    ("websiteUrl", ProtocolVersion::has_icons),
];

impl Conversion {
    /// Converts the descriptor of a tool.
    pub fn tool(self, tool: &mut RawObject<'_>) {
        self.remove_lost(tool, TOOL);
        // Before 2026-07-28, an output schema had to describe an object.
        if self.loses(ProtocolVersion::has_open_structured_content)
            && tool
                .get("outputSchema")
                .is_some_and(|schema| !describes_object(schema.get()))
        {
            tool.remove("outputSchema");
        }
    }

    /// Converts the descriptor of a prompt.
    pub fn prompt(self, prompt: &mut RawObject<'_>) {
        self.remove_lost(prompt, NAMED);
        if self.loses(ProtocolVersion::has_titles)
            && let Some(arguments) = prompt.array_mut("arguments")
        {
            arguments
                .objects_mut()
                .for_each(|argument| self.remove_lost(argument, ARGUMENT));
        }
    }

    /// Converts the descriptor of a resource or of a resource template.
    pub fn resource(self, resource: &mut RawObject<'_>) {
        self.remove_lost(resource, NAMED);
        self.annotations(resource);
    }

    /// Converts the name and version of a client or server.
    pub fn implementation(self, implementation: &mut RawObject<'_>) {
        self.remove_lost(implementation, IMPLEMENTATION);
    }
}
