//! How two sides get to know each other: `initialize` up to 2025-11-25, `server/discover` from 2026-07-28 on.
//!
//! Versions are plain text here, because a peer may name one that this crate has never heard of; choosing among them is
//! the work of `toolwire-proto`.

use serde::{Deserialize, Serialize};

use crate::capabilities::{ClientCapabilities, ServerCapabilities};
use crate::implementation::Implementation;
use crate::meta::Meta;
use crate::object::object;
use crate::result::{CacheScope, Extra, ResultType, lenient_optional_integer};
use crate::setters::setters;

/// The parameters of `initialize` (up to 2025-11-25).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct InitializeRequestParams {
    /// The version the client would like to speak, usually its newest.
    pub protocol_version: String,
    /// What the client can do.
    pub capabilities: ClientCapabilities,
    /// Who the client is.
    pub client_info: Implementation,
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

object!(InitializeRequestParams = InitializeRequestParams::new("", ClientCapabilities::default(), Implementation::new("", ""));
    "protocolVersion" => protocol_version required,
    "capabilities" => capabilities required,
    "clientInfo" => client_info required,
    "_meta" => meta;
    others ignored
);

impl InitializeRequestParams {
    /// Proposes a version.
    #[must_use]
    pub fn new(
        protocol_version: impl Into<String>,
        capabilities: ClientCapabilities,
        client_info: Implementation,
    ) -> Self {
        Self {
            protocol_version: protocol_version.into(),
            capabilities,
            client_info,
            meta: None,
        }
    }
}

/// The answer to `initialize` (up to 2025-11-25).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct InitializeResult {
    /// The version the server chose. A client that cannot speak it disconnects.
    pub protocol_version: String,
    /// What the server can do.
    pub capabilities: ServerCapabilities,
    /// Who the server is.
    pub server_info: Implementation,
    /// How to use the server, as a hint to the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl InitializeResult {
    /// Agrees on a version.
    #[must_use]
    pub fn new(
        protocol_version: impl Into<String>,
        capabilities: ServerCapabilities,
        server_info: Implementation,
    ) -> Self {
        Self {
            protocol_version: protocol_version.into(),
            capabilities,
            server_info,
            instructions: None,
            meta: None,
            extra: Extra::new(),
        }
    }

    setters! {
        with_instructions(instructions: into String);
    }
}

/// The answer to `server/discover` (since 2026-07-28).
///
/// Who the server is stands in the metadata, at [`meta_key::SERVER_INFO`](crate::meta_key::SERVER_INFO), as on every
/// other result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct DiscoverResult {
    /// The kind of result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The versions the server speaks. Older ones in the list are reached through `initialize`.
    pub supported_versions: Vec<String>,
    /// What the server can do.
    pub capabilities: ServerCapabilities,
    /// How to use the server, as a hint to the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// How long the result may be cached, in milliseconds.
    #[serde(
        default,
        deserialize_with = "lenient_optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub ttl_ms: Option<u64>,
    /// Who may share the cached result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_scope: Option<CacheScope>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl DiscoverResult {
    /// Versions and capabilities.
    #[must_use]
    pub fn new<V: Into<String>>(
        supported_versions: impl IntoIterator<Item = V>,
        capabilities: ServerCapabilities,
    ) -> Self {
        Self {
            result_type: None,
            supported_versions: supported_versions.into_iter().map(Into::into).collect(),
            capabilities,
            instructions: None,
            ttl_ms: None,
            cache_scope: None,
            meta: None,
            extra: Extra::new(),
        }
    }

    setters! {
        with_instructions(instructions: into String);
        with_meta(meta: some Meta);
    }

    /// Says how long, in milliseconds, and by whom the result may be cached.
    #[must_use]
    pub fn with_cache(mut self, ttl_ms: u64, scope: CacheScope) -> Self {
        self.ttl_ms = Some(ttl_ms);
        self.cache_scope = Some(scope);
        self
    }
}

