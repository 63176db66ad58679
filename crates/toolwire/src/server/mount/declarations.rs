//! What the source of a mount declares besides its entries.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use toolwire_proto::cache::CacheHint;
use toolwire_proto::relay::merge;
use toolwire_types::apps;

use crate::server::mount::{CatalogEntry, Origin};
#[cfg(feature = "relay")]
use crate::server::mount::{RootsListener, TaskDesigns};
use crate::server::optional_methods::{PROMPTS, RESOURCES};
use crate::server::registry::NameMap;
use crate::server::snapshot::Snapshot;
use crate::server::visibility::Viewer;

/// The heading of the instructions of a mount without a name.
const UNNAMED: &str = "Mounted server";

/// What a source declares besides its entries.
#[derive(Debug, Clone, Default)]
pub(crate) struct Declarations {
    /// The name of the mount.
    name: Option<String>,
    pub(crate) instructions: Option<String>,
    /// What the mounts of the source declare, by their numbers there.
    pub(crate) mounted: BTreeMap<usize, Declarations>,
    pub(crate) has_logging: bool,
    #[cfg(feature = "relay")]
    pub(crate) tasks: TaskDesigns,
    /// Whether the source does not know its entries yet.
    pub(crate) has_unknown_entries: bool,
    #[cfg(feature = "relay")]
    pub(crate) roots_listeners: Vec<RootsListener>,
    /// Whether the entries of the source come from several sources.
    has_several_sources: bool,
    /// How long the lists of the source are fresh, and who may share them.
    pub(crate) list_hint: CacheHint,
    /// Whether the entries may be outdated, because their server is not reachable.
    pub(crate) is_outdated: bool,
    /// What the source has and mounts do not offer, in words.
    pub(crate) left_out: Vec<String>,
}

impl Declarations {
    /// Sets the name of the mount.
    pub(crate) fn of_mount(mut self, name: Option<&str>) -> Self {
        self.name = name.map(str::to_owned);
        self
    }

    fn has_outdated(&self) -> bool {
        self.is_outdated || self.mounted.values().any(Self::has_outdated)
    }

    fn has_instructions(&self) -> bool {
        self.instructions.is_some() || self.mounted.values().any(Self::has_instructions)
    }
}

impl Snapshot {
    /// Returns what the server declares as a source.
    pub(crate) fn declared(&self) -> Declarations {
        Declarations {
            name: None,
            instructions: self.instructions.clone(),
            mounted: self.declarations.clone(),
            has_logging: self
                .declarations
                .values()
                .any(|declared| declared.has_logging),
            #[cfg(feature = "relay")]
            tasks: self.mounted_tasks(),
            has_unknown_entries: self
                .declarations
                .values()
                .any(|declared| declared.has_unknown_entries),
            #[cfg(feature = "relay")]
            roots_listeners: self.roots_listeners(),
            has_several_sources: self.has_several_sources,
            list_hint: self.list_hint(),
            is_outdated: false,
            left_out: self.left_out(),
        }
    }

