//! The source that the gateway mounts for an upstream: its entries, after the comparison with the approved ones.

use std::any::Any;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, Weak};

use serde_json::json;
use toolwire::relay::UpstreamSource;
use toolwire::{Catalog, ErrorObject, MountedUris, RawJson, Source, SourceListener, TokenInfo};
use toolwire_proto::invisible_characters::without_invisible;
use toolwire_proto::relay::pins::{PinKind, PinMode, PinStatus};
use toolwire_proto::relay::policy::Decision;

use crate::access::{AccessRules, EntryKind, EntryUse};
use crate::connect::UpstreamLogin;
use crate::decision_record::record;
use crate::entries::EntryTable;
use crate::invisible_text::{is_unreadable, stripped};
use crate::offered_connection::{OfferedConnection, OfferedEntries};
use crate::pins::{EntryReview, Offer, PinStore, Review, UpstreamPins};
use crate::sync::lock;

/// An upstream as the gateway offers it. Clones are the same source.
#[derive(Clone)]
pub(crate) struct GatewaySource(Arc<GatewaySourceInner>);

struct GatewaySourceInner {
    name: String,
    prefix: Option<String>,
    connection: OfferedConnection,
    pinning: Option<Pinning>,
    /// Whether invisible characters are removed from the texts of entries.
    strips_invisible: bool,
    /// The logins of users, if the upstream has them.
    login: Option<UpstreamLogin>,
    table: Mutex<Arc<EntryTable>>,
    /// Held while the entries are read, so that the table is that of the newest entries.
    reading: Mutex<()>,
    listeners: Mutex<SourceListeners>,
}

#[derive(Default)]
struct SourceListeners {
    next: u64,
    by_number: BTreeMap<u64, SourceListener>,
}

/// The entries that a caller uses.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UsedEntries<'a> {
    /// What they can be.
    pub(crate) kinds: &'a [EntryKind],
    /// The name, URI or template that all of them have at the upstream.
    pub(crate) own_name: &'a str,
    /// The URI that the client sent for a resource, if the upstream has another one.
    pub(crate) sent_uri: Option<&'a str>,
}

/// How changes of the upstream are treated.
pub(crate) struct Pinning {
    pub(crate) mode: PinMode,
    pub(crate) store: Arc<PinStore>,
    /// The last comparison, so that each change is logged once.
    logged: Mutex<LoggedDifferences>,
}

