//! The messages that start a connection: `initialize` up to 2025-11-25, `server/discover` since 2026-07-28.
//!
//! Versions are strings, because a peer may name a version that this crate does not define. `toolwire-proto` negotiates
//! the version.

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
    /// The version that the client proposes, usually the latest one it supports.
    pub protocol_version: String,
    /// The capabilities of the client.
    pub capabilities: ClientCapabilities,
    /// The name and version of the client.
    pub client_info: Implementation,
    /// The `_meta` object.
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
    /// Creates the parameters of an `initialize` request.
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

/// The result of `initialize` (up to 2025-11-25).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct InitializeResult {
    /// The version that the server selected. A client that does not support it disconnects.
    pub protocol_version: String,
    /// The capabilities of the server.
    pub capabilities: ServerCapabilities,
    /// The name and version of the server.
    pub server_info: Implementation,
    /// Instructions for the model on how to use the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// The `_meta` object.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl InitializeResult {
    /// Creates the result of an `initialize` request.
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

/// The result of `server/discover` (since 2026-07-28).
///
/// As in every other result, the name and version of the server are in the `_meta` object, at
/// [`meta_key::SERVER_INFO`](crate::meta_key::SERVER_INFO).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct DiscoverResult {
    /// The kind of result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The versions that the server supports. Versions up to 2025-11-25 require `initialize`.
    pub supported_versions: Vec<String>,
    /// The capabilities of the server.
    pub capabilities: ServerCapabilities,
    /// Instructions for the model on how to use the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// How long a client may cache the result, in milliseconds.
    #[serde(
        default,
        deserialize_with = "lenient_optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub ttl_ms: Option<u64>,
    /// Whether caches may share the result between users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_scope: Option<CacheScope>,
    /// The `_meta` object.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl DiscoverResult {
    /// Creates a result with versions and capabilities.
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

    /// Sets how long the result may be cached, in milliseconds, and whether users may share it.
    #[must_use]
    pub fn with_cache(mut self, ttl_ms: u64, scope: CacheScope) -> Self {
        self.ttl_ms = Some(ttl_ms);
        self.cache_scope = Some(scope);
        self
    }
}

/// The `data` of the error for an unsupported version
/// ([`UNSUPPORTED_PROTOCOL_VERSION`](crate::code::UNSUPPORTED_PROTOCOL_VERSION)).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct UnsupportedProtocolVersionData {
    /// The versions that the server supports.
    pub supported: Vec<String>,
    /// The version that the client requested.
    pub requested: String,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl UnsupportedProtocolVersionData {
    /// Creates the data from the supported versions and the requested version.
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

/// The `data` of the error for a missing client capability
/// ([`MISSING_REQUIRED_CLIENT_CAPABILITY`](crate::code::MISSING_REQUIRED_CLIENT_CAPABILITY)).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct MissingRequiredClientCapabilityData {
    /// The capabilities that the request requires.
    pub required_capabilities: ClientCapabilities,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl MissingRequiredClientCapabilityData {
    /// Creates the data from the required capabilities.
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
    fn initialize_messages_round_trip() {
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
    fn initialize_without_required_members_is_rejected() {
        let wire = json!({"protocolVersion": "2025-06-18", "capabilities": {}});
        assert!(serde_json::from_value::<InitializeRequestParams>(wire).is_err());
    }

    #[test]
    fn discover_result_round_trips() {
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
    fn invalid_cache_hints_are_parsed_leniently() {
        let wire =
            json!({"supportedVersions": [], "capabilities": {}, "ttlMs": -3.5, "cacheScope": "?"});
        let result: DiscoverResult = serde_json::from_value(wire).unwrap();
        assert_eq!(result.ttl_ms, Some(0));
        assert_eq!(result.cache_scope, Some(CacheScope::Private));
        assert_eq!(result.result_type, None);
    }

    #[test]
    fn error_data_round_trips() {
        check::<UnsupportedProtocolVersionData>(json!({"supported": ["a"], "requested": "b"}));
        check::<MissingRequiredClientCapabilityData>(
            json!({"requiredCapabilities": {"elicitation": {"url": {}}}, "hint": "x"}),
        );
    }

    #[test]
    fn built_values_serialize_to_wire_format() {
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
