//! The view and the visibility of a tool, and their registration.

use std::sync::Arc;

use toolwire_proto::apps::{check_uri, check_visibility};
use toolwire_proto::extensions;
use toolwire_types::apps::{EXTENSION_ID, FLAT_URI_KEY, META_KEY, ToolUi};
use toolwire_types::{RawJson, Tool};

use crate::server::extension_entry::ExtensionEntry;
use crate::server::optional_methods::{COMPLETION, RESOURCES};
use crate::server::registry::RegistrationError;
use crate::server::snapshot::Snapshot;
use crate::server::view::View;

/// The view and the visibility of a tool.
///
/// The functions are pointers that `with_view` and `visible_to` set, so that programs without views do not contain the
/// code of resources.
#[derive(Debug, Clone)]
pub(crate) struct ToolViewEntry {
    pub(super) view: Option<View>,
    pub(super) visibility: Option<Vec<String>>,
    describe: fn(&Self, &mut Tool) -> Result<(), RegistrationError>,
    install: fn(&Self, &mut Snapshot) -> Result<bool, RegistrationError>,
    is_served: fn(&str, &Snapshot) -> bool,
}

impl ToolViewEntry {
    pub(super) fn new() -> Self {
        Self {
            view: None,
            visibility: None,
            describe,
            install,
            is_served,
        }
    }

    /// Writes the metadata into the descriptor of the tool.
    pub(crate) fn describe(&self, tool: &mut Tool) -> Result<(), RegistrationError> {
        (self.describe)(self, tool)
    }

    /// Registers the view, unless it is registered, and declares the extension. Returns `true` if there is a new
    /// resource.
    pub(crate) fn install(&self, snapshot: &mut Snapshot) -> Result<bool, RegistrationError> {
        (self.install)(self, snapshot)
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

fn install(entry: &ToolViewEntry, snapshot: &mut Snapshot) -> Result<bool, RegistrationError> {
    let view = entry.view.as_ref();
    if let Some(view) = view.filter(|view| view.source.is_some() && !is_registered(view, snapshot))
    {
        register(view, snapshot)?;
        return Ok(true);
    }
    declare(snapshot);
    Ok(false)
}

/// Registers a view as a resource and declares the extension.
pub(super) fn register(view: &View, snapshot: &mut Snapshot) -> Result<(), RegistrationError> {
    if let Some(resource) = view.resource()? {
        if snapshot.resources.contains_key(&view.uri) {
            return Err(RegistrationError::new(format!(
                "view `{}` is registered twice, with different content; use the same view, or another URI",
                view.uri
            )));
        }
        snapshot.install(&RESOURCES);
        snapshot.install(&COMPLETION);
        let entry = Arc::new(resource.prepare()?);
        snapshot.resources.insert(view.uri.clone(), entry);
        snapshot.views.insert(view.uri.clone(), view.clone());
    }
    declare(snapshot);
    Ok(())
}

/// Returns `true` if the same view is registered.
fn is_registered(view: &View, snapshot: &Snapshot) -> bool {
    snapshot.resources.contains_key(&view.uri) && snapshot.views.get(&view.uri) == Some(view)
}

fn is_served(uri: &str, snapshot: &Snapshot) -> bool {
    snapshot.find_resource(uri).is_some()
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
