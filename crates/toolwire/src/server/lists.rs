//! The four list methods, with pagination.

use toolwire_proto::raw_object::RawObject;
use toolwire_proto::stamp::{Stamp as _, Target};
use toolwire_types::{
    CacheScope, ErrorObject, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, Meta, PaginatedRequestParams, RawJson,
};

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::engine::{EncodedResult, Outcome};
use crate::server::access::Access;
use crate::server::inspection;
use crate::server::mount::{CatalogEntry as _, Origin};
use crate::server::pagination::page;
use crate::server::prompt::PromptEntry;
use crate::server::raw_entry::stamped;
use crate::server::request::Exchange;
use crate::server::resource::{ResourceEntry, TemplateEntry};
use crate::server::snapshot::{ListKind, Snapshot};
use crate::server::tool::ToolEntry;
use crate::server::visibility::{EntryKind, Viewer};

/// The key of `_meta` of a list with the names of the mounts whose server is not reachable.
const OUTDATED_KEY: &str = "toolwire/outdatedSources";

macro_rules! list_method {
    ($name:ident, $entries:ident, $list:ident, $result:ident, $member:literal, $raw:expr) => {
        /// Handles the list method.
        pub(crate) fn $name(snapshot: &Snapshot, exchange: &Exchange) -> Outcome {
            let entries = &snapshot.$entries;
            let entry_at = |index: usize| {
                let (name, entry) = entries.get_index(index)?;
                let shown = (entry.origin(), entry.kind());
                Some((name.as_str(), entry.access(), shown))
            };
            let index_of = |name: &str| entries.get_index_of(name);
            let write = |indexes: &[usize], next_cursor: Option<String>, scope: CacheScope| {
                let entries = indexes.iter().filter_map(|index| entries.get_index(*index));
                let entries: Vec<_> = entries.map(|(_, entry)| entry).collect();
                let is_raw = entries.iter().any(|entry| $raw(entry).is_some());
                let listed = if is_raw { &[] } else { &*entries };
                let descriptors = listed.iter().map(|entry| entry.descriptor.clone());
                let mut result = $result::new(descriptors.collect());
                result.next_cursor = next_cursor;
                result.ttl_ms = Some(snapshot.list_hint().ttl_ms());
                result.cache_scope = Some(scope);
                result.meta =
                    outdated_sources(snapshot, entries.iter().map(|entry| entry.origin()));
                let version = exchange.context.version();
                let written = snapshot.write(result, version)?;
                if !is_raw {
                    return Ok(written);
                }
                let target = Target::new(version);
                let descriptors = entries.iter().map(|entry| match $raw(entry) {
                    Some(raw) => stamped(&raw.descriptor, &entry.descriptor, &target),
                    None => {
                        let mut descriptor = entry.descriptor.clone();
                        descriptor.stamp(&target);
                        RawJson::from_serialize(&descriptor).unwrap_or_default()
                    }
                });
                Ok(with_list(&written, $member, descriptors.collect()))
            };
            let list = List {
                kind: ListKind::$list,
                length: entries.len(),
                entry_at: &entry_at,
                index_of: &index_of,
                write: &write,
            };
            list.respond(snapshot, exchange)
        }
    };
}

list_method!(
    tools,
    tools,
    Tools,
    ListToolsResult,
    "tools",
    |tool: &Arc<ToolEntry>| tool.raw.clone()
);
list_method!(
    prompts,
    prompts,
    Prompts,
    ListPromptsResult,
    "prompts",
    |prompt: &Arc<PromptEntry>| prompt.raw.clone()
);
list_method!(
    resources,
    resources,
    Resources,
    ListResourcesResult,
    "resources",
    |resource: &Arc<ResourceEntry>| resource.raw_entry().cloned()
);
list_method!(
    templates,
    templates,
    Templates,
    ListResourceTemplatesResult,
    "resourceTemplates",
    |template: &Arc<TemplateEntry>| template.raw_entry().cloned()
);

/// Returns `true` if the caller has the scopes that an entry requires.
fn may_use(exchange: &Exchange, access: &Access, name: &str, kind: EntryKind<'_>) -> bool {
    let may_use = exchange.context.may_use(access);
    if !may_use {
        inspection::hidden(kind.name(), name, "the caller lacks a scope");
    }
    may_use
}

