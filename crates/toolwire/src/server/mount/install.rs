//! Mounts sources on a server, and keeps their entries up to date.

use std::any::Any;
use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use toolwire_proto::subscriptions::Change;

use crate::server::Server;
use crate::server::mount::part::Part;
use crate::server::mount::{Mount, Source, SourceListener, UriClaims};
use crate::server::register::unwrap_or_panic;
use crate::server::registry::RegistrationError;
use crate::server::snapshot::Snapshot;
use crate::sync::lock;

/// The mounts of a server, in the order of their numbers.
#[derive(Default)]
pub(crate) struct Mounts {
    /// Locked while entries are replaced. Code of sources runs outside the lock.
    records: Mutex<MountRecords>,
    /// The URIs that the mounts claim.
    pub(crate) claims: Arc<UriClaims>,
}

#[derive(Default)]
struct MountRecords {
    next: usize,
    mounts: Vec<MountRecord>,
}

struct MountRecord {
    number: usize,
    mount: Arc<Mount>,
    /// The entries of the newest catalog, also those that are hidden because another entry has their name.
    part: Part,
    /// The number of refreshes that started.
    started: u64,
    /// The refresh that `part` comes from. A refresh that started earlier must not replace it.
    installed: u64,
    /// The problems of the newest catalog. Each is logged only when it appears.
    problems: HashSet<String>,
    /// The value that the source returned. Dropping it ends its reports.
    _watch: Option<Box<dyn Any + Send + Sync>>,
}

impl Server {
    /// Mounts a source under a name: another server, or a [`Source`] of your own. Its tools and prompts get the name and
    /// `_` as a prefix.
    ///
    /// The mount is live: what the source adds or removes later appears and disappears here. Handlers of a mounted
    /// server run in requests of this server, so [`RequestContext::server`](crate::RequestContext::server) returns this
    /// one, and tasks, request state and logging are those of this server. Methods, extensions, events and skills of a
    /// mounted server are not mounted, and a warning names them.
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
    #[doc(alias = "import_server", alias = "compose")]
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
    /// Returns an error if a name is already registered or invalid, if the mounted server mounts this one, and if it is that
    /// of a relay.
    pub fn add_mount(&self, mount: Mount) -> Result<(), RegistrationError> {
        let mount = self.checked_mount(mount)?;
        let number = {
            let mut records = lock(&self.shared.mounts.records);
            records.next += 1;
            records.next - 1
        };
        let mut part = mount.part(number);
        let changes = {
            let mut records = lock(&self.shared.mounts.records);
            part.expose_uris(&mount, number);
            let changes = self.change(|snapshot| {
                snapshot.check_part(number, &part)?;
                snapshot.uris = self.shared.mounts.claims.exposed();
                Ok(snapshot.replace_parts(records.parts().chain([(number, &part)])))
            });
            if changes.is_err() {
                self.shared.mounts.claims.release(number);
            }
            let changes = changes?;
            let mut record = MountRecord {
                number,
                mount: Arc::clone(&mount),
                part,
                started: 0,
                installed: 0,
                problems: HashSet::new(),
                _watch: None,
            };
            record.report_problems(Vec::new());
            records.mounts.push(record);
            records.mounts.sort_by_key(|record| record.number);
            changes
        };
        self.publish_mounted(&changes);
        // The source may have changed before it was watched.
        self.watch_mount(&mount, number);
        Ok(())
    }

    /// Replaces the mount with the same name, at its place, and notifies clients of the lists that change. Entries of other
    /// mounts keep their places, and requests that run finish with the replaced mount.
    ///
    /// As with later changes of a source, an entry whose name another entry has is hidden, and a warning names it.
    ///
    /// ```
    /// use toolwire::{Mount, Server, tool};
    ///
    /// /// Returns the forecast.
    /// #[tool]
    /// async fn forecast() -> &'static str {
    ///     "sunny"
    /// }
    ///
    /// let weather = Server::new("weather", "1.0.0").tool(forecast);
    /// let server = Server::new("app", "1.0.0").mount("weather", weather.clone());
    /// // From now on, the tool is `outlook_forecast`.
    /// server.replace_mount(Mount::new("weather", weather).with_prefix("outlook"))?;
    /// # Ok::<(), toolwire::RegistrationError>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if no mount has the name, and the errors of [`add_mount`](Self::add_mount) except for names that are
    /// registered. Then nothing changes.
    pub fn replace_mount(&self, mount: Mount) -> Result<(), RegistrationError> {
        let mount = self.checked_mount(mount)?;
        let replaced = {
            let mut records = lock(&self.shared.mounts.records);
            let mut mounts = records.mounts.iter_mut();
            let has_name = |record: &&mut MountRecord| {
                record.mount.name.is_some() && record.mount.name == mount.name
            };
            mounts.find(has_name).map(|record| {
                let old = std::mem::replace(&mut record.mount, Arc::clone(&mount));
                (record.number, old, record._watch.take())
            })
        };
        let Some((number, old, old_watch)) = replaced else {
            return Err(RegistrationError::new(format!(
                "{}: there is no such mount to replace; add it with `add_mount`",
                mount.label()
            )));
        };
        // The entries of the replaced mount stay until those of the new one are known.
        self.watch_mount(&mount, number);
        // A source may end its connections with its last watch, so the new watch begins first. It may also react, so this
        // happens outside the lock.
        drop((old_watch, old));
        Ok(())
    }

