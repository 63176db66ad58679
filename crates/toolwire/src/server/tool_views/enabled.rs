//! Tools with views.

use std::sync::Arc;

use crate::server::registry::RegistrationError;
use crate::server::resource::ResourceEntry;
use crate::server::snapshot::Snapshot;
use crate::server::tool::{ToolEntry, ToolHandler};

impl ToolHandler {
    /// Writes the metadata of the view into the descriptor.
    pub(crate) fn with_view_metadata(mut self) -> Result<Self, RegistrationError> {
        if let Some(view) = &self.view {
            view.describe(&mut self.descriptor)?;
        }
        Ok(self)
    }
}

impl Snapshot {
    /// Reads the files of a tool's view. Returns the resource that the server needs for it, if any.
    pub(crate) fn prepare_view(
        &self,
        tool: &ToolEntry,
    ) -> Result<Option<Arc<ResourceEntry>>, RegistrationError> {
        match &tool.view {
            Some(view) => view.prepare(self),
            None => Ok(None),
        }
    }

    /// Registers the view of a tool with the prepared resource. Returns `true` if there is a new resource.
    pub(crate) fn install_view(
        &mut self,
        tool: &ToolEntry,
        resource: Option<Arc<ResourceEntry>>,
    ) -> Result<bool, RegistrationError> {
        match &tool.view {
            Some(view) => view.install(resource, self),
            None => Ok(false),
        }
    }

    /// Declares the extension of views if a mounted tool has one. The resource of the view is mounted with it.
    pub(crate) fn declare_view(&mut self, tool: &ToolEntry) {
        if let Some(view) = &tool.view {
            // Without a resource, this only declares the extension, which cannot fail.
            let _ = view.install(None, self);
        }
    }

    /// Returns a tool, and the view that it names and that the server does not have.
    pub(crate) fn tool_without_view(&self) -> Option<(&str, &str)> {
        self.tools.values().find_map(|tool| {
            let view = tool.view.as_ref()?.missing_view(self)?;
            Some((tool.descriptor.name.as_str(), view))
        })
    }
}
