//! The entries of mounts in the lists of a server.

use std::collections::HashMap;
use std::sync::Arc;

use toolwire_proto::subscriptions::Change;

use crate::server::middleware::Chain;
use crate::server::mount::part::{Part, PartEntry};
use crate::server::mount::{CatalogEntry, Origin};
use crate::server::optional_methods::{COMPLETION, PROMPTS, RESOURCES};
use crate::server::registry::{NameMap, RegistrationError};
use crate::server::snapshot::Snapshot;

impl Snapshot {
    /// Rejects a part with a name that is taken.
    pub(super) fn check_part(&self, number: usize, part: &Part) -> Result<(), RegistrationError> {
        check_names("tool", &self.tools, number, &part.tools)?;
        check_names("prompt", &self.prompts, number, &part.prompts)?;
        check_names("resource", &self.resources, number, &part.resources)?;
        check_names(
            "resource template",
            &self.templates,
            number,
            &part.templates,
        )
    }

    /// Returns the entries of a part that are hidden because their name is taken or reserved, as messages.
    pub(super) fn conflicts(&self, part: &Part) -> Vec<String> {
        let mut hidden = conflicts("tool", &self.tools, &part.tools);
        hidden.extend(conflicts("prompt", &self.prompts, &part.prompts));
        hidden.extend(conflicts("resource", &self.resources, &part.resources));
        hidden.extend(conflicts(
            "resource template",
            &self.templates,
            &part.templates,
        ));
        hidden
    }

    /// Replaces the entries of all mounts. Of several mounts with one name, the first has it, however late its source lists
    /// it. Returns the lists that changed.
    pub(super) fn replace_parts<'p>(
        &mut self,
        parts: impl IntoIterator<Item = (usize, &'p Part)>,
    ) -> Vec<Change> {
        let mut parts: Vec<(usize, &Part)> = parts.into_iter().collect();
        parts.sort_by_key(|(mount, _)| *mount);
        let declared = parts.iter();
        self.declarations = declared
            .map(|(mount, part)| (*mount, part.declarations.clone()))
            .collect();
        let parts: Vec<&Part> = parts.into_iter().map(|(_, part)| part).collect();
        self.update_entries(&parts)
    }

    fn update_entries(&mut self, parts: &[&Part]) -> Vec<Change> {
        if parts.iter().any(|part| !part.prompts.is_empty()) {
            self.install(&PROMPTS);
            self.install(&COMPLETION);
        }
        let has_resources = |part: &&Part| !part.resources.is_empty() || !part.templates.is_empty();
        if parts.iter().any(has_resources) {
            self.install(&RESOURCES);
            self.install(&COMPLETION);
        }
        self.options.resource_subscriptions |= parts.iter().any(|part| part.has_subscriptions);
        self.options.logging |= parts.iter().any(|part| part.declarations.has_logging);
        #[cfg(feature = "relay")]
        if parts
            .iter()
            .any(|part| part.declarations.tasks != Default::default())
        {
            self.install_mounted_tasks();
        }
        if parts
            .iter()
            .any(|part| part.declarations.has_unknown_entries)
        {
            self.declare_unknown_entries();
        }
        for (_, tool) in parts.iter().flat_map(|part| &part.tools) {
            self.declare_view(tool);
        }
        let mut changes = Vec::new();
        if update(&mut self.tools, parts, ListKey::Name, |part| &part.tools) {
            self.emptied.tools = true;
            changes.push(Change::ToolsListChanged);
        }
        if update(&mut self.prompts, parts, ListKey::Name, |part| {
            &part.prompts
        }) {
            self.emptied.prompts = true;
            changes.push(Change::PromptsListChanged);
        }
        let resources = update(&mut self.resources, parts, ListKey::Uri, |part| {
            &part.resources
        });
        let templates = update(&mut self.templates, parts, ListKey::Uri, |part| {
            &part.templates
        });
        if resources || templates {
            self.emptied.resources = true;
            changes.push(Change::ResourcesListChanged);
        }
        self.note_origins();
        changes
    }

    /// Notes whether entries have rules or middleware of their own.
    fn note_origins(&mut self) {
        let tools = self.tools.values().filter_map(|entry| entry.origin());
        let prompts = self.prompts.values().filter_map(|entry| entry.origin());
        let resources = self.resources.values().filter_map(|entry| entry.origin());
        let templates = self.templates.values().filter_map(|entry| entry.origin());
        let mut origins = tools.chain(prompts).chain(resources).chain(templates);
        let (mut has_rules, mut has_chains) = (false, false);
        origins.by_ref().for_each(|origin| {
            has_rules |= origin.is_restricted();
            has_chains |= origin.chain.is_some();
        });
        drop(origins);
        self.has_raw_entries = self.tools.values().any(|entry| entry.raw.is_some())
            || self.prompts.values().any(|entry| entry.raw.is_some())
            || self
                .resources
                .values()
                .any(|entry| entry.raw_entry().is_some())
            || self
                .templates
                .values()
                .any(|entry| entry.raw_entry().is_some());
        self.is_filtered = has_rules || self.visibility.is_some() || !self.policies.is_empty();
        self.has_several_sources = self.finds_several_sources();
        self.has_mount_middleware = has_chains;
        if has_chains {
            self.middleware.get_or_insert_with(Chain::empty);
        }
    }
}

