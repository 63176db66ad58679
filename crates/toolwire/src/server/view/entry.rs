//! The view and the visibility of a tool, and their registration.

use std::sync::Arc;

use toolwire_proto::apps::{check_uri, check_visibility};
use toolwire_proto::extensions;
use toolwire_types::apps::{EXTENSION_ID, FLAT_URI_KEY, META_KEY, ToolUi};
use toolwire_types::{RawJson, Tool};

use crate::server::extension_entry::ExtensionEntry;
use crate::server::optional_methods::{COMPLETION, RESOURCES};
use crate::server::registry::RegistrationError;
use crate::server::resource::ResourceEntry;
use crate::server::snapshot::Snapshot;
use crate::server::view::View;
use crate::server::visibility::Viewer;

/// The resource of a view that the server has to have. `None` for a tool without a view, or with one that is registered
/// separately.
type PreparedResource = Option<Arc<ResourceEntry>>;

/// The view and the visibility of a tool.
///
/// The functions are pointers that `with_view` and `visible_to` set, so that programs without views do not contain the
/// code of resources.
#[derive(Debug, Clone)]
pub(crate) struct ToolViewEntry {
    pub(super) view: Option<View>,
    pub(super) visibility: Option<Vec<String>>,
    describe: fn(&Self, &mut Tool) -> Result<(), RegistrationError>,
    prepare: fn(&Self, &Snapshot) -> Result<PreparedResource, RegistrationError>,
    install: fn(&Self, PreparedResource, &mut Snapshot) -> Result<bool, RegistrationError>,
    is_served: fn(&str, &Snapshot) -> bool,
}

impl ToolViewEntry {
    pub(super) fn new() -> Self {
        Self {
            view: None,
            visibility: None,
            describe,
            prepare,
            install,
            is_served,
        }
    }

    /// Writes the metadata into the descriptor of the tool.
    pub(crate) fn describe(&self, tool: &mut Tool) -> Result<(), RegistrationError> {
        (self.describe)(self, tool)
    }

    /// Returns the resource of the view, and reads its files if the server does not have it yet.
    pub(crate) fn prepare(
        &self,
        snapshot: &Snapshot,
    ) -> Result<PreparedResource, RegistrationError> {
        (self.prepare)(self, snapshot)
    }

    /// Adds the prepared resource, unless the view is registered, and declares the extension. Returns `true` if there is a
    /// new resource. The snapshot may be later than that of [`prepare`](Self::prepare).
    pub(crate) fn install(
        &self,
        resource: PreparedResource,
        snapshot: &mut Snapshot,
    ) -> Result<bool, RegistrationError> {
        (self.install)(self, resource, snapshot)
    }

    /// Returns the URI of the view if the server has no resource for it.
    pub(crate) fn missing_view(&self, snapshot: &Snapshot) -> Option<&str> {
        let uri = self.view.as_ref()?.uri.as_str();
        (!(self.is_served)(uri, snapshot)).then_some(uri)
    }
}

fn describe(entry: &ToolViewEntry, tool: &mut Tool) -> Result<(), RegistrationError> {
    let invalid = |problem| RegistrationError::new(format!("tool `{}`: {problem}", tool.name));
    let mut ui = ToolUi::new();
    let mut flat_uri = None;
    if let Some(view) = &entry.view {
        check_uri(&view.uri).map_err(invalid)?;
        flat_uri = Some(RawJson::from_serialize(&view.uri));
        ui.resource_uri = Some(view.uri.clone());
    }
    if let Some(visibility) = &entry.visibility {
        check_visibility(visibility).map_err(invalid)?;
        ui.visibility = Some(visibility.clone());
    }
    let meta = tool.meta.get_or_insert_default();
    if let Ok(ui) = RawJson::from_serialize(&ui) {
        meta.insert(META_KEY, ui);
    }
    // Hosts of earlier revisions of the extension read this key.
    if let Some(Ok(uri)) = flat_uri {
        meta.insert(FLAT_URI_KEY, uri);
    }
    Ok(())
}

fn prepare(
    entry: &ToolViewEntry,
    snapshot: &Snapshot,
) -> Result<PreparedResource, RegistrationError> {
    match &entry.view {
        // Another thread may remove the resource before this one is installed.
        Some(view) if is_registered(view, snapshot) => {
            Ok(snapshot.resources.get(&view.uri).map(Arc::clone))
        }
        Some(view) => prepared(view),
        None => Ok(None),
    }
}

fn install(
    entry: &ToolViewEntry,
    resource: PreparedResource,
    snapshot: &mut Snapshot,
) -> Result<bool, RegistrationError> {
    if let (Some(view), Some(resource)) = (&entry.view, resource)
        && !is_registered(view, snapshot)
    {
        register(view, resource, snapshot)?;
        return Ok(true);
    }
    declare(snapshot);
    Ok(false)
}

/// Reads the files of a view and returns its resource. Returns `None` if the view is registered separately.
pub(super) fn prepared(view: &View) -> Result<PreparedResource, RegistrationError> {
    let Some(resource) = view.resource()? else {
        return Ok(None);
    };
    Ok(Some(Arc::new(resource.prepare()?)))
}

/// Registers a view with its resource and declares the extension.
pub(super) fn register(
    view: &View,
    resource: Arc<ResourceEntry>,
    snapshot: &mut Snapshot,
) -> Result<(), RegistrationError> {
    if snapshot.resources.contains_key(&view.uri) {
        return Err(RegistrationError::new(format!(
            "view `{}` is registered twice, with different content; use the same view, or another URI",
            view.uri
        )));
    }
    snapshot.install(&RESOURCES);
    snapshot.install(&COMPLETION);
    snapshot.resources.insert(view.uri.clone(), resource);
    snapshot.views.insert(view.uri.clone(), view.clone());
    declare(snapshot);
    Ok(())
}

/// Returns `true` if the same view is registered.
fn is_registered(view: &View, snapshot: &Snapshot) -> bool {
    snapshot.resources.contains_key(&view.uri) && snapshot.views.get(&view.uri) == Some(view)
}

fn is_served(uri: &str, snapshot: &Snapshot) -> bool {
    snapshot.find_resource(uri, &Viewer::unfiltered()).is_some()
}

/// Declares the extension, unless the author has declared it.
fn declare(snapshot: &mut Snapshot) {
    let id = EXTENSION_ID.to_owned();
    snapshot.extensions.entry(id.clone()).or_insert_with(|| {
        Arc::new(ExtensionEntry {
            since: extensions::first_revision(&id),
            id,
            settings: RawJson::empty_object(),
            requires_client: false,
            needs: Vec::new(),
        })
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::Server;

    #[test]
    fn view_that_is_removed_before_the_tool_is_installed_is_added_again() {
        const URI: &str = "ui://clock/face";
        let view = View::new(URI, "<!doctype html><p>12:00");
        let server = Server::new("clock", "1.0.0").view(view.clone());
        let mut entry = ToolViewEntry::new();
        entry.view = Some(view);
        let resource = entry.prepare(&server.snapshot()).unwrap();
        let install = |resource| server.change(|snapshot| entry.install(resource, snapshot));
        assert!(!install(resource.clone()).unwrap());
        assert!(server.remove_resource(URI));
        assert!(install(resource).unwrap());
        assert_eq!(entry.missing_view(&server.snapshot()), None);
    }
}
