//! Results of upstreams.

use std::fmt;

use toolwire_types::{ContentBlock, ProtocolVersion, RawJson, meta_key};

use crate::cache::CacheHint;
use crate::features::VersionFeatures;
use crate::methods;
use crate::raw_object::{RawArray, RawObject, json_string};
use crate::relay::convert::Conversion;

/// The members that results of modern revisions have and those of a legacy upstream lack.
#[derive(Debug, Clone, Default)]
pub struct ResultMembers {
    cache: CacheHint,
    server_info: Option<RawJson>,
}

impl ResultMembers {
    /// Sets the cache hint of cacheable results. The default is stale at once and private.
    #[must_use]
    pub fn with_cache(mut self, hint: CacheHint) -> Self {
        self.cache = hint;
        self
    }

    /// Sets the name and version of the upstream.
    #[must_use]
    pub fn with_server_info(mut self, server_info: RawJson) -> Self {
        self.server_info = Some(server_info);
        self
    }
}

/// A result that requests input or refers to a task, which a legacy client would read as complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IncompleteResult(String);

impl fmt::Display for IncompleteResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a result of type {:?} has no legacy form", self.0)
    }
}

impl std::error::Error for IncompleteResult {}

impl Conversion {
    /// Converts the result of a client's request.
    ///
    /// # Errors
    /// Returns an error if a modern result is not complete and the client's revision has no such results. The relay
    /// completes it first. Nothing is changed then.
    pub fn result(
        self,
        method: &str,
        result: &mut RawObject<'_>,
        members: &ResultMembers,
    ) -> Result<(), IncompleteResult> {
        if self.is_same_revision() {
            return Ok(());
        }
        if self.loses(ProtocolVersion::has_result_type) {
            if let Some(kind) = result.text("resultType")
                && kind != "complete"
            {
                return Err(IncompleteResult(kind.into_owned()));
            }
            result.remove("resultType");
        }
        self.meta(result);
        self.cache_hint(method, result, members.cache);
        self.parts(method, result);
        if self.gains(ProtocolVersion::has_result_type) {
            // A member of this name in an earlier revision is the upstream's own, and does not have its meaning.
            result.set_first("resultType", json_string("complete"));
            if let Some(info) = &members.server_info {
                let meta = result.object_or_empty_mut("_meta");
                if !meta.contains(meta_key::SERVER_INFO) {
                    meta.set(meta_key::SERVER_INFO, info.clone());
                }
            }
        }
        Ok(())
    }

    /// Spec 2026-07-28, server/utilities/caching: complete results of cacheable methods must have a hint.
    pub(super) fn cache_hint(self, method: &str, result: &mut RawObject<'_>, hint: CacheHint) {
        if !methods::find(method).is_some_and(|method| method.cacheable) {
            return;
        }
        if self.loses(ProtocolVersion::has_cache_hints) {
            result.remove("ttlMs");
            result.remove("cacheScope");
        } else if self.gains(ProtocolVersion::has_cache_hints) {
            result.set("ttlMs", RawJson::from_value(&hint.ttl_ms().into()));
            let scope = RawJson::from_serialize(&hint.scope).expect("a scope is a string");
            result.set("cacheScope", scope);
        }
    }

    fn parts(self, method: &str, result: &mut RawObject<'_>) {
        match method {
            "tools/list" => each(result, "tools", |tool| self.tool(tool)),
            "tools/call" => self.tool_result(result),
            // Large contents are not searched if nothing in them can change.
            _ if !self.changes_content() => {}
            "prompts/list" => each(result, "prompts", |prompt| self.prompt(prompt)),
            "resources/list" | "resources/directory/read" => {
                each(result, "resources", |resource| self.resource(resource));
            }
            "resources/templates/list" => {
                each(result, "resourceTemplates", |template| {
                    self.resource(template);
                });
            }
            "resources/read" => {
                each(result, "contents", |contents| {
                    self.resource_contents(contents);
                });
            }
            "prompts/get" => each(result, "messages", |message| self.content_member(message)),
            _ => {}
        }
    }

    /// Converts the content of a tool's result. Structured content that the client's revision does not permit becomes
    /// text, unless the content has a text.
    fn tool_result(self, result: &mut RawObject<'_>) {
        let is_dropped = result.get("structuredContent").is_some_and(|value| {
            self.loses(ProtocolVersion::has_structured_output)
                || (self.loses(ProtocolVersion::has_open_structured_content) && !value.is_object())
        });
        if is_dropped {
            let text = (!has_text(result))
                .then(|| result.get("structuredContent"))
                .flatten()
                .and_then(|value| RawJson::from_serialize(&ContentBlock::text(value.get())).ok());
            result.remove("structuredContent");
            if let Some(text) = text {
                match result.array_mut("content") {
                    Some(content) => content.push(text),
                    None => {
                        let mut content = RawArray::empty();
                        content.push(text);
                        result.set("content", content.finish());
                    }
                }
            }
        }
        if self.changes_content()
            && let Some(content) = result.array_mut("content")
        {
            self.blocks(content);
        }
    }
}

fn has_text(result: &mut RawObject<'_>) -> bool {
    result.array_mut("content").is_some_and(|content| {
        content
            .objects_mut()
            .any(|block| block.text("type").as_deref() == Some("text"))
    })
}

/// Edits each object of a list.
fn each<'a>(result: &mut RawObject<'a>, list: &str, edit: impl Fn(&mut RawObject<'a>)) {
    if let Some(entries) = result.array_mut(list) {
        entries.objects_mut().for_each(edit);
    }
}
