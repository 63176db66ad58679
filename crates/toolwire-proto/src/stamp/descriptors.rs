//! Descriptors of a server, its tools, its resources and its prompts.

use std::borrow::Cow;

use serde::Deserialize;
use toolwire_types::{
    Implementation, Prompt, PromptArgument, PromptMessage, ProtocolVersion, RawJson, Resource,
    ResourceTemplate, Tool,
};

use crate::features::VersionFeatures;
use crate::stamp::{Stamp, Target, keep_if};

impl Stamp for Implementation {
    fn stamp(&mut self, target: &Target<'_>) {
        keep_if(target.version.has_titles(), &mut self.title);
        let icons = target.version.has_icons();
        keep_if(icons, &mut self.description);
        keep_if(icons, &mut self.icons);
        keep_if(icons, &mut self.website_url);
    }
}

impl Stamp for Tool {
    fn stamp(&mut self, target: &Target<'_>) {
        let version = target.version;
        keep_if(version.has_titles(), &mut self.title);
        keep_if(version.has_titles(), &mut self.meta);
        keep_if(version.has_icons(), &mut self.icons);
        keep_if(version.has_tool_annotations(), &mut self.annotations);
        keep_if(version.has_core_tasks(), &mut self.execution);
        let output_fits = self
            .output_schema
            .as_ref()
            .is_some_and(|schema| output_schema_fits(schema, version));
        keep_if(output_fits, &mut self.output_schema);
    }
}

/// Returns `true` if the revision permits the output schema. Before 2026-07-28 it had to describe an object.
fn output_schema_fits(schema: &RawJson, version: ProtocolVersion) -> bool {
    version.has_structured_output()
        && (version.has_open_structured_content() || describes_object(schema.get()))
}

/// Returns `true` if a schema states that its values are objects.
pub(crate) fn describes_object(schema: &str) -> bool {
    #[derive(Deserialize)]
    struct Root<'a> {
        #[serde(borrow, rename = "type")]
        kind: Cow<'a, str>,
    }

    serde_json::from_str::<Root<'_>>(schema).is_ok_and(|root| root.kind == "object")
}

impl Stamp for Resource {
    fn stamp(&mut self, target: &Target<'_>) {
        self.annotations.stamp(target);
        keep_if(target.version.has_titles(), &mut self.title);
        keep_if(target.version.has_titles(), &mut self.meta);
        keep_if(target.version.has_icons(), &mut self.icons);
    }
}

impl Stamp for ResourceTemplate {
    fn stamp(&mut self, target: &Target<'_>) {
        self.annotations.stamp(target);
        keep_if(target.version.has_titles(), &mut self.title);
        keep_if(target.version.has_titles(), &mut self.meta);
        keep_if(target.version.has_icons(), &mut self.icons);
    }
}

impl Stamp for Prompt {
    fn stamp(&mut self, target: &Target<'_>) {
        keep_if(target.version.has_titles(), &mut self.title);
        keep_if(target.version.has_titles(), &mut self.meta);
        keep_if(target.version.has_icons(), &mut self.icons);
        for argument in self.arguments.iter_mut().flatten() {
            argument.stamp(target);
        }
    }
}

impl Stamp for PromptArgument {
    fn stamp(&mut self, target: &Target<'_>) {
        keep_if(target.version.has_titles(), &mut self.title);
    }
}

impl Stamp for PromptMessage {
    fn stamp(&mut self, target: &Target<'_>) {
        self.content.stamp(target);
    }
}
