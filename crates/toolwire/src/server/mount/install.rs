//! Installs the entries of mounts on a server, and keeps them up to date.

use std::any::Any;
use std::sync::{Arc, Mutex};

use toolwire_proto::subscriptions::Change;

use crate::server::Server;
use crate::server::middleware::Chain;
use crate::server::mount::part::Part;
use crate::server::mount::{CatalogEntry, Mount, Origin, Source, SourceListener};
use crate::server::optional_methods::{COMPLETION, PROMPTS, RESOURCES};
use crate::server::register::unwrap_or_panic;
use crate::server::registry::{NameMap, RegistrationError};
use crate::server::snapshot::Snapshot;
use crate::sync::lock;

/// The mounts of a server, in the order of their numbers.
#[derive(Default)]
pub(crate) struct Mounts {
    /// Locked while entries are replaced, so that an older catalog never replaces a newer one.
    records: Mutex<MountRecords>,
}

#[derive(Default)]
struct MountRecords {
    next: usize,
    mounts: Vec<MountRecord>,
}

struct MountRecord {
    number: usize,
    mount: Mount,
    /// The value that the source returned. Dropping it ends its reports.
    _watch: Option<Box<dyn Any + Send + Sync>>,
}

/// What happens if two entries have one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OnConflict {
    /// The mount is rejected.
    Reject,
    /// The later entry is hidden, and a warning is logged.
    Hide,
}

impl Server {
    /// Mounts a source under a name: another server, or a [`Source`] of your own. Its tools and prompts get the name and
    /// `_` as a prefix.
    ///
    /// The mount is live: what the source adds or removes later appears and disappears here. Handlers of a mounted
    /// server run in requests of this server, so [`RequestContext::server`](crate::RequestContext::server) returns this
    /// one, and tasks, request state and logging are those of this server. Methods, extensions, events and skills of a
    /// mounted server are not mounted.
    ///
    /// ```
    /// use toolwire::{Server, tool};
    ///
    /// /// Returns the forecast.
    /// #[tool]
    /// async fn forecast() -> &'static str {
    ///     "sunny"
    /// }
    ///
    /// let weather = Server::new("weather", "1.0.0").tool(forecast);
    /// let server = Server::new("app", "1.0.0").mount("weather", weather); // offers `weather_forecast`
    /// # drop(server);
    /// ```
    ///
    /// # Panics
    /// Panics if a name is already registered, and if the mounted server mounts this one.
    #[must_use]
    #[track_caller]
    pub fn mount(self, name: impl Into<String>, source: impl Source) -> Self {
        self.mount_with(Mount::new(name, source))
    }

    /// Mounts a source with options.
    ///
    /// # Panics
    /// Panics if a name is already registered or invalid, and if the mounted server mounts this one.
    #[must_use]
    #[track_caller]
    pub fn mount_with(self, mount: Mount) -> Self {
        unwrap_or_panic(self.add_mount(mount));
        self
    }

    /// Mounts a source on a running server and notifies clients.
    ///
    /// # Errors
    /// Returns an error if a name is already registered or invalid, and if the mounted server mounts this one.
    pub fn add_mount(&self, mount: Mount) -> Result<(), RegistrationError> {
        mount.check()?;
        if mount
            .source
            .as_server()
            .is_some_and(|child| child.offers(self))
        {
            return Err(RegistrationError::new(format!(
                "{}: a server cannot mount itself",
                mount.label()
            )));
        }
        let source = Arc::clone(&mount.source);
        let (number, changes) = {
            let mut records = lock(&self.shared.mounts.records);
            let number = records.next;
            let part = mount.part(number);
            let changes = self.change(|snapshot| {
                snapshot.check_part(number, &part)?;
                Ok(snapshot.replace_part(number, part, OnConflict::Reject))
            })?;
            records.next += 1;
            records.mounts.push(MountRecord {
                number,
                mount,
                _watch: None,
            });
            (number, changes)
        };
        self.publish_all(&changes);
        let watch = source.watch(SourceListener {
            server: Arc::downgrade(&self.shared),
            mount: number,
        });
        let mut records = lock(&self.shared.mounts.records);
        if let Some(record) = records.find(number) {
            record._watch = Some(watch);
        }
        drop(records);
        // The source may have changed before it was watched.
        self.refresh_mount(number);
        Ok(())
    }

    /// Removes a mount by its name and notifies clients. Returns `true` if it existed.
    pub fn remove_mount(&self, name: &str) -> bool {
        let mut records = lock(&self.shared.mounts.records);
        let has_name = |record: &MountRecord| record.mount.name.as_deref() == Some(name);
        let Some(position) = records.mounts.iter().position(has_name) else {
            return false;
        };
        let record = records.mounts.remove(position);
        let changes = self.change(|snapshot| {
            snapshot.replace_part(record.number, Part::default(), OnConflict::Hide)
        });
        drop(records);
        self.publish_all(&changes);
        self.refresh_mounts();
        true
    }

    /// Replaces the entries of a mount by those that its source offers now.
    pub(crate) fn refresh_mount(&self, number: usize) {
        let mut records = lock(&self.shared.mounts.records);
        let Some(record) = records.find(number) else {
            return;
        };
        let part = record.mount.part(number);
        let changes = self.change(|snapshot| snapshot.replace_part(number, part, OnConflict::Hide));
        drop(records);
        self.publish_all(&changes);
    }