/// Rejects a part with an entry whose name belongs to another entry.
fn check_names<T: CatalogEntry>(
    kind: &str,
    entries: &NameMap<Arc<T>>,
    number: usize,
    added: &[PartEntry<T>],
) -> Result<(), RegistrationError> {
    let mut earlier: HashMap<&str, &Arc<T>> = HashMap::with_capacity(added.len());
    for (name, entry) in added {
        let of_others = entries
            .get(name)
            .filter(|entry| entry.origin().is_none_or(|origin| origin.mount != number));
        let of_part = earlier.insert(name, entry);
        if let Some(taken) = of_others.or(of_part) {
            return Err(conflict(kind, name, taken.origin(), entry.origin()));
        }
    }
    Ok(())
}

fn conflicts<T: CatalogEntry>(
    kind: &str,
    entries: &NameMap<Arc<T>>,
    added: &[PartEntry<T>],
) -> Vec<String> {
    let hidden = added.iter().filter_map(|(name, entry)| {
        let problem = match entries.get(name) {
            Some(shown) if Arc::ptr_eq(shown, entry) => return None,
            Some(taken) => conflict(kind, name, taken.origin(), entry.origin()).to_string(),
            None => format!(
                "{kind} `{name}` comes from {}, and may be one of an earlier mount whose entries are not known yet",
                label(entry.origin())
            ),
        };
        Some(format!("an entry of a mount is hidden: {problem}"))
    });
    hidden.collect()
}

/// Returns the error of two entries with one name.
pub(crate) fn conflict(
    kind: &str,
    name: &str,
    first: Option<&Arc<Origin>>,
    second: Option<&Arc<Origin>>,
) -> RegistrationError {
    RegistrationError::new(format!(
        "{kind} `{name}` comes from {} and from {}; rename one, or set another prefix",
        label(first),
        label(second)
    ))
}

/// Returns where an entry comes from, in messages.
fn label(origin: Option<&Arc<Origin>>) -> &str {
    origin.map_or("the server itself", |origin| &origin.label)
}

/// What the entries of a list are found by.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ListKey {
    /// A name, with the prefix of the mount.
    Name,
    Uri,
}

/// Replaces the entries of mounts in one list. `parts` are in the order of the mounts. Returns `true` if the list changed.
fn update<T: CatalogEntry>(
    entries: &mut NameMap<Arc<T>>,
    parts: &[&Part],
    key: ListKey,
    list: impl Fn(&Part) -> &Vec<PartEntry<T>>,
) -> bool {
    let mut old: Vec<PartEntry<T>> = Vec::new();
    entries.retain(|name, entry| {
        let is_mounted = entry.origin().is_some();
        if is_mounted {
            old.push((name.clone(), Arc::clone(entry)));
        }
        !is_mounted
    });
    for is_preferred in [true, false] {
        for (position, part) in parts.iter().enumerate() {
            for (name, entry) in list(part) {
                let origin = entry.origin();
                if origin.is_some_and(|origin| origin.is_preferred) != is_preferred
                    || entries.contains_key(name)
                {
                    continue;
                }
                let is_reserved =
                    |earlier: &&Part| key == ListKey::Name && earlier.reserves(name, part);
                if is_preferred || !parts[..position].iter().any(is_reserved) {
                    entries.insert(name.clone(), Arc::clone(entry));
                }
            }
        }
    }
    sort(entries);
    let new = entries.iter().filter(|(_, entry)| entry.origin().is_some());
    let is_equal = |((old_name, old), (name, entry)): (&PartEntry<T>, (&String, &Arc<T>))| {
        old_name == name && (Arc::ptr_eq(old, entry) || old.is_listed_as(entry))
    };
    old.len() != new.clone().count() || !old.iter().zip(new).all(is_equal)
}

/// Puts the entries of mounts after those of the server, in the order of the mounts and of their catalogs.
pub(crate) fn sort<T: CatalogEntry>(entries: &mut NameMap<Arc<T>>) {
    let rank = |entry: &Arc<T>| {
        let origin = entry.origin();
        origin.map_or((0, 0), |origin| (origin.mount + 1, origin.position))
    };
    if !entries.values().is_sorted_by_key(rank) {
        entries.sort_by_key(|_, entry| rank(entry));
    }
}
