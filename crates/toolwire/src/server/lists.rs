//! The four list methods, with pagination.

use toolwire_types::{
    CacheScope, ErrorObject, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, RawJson,
};

use crate::engine::{EncodedResult, Outcome};
use crate::server::access::Access;
use crate::server::pagination::{Page, page};
use crate::server::registry::NameMap;
use crate::server::request::Exchange;
use crate::server::snapshot::{ListKind, Snapshot};

macro_rules! list_method {
    ($name:ident, $entries:ident, $list:ident, $result:ident) => {
        /// Handles the list method.
        pub(crate) fn $name(snapshot: &Snapshot, exchange: &Exchange) -> Outcome {
            let entries = &snapshot.$entries;
            let find_page = |cursor: Option<&str>| find_page(snapshot, entries, cursor);
            let write = |page: &Page, scope: CacheScope, usable: &dyn Fn(&Access) -> bool| {
                let entries = entries
                    .values()
                    .skip(page.start)
                    .take(page.end - page.start);
                let entries = entries.filter(|entry| usable(entry.access()));
                let descriptors = entries.map(|entry| entry.descriptor.clone());
                let mut result = $result::new(descriptors.collect());
                result.next_cursor.clone_from(&page.next_cursor);
                result.ttl_ms = Some(snapshot.options.list_hint().ttl_ms());
                result.cache_scope = Some(scope);
                snapshot.write(result, exchange.context.version())
            };
            list(snapshot, exchange, ListKind::$list, &find_page, &write)
        }
    };
}

list_method!(tools, tools, Tools, ListToolsResult);
list_method!(prompts, prompts, Prompts, ListPromptsResult);
list_method!(resources, resources, Resources, ListResourcesResult);
list_method!(templates, templates, Templates, ListResourceTemplatesResult);

type FindPage<'a> = dyn Fn(Option<&str>) -> Result<Page, ErrorObject> + 'a;
type WritePage<'a> =
    dyn Fn(&Page, CacheScope, &dyn Fn(&Access) -> bool) -> Result<RawJson, ErrorObject> + 'a;

fn list(
    snapshot: &Snapshot,
    exchange: &Exchange,
    list: ListKind,
    find_page: &FindPage<'_>,
    write: &WritePage<'_>,
) -> Outcome {
    let request: PaginatedRequestParams = exchange.decode_params()?;
    let page = find_page(request.cursor.as_deref())?;
    if snapshot.options.filter_by_scope {
        // The filtered list is specific to the caller, so neither this server nor an intermediary may share it.
        let usable = |access: &Access| exchange.context.may_use(access);
        return write(&page, CacheScope::Private, &usable).map(EncodedResult::Json);
    }
    let scope = snapshot.options.list_hint().scope;
    let written = snapshot.derived.page(
        list,
        exchange.context.version(),
        page.start,
        snapshot.options.page_size,
        || write(&page, scope, &|_| true),
    );
    written.map(EncodedResult::Shared)
}

fn find_page<T>(
    snapshot: &Snapshot,
    entries: &NameMap<T>,
    cursor: Option<&str>,
) -> Result<Page, ErrorObject> {
    let key_at = |index: usize| entries.get_index(index).map_or("", |(key, _)| key.as_str());
    page(
        entries.len(),
        snapshot.options.page_size,
        cursor,
        key_at,
        |key| entries.get_index_of(key),
    )
}