/// The `data` of the error that says the version asked for is not served
/// ([`UNSUPPORTED_PROTOCOL_VERSION`](crate::code::UNSUPPORTED_PROTOCOL_VERSION)).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct UnsupportedProtocolVersionData {
    /// The versions that are served.
    pub supported: Vec<String>,
    /// The version that was asked for.
    pub requested: String,
    /// Members this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl UnsupportedProtocolVersionData {
    /// What is served, and what was asked for.
    #[must_use]
    pub fn new<V: Into<String>>(
        supported: impl IntoIterator<Item = V>,
        requested: impl Into<String>,
    ) -> Self {
        Self {
            supported: supported.into_iter().map(Into::into).collect(),
            requested: requested.into(),
            extra: Extra::new(),
        }
    }
}

/// The `data` of the error that says the client lacks a capability
/// ([`MISSING_REQUIRED_CLIENT_CAPABILITY`](crate::code::MISSING_REQUIRED_CLIENT_CAPABILITY)).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct MissingRequiredClientCapabilityData {
    /// The capabilities that would have been needed.
    pub required_capabilities: ClientCapabilities,
    /// Members this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl MissingRequiredClientCapabilityData {
    /// Names what would have been needed.
    #[must_use]
    pub fn new(required_capabilities: ClientCapabilities) -> Self {
        Self {
            required_capabilities,
            extra: Extra::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::meta::meta_key;
    use crate::round_trip::check;

    #[test]
    fn an_initialize_handshake_survives() {
        let params = check::<InitializeRequestParams>(json!({
            "protocolVersion": "2030-01-01", "capabilities": {"sampling": {}, "later": {}},
            "clientInfo": {"name": "c", "version": "1"}, "_meta": {"progressToken": 0},
        }));
        assert_eq!(params.protocol_version, "2030-01-01");
        check::<InitializeResult>(json!({
            "protocolVersion": "2024-11-05", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"},
            "instructions": "be kind", "later": true,
        }));
    }

    #[test]
    fn a_handshake_without_its_required_members_is_refused() {
        let wire = json!({"protocolVersion": "2025-06-18", "capabilities": {}});
        assert!(serde_json::from_value::<InitializeRequestParams>(wire).is_err());
    }

    #[test]
    fn discovery_survives() {
        let result = check::<DiscoverResult>(json!({
            "resultType": "complete", "supportedVersions": ["2026-07-28", "2025-11-25"], "capabilities": {},
            "instructions": "i", "ttlMs": 60000, "cacheScope": "public", "later": {"x": null},
            "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "s", "version": "1"}},
        }));
        let meta = result.meta.unwrap();
        let server: Option<Implementation> = meta.get_as(meta_key::SERVER_INFO).unwrap();
        assert_eq!(server, Some(Implementation::new("s", "1")));
    }

    #[test]
    fn sloppy_cache_hints_are_understood() {
        let wire =
            json!({"supportedVersions": [], "capabilities": {}, "ttlMs": -3.5, "cacheScope": "?"});
        let result: DiscoverResult = serde_json::from_value(wire).unwrap();
        assert_eq!(result.ttl_ms, Some(0));
        assert_eq!(result.cache_scope, Some(CacheScope::Private));
        assert_eq!(result.result_type, None);
    }

    #[test]
    fn error_details_survive() {
        check::<UnsupportedProtocolVersionData>(json!({"supported": ["a"], "requested": "b"}));
        check::<MissingRequiredClientCapabilityData>(
            json!({"requiredCapabilities": {"elicitation": {"url": {}}}, "hint": "x"}),
        );
    }

    #[test]
    fn builders_write_the_wire_form() {
        let result = DiscoverResult::new(["2026-07-28"], ServerCapabilities::new().with_logging())
            .with_instructions("i")
            .with_cache(5, CacheScope::Private);
        assert_eq!(
            serde_json::to_value(result).unwrap(),
            json!({
                "supportedVersions": ["2026-07-28"], "capabilities": {"logging": {}}, "instructions": "i",
                "ttlMs": 5, "cacheScope": "private",
            })
        );
    }
}
