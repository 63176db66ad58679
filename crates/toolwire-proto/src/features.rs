//! What differs between the revisions, as named questions about a version.
//!
//! Every question is one row with the first and last revision it is true for. Floors above ask
//! `version.allows_batch()` and never compare versions themselves. [`SupportedVersions`] is the set one side speaks.

use toolwire_types::{ProtocolVersion, code};

/// The two ways to speak MCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a request opens with a handshake or describes itself"
)]
pub enum Era {
    /// Up to 2025-11-25: `initialize` opens a session with state.
    Legacy,
    /// From 2026-07-28: every request describes itself.
    Modern,
}

/// The revision whose own HTTP transport has two endpoints.
pub const HTTP_WITH_SSE: ProtocolVersion = ProtocolVersion::V2024_11_05;

mod sealed {
    pub trait Sealed {}
    impl Sealed for toolwire_types::ProtocolVersion {}
}

/// Writes the trait and its implementation from rows of `question: first ..= last`.
macro_rules! features {
    ($( $(#[$doc:meta])* $question:ident: $first:ident ..= $last:ident; )*) => {
        /// Questions about a protocol version.
        pub trait VersionFeatures: sealed::Sealed + Copy {
            /// The era the revision belongs to.
            fn era(self) -> Era;

            /// The error code for a resource that does not exist.
            fn resource_not_found_code(self) -> i64;

            $( $(#[$doc])* fn $question(self) -> bool; )*
        }

        impl VersionFeatures for ProtocolVersion {
            fn era(self) -> Era {
                if self.is_modern() { Era::Modern } else { Era::Legacy }
            }

            fn resource_not_found_code(self) -> i64 {
                if self.is_modern() { code::INVALID_PARAMS } else { code::RESOURCE_NOT_FOUND }
            }

            $( fn $question(self) -> bool {
                (ProtocolVersion::$first..=ProtocolVersion::$last).contains(&self)
            } )*
        }

        /// Every question with the versions it is true for, for the tests.
        #[cfg(test)]
        const QUESTIONS: &[(&str, fn(ProtocolVersion) -> bool)] =
            &[$( (stringify!($question), <ProtocolVersion as VersionFeatures>::$question) ),*];
    };
}

features! {
    // Connection model.

    /// Opened with `initialize`.
    is_legacy: V2024_11_05 ..= V2025_11_25;
    /// Every request carries version and client capabilities in `_meta`.
    is_modern: V2026_07_28 ..= V2026_07_28;
    /// No state between requests; the same revisions as [`VersionFeatures::is_modern`].
    is_stateless: V2026_07_28 ..= V2026_07_28;
    /// JSON arrays of messages must be accepted.
    allows_batch: V2025_03_26 ..= V2025_03_26;
    /// Servers may send requests and clients answer them.
    has_server_requests: V2024_11_05 ..= V2025_11_25;
    /// A sender never uses a request id twice in a session.
    forbids_id_reuse: V2024_11_05 ..= V2025_11_25;
    /// An error about an unreadable id says `"id": null` instead of leaving the member out.
    null_id_for_unreadable: V2024_11_05 ..= V2025_06_18;
    /// The error codes −32020, −32021 and −32022 exist.
    has_modern_error_codes: V2026_07_28 ..= V2026_07_28;
    /// `ping` exists.
    has_ping: V2024_11_05 ..= V2025_11_25;
    /// `server/discover` exists.
    has_discover: V2026_07_28 ..= V2026_07_28;
    /// Capabilities carry an `extensions` map.
    has_extensions: V2026_07_28 ..= V2026_07_28;

    // Transports.

    /// The two-endpoint HTTP+SSE transport is the revision's own.
    has_http_with_sse: V2024_11_05 ..= V2024_11_05;
    /// Streamable HTTP is the revision's own.
    has_streamable_http: V2025_03_26 ..= V2026_07_28;
    /// `Mcp-Session-Id` exists.
    has_sessions: V2025_03_26 ..= V2025_11_25;
    /// Requests after `initialize` carry `MCP-Protocol-Version`.
    has_version_header: V2025_06_18 ..= V2026_07_28;
    /// Requests carry `Mcp-Method`, `Mcp-Name` and `Mcp-Param-*`.
    has_routing_headers: V2026_07_28 ..= V2026_07_28;
    /// Streams have event ids and resume with `Last-Event-ID`.
    has_resumable_streams: V2025_03_26 ..= V2025_11_25;
    /// A stream opens with a priming event and may announce `retry`.
    has_priming_event: V2025_11_25 ..= V2025_11_25;
    /// A client that goes away cancels its request.
    disconnect_cancels: V2026_07_28 ..= V2026_07_28;

    // Authorization.

    /// The metadata of a protected resource says who its authorization server is.
    has_resource_metadata: V2025_06_18 ..= V2026_07_28;
    /// Requests for codes and tokens name the server that the token is for.
    has_resource_indicators: V2025_06_18 ..= V2026_07_28;
    /// Authorization servers may be described by OpenID Connect Discovery.
    has_openid_discovery: V2025_11_25 ..= V2026_07_28;
    /// Metadata counts only when its `issuer` is, character for character, the one that was asked for.
    needs_identical_issuer: V2026_07_28 ..= V2026_07_28;

    // Results, notifications and requests.

    /// Results carry `resultType`.
    has_result_type: V2026_07_28 ..= V2026_07_28;
    /// Results carry `_meta["io.modelcontextprotocol/serverInfo"]`.
    has_server_info_in_meta: V2026_07_28 ..= V2026_07_28;
    /// Some results carry `ttlMs` and `cacheScope`.
    has_cache_hints: V2026_07_28 ..= V2026_07_28;
    /// Results may be `input_required`.
    has_input_required: V2026_07_28 ..= V2026_07_28;
    /// Change notifications arrive only through `subscriptions/listen`.
    has_listen: V2026_07_28 ..= V2026_07_28;
    /// `logging/setLevel` sets the log level of the session.
    has_set_level: V2024_11_05 ..= V2025_11_25;
    /// Log notifications are sent only for requests that name a level.
    logs_on_request_only: V2026_07_28 ..= V2026_07_28;
    /// Progress notifications may have a `message`.
    progress_has_message: V2025_03_26 ..= V2026_07_28;
    /// The experimental tasks of the core.
    has_core_tasks: V2025_11_25 ..= V2025_11_25;
    /// The `completions` capability exists.
    has_completions_capability: V2025_03_26 ..= V2026_07_28;
    /// `completion/complete` may carry `context`.
    has_completion_context: V2025_06_18 ..= V2026_07_28;

    // Asking the user and the model.

    /// `elicitation/create` exists.
    has_elicitation: V2025_06_18 ..= V2026_07_28;
    /// Elicitation has a URL mode.
    has_url_elicitation: V2025_11_25 ..= V2026_07_28;
    /// URL elicitation carries `elicitationId` and is announced as complete.
    has_elicitation_id: V2025_11_25 ..= V2025_11_25;
    /// A request may fail with −32042, "visit this URL first".
    has_url_elicitation_error: V2025_11_25 ..= V2025_11_25;
    /// Elicitation forms have titled and multiple choices and defaults of every kind.
    has_rich_elicitation_schema: V2025_11_25 ..= V2026_07_28;
    /// Sampling may offer tools and carry several content blocks.
    has_sampling_tools: V2025_11_25 ..= V2026_07_28;
    /// A client says whether it adds the context of MCP servers to what a model is asked.
    has_sampling_context: V2025_11_25 ..= V2026_07_28;

    // Data types.

    /// Tools have annotations.
    has_tool_annotations: V2025_03_26 ..= V2026_07_28;
    /// Content may be audio.
    has_audio: V2025_03_26 ..= V2026_07_28;
    /// Content may be a link to a resource.
    has_resource_links: V2025_06_18 ..= V2026_07_28;
    /// Tools have an output schema and results structured content.
    has_structured_output: V2025_06_18 ..= V2026_07_28;
    /// Structured content may be any JSON value, not only an object.
    has_open_structured_content: V2026_07_28 ..= V2026_07_28;
    /// Descriptions have titles, `_meta` and `lastModified`.
    has_titles: V2025_06_18 ..= V2026_07_28;
    /// Descriptions have icons, implementations a description and a website.
    has_icons: V2025_11_25 ..= V2026_07_28;
}

/// The versions one side speaks: an ordered set, newest first.
///
/// The whole set is what `server/discover` reports and what `data.supported` of −32022 lists, so that the two lists are
/// always equal. A legacy entry means "reachable through `initialize`".
///
/// ```
/// use toolwire_proto::features::SupportedVersions;
///
/// assert_eq!(SupportedVersions::default().names().next(), Some("2026-07-28"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SupportedVersions(Vec<ProtocolVersion>);

impl SupportedVersions {
    /// True when the version is in the set.
    #[must_use]
    pub fn contains(&self, version: ProtocolVersion) -> bool {
        self.0.contains(&version)
    }

    /// All versions, newest first.
    pub fn iter(&self) -> impl Iterator<Item = ProtocolVersion> + '_ {
        self.0.iter().copied()
    }

    /// The versions that are opened with `initialize`, newest first.
    pub fn legacy(&self) -> impl Iterator<Item = ProtocolVersion> + '_ {
        self.iter().filter(|version| version.is_legacy())
    }

    /// The versions spoken request by request, newest first.
    pub fn modern(&self) -> impl Iterator<Item = ProtocolVersion> + '_ {
        self.iter().filter(|version| version.is_modern())
    }

    /// The wire names, newest first.
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

    /// One letter per revision, oldest first: `x` where the answer is yes.
    fn answers(question: &str) -> String {
        let (_, ask) = QUESTIONS
            .iter()
            .find(|(name, _)| *name == question)
            .expect("the question exists");
        ProtocolVersion::ALL
            .into_iter()
            .map(|version| if ask(version) { 'x' } else { '-' })
            .collect()
    }

    #[test]
    fn every_question_has_the_answers_of_the_version_matrix() {
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
        for (question, answer) in expected {
            assert_eq!(answers(question), answer, "{question}");
        }
        assert_eq!(QUESTIONS.len(), expected.len());
    }

    #[test]
    fn a_missing_resource_has_its_own_code_only_in_legacy_revisions() {
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
