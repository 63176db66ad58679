//! The methods about skills.

use toolwire_proto::stamp::resource_not_found;
use toolwire_types::CacheScope;
use toolwire_types::skills::{
    GetSkillParams, GetSkillResult, ListSkillsParams, ListSkillsResult, ReadDirectoryParams,
    ReadDirectoryResult,
};

use crate::engine::{EncodedResult, Outcome};
use crate::server::optional_methods::OptionalMethods;
use crate::server::pagination::page;
use crate::server::request::Exchange;
use crate::server::skills::{SkillCatalog, rescan};
use crate::server::snapshot::{ListKind, Snapshot};
use crate::server::visibility::Viewer;

/// The methods of a server with skills.
pub(crate) static SKILLS: OptionalMethods = OptionalMethods {
    name: "skills",
    respond: |snapshot, exchange| match exchange.route().name() {
        "skills/list" => Some(list(snapshot, exchange)),
        "skills/get" => Some(get(snapshot, exchange)),
        "resources/directory/read" => Some(read_directory(snapshot, exchange)),
        _ => None,
    },
    start: |_, _| None,
    scopes: |_, _, _| None,
};

fn list(snapshot: &Snapshot, exchange: &Exchange) -> Outcome {
    let params: ListSkillsParams = exchange.decode_params()?;
    let skills = snapshot.skills.clone().unwrap_or_default();
    rescan::start_all(&skills, exchange.context.server());
    let viewer = exchange.viewer();
    let cursor = params.cursor.as_deref();
    if viewer.is_filtered() {
        return list_visible(snapshot, exchange, &skills, &viewer, cursor);
    }
    let skills = &skills.skills;
    let page_size = snapshot.options.page_size;
    let key_at = |index: usize| skills.get_index(index).map_or("", |(uri, _)| uri.as_str());
    let position_of = |uri: &str| skills.get_index_of(uri);
    let page = page(skills.len(), page_size, cursor, key_at, position_of)?;
    let version = exchange.context.version();
    let written = snapshot
        .derived
        .page(ListKind::Skills, version, page.start, page_size, || {
            let entries = skills.values().skip(page.start).take(page.end - page.start);
            let entries = entries.map(|skill| skill.entry.clone());
            let hint = snapshot.options.list_hint();
            let mut result = ListSkillsResult::new(entries.collect());
            result.next_cursor.clone_from(&page.next_cursor);
            result.ttl_ms = Some(hint.ttl_ms());
            result.cache_scope = Some(hint.scope);
            snapshot.write(result, version)
        });
    written.map(EncodedResult::Shared)
}

/// Lists the skills that the caller sees. The response must not be shared.
#[cold]
fn list_visible(
    snapshot: &Snapshot,
    exchange: &Exchange,
    skills: &SkillCatalog,
    viewer: &Viewer<'_>,
    cursor: Option<&str>,
) -> Outcome {
    let all = skills.skills.iter();
    let visible: Vec<_> = all
        .filter(|(uri, _)| skills.sees_file(uri, viewer))
        .collect();
    let key_at = |index: usize| visible.get(index).map_or("", |(uri, _)| uri.as_str());
    let position_of = |uri: &str| visible.iter().position(|(visible, _)| *visible == uri);
    let page_size = snapshot.options.page_size;
    let page = page(visible.len(), page_size, cursor, key_at, position_of)?;
    let entries = visible[page.start..page.end].iter();
    let entries = entries.map(|(_, skill)| skill.entry.clone());
    let mut result = ListSkillsResult::new(entries.collect());
    result.next_cursor = page.next_cursor;
    result.ttl_ms = Some(snapshot.options.list_hint().ttl_ms());
    result.cache_scope = Some(CacheScope::Private);
    snapshot.finish(result, exchange.context.version())
}

fn get(snapshot: &Snapshot, exchange: &Exchange) -> Outcome {
    let params: GetSkillParams = exchange.decode_params()?;
    let version = exchange.context.version();
    let viewer = exchange.viewer();
    let skills = snapshot.skills.as_ref();
    let skills = skills.filter(|skills| skills.sees_file(&params.uri, &viewer));
    let skill = skills.and_then(|skills| skills.skills.get(&params.uri));
    let skill = skill.ok_or_else(|| resource_not_found(&params.uri, version))?;
    let mut result = GetSkillResult::new(skill.entry.clone());
    let hint = snapshot.options.default_hint;
    result.ttl_ms = Some(hint.ttl_ms());
    result.cache_scope = Some(hint.scope);
    snapshot.finish(result, version)
}

fn read_directory(snapshot: &Snapshot, exchange: &Exchange) -> Outcome {
    let params: ReadDirectoryParams = exchange.decode_params()?;
    let version = exchange.context.version();
    let skills = snapshot.skills.as_ref();
    let viewer = exchange.viewer();
    let children = skills.and_then(|skills| skills.visible_children(&params.uri, &viewer));
    let children = children.ok_or_else(|| resource_not_found(&params.uri, version))?;
    let key_at = |index: usize| children.get(index).map_or("", |child| child.uri.as_str());
    let position_of = |uri: &str| children.iter().position(|child| child.uri == uri);
    let page_size = snapshot.options.page_size;
    let cursor = params.cursor.as_deref();
    let page = page(children.len(), page_size, cursor, key_at, position_of)?;
    let children = children[page.start..page.end].iter().copied().cloned();
    let mut result = ReadDirectoryResult::new(children.collect());
    result.next_cursor = page.next_cursor;
    snapshot.finish(result, version)
}
