//! The four lists, page by page.

use toolwire_types::{
    CacheScope, ErrorObject, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ProtocolVersion, RawJson,
};

use crate::engine::{Exchange, Outcome, Reply};
use crate::server::access::Access;
use crate::server::by_name::ByName;
use crate::server::pagination::{Page, page};
use crate::server::snapshot::{List, Snapshot};

/// Answers a list method.
pub(crate) fn list(snapshot: &Snapshot, list: List, exchange: &Exchange) -> Outcome {
    let request: PaginatedRequestParams = exchange.decode_params()?;
    let cursor = request.cursor.as_deref();
    let page = match list {
        List::Tools => cut(snapshot, &snapshot.tools, cursor),
        List::Prompts => cut(snapshot, &snapshot.prompts, cursor),
        List::Resources => cut(snapshot, &snapshot.resources, cursor),
        List::Templates => cut(snapshot, &snapshot.templates, cursor),
    }?;
    let version = exchange.context.version();
    if snapshot.options.hide_unusable {
        // What one caller sees is nobody else's business, so it is neither shared here nor by anybody on the way.
        let usable = |access: &Access| exchange.context.may_use(access);
        return write(snapshot, list, version, &page, CacheScope::Private, usable).map(Reply::Json);
    }
    let scope = snapshot.options.list_hint.scope;
    let written = snapshot.derived.page(
        list,
        version,
        page.start,
        snapshot.options.page_size,
        || write(snapshot, list, version, &page, scope, |_| true),
    );
    written.map(Reply::Shared)
}

fn cut<T>(
    snapshot: &Snapshot,
    entries: &ByName<T>,
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

fn write(
    snapshot: &Snapshot,
    list: List,
    version: ProtocolVersion,
    page: &Page,
    scope: CacheScope,
    usable: impl Fn(&Access) -> bool,
) -> Result<RawJson, ErrorObject> {
    let range = page.start..page.end;
    macro_rules! result {
        ($entries:expr, $result:ident) => {{
            let entries = $entries.values().skip(range.start).take(range.len());
            let entries = entries.filter(|entry| usable(entry.access()));
            let mut result = $result::new(entries.map(|entry| entry.descriptor.clone()).collect());
            result.next_cursor.clone_from(&page.next_cursor);
            result.ttl_ms = Some(snapshot.options.list_hint.ttl_ms());
            result.cache_scope = Some(scope);
            snapshot.write(result, version)
        }};
    }
    match list {
        List::Tools => result!(snapshot.tools, ListToolsResult),
        List::Prompts => result!(snapshot.prompts, ListPromptsResult),
        List::Resources => result!(snapshot.resources, ListResourcesResult),
        List::Templates => result!(snapshot.templates, ListResourceTemplatesResult),
    }
}
