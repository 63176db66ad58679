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

    /// Returns the entries of a part that are hidden because their name is taken, as messages.
    pub(super) fn conflicts(&self, number: usize, part: &Part) -> Vec<String> {
        let mut hidden = conflicts("tool", &self.tools, number, &part.tools);
        hidden.extend(conflicts("prompt", &self.prompts, number, &part.prompts));
        hidden.extend(conflicts(
            "resource",
            &self.resources,
            number,
            &part.resources,
        ));
        hidden.extend(conflicts(
            "resource template",
            &self.templates,
            number,
            &part.templates,
        ));
        hidden
    }

    /// Removes the entries of a mount, and adds the entries of all parts whose names are free. The entries of the mount
    /// itself are added first. Returns the lists that changed.
    pub(super) fn replace_part<'p>(
        &mut self,
        number: usize,
        parts: impl IntoIterator<Item = (usize, &'p Part)>,
    ) -> Vec<Change> {
        let mut parts: Vec<(usize, &Part)> = parts.into_iter().collect();
        self.declarations.remove(&number);
        for (mount, part) in &parts {
            self.declarations.insert(*mount, part.declarations.clone());
        }
        parts.sort_by_key(|(mount, _)| (*mount != number, *mount));
        let parts: Vec<&Part> = parts.into_iter().map(|(_, part)| part).collect();
        self.update_entries(Some(number), &parts)
    }

    /// Adds the entries of all parts whose names are free. Returns the lists that changed.
    pub(super) fn restore_entries<'p>(
        &mut self,
        parts: impl IntoIterator<Item = (usize, &'p Part)>,
    ) -> Vec<Change> {
        let parts: Vec<&Part> = parts.into_iter().map(|(_, part)| part).collect();
        self.update_entries(None, &parts)
    }

    fn update_entries(&mut self, replaced: Option<usize>, parts: &[&Part]) -> Vec<Change> {
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
        if update(&mut self.tools, replaced, parts, |part| &part.tools) {
            self.emptied.tools = true;
            changes.push(Change::ToolsListChanged);
        }
        if update(&mut self.prompts, replaced, parts, |part| &part.prompts) {
            self.emptied.prompts = true;
            changes.push(Change::PromptsListChanged);
        }
        let resources = update(&mut self.resources, replaced, parts, |part| &part.resources);
        let templates = update(&mut self.templates, replaced, parts, |part| &part.templates);
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
            has_rules |= !origin.rules.is_empty() || !origin.policies.is_empty();
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
        if has_chains {
            self.middleware.get_or_insert_with(Chain::empty);
        }
    }
}

fn check_names<T: CatalogEntry>(
    kind: &str,
    entries: &NameMap<Arc<T>>,
    number: usize,
    added: &[PartEntry<T>],
) -> Result<(), RegistrationError> {
    match first_conflict(entries, number, added) {
        Some((name, taken, entry)) => Err(conflict(kind, name, taken.origin(), entry.origin())),
        None => Ok(()),
    }
}

/// Returns the first entry of a part whose name is taken: the name, the entry that has it, and the entry of the part.
fn first_conflict<'e, T: CatalogEntry>(
    entries: &'e NameMap<Arc<T>>,
    number: usize,
    added: &'e [PartEntry<T>],
) -> Option<(&'e str, &'e Arc<T>, &'e Arc<T>)> {
    let mut all = all_conflicts(entries, number, added);
    all.next()
}

/// Returns the entries of a part whose names belong to another entry.
fn all_conflicts<'e, T: CatalogEntry>(
    entries: &'e NameMap<Arc<T>>,
    number: usize,
    added: &'e [PartEntry<T>],
) -> impl Iterator<Item = (&'e str, &'e Arc<T>, &'e Arc<T>)> {
    let mut earlier: HashMap<&str, &Arc<T>> = HashMap::with_capacity(added.len());
    added.iter().filter_map(move |(name, entry)| {
        let of_others = entries
            .get(name)
            .filter(|entry| entry.origin().is_none_or(|origin| origin.mount != number));
        let of_part = earlier.insert(name, entry);
        Some((name.as_str(), of_others.or(of_part)?, entry))
    })
}

fn conflicts<T: CatalogEntry>(
    kind: &str,
    entries: &NameMap<Arc<T>>,
    number: usize,
    added: &[PartEntry<T>],
) -> Vec<String> {
    let hidden = all_conflicts(entries, number, added);
    hidden
        .map(|(name, taken, entry)| {
            let problem = conflict(kind, name, taken.origin(), entry.origin());
            format!("an entry of a mount is hidden: {problem}")
        })
        .collect()
}

/// Returns the error of two entries with one name.
pub(crate) fn conflict(
    kind: &str,
    name: &str,
    first: Option<&Arc<Origin>>,
    second: Option<&Arc<Origin>>,
) -> RegistrationError {
    let from = |origin: Option<&Arc<Origin>>| match origin {
        Some(origin) => origin.label.to_string(),
        None => "the server itself".to_owned(),
    };
    RegistrationError::new(format!(
        "{kind} `{name}` comes from {} and from {}; rename one, or set another prefix",
        from(first),
        from(second)
    ))
}

/// Updates the entries of mounts in one list. Returns `true` if the list changed.
fn update<T: CatalogEntry>(
    entries: &mut NameMap<Arc<T>>,
    replaced: Option<usize>,
    parts: &[&Part],
    list: impl Fn(&Part) -> &Vec<PartEntry<T>>,
) -> bool {
    let is_replaced = |entry: &Arc<T>| {
        let mount = entry.origin().map(|origin| origin.mount);
        mount.is_some() && mount == replaced
    };
    let mut removed = Vec::new();
    entries.retain(|name, entry| {
        let is_removed = is_replaced(entry);
        if is_removed {
            removed.push((name.clone(), Arc::clone(entry)));
        }
        !is_removed
    });
    let mut added = Vec::new();
    for (name, entry) in parts.iter().flat_map(|part| list(part)) {
        if !entries.contains_key(name) {
            entries.insert(name.clone(), Arc::clone(entry));
            added.push((name, entry));
        }
    }
    if added.is_empty() && removed.is_empty() {
        return false;
    }
    sort(entries);
    let is_equal = |((old_name, old), (name, entry)): (&PartEntry<T>, &(&String, &Arc<T>))| {
        old_name == *name && old.is_listed_as(entry)
    };
    removed.len() != added.len() || !removed.iter().zip(&added).all(is_equal)
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
