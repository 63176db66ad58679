//! The differences between the revisions, as named features of a version.
//!
//! Each feature is one row with the first and the last revision that has it. Higher layers call
//! `version.allows_batch()` and never compare versions themselves. [`SupportedVersions`] is the set of versions that
//! one side supports.

use toolwire_types::{ProtocolVersion, code};

/// The two kinds of MCP revisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a connection starts with a handshake, or each request is self-contained"
)]
pub enum Era {
    /// Up to 2025-11-25: `initialize` opens a session with state.
    Legacy,
    /// From 2026-07-28: every request is self-contained.
    Modern,
}

/// The revision whose own HTTP transport has two endpoints.
pub const HTTP_WITH_SSE: ProtocolVersion = ProtocolVersion::V2024_11_05;

mod sealed {
    pub trait Sealed {}
    impl Sealed for toolwire_types::ProtocolVersion {}
}

/// Defines the trait and its implementation from rows of `feature: first ..= last`.
macro_rules! features {
    ($( $(#[$doc:meta])* $feature:ident: $first:ident ..= $last:ident; )*) => {
        /// The features of a protocol version.
        pub trait VersionFeatures: sealed::Sealed + Copy {
            /// Returns the era of the revision.
            fn era(self) -> Era;

            /// Returns the error code for a resource that does not exist.
            fn resource_not_found_code(self) -> i64;

            $( $(#[$doc])* fn $feature(self) -> bool; )*
        }

        impl VersionFeatures for ProtocolVersion {
            fn era(self) -> Era {
                if self.is_modern() { Era::Modern } else { Era::Legacy }
            }

            fn resource_not_found_code(self) -> i64 {
                if self.is_modern() { code::INVALID_PARAMS } else { code::RESOURCE_NOT_FOUND }
            }

            $( fn $feature(self) -> bool {
                (ProtocolVersion::$first..=ProtocolVersion::$last).contains(&self)
            } )*
        }

        /// Every feature with its method, for the tests.
        #[cfg(test)]
        const FEATURES: &[(&str, fn(ProtocolVersion) -> bool)] =
            &[$( (stringify!($feature), <ProtocolVersion as VersionFeatures>::$feature) ),*];
    };
}

features! {
    // Connection model.

    /// The connection is opened with `initialize`.
    is_legacy: V2024_11_05 ..= V2025_11_25;
    /// Every request has the version and the client capabilities in `_meta`.
    is_modern: V2026_07_28 ..= V2026_07_28;
    /// There is no state between requests. The same revisions as [`VersionFeatures::is_modern`].
    is_stateless: V2026_07_28 ..= V2026_07_28;
    /// Receivers must accept JSON arrays of messages.
    allows_batch: V2025_03_26 ..= V2025_03_26;
    /// Servers may send requests to clients.
    has_server_requests: V2024_11_05 ..= V2025_11_25;
    /// A sender never uses a request id twice in a session.
    forbids_id_reuse: V2024_11_05 ..= V2025_11_25;
    /// An error about an invalid id has `"id": null` instead of no `id` member.
    null_id_for_unreadable: V2024_11_05 ..= V2025_06_18;
    /// The error codes −32020, −32021 and −32022 exist.
    has_modern_error_codes: V2026_07_28 ..= V2026_07_28;
    /// `ping` exists.
    has_ping: V2024_11_05 ..= V2025_11_25;
    /// `server/discover` exists.
    has_discover: V2026_07_28 ..= V2026_07_28;
    /// Capabilities have an `extensions` map.
    has_extensions: V2026_07_28 ..= V2026_07_28;

    // Transports.

    /// The revision defines the HTTP+SSE transport with two endpoints.
    has_http_with_sse: V2024_11_05 ..= V2024_11_05;
    /// The revision defines Streamable HTTP.
    has_streamable_http: V2025_03_26 ..= V2026_07_28;
    /// `Mcp-Session-Id` exists.
    has_sessions: V2025_03_26 ..= V2025_11_25;
    /// Requests after `initialize` have `MCP-Protocol-Version`.
    has_version_header: V2025_06_18 ..= V2026_07_28;
    /// Requests have `Mcp-Method`, `Mcp-Name` and `Mcp-Param-*`.
    has_routing_headers: V2026_07_28 ..= V2026_07_28;
    /// Streams have event ids and resume with `Last-Event-ID`.
    has_resumable_streams: V2025_03_26 ..= V2025_11_25;
    /// A stream starts with a priming event and may contain `retry`.
    has_priming_event: V2025_11_25 ..= V2025_11_25;
    /// A disconnect of the client cancels its request.
    disconnect_cancels: V2026_07_28 ..= V2026_07_28;

    // Authorization.

    /// The metadata of a protected resource names its authorization server.
    has_resource_metadata: V2025_06_18 ..= V2026_07_28;
    /// Authorization and token requests name the server that the token is for.
    has_resource_indicators: V2025_06_18 ..= V2026_07_28;
    /// Authorization servers may be described by OpenID Connect Discovery.
    has_openid_discovery: V2025_11_25 ..= V2026_07_28;
    /// Metadata is valid only if its `issuer` equals the requested issuer, character for character.
    needs_identical_issuer: V2026_07_28 ..= V2026_07_28;

    // Results, notifications and requests.

    /// Results have `resultType`.
    has_result_type: V2026_07_28 ..= V2026_07_28;
    /// Results have `_meta["io.modelcontextprotocol/serverInfo"]`.
    has_server_info_in_meta: V2026_07_28 ..= V2026_07_28;
    /// Some results have `ttlMs` and `cacheScope`.
    has_cache_hints: V2026_07_28 ..= V2026_07_28;
    /// Results may be `input_required`.
    has_input_required: V2026_07_28 ..= V2026_07_28;
    /// Change notifications are sent only through `subscriptions/listen`.
    has_listen: V2026_07_28 ..= V2026_07_28;
    /// `logging/setLevel` sets the log level of the session.
    has_set_level: V2024_11_05 ..= V2025_11_25;
    /// Log notifications are sent only for requests that name a level.
    logs_on_request_only: V2026_07_28 ..= V2026_07_28;
    /// Progress notifications may have a `message`.
    progress_has_message: V2025_03_26 ..= V2026_07_28;
    /// The core has experimental tasks.
    has_core_tasks: V2025_11_25 ..= V2025_11_25;
    /// The `completions` capability exists.
    has_completions_capability: V2025_03_26 ..= V2026_07_28;
    /// `completion/complete` may have `context`.
    has_completion_context: V2025_06_18 ..= V2026_07_28;

    // Elicitation, sampling and roots.

    /// `elicitation/create` exists.
    has_elicitation: V2025_06_18 ..= V2026_07_28;
    /// Elicitation has a URL mode.
    has_url_elicitation: V2025_11_25 ..= V2026_07_28;
    /// URL elicitation has `elicitationId`, and a notification reports its completion.
    has_elicitation_id: V2025_11_25 ..= V2025_11_25;
    /// A request may fail with −32042, which requires the user to visit a URL first.
    has_url_elicitation_error: V2025_11_25 ..= V2025_11_25;
    /// Elicitation forms have titled choices, multiple choices and defaults of every kind.
    has_rich_elicitation_schema: V2025_11_25 ..= V2026_07_28;
    /// Sampling requests may have tools and several content blocks.
    has_sampling_tools: V2025_11_25 ..= V2026_07_28;
    /// A client declares whether it adds the context of MCP servers to the prompt of the model.
    has_sampling_context: V2025_11_25 ..= V2026_07_28;

    // Data types.

    /// Tools have annotations.
    has_tool_annotations: V2025_03_26 ..= V2026_07_28;
    /// Content may be audio.
    has_audio: V2025_03_26 ..= V2026_07_28;
    /// Content may be a link to a resource.
    has_resource_links: V2025_06_18 ..= V2026_07_28;
    /// Tools have an output schema, and results have structured content.
    has_structured_output: V2025_06_18 ..= V2026_07_28;
    /// Structured content may be any JSON value, not only an object.
    has_open_structured_content: V2026_07_28 ..= V2026_07_28;
    /// Descriptors have titles, `_meta` and `lastModified`.
    has_titles: V2025_06_18 ..= V2026_07_28;
    /// Descriptors have icons. Implementations have a description and a website.
    has_icons: V2025_11_25 ..= V2026_07_28;
}

/// The versions that one side supports: an ordered set, newest first.
///
/// `server/discover` reports the whole set, and so does `data.supported` of −32022, so that both lists are always
/// equal. A legacy entry means "available through `initialize`".
///
/// ```
/// use toolwire_proto::features::SupportedVersions;
///
/// assert_eq!(SupportedVersions::default().names().next(), Some("2026-07-28"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SupportedVersions(Vec<ProtocolVersion>);

impl SupportedVersions {
    /// Returns `true` if the version is in the set.
    #[must_use]
    pub fn contains(&self, version: ProtocolVersion) -> bool {
        self.0.contains(&version)
    }

    /// Returns all versions, newest first.
    pub fn iter(&self) -> impl Iterator<Item = ProtocolVersion> + '_ {
        self.0.iter().copied()
    }

    /// Returns the legacy versions, newest first.
    pub fn legacy(&self) -> impl Iterator<Item = ProtocolVersion> + '_ {
        self.iter().filter(|version| version.is_legacy())
    }

    /// Returns the modern versions, newest first.
    pub fn modern(&self) -> impl Iterator<Item = ProtocolVersion> + '_ {
        self.iter().filter(|version| version.is_modern())
    }

    /// Returns the wire names, newest first.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.iter().map(ProtocolVersion::as_str)
    }
}

