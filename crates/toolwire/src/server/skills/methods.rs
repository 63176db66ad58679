//! The methods about skills.

use toolwire_proto::stamp::resource_not_found;
use toolwire_types::skills::{
    GetSkillParams, GetSkillResult, ListSkillsParams, ListSkillsResult, ReadDirectoryParams,
    ReadDirectoryResult,
};

use crate::engine::{EncodedResult, Outcome};
use crate::server::optional_methods::OptionalMethods;
use crate::server::pagination::page;
use crate::server::request::Exchange;
use crate::server::skills::rescan;
use crate::server::snapshot::{ListKind, Snapshot};

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
    let skills = &skills.skills;
    let page_size = snapshot.options.page_size;
    let key_at = |index: usize| skills.get_index(index).map_or("", |(uri, _)| uri.as_str());
    let position_of = |uri: &str| skills.get_index_of(uri);
    let cursor = params.cursor.as_deref();
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

fn get(snapshot: &Snapshot, exchange: &Exchange) -> Outcome {
    let params: GetSkillParams = exchange.decode_params()?;
    let version = exchange.context.version();
    let skills = snapshot.skills.as_ref();
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
    let children = skills.and_then(|skills| skills.directories.get(&params.uri));
    let children = children.ok_or_else(|| resource_not_found(&params.uri, version))?;
    let key_at = |index: usize| children.get(index).map_or("", |child| child.uri.as_str());
    let position_of = |uri: &str| children.iter().position(|child| child.uri == uri);
    let page_size = snapshot.options.page_size;
    let cursor = params.cursor.as_deref();
    let page = page(children.len(), page_size, cursor, key_at, position_of)?;
    let mut result = ReadDirectoryResult::new(children[page.start..page.end].to_vec());
    result.next_cursor = page.next_cursor;
    snapshot.finish(result, version)
}