    /// Looks at all mounts again, because a name has become free.
    pub(crate) fn refresh_mounts(&self) {
        let numbers: Vec<usize> = {
            let records = lock(&self.shared.mounts.records);
            records.mounts.iter().map(|record| record.number).collect()
        };
        for number in numbers {
            self.refresh_mount(number);
        }
    }

    /// Returns `true` if this server is `other`, or mounts it directly or through other servers.
    fn offers(&self, other: &Self) -> bool {
        if Arc::ptr_eq(&self.shared, &other.shared) {
            return true;
        }
        let sources: Vec<Arc<dyn Source>> = {
            let records = lock(&self.shared.mounts.records);
            let mounts = records.mounts.iter();
            mounts
                .map(|record| Arc::clone(&record.mount.source))
                .collect()
        };
        let mut servers = sources.iter().filter_map(|source| source.as_server());
        servers.any(|server| server.offers(other))
    }

    /// Returns the source of a mount.
    pub(crate) fn mounted_source(&self, number: usize) -> Option<Arc<dyn Source>> {
        let mut records = lock(&self.shared.mounts.records);
        let record = records.find(number)?;
        Some(Arc::clone(&record.mount.source))
    }

    fn publish_all(&self, changes: &[Change]) {
        for change in changes {
            self.publish(change);
        }
    }
}

impl MountRecords {
    fn find(&mut self, number: usize) -> Option<&mut MountRecord> {
        let mut mounts = self.mounts.iter_mut();
        mounts.find(|record| record.number == number)
    }
}

impl Snapshot {
    /// Rejects a part with a name that is taken.
    fn check_part(&self, number: usize, part: &Part) -> Result<(), RegistrationError> {
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

    /// Replaces the entries of a mount. Returns the lists that changed.
    fn replace_part(&mut self, number: usize, part: Part, on_conflict: OnConflict) -> Vec<Change> {
        if !part.prompts.is_empty() {
            self.install(&PROMPTS);
            self.install(&COMPLETION);
        }
        if !part.resources.is_empty() || !part.templates.is_empty() {
            self.install(&RESOURCES);
            self.install(&COMPLETION);
        }
        self.options.resource_subscriptions |= part.has_subscriptions;
        let mut changes = Vec::new();
        if replace("tool", &mut self.tools, number, part.tools, on_conflict) {
            self.emptied.tools = true;
            changes.push(Change::ToolsListChanged);
        }
        if replace(
            "prompt",
            &mut self.prompts,
            number,
            part.prompts,
            on_conflict,
        ) {
            self.emptied.prompts = true;
            changes.push(Change::PromptsListChanged);
        }
        let resources = replace(
            "resource",
            &mut self.resources,
            number,
            part.resources,
            on_conflict,
        );
        let templates = replace(
            "resource template",
            &mut self.templates,
            number,
            part.templates,
            on_conflict,
        );
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
            has_rules |= !origin.rules.is_empty();
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
        self.is_filtered = has_rules || self.visibility.is_some();
        if has_chains {
            self.middleware.get_or_insert_with(Chain::empty);
        }
    }
}

fn check_names<T: CatalogEntry>(
    kind: &str,
    entries: &NameMap<Arc<T>>,
    number: usize,
    added: &[(String, Arc<T>)],
) -> Result<(), RegistrationError> {
    for (index, (name, entry)) in added.iter().enumerate() {
        let of_others = entries
            .get(name)
            .filter(|entry| entry.origin().is_none_or(|origin| origin.mount != number));
        let earlier = added[..index].iter().find(|(earlier, _)| earlier == name);
        if let Some(taken) = of_others.or(earlier.map(|(_, entry)| entry)) {
            return Err(conflict(kind, name, taken.origin(), entry.origin()));
        }
    }
    Ok(())
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

/// Replaces the entries of a mount in one list. Returns `true` if the list changed.
fn replace<T: CatalogEntry>(
    kind: &str,
    entries: &mut NameMap<Arc<T>>,
    number: usize,
    added: Vec<(String, Arc<T>)>,
    on_conflict: OnConflict,
) -> bool {
    let is_of_mount = |entry: &Arc<T>| entry.origin().is_some_and(|origin| origin.mount == number);
    let mut before = Vec::new();
    entries.retain(|_, entry| {
        let is_removed = is_of_mount(entry);
        if is_removed {
            before.push(Arc::clone(entry));
        }
        !is_removed
    });
    for (name, entry) in added {
        match entries.get(&name) {
            None => drop(entries.insert(name, entry)),
            Some(taken) if on_conflict == OnConflict::Hide => {
                let problem = conflict(kind, &name, taken.origin(), entry.origin());
                tracing::warn!(%problem, "an entry of a mount is hidden");
            }
            // It was checked before.
            Some(_) => {}
        }
    }
    sort(entries);
    let after: Vec<&Arc<T>> = entries
        .values()
        .filter(|entry| is_of_mount(entry))
        .collect();
    let is_equal = |(before, after): (&Arc<T>, &&Arc<T>)| before.is_listed_as(after);
    before.len() != after.len() || !before.iter().zip(&after).all(is_equal)
}

/// Puts the entries of mounts after those of the server, in the order of the mounts.
pub(crate) fn sort<T: CatalogEntry>(entries: &mut NameMap<Arc<T>>) {
    let rank = |entry: &Arc<T>| entry.origin().map_or(0, |origin| origin.mount + 1);
    if !entries.values().is_sorted_by_key(rank) {
        entries.sort_by_key(|_, entry| rank(entry));
    }
}
