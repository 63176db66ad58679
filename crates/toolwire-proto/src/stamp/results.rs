//! Results that a server sends.

#[cfg(feature = "events")]
use toolwire_types::events::{ListEventsResult, PollEventsResult, SubscribeEventsResult};
use toolwire_types::skills::{GetSkillResult, ListSkillsResult, ReadDirectoryResult};
use toolwire_types::{
    CacheScope, CallToolResponse, CallToolResult, CompleteResult, ContentBlock, DiscoverResult,
    EmptyResult, GetPromptResponse, GetPromptResult, InputRequest, InputRequiredResult,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, Meta,
    RawJson, ReadResourceResponse, ReadResourceResult, ResultType, SubscriptionsListenResult,
    meta_key,
};

use crate::features::VersionFeatures;
use crate::stamp::{Stamp, Target, keep_if, stamp_meta};

/// Stamps the members that all results share: the kind and the server's name.
pub(super) fn stamp_result(
    kind: ResultType,
    result_type: &mut Option<ResultType>,
    meta: &mut Option<Meta>,
    target: &Target<'_>,
) {
    keep_if(target.version.has_result_type(), result_type);
    if target.version.has_result_type() {
        result_type.get_or_insert(kind);
    }
    stamp_meta(meta, target);
    if target.version.has_server_info_in_meta()
        && let Some(server_info) = target.server_info
    {
        let meta = meta.get_or_insert_default();
        if !meta.contains_key(meta_key::SERVER_INFO) {
            meta.insert(meta_key::SERVER_INFO, server_info.clone());
        }
    }
}

/// Stamps the cache hints, which complete results of cacheable methods must have. Spec 2026-07-28,
/// server/utilities/caching, and the skills extension.
fn stamp_cache(
    ttl_ms: &mut Option<u64>,
    cache_scope: &mut Option<CacheScope>,
    target: &Target<'_>,
) {
    if target.version.has_cache_hints() {
        ttl_ms.get_or_insert(0);
        cache_scope.get_or_insert(CacheScope::Private);
    } else {
        *ttl_ms = None;
        *cache_scope = None;
    }
}

/// Implements `Stamp` for complete results without cache hints: kind and server name, then their own parts.
macro_rules! stamp_plain {
    ($($result:ty { $($part:ident),* })*) => {$(
        impl Stamp for $result {
            fn stamp(&mut self, target: &Target<'_>) {
                stamp_result(ResultType::Complete, &mut self.result_type, &mut self.meta, target);
                $( self.$part.stamp(target); )*
            }
        }
    )*};
}

/// Implements `Stamp` for the cacheable results: as above, with cache hints.
macro_rules! stamp_cacheable {
    ($($result:ty { $($part:ident),* })*) => {$(
        impl Stamp for $result {
            fn stamp(&mut self, target: &Target<'_>) {
                stamp_result(ResultType::Complete, &mut self.result_type, &mut self.meta, target);
                stamp_cache(&mut self.ttl_ms, &mut self.cache_scope, target);
                $( self.$part.stamp(target); )*
            }
        }
    )*};
}

stamp_plain! {
    EmptyResult {}
    CompleteResult {}
    SubscriptionsListenResult {}
    GetPromptResult { messages }
    ReadDirectoryResult { resources }
}

#[cfg(feature = "events")]
stamp_plain! {
    ListEventsResult {}
    PollEventsResult {}
    SubscribeEventsResult {}
}

stamp_cacheable! {
    DiscoverResult { capabilities }
    ListToolsResult { tools }
    ListPromptsResult { prompts }
    ListResourcesResult { resources }
    ListResourceTemplatesResult { resource_templates }
    ReadResourceResult { contents }
    ListSkillsResult {}
    GetSkillResult {}
}

impl Stamp for CallToolResult {
    fn stamp(&mut self, target: &Target<'_>) {
        stamp_result(
            ResultType::Complete,
            &mut self.result_type,
            &mut self.meta,
            target,
        );
        stamp_structured(&mut self.structured_content, &mut self.content, target);
        self.content.stamp(target);
    }
}

/// Drops structured content that the revision does not permit. Adds it as text if the content has no text block.
pub(super) fn stamp_structured(
    structured: &mut Option<RawJson>,
    content: &mut Vec<ContentBlock>,
    target: &Target<'_>,
) {
    let version = target.version;
    let fits = |value: &RawJson| {
        version.has_structured_output()
            && (version.has_open_structured_content() || value.is_object())
    };
    let dropped = structured.take_if(|value| !fits(value));
    let has_text = content.iter().any(|block| block.as_text().is_some());
    if let Some(value) = dropped.filter(|_| !has_text) {
        content.push(ContentBlock::text(value.get()));
    }
}

impl Stamp for InputRequiredResult {
    fn stamp(&mut self, target: &Target<'_>) {
        stamp_result(
            ResultType::InputRequired,
            &mut self.result_type,
            &mut self.meta,
            target,
        );
        // Cache hints belong to complete results only.
        self.extra.remove("ttlMs");
        self.extra.remove("cacheScope");
        for request in self
            .input_requests
            .iter_mut()
            .flat_map(|all| all.values_mut())
        {
            request.stamp(target);
        }
    }
}

impl Stamp for InputRequest {
    fn stamp(&mut self, target: &Target<'_>) {
        match self {
            Self::Elicitation(params) => params.stamp(target),
            Self::Sampling(params) => params.stamp(target),
            _ => {}
        }
    }
}

impl Stamp for CallToolResponse {
    fn stamp(&mut self, target: &Target<'_>) {
        match self {
            Self::Complete(result) => result.stamp(target),
            Self::InputRequired(result) => result.stamp(target),
            Self::Task(result) => result.stamp(target),
            Self::LegacyTask(result) => result.stamp(target),
            _ => {}
        }
    }
}

impl Stamp for GetPromptResponse {
    fn stamp(&mut self, target: &Target<'_>) {
        match self {
            Self::Complete(result) => result.stamp(target),
            Self::InputRequired(result) => result.stamp(target),
            _ => {}
        }
    }
}

impl Stamp for ReadResourceResponse {
    fn stamp(&mut self, target: &Target<'_>) {
        match self {
            Self::Complete(result) => result.stamp(target),
            Self::InputRequired(result) => result.stamp(target),
            _ => {}
        }
    }
}
