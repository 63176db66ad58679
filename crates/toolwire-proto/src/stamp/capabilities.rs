//! Capabilities and the messages that declare them.

use indexmap::IndexMap;
use toolwire_types::{
    ClientCapabilities, ElicitationCapability, InitializeRequestParams, InitializeResult,
    ProtocolVersion, RawJson, RootsCapability, SamplingCapability, ServerCapabilities,
};

use crate::extensions;
use crate::features::VersionFeatures;
use crate::stamp::{Stamp, Target, keep_if, stamp_meta};

/// Removes the extensions that the revision may not declare.
fn stamp_extensions(declared: &mut Option<IndexMap<String, RawJson>>, version: ProtocolVersion) {
    if let Some(entries) = declared {
        entries.retain(|id, _| extensions::may_declare(version, id));
        if entries.is_empty() {
            *declared = None;
        }
    }
}

impl Stamp for ServerCapabilities {
    fn stamp(&mut self, target: &Target<'_>) {
        let version = target.version;
        keep_if(version.has_completions_capability(), &mut self.completions);
        keep_if(version.has_core_tasks(), &mut self.tasks);
        stamp_extensions(&mut self.extensions, version);
    }
}

impl Stamp for ClientCapabilities {
    fn stamp(&mut self, target: &Target<'_>) {
        let version = target.version;
        self.roots.stamp(target);
        self.sampling.stamp(target);
        let usable = |elicitation: &ElicitationCapability| {
            version.has_url_elicitation() || elicitation.supports_form()
        };
        let usable = version.has_elicitation() && self.elicitation.as_ref().is_some_and(usable);
        keep_if(usable, &mut self.elicitation);
        self.elicitation.stamp(target);
        keep_if(version.has_core_tasks(), &mut self.tasks);
        stamp_extensions(&mut self.extensions, version);
    }
}

impl Stamp for RootsCapability {
    fn stamp(&mut self, target: &Target<'_>) {
        keep_if(target.version.is_legacy(), &mut self.list_changed);
    }
}

impl Stamp for SamplingCapability {
    fn stamp(&mut self, target: &Target<'_>) {
        let tools = target.version.has_sampling_tools();
        keep_if(tools, &mut self.tools);
        keep_if(tools, &mut self.context);
    }
}

impl Stamp for ElicitationCapability {
    fn stamp(&mut self, target: &Target<'_>) {
        let modes = target.version.has_url_elicitation();
        keep_if(modes, &mut self.form);
        keep_if(modes, &mut self.url);
    }
}

impl Stamp for InitializeRequestParams {
    fn stamp(&mut self, target: &Target<'_>) {
        self.capabilities.stamp(target);
        self.client_info.stamp(target);
        stamp_meta(&mut self.meta, target);
    }
}

impl Stamp for InitializeResult {
    fn stamp(&mut self, target: &Target<'_>) {
        self.capabilities.stamp(target);
        self.server_info.stamp(target);
        stamp_meta(&mut self.meta, target);
    }
}