    /// Rejects a mount that cannot be used, and prepares it for this server.
    fn checked_mount(&self, mut mount: Mount) -> Result<Arc<Mount>, RegistrationError> {
        mount.claims = Arc::clone(&self.shared.mounts.claims);
        mount.check()?;
        let problem = match mount.source.as_server() {
            Some(child) if child.offers(self) => "a server cannot mount itself",
            Some(child) if child.snapshot().forwards() => {
                "the server of a relay has no entries; mount its upstream server with `Upstream::source`"
            }
            _ => return Ok(Arc::new(mount)),
        };
        let label = mount.label();
        Err(RegistrationError::new(format!("{label}: {problem}")))
    }

    /// Watches the source of a mount, and takes its entries.
    fn watch_mount(&self, mount: &Arc<Mount>, number: usize) {
        let watch = mount.source.watch(SourceListener {
            server: Arc::downgrade(&self.shared),
            mount: number,
        });
        let mut records = lock(&self.shared.mounts.records);
        // A mount that was removed or replaced meanwhile needs no watch.
        let unused = match records.find(number) {
            Some(record) if Arc::ptr_eq(&record.mount, mount) => record._watch.replace(watch),
            _ => Some(watch),
        };
        drop(records);
        drop(unused);
        self.refresh_mount(number);
    }

    /// Removes a mount by its name and notifies clients. Returns `true` if it existed.
    pub fn remove_mount(&self, name: &str) -> bool {
        let mut records = lock(&self.shared.mounts.records);
        let has_name = |record: &MountRecord| record.mount.name.as_deref() == Some(name);
        let Some(position) = records.mounts.iter().position(has_name) else {
            return false;
        };
        let record = records.mounts.remove(position);
        let claims = &self.shared.mounts.claims;
        claims.release(record.number);
        let changes = self.change(|snapshot| {
            // Entries whose URIs lose their prefix need the old table until `refresh_outdated_mounts` exposes them again.
            if !claims.has_outdated() {
                snapshot.uris = claims.exposed();
            }
            snapshot.replace_parts(records.parts())
        });
        records.report_problems(&self.snapshot());
        drop(records);
        // The source may react when its watch is dropped, so this happens outside the lock.
        drop(record);
        self.publish_mounted(&changes);
        self.refresh_outdated_mounts();
        true
    }

    /// Replaces the entries of a mount by those that its source offers now.
    ///
    /// If the URIs of other mounts thereby get or lose a prefix, these mounts follow in a second step. A request between the
    /// two steps may reach the source of such a mount with a URI that still has the prefix, and the source does not know it.
    pub(crate) fn refresh_mount(&self, number: usize) {
        self.refresh_mounts([number]);
        self.refresh_outdated_mounts();
    }

    /// Exposes the resources of mounts again whose URIs get or lose a prefix.
    fn refresh_outdated_mounts(&self) {
        loop {
            let outdated = self.shared.mounts.claims.take_outdated();
            if outdated.is_empty() {
                return;
            }
            self.refresh_mounts(outdated);
        }
    }

    /// Replaces the entries of several mounts in one step, so that requests see the exposed URIs of all of them, or of none.
    fn refresh_mounts(&self, numbers: impl IntoIterator<Item = usize>) {
        let started: Vec<_> = {
            let mut records = lock(&self.shared.mounts.records);
            let start = |number| {
                let record = records.find(number)?;
                record.started += 1;
                Some((number, Arc::clone(&record.mount), record.started))
            };
            numbers.into_iter().filter_map(start).collect()
        };
        let parts: Vec<_> = started
            .into_iter()
            .map(|(number, mount, refresh)| (mount.part(number), number, mount, refresh))
            .collect();
        let mut records = lock(&self.shared.mounts.records);
        let mut is_changed = false;
        for (mut part, number, mount, refresh) in parts {
            let Some(record) = records.find(number) else {
                continue;
            };
            // A source reports a change after it has made it, so the refresh that started last has seen all changes.
            if refresh < record.installed {
                continue;
            }
            // Only the newest catalog of a mount that still exists claims URIs.
            part.expose_uris(&mount, number);
            record.installed = refresh;
            record.part = part;
            is_changed = true;
        }
        if !is_changed {
            return;
        }
        let changes = self.change(|snapshot| {
            snapshot.uris = self.shared.mounts.claims.exposed();
            snapshot.replace_parts(records.parts())
        });
        records.report_problems(&self.snapshot());
        drop(records);
        self.publish_mounted(&changes);
    }