/// Returns the `_meta` of a list with the mounts whose entries may be outdated. Returns `None` without such entries.
fn outdated_sources<'e>(
    snapshot: &Snapshot,
    origins: impl Iterator<Item = Option<&'e Arc<Origin>>>,
) -> Option<Meta> {
    if !snapshot.has_outdated_entries() {
        return None;
    }
    let names: BTreeSet<&str> = origins
        .flatten()
        .filter_map(|origin| snapshot.outdated_source(origin))
        .collect();
    if names.is_empty() {
        return None;
    }
    let mut meta = Meta::new();
    meta.insert(OUTDATED_KEY, serde_json::json!(names));
    Some(meta)
}

/// Returns a result with the entries of its list, which are raw JSON.
#[cold]
fn with_list(result: &RawJson, member: &'static str, entries: Vec<RawJson>) -> RawJson {
    let Some(mut object) = RawObject::parse(result.as_raw_value()) else {
        return result.clone();
    };
    object.set(
        member,
        RawJson::from_serialize(&entries).unwrap_or_default(),
    );
    object.finish()
}

/// One of the lists. It is not generic, so that its code is compiled once.
struct List<'a> {
    kind: ListKind,
    length: usize,
    /// Returns the name and the requirements of an entry, and what decides who sees it.
    entry_at: &'a EntryAt<'a>,
    index_of: &'a dyn Fn(&str) -> Option<usize>,
    /// Writes the entries with these indexes.
    write: &'a WriteList<'a>,
}

type EntryAt<'a> = dyn Fn(usize) -> Option<(&'a str, &'a Access, Shown<'a>)> + 'a;
/// The origin and the kind of an entry.
type Shown<'a> = (Option<&'a Arc<Origin>>, EntryKind<'a>);
type WriteList<'a> =
    dyn Fn(&[usize], Option<String>, CacheScope) -> Result<RawJson, ErrorObject> + 'a;

impl List<'_> {
    fn respond(&self, snapshot: &Snapshot, exchange: &Exchange) -> Outcome {
        let request: PaginatedRequestParams = exchange.decode_params()?;
        let cursor = request.cursor.as_deref();
        let viewer = exchange.viewer();
        if snapshot.options.filter_by_scope || viewer.is_filtered() {
            return self.respond_filtered(snapshot, exchange, &viewer, cursor);
        }
        let page_size = snapshot.options.page_size;
        let page = page(
            self.length,
            page_size,
            cursor,
            |index| self.name_at(index),
            self.index_of,
        )?;
        let version = exchange.context.version();
        let written = snapshot
            .derived
            .page(self.kind, version, page.start, page_size, || {
                let indexes: Vec<usize> = (page.start..page.end).collect();
                let scope = snapshot.list_hint().scope;
                (self.write)(&indexes, page.next_cursor, scope)
            });
        written.map(EncodedResult::Shared)
    }

    /// Responds with the entries that the caller sees and may use. Neither this server nor an intermediary may share the
    /// response.
    #[cold]
    fn respond_filtered(
        &self,
        snapshot: &Snapshot,
        exchange: &Exchange,
        viewer: &Viewer<'_>,
        cursor: Option<&str>,
    ) -> Outcome {
        let by_scope = snapshot.options.filter_by_scope;
        let is_shown = |index: &usize| {
            (self.entry_at)(*index).is_some_and(|(name, access, (origin, kind))| {
                viewer.sees_kind(name, origin, kind)
                    && (!by_scope || may_use(exchange, access, name, kind))
            })
        };
        let shown: Vec<usize> = (0..self.length).filter(is_shown).collect();
        // The cursor has the name of an entry, so hidden entries must not be on a page.
        let page = page(
            shown.len(),
            snapshot.options.page_size,
            cursor,
            |position| shown.get(position).map_or("", |index| self.name_at(*index)),
            |name| {
                let index = (self.index_of)(name)?;
                shown.iter().position(|shown| *shown == index)
            },
        )?;
        let indexes = &shown[page.start..page.end];
        (self.write)(indexes, page.next_cursor, CacheScope::Private).map(EncodedResult::Json)
    }

    fn name_at(&self, index: usize) -> &str {
        (self.entry_at)(index).map_or("", |(name, ..)| name)
    }
}
