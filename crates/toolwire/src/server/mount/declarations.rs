//! What the source of a mount declares besides its entries.

use toolwire_proto::relay::merge;

use crate::server::mount::CatalogEntry as _;
use crate::server::optional_methods::{PROMPTS, RESOURCES};
use crate::server::snapshot::Snapshot;

/// The heading of the instructions of a mount without a name.
const UNNAMED: &str = "Mounted server";

/// What a source declares besides its entries.
#[derive(Debug, Clone, Default)]
pub(crate) struct Declarations {
    /// The name of the mount.
    name: Option<String>,
    pub(crate) instructions: Option<String>,
    pub(crate) has_logging: bool,
    /// Whether the source does not know its entries yet.
    pub(crate) has_unknown_entries: bool,
    /// Whether the entries of the source come from several sources.
    has_several_sources: bool,
}

impl Declarations {
    /// Sets the name of the mount.
    pub(crate) fn of_mount(mut self, name: Option<&str>) -> Self {
        self.name = name.map(str::to_owned);
        self
    }
}

impl Snapshot {
    /// Returns what the server declares as a source.
    pub(crate) fn declared(&self) -> Declarations {
        Declarations {
            name: None,
            instructions: self.all_instructions(),
            has_logging: self
                .declarations
                .values()
                .any(|declared| declared.has_logging),
            // They are declared as empty lists.
            has_unknown_entries: false,
            has_several_sources: self.has_several_sources,
        }
    }

    /// Declares the lists of a source that does not know its entries yet.
    pub(crate) fn declare_unknown_entries(&mut self) {
        for methods in [&PROMPTS, &RESOURCES] {
            self.install(methods);
        }
        self.emptied.tools = true;
        self.emptied.prompts = true;
        self.emptied.resources = true;
    }

    /// Returns the instructions of the server and of its mounts.
    pub(crate) fn all_instructions(&self) -> Option<String> {
        let mounted = self.declarations.values().filter_map(|declared| {
            let name = declared.name.as_deref().unwrap_or(UNNAMED);
            Some((name, declared.instructions.as_deref()?))
        });
        match (self.instructions.clone(), merge::instructions(mounted)) {
            (Some(own), Some(mounted)) => Some(format!("{own}\n\n{mounted}")),
            (own, mounted) => own.or(mounted),
        }
    }

    /// Returns `true` if the entries come from several mounts, or from a mount and the server itself.
    pub(crate) fn finds_several_sources(&self) -> bool {
        let tools = self.tools.values().map(|entry| entry.origin());
        let prompts = self.prompts.values().map(|entry| entry.origin());
        let resources = self.resources.values().map(|entry| entry.origin());
        let templates = self.templates.values().map(|entry| entry.origin());
        let origins = tools.chain(prompts).chain(resources).chain(templates);
        let mut mounts = origins.map(|origin| origin.map(|origin| origin.mount));
        let first = mounts.next();
        mounts.any(|mount| Some(mount) != first)
            || self
                .declarations
                .values()
                .any(|declared| declared.has_several_sources)
    }
}