    /// Shows the entries of mounts that were hidden because their name was taken, and is free now.
    pub(crate) fn restore_hidden_entries(&self) {
        let records = lock(&self.shared.mounts.records);
        if records.mounts.is_empty() {
            return;
        }
        let changes = self.change(|snapshot| snapshot.replace_parts(records.parts()));
        drop(records);
        self.publish_mounted(&changes);
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

    /// Notifies clients of changed lists, and sources of the subscriptions to resources that they have now.
    fn publish_mounted(&self, changes: &[Change]) {
        for change in changes {
            self.publish(change);
        }
        // A resource may have another source although its entry looks the same.
        self.update_subscriptions();
    }
}

impl MountRecords {
    fn find(&mut self, number: usize) -> Option<&mut MountRecord> {
        let mut mounts = self.mounts.iter_mut();
        mounts.find(|record| record.number == number)
    }

    /// Logs the new problems of all mounts, because a change of one mount may hide entries of another.
    fn report_problems(&mut self, snapshot: &Snapshot) {
        for record in &mut self.mounts {
            let hidden = snapshot.conflicts(&record.part);
            record.report_problems(hidden);
        }
    }

    /// Returns the entries of all mounts, with the numbers of the mounts.
    fn parts(&self) -> impl Iterator<Item = (usize, &Part)> {
        let mounts = self.mounts.iter();
        mounts.map(|record| (record.number, &record.part))
    }
}

impl MountRecord {
    /// Logs the problems of the newest catalog that its predecessor did not have.
    fn report_problems(&mut self, hidden: Vec<String>) {
        let hidden = hidden.into_iter();
        let of_part = self.part.problems.iter().cloned();
        let problems: HashSet<String> = hidden.chain(of_part).collect();
        for problem in problems.difference(&self.problems) {
            tracing::warn!("{problem}");
        }
        self.problems = problems;
    }
}

#[cfg(test)]
mod tests {
    use toolwire_types::{ErrorObject, RawJson};

    use super::*;
    use crate::server::{Catalog, RequestContext};

    const PREFIXED: [&str; 2] = ["second+x://a", "third+x://b"];

    /// Offers resources, and records whether the server lists the prefixed URIs whenever the entries are read.
    struct Resources {
        server: Server,
        uris: &'static [&'static str],
        listed: Arc<Mutex<Vec<bool>>>,
    }

    impl Source for Resources {
        fn catalog(&self) -> Catalog {
            let snapshot = self.server.snapshot();
            let is_listed = |uri: &&str| snapshot.resources.contains_key(*uri);
            lock(&self.listed).push(PREFIXED.iter().all(is_listed));
            let mut catalog = Catalog::new();
            for uri in self.uris {
                let resource = RawJson::from(serde_json::json!({ "uri": uri, "name": uri }));
                let handler =
                    async |_: RequestContext, _: RawJson| Err(ErrorObject::internal("unused"));
                let added = catalog.add_raw_resource(resource, handler);
                added.expect("the descriptor is valid");
            }
            catalog
        }
    }

    #[test]
    fn prefixes_stay_until_all_entries_are_exposed_without_them() {
        let server = Server::new("app", "1.0.0");
        let mounts: [(&str, &[&str]); 3] = [
            ("first", &["x://a", "x://b"]),
            ("second", &["x://a"]),
            ("third", &["x://b"]),
        ];
        let listed = mounts.map(|(name, uris)| {
            let listed = Arc::<Mutex<Vec<bool>>>::default();
            let source = Resources {
                server: server.clone(),
                uris,
                listed: Arc::clone(&listed),
            };
            let added = server.add_mount(Mount::new(name, source));
            added.expect("the mount is valid");
            listed
        });
        let lists = |uri: &str| server.snapshot().resources.contains_key(uri);
        assert!(PREFIXED.into_iter().all(lists));
        listed.iter().for_each(|listed| lock(listed).clear());
        assert!(server.remove_mount("first"));
        // Both entries were read before one of them changed.
        for listed in &listed[1..] {
            assert_eq!(*lock(listed), [true]);
        }
        assert!(lists("x://a") && lists("x://b"));
        assert!(!PREFIXED.into_iter().any(lists));
    }
}