impl Default for SupportedVersions {
    fn default() -> Self {
        ProtocolVersion::ALL.into_iter().collect()
    }
}

impl FromIterator<ProtocolVersion> for SupportedVersions {
    fn from_iter<I: IntoIterator<Item = ProtocolVersion>>(versions: I) -> Self {
        let mut versions: Vec<_> = versions.into_iter().collect();
        versions.sort_unstable_by(|one, other| other.cmp(one));
        versions.dedup();
        Self(versions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns one letter per revision, oldest first: `x` if the revision has the feature.
    fn revisions_with(feature: &str) -> String {
        let (_, has_feature) = FEATURES
            .iter()
            .find(|(name, _)| *name == feature)
            .expect("the feature exists");
        ProtocolVersion::ALL
            .into_iter()
            .map(|version| if has_feature(version) { 'x' } else { '-' })
            .collect()
    }

    #[test]
    fn every_feature_matches_the_version_matrix() {
        let expected = [
            ("is_legacy", "xxxx-"),
            ("is_modern", "----x"),
            ("is_stateless", "----x"),
            ("allows_batch", "-x---"),
            ("has_server_requests", "xxxx-"),
            ("forbids_id_reuse", "xxxx-"),
            ("null_id_for_unreadable", "xxx--"),
            ("has_modern_error_codes", "----x"),
            ("has_ping", "xxxx-"),
            ("has_discover", "----x"),
            ("has_extensions", "----x"),
            ("has_http_with_sse", "x----"),
            ("has_streamable_http", "-xxxx"),
            ("has_sessions", "-xxx-"),
            ("has_version_header", "--xxx"),
            ("has_routing_headers", "----x"),
            ("has_resumable_streams", "-xxx-"),
            ("has_priming_event", "---x-"),
            ("disconnect_cancels", "----x"),
            ("has_resource_metadata", "--xxx"),
            ("has_resource_indicators", "--xxx"),
            ("has_openid_discovery", "---xx"),
            ("needs_identical_issuer", "----x"),
            ("has_result_type", "----x"),
            ("has_server_info_in_meta", "----x"),
            ("has_cache_hints", "----x"),
            ("has_input_required", "----x"),
            ("has_listen", "----x"),
            ("has_set_level", "xxxx-"),
            ("logs_on_request_only", "----x"),
            ("progress_has_message", "-xxxx"),
            ("has_core_tasks", "---x-"),
            ("has_completions_capability", "-xxxx"),
            ("has_completion_context", "--xxx"),
            ("has_elicitation", "--xxx"),
            ("has_url_elicitation", "---xx"),
            ("has_elicitation_id", "---x-"),
            ("has_url_elicitation_error", "---x-"),
            ("has_rich_elicitation_schema", "---xx"),
            ("has_sampling_tools", "---xx"),
            ("has_sampling_context", "---xx"),
            ("has_tool_annotations", "-xxxx"),
            ("has_audio", "-xxxx"),
            ("has_resource_links", "--xxx"),
            ("has_structured_output", "--xxx"),
            ("has_open_structured_content", "----x"),
            ("has_titles", "--xxx"),
            ("has_icons", "---xx"),
        ];
        for (feature, revisions) in expected {
            assert_eq!(revisions_with(feature), revisions, "{feature}");
        }
        assert_eq!(FEATURES.len(), expected.len());
    }

    #[test]
    fn missing_resource_has_its_own_code_only_in_legacy_revisions() {
        for version in ProtocolVersion::ALL {
            let expected = match version.era() {
                Era::Legacy => -32002,
                Era::Modern => -32602,
            };
            assert_eq!(version.resource_not_found_code(), expected);
        }
    }

    #[test]
    fn supported_versions_are_a_set_with_the_newest_first() {
        use ProtocolVersion::*;
        let versions: SupportedVersions = [V2024_11_05, V2026_07_28, V2025_06_18, V2024_11_05]
            .into_iter()
            .collect();
        assert_eq!(
            versions.names().collect::<Vec<_>>(),
            ["2026-07-28", "2025-06-18", "2024-11-05"]
        );
        assert_eq!(
            versions.legacy().collect::<Vec<_>>(),
            [V2025_06_18, V2024_11_05]
        );
        assert_eq!(versions.modern().collect::<Vec<_>>(), [V2026_07_28]);
        assert!(!versions.contains(V2025_11_25));
        assert_eq!(SupportedVersions::default().iter().count(), 5);
    }
}