/// How entries differ, by their kinds and names.
type LoggedDifferences = HashMap<(&'static str, String), PinStatus>;

impl Pinning {
    pub(crate) fn new(mode: PinMode, store: Arc<PinStore>) -> Self {
        Self {
            mode,
            store,
            logged: Mutex::default(),
        }
    }
}

impl GatewaySource {
    pub(crate) fn new(
        name: &str,
        prefix: Option<&str>,
        connection: UpstreamSource,
        pinning: Option<Pinning>,
        strips_invisible: bool,
        login: Option<UpstreamLogin>,
    ) -> Self {
        Self(Arc::new(GatewaySourceInner {
            name: name.to_owned(),
            prefix: prefix.map(str::to_owned),
            connection: OfferedConnection::new(connection),
            pinning,
            strips_invisible,
            login,
            table: Mutex::default(),
            reading: Mutex::default(),
            listeners: Mutex::default(),
        }))
    }

    /// Compares the entries again, because the approved ones have changed.
    pub(crate) fn refresh(&self) {
        let listeners: Vec<SourceListener> = {
            let listeners = lock(&self.0.listeners);
            listeners.by_number.values().cloned().collect()
        };
        for listener in listeners {
            listener.catalog_changed();
        }
    }

    /// Returns `true` if both are the same source.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Returns the entries as they were listed last.
    pub(crate) fn table(&self) -> Arc<EntryTable> {
        Arc::clone(&lock(&self.0.table))
    }

    /// Returns the connection whose entries are offered.
    pub(crate) fn connection(&self) -> &OfferedConnection {
        &self.0.connection
    }

    /// Returns the name of the upstream.
    pub(crate) fn name(&self) -> &str {
        &self.0.name
    }

    /// Returns `true` if users log in to the upstream.
    pub(crate) fn has_logins(&self) -> bool {
        self.0.login.is_some()
    }

    /// Decides about entries by their names at the main address, whose URIs are `uris`. One that is denied, and one that
    /// does not exist, denies all of them.
    pub(crate) fn decide(
        &self,
        access: &AccessRules,
        uris: &MountedUris,
        used: UsedEntries<'_>,
        token: &TokenInfo,
        entry_use: EntryUse<'_>,
    ) -> Decision {
        let (table, own_name) = (self.table(), used.own_name);
        let mut last = Decision::denied();
        for kind in used.kinds {
            let exposed = match kind {
                EntryKind::Resource => uris.uri(&self.0.name, own_name),
                EntryKind::Template => uris.template(&self.0.name, own_name),
                EntryKind::Tool | EntryKind::Prompt => Some(table.exposed_name(own_name)),
            };
            // Without a mount at the main address, it is not known which rules are about the resource.
            let Some(exposed) = exposed else {
                return Decision::denied();
            };
            // The request may have found its URI before the exposed one changed.
            let sent = used.sent_uri.filter(|sent| *sent != exposed);
            for exposed in [Some(&*exposed), sent].into_iter().flatten() {
                last = match table.ruled(*kind, exposed, own_name) {
                    Some(entry) => access.decide(&entry, token, entry_use),
                    None => Decision::denied(),
                };
                if !last.is_allowed {
                    return last;
                }
            }
        }
        last
    }

    /// Returns the rule for lists: whether a caller sees the entries with this name at the upstream.
    pub(crate) fn visibility(
        &self,
        access: &Arc<AccessRules>,
        uris: &MountedUris,
    ) -> impl Fn(&toolwire::Caller<'_>, &str) -> bool + Send + Sync + 'static {
        let (source, access, uris) = (self.clone(), Arc::clone(access), uris.clone());
        move |caller, own_name| {
            let kinds = source.table().kinds(own_name);
            let used = UsedEntries {
                kinds: &kinds,
                own_name,
                sent_uri: None,
            };
            let decision = source.decide(&access, &uris, used, caller.token(), EntryUse::List);
            if !decision.is_allowed {
                // A request for the entry ends here.
                record(source.name(), own_name, decision);
            }
            decision.is_allowed
        }
    }

    /// Applies the pins to what the upstream offers. The entries of a replaced connection approve and remove nothing.
    fn apply(&self, pinning: &Pinning, entries: &mut OfferedEntries) {
        let upstream = &self.0.name;
        let catalog = &mut entries.catalog;
        let is_known = !entries.are_previous && !catalog.has_unknown_entries();
        let offer = Offer::of(catalog);
        let approved = pinning.store.approved(upstream);
        let approved = match approved {
            Some(mut approved) => {
                if is_known && approved.mark_removed(&offer) {
                    let change = |pins: &mut UpstreamPins| pins.mark_removed(&offer);
                    pinning.store.change(upstream, change);
                }
                approved
            }
            // The first contact, which the mode `block` does not trust.
            None if is_known && pinning.mode != PinMode::Block => {
                let first = UpstreamPins::of(&offer);
                if pinning.store.approve_first(upstream, &first) {
                    tracing::info!(upstream, "the entries of a new upstream are approved");
                    first
                } else {
                    UpstreamPins::default()
                }
            }
            None => UpstreamPins::default(),
        };
        let review = Review::of(&approved, &offer);
        // While the lists are not known, no entry is removed.
        if is_known {
            pinning.log(upstream, &review);
        }
        if pinning.mode == PinMode::Warn {
            return;
        }
        hide(catalog, &review);
        for entry in &review.entries {
            if entry.status == PinStatus::Changed {
                self.restore(catalog, entry);
            }
        }
        if review.instructions != PinStatus::Same {
            let unchanged = std::mem::take(catalog).without_instructions();
            *catalog = match approved.instructions {
                Some(pinned) if review.instructions == PinStatus::Changed => {
                    unchanged.with_instructions(pinned.text)
                }
                _ => unchanged,
            };
        }
    }

    /// Removes invisible characters from the texts of entries and from the instructions.
    fn strip_invisible(&self, catalog: &mut Catalog) {
        self.drop_unreadable(catalog);
        let bare = bare_resources(catalog);
        let edit = |descriptor: &RawJson| {
            let bare = bare.get(descriptor.get()).cloned();
            bare.or_else(|| stripped(descriptor))
        };
        if let Err(error) = catalog.edit_raw_entries(edit) {
            tracing::warn!(upstream = self.0.name, %error, "an entry keeps its invisible characters");
        }
        if let Some(instructions) = catalog.instructions() {
            let visible = without_invisible(instructions).into_owned();
            *catalog = std::mem::take(catalog).with_instructions(visible);
        }
    }

    /// Removes the tools and prompts whose texts cannot be searched for invisible characters.
    fn drop_unreadable(&self, catalog: &mut Catalog) {
        let names = |entries: Vec<(String, RawJson)>| -> HashSet<String> {
            let entries = entries.into_iter();
            let unreadable = entries.filter(|(_, descriptor)| is_unreadable(descriptor));
            unreadable.map(|(name, _)| name).collect()
        };
        let upstream = &self.0.name;
        let warn = |kind: &str, name: &str| {
            tracing::warn!(
                upstream,
                kind,
                name,
                "an entry is dropped, because its JSON cannot be searched for invisible characters"
            );
        };
        let tools = names(catalog.tools());
        tools.iter().for_each(|name| warn("tool", name));
        catalog.retain_tools(|name| !tools.contains(name));
        let prompts = names(catalog.prompts());
        prompts.iter().for_each(|name| warn("prompt", name));
        catalog.retain_prompts(|name| !prompts.contains(name));
    }

    /// Lists a changed entry as it was approved, and rejects its use.
    fn restore(&self, catalog: &mut Catalog, entry: &EntryReview) {
        let Some(descriptor) = entry.approved.clone() else {
            return;
        };
        let error = changed_error(&self.0.name, entry);
        let handler = move |_, _| std::future::ready(Err(error.clone()));
        let restored = match entry.kind {
            PinKind::Prompt => catalog.replace_raw_prompt(descriptor, handler),
            _ => catalog.replace_raw_tool(descriptor, handler),
        };
        if let Err(error) = restored {
            tracing::warn!(upstream = self.0.name, %error, "an approved entry cannot be listed");
            match entry.kind {
                PinKind::Prompt => catalog.retain_prompts(|name| name != entry.name),
                _ => catalog.retain_tools(|name| name != entry.name),
            }
        }
    }
}

/// Returns descriptors with the URI alone for the resources and templates whose texts cannot be searched for invisible
/// characters, by the JSON of the upstream.
fn bare_resources(catalog: &Catalog) -> HashMap<String, RawJson> {
    let mut bare = HashMap::new();
    for (uri, descriptor) in catalog.resources() {
        if is_unreadable(&descriptor) {
            let short = RawJson::from(json!({ "uri": uri, "name": uri }));
            bare.insert(descriptor.get().to_owned(), short);
        }
    }
    for (template, descriptor) in catalog.resource_templates() {
        if is_unreadable(&descriptor) {
            let short = RawJson::from(json!({ "uriTemplate": template, "name": template }));
            bare.insert(descriptor.get().to_owned(), short);
        }
    }
    bare
}

/// Returns the error of a call of an entry that has changed.
fn changed_error(upstream: &str, entry: &EntryReview) -> ErrorObject {
    let kind = kind_name(entry.kind);
    ErrorObject::internal(format!(
        "the {kind} `{}` of `{upstream}` has changed since it was approved; `toolwire pins` shows the change to the \
         operator of the gateway",
        entry.name
    ))
    .with_data(json!({ "reason": "changed_after_approval", "upstream": upstream }))
}

fn kind_name(kind: PinKind) -> &'static str {
    match kind {
        PinKind::Prompt => "prompt",
        _ => "tool",
    }
}

/// Removes the new entries, and all but the first entry of a name that is listed more than once.
fn hide(catalog: &mut Catalog, review: &Review) {
    let names = |kind: PinKind, holds: fn(&EntryReview) -> bool| -> HashSet<&str> {
        let entries = review.entries.iter();
        let entries = entries.filter(|entry| entry.kind == kind && holds(entry));
        entries.map(|entry| entry.name.as_str()).collect()
    };
    for kind in [PinKind::Tool, PinKind::Prompt] {
        let new = names(kind, |entry| entry.status == PinStatus::New);
        let repeated = names(kind, |entry| entry.is_listed_twice);
        let mut seen = HashSet::new();
        let keep = |name: &str| {
            !new.contains(name) && (!repeated.contains(name) || seen.insert(name.to_owned()))
        };
        match kind {
            PinKind::Prompt => catalog.retain_prompts(keep),
            _ => catalog.retain_tools(keep),
        }
    }
}

impl Pinning {
    /// Logs the differences that were not logged before.
    fn log(&self, upstream: &str, review: &Review) {
        let differing = review.entries.iter();
        let differing = differing.filter(|entry| entry.status != PinStatus::Same);
        let mut found: LoggedDifferences = differing
            .map(|entry| ((kind_name(entry.kind), entry.name.clone()), entry.status))
            .collect();
        if review.instructions != PinStatus::Same {
            found.insert(("instructions", String::new()), review.instructions);
        }
        let mut logged = lock(&self.logged);
        for (difference, status) in &found {
            if logged.get(difference) != Some(status) {
                let (kind, name) = difference;
                tracing::warn!(
                    upstream,
                    kind,
                    name,
                    ?status,
                    "an entry differs from the approved one; `toolwire pins` shows it"
                );
            }
        }
        *logged = found;
    }
}

impl Source for GatewaySource {
    fn catalog(&self) -> Catalog {
        let _reading = lock(&self.0.reading);
        let mut entries = self.0.connection.entries();
        if let Some(pinning) = &self.0.pinning {
            self.apply(pinning, &mut entries);
        }
        let mut catalog = entries.catalog;
        // After the pins, which compare what the upstream sends.
        if self.0.strips_invisible {
            self.strip_invisible(&mut catalog);
        }
        if let Some(login) = &self.0.login {
            login.offer(&mut catalog, self.0.connection.own());
        }
        let table = EntryTable::new(&self.0.name, self.0.prefix.as_deref(), &catalog);
        *lock(&self.0.table) = Arc::new(table);
        catalog
    }

    fn watch(&self, listener: SourceListener) -> Box<dyn Any + Send + Sync> {
        let mut listeners = lock(&self.0.listeners);
        let number = listeners.next;
        listeners.next += 1;
        listeners.by_number.insert(number, listener.clone());
        drop(listeners);
        Box::new(WatchedSource {
            source: Arc::downgrade(&self.0),
            number,
            _upstream: self.0.connection.watch(listener),
        })
    }

    fn set_subscribed(&self, uri: &str, is_subscribed: bool) {
        // The gateway would subscribe with the login of another user.
        if self.0.login.is_some() {
            return;
        }
        self.0.connection.set_subscribed(uri, is_subscribed);
    }
}

/// The interest of a server in the changes of a source, until it is dropped.
struct WatchedSource {
    source: Weak<GatewaySourceInner>,
    number: u64,
    _upstream: Box<dyn Any + Send + Sync>,
}

impl Drop for WatchedSource {
    fn drop(&mut self) {
        if let Some(source) = self.source.upgrade() {
            let removed = lock(&source.listeners).by_number.remove(&self.number);
            drop(removed);
        }
    }
}

#[cfg(test)]
mod tests {
    use toolwire::relay::Upstream;

    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn entries_of_an_upstream_whose_lists_are_not_known_are_not_removed() {
        let scratch = Scratch::new("pins");
        let store = PinStore::open(scratch.path("toolwire.lock"), false);
        let store = Arc::new(store.expect("there is no lock file"));
        let tool = RawJson::from(json!({ "name": "read", "inputSchema": { "type": "object" } }));
        let mut catalog = Catalog::new();
        let handler = |_, _| std::future::ready(Err(ErrorObject::internal("unused")));
        catalog.add_raw_tool(tool, handler).expect("it is valid");
        assert!(store.approve_first("files", &UpstreamPins::of(&Offer::of(&catalog))));
        let connection = Upstream::new(|builder| builder.connect("http://127.0.0.1:9/mcp"));
        let pinning = Pinning::new(PinMode::Ask, store);
        let source = GatewaySource::new(
            "files",
            None,
            connection.source(),
            Some(pinning),
            false,
            None,
        );
        assert!(source.catalog().has_unknown_entries());
        let pinning = source.0.pinning.as_ref().expect("it was set");
        assert_eq!(*lock(&pinning.logged), LoggedDifferences::default());
    }
}