    /// Returns what the server has and servers that mount it do not offer.
    ///
    /// The protocol or an extension defines the names of methods, notifications and extensions. So they cannot have the
    /// prefix of a mount. Without a prefix, a mounted server could replace a method of the server.
    fn left_out(&self) -> Vec<String> {
        let methods = self.methods.iter();
        let methods = methods.filter(|(_, method)| method.extension().is_none());
        let notifications = self.notifications.iter();
        let notifications = notifications.filter(|(_, entry)| entry.extension().is_none());
        // The extension of views is declared with the tools that have them.
        let extensions = self
            .extensions
            .keys()
            .filter(|id| *id != apps::EXTENSION_ID);
        methods
            .map(|(name, _)| format!("method `{name}`"))
            .chain(notifications.map(|(name, _)| format!("notification `{name}`")))
            .chain(extensions.map(|id| format!("extension `{id}`")))
            .collect()
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

    /// Returns the instructions of the server, and of the mounts of which the caller sees an entry.
    pub(crate) fn instructions_for(&self, viewer: &Viewer<'_>) -> Option<String> {
        let visible = viewer.is_filtered().then(|| self.visible_mounts(viewer));
        let instructions = Instructions { visible };
        let own = self.instructions.as_deref();
        instructions.merged(own, &self.declarations, &mut Vec::new())
    }

    /// Returns `true` if callers may get different instructions.
    pub(crate) fn has_private_instructions(&self) -> bool {
        let mut mounted = self.declarations.values();
        self.is_filtered && mounted.any(Declarations::has_instructions)
    }

    /// Returns the mounts of which a caller sees an entry, by their numbers on each level.
    fn visible_mounts(&self, viewer: &Viewer<'_>) -> BTreeSet<&[usize]> {
        fn visible<'s, T: CatalogEntry>(
            entries: &'s NameMap<Arc<T>>,
            viewer: &Viewer<'_>,
        ) -> impl Iterator<Item = &'s [usize]> {
            entries.iter().filter_map(|(name, entry)| {
                let origin = entry.origin()?;
                let is_visible = viewer.sees_kind(name, Some(origin), entry.kind());
                is_visible.then_some(origin.path.as_slice())
            })
        }
        visible(&self.tools, viewer)
            .chain(visible(&self.prompts, viewer))
            .chain(visible(&self.resources, viewer))
            .chain(visible(&self.templates, viewer))
            .collect()
    }

    /// Returns the hint of lists. Without a hint of the server, it is that of its mounts: the shortest and narrowest one.
    pub(crate) fn list_hint(&self) -> CacheHint {
        let own = self.options.list_hint();
        if self.options.list_hint.is_some() || own != CacheHint::default() || self.has_own_entries()
        {
            return own;
        }
        let mounted = self
            .declarations
            .values()
            .map(|declared| declared.list_hint);
        mounted.reduce(CacheHint::merged).unwrap_or(own)
    }

    fn has_own_entries(&self) -> bool {
        // The entries of the server are before those of mounts.
        fn is_own<T: CatalogEntry>(entries: &NameMap<Arc<T>>) -> bool {
            entries
                .first()
                .is_some_and(|(_, entry)| entry.origin().is_none())
        }
        is_own(&self.tools)
            || is_own(&self.prompts)
            || is_own(&self.resources)
            || is_own(&self.templates)
    }

    /// Returns `true` if entries of a mount may be outdated, because their server is not reachable.
    pub(crate) fn has_outdated_entries(&self) -> bool {
        self.declarations.values().any(Declarations::has_outdated)
    }

    /// Returns the name of the mount whose server is not reachable, if an entry comes from there.
    pub(crate) fn outdated_source(&self, origin: &Origin) -> Option<&str> {
        let mut level = &self.declarations;
        for mount in &origin.path {
            let declared = level.get(mount)?;
            if declared.is_outdated {
                return Some(declared.name.as_deref().unwrap_or(UNNAMED));
            }
            level = &declared.mounted;
        }
        None
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

/// Merges the instructions of a server and its mounts.
struct Instructions<'a> {
    /// The mounts that the caller sees. `None` if it sees all.
    visible: Option<BTreeSet<&'a [usize]>>,
}

impl Instructions<'_> {
    /// Returns the instructions of a source at a path of mounts, and those of the mounts inside it.
    fn merged(
        &self,
        own: Option<&str>,
        mounted: &BTreeMap<usize, Declarations>,
        path: &mut Vec<usize>,
    ) -> Option<String> {
        let mut texts = Vec::new();
        for (mount, declared) in mounted {
            path.push(*mount);
            if self.is_visible(path)
                && let Some(text) =
                    self.merged(declared.instructions.as_deref(), &declared.mounted, path)
            {
                texts.push((declared.name.as_deref().unwrap_or(UNNAMED), text));
            }
            path.pop();
        }
        let texts = texts.iter().map(|(name, text)| (*name, text.as_str()));
        match (own.map(str::to_owned), merge::instructions(texts)) {
            (Some(own), Some(mounted)) => Some(format!("{own}\n\n{mounted}")),
            (own, mounted) => own.or(mounted),
        }
    }

    fn is_visible(&self, path: &[usize]) -> bool {
        self.visible
            .as_ref()
            .is_none_or(|visible| visible.iter().any(|mount| mount.starts_with(path)))
    }
}
