//! Tools without views.

use std::sync::Arc;

use crate::server::registry::RegistrationError;
use crate::server::resource::ResourceEntry;
use crate::server::snapshot::Snapshot;
use crate::server::tool::{ToolEntry, ToolHandler};

impl ToolHandler {
    /// Returns the tool unchanged.
    pub(crate) fn with_view_metadata(self) -> Result<Self, RegistrationError> {
        Ok(self)
    }
}

impl Snapshot {
    /// Returns `None`, because no tool has a view.
    pub(crate) fn prepare_view(
        &self,
        _: &ToolEntry,
    ) -> Result<Option<Arc<ResourceEntry>>, RegistrationError> {
        Ok(None)
    }

    /// Returns `false`, because no tool has a view.
    pub(crate) fn install_view(
        &mut self,
        _: &ToolEntry,
        _: Option<Arc<ResourceEntry>>,
    ) -> Result<bool, RegistrationError> {
        Ok(false)
    }

    /// Does nothing, because no tool has a view.
    pub(crate) fn declare_view(&mut self, _: &ToolEntry) {}

    /// Returns `None`, because no tool has a view.
    pub(crate) fn tool_without_view(&self) -> Option<(&str, &str)> {
        None
    }
}
