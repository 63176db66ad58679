//! The `_meta` members of a request that belong to one connection.

use toolwire_types::{LoggingLevel, ProgressToken, ProtocolVersion, RawJson, meta_key};

use crate::features::VersionFeatures;
use crate::raw_object::{RawObject, json_string};
use crate::relay::convert::remove_from_meta;

/// The keys that a relay does not forward, because each connection has its own values.
const PER_HOP: [&str; 6] = [
    meta_key::PROTOCOL_VERSION,
    meta_key::CLIENT_CAPABILITIES,
    meta_key::CLIENT_INFO,
    meta_key::LOG_LEVEL,
    meta_key::PROGRESS_TOKEN,
    meta_key::SUBSCRIPTION_ID,
];

/// The `_meta` members that a relay writes into a request to an upstream, instead of those of its client.
///
/// Other keys pass, also those of trace contexts. Legacy revisions have only the progress token.
///
/// ```
/// use toolwire_proto::raw_object::RawObject;
/// use toolwire_proto::relay::convert::HopMeta;
/// use toolwire_types::{ProtocolVersion, RawJson};
///
/// let sent: RawJson = serde_json::from_str(r#"{"_meta":{"progressToken":"a","traceparent":"00-1"}}"#).unwrap();
/// let mut params = RawObject::parse(sent.as_raw_value()).unwrap();
/// HopMeta::new(ProtocolVersion::V2025_11_25).with_progress_token(7.into()).write(&mut params);
/// assert_eq!(params.finish().get(), r#"{"_meta":{"traceparent":"00-1","progressToken":7}}"#);
/// ```
#[derive(Debug, Clone)]
pub struct HopMeta {
    version: ProtocolVersion,
    capabilities: RawJson,
    client_info: Option<RawJson>,
    log_level: Option<LoggingLevel>,
    progress_token: Option<ProgressToken>,
}

impl HopMeta {
    /// Creates the members for an upstream of this revision, for a client without capabilities.
    #[must_use]
    pub fn new(version: ProtocolVersion) -> Self {
        Self {
            version,
            capabilities: RawJson::empty_object(),
            client_info: None,
            log_level: None,
            progress_token: None,
        }
    }

    /// Sets the capabilities of the client that sent the request, as the upstream's revision has them.
    #[must_use]
    pub fn with_capabilities(mut self, capabilities: RawJson) -> Self {
        self.capabilities = capabilities;
        self
    }

    /// Sets the name and version of the client.
    #[must_use]
    pub fn with_client_info(mut self, client_info: RawJson) -> Self {
        self.client_info = Some(client_info);
        self
    }

    /// Sets the least severe level of log messages. Without it, the upstream sends none.
    #[must_use]
    pub fn with_log_level(mut self, level: LoggingLevel) -> Self {
        self.log_level = Some(level);
        self
    }

    /// Sets the progress token. Without it, the upstream sends no progress.
    #[must_use]
    pub fn with_progress_token(mut self, token: ProgressToken) -> Self {
        self.progress_token = Some(token);
        self
    }

    /// Replaces the members of the client's connection in the parameters of a request. A `_meta` that has no other
    /// members is removed, and so is one that is not an object or has too many members.
    pub fn write(&self, params: &mut RawObject<'_>) {
        if params.object_mut("_meta").is_none() {
            // Metadata that cannot be edited must not pass with the members of the client's connection.
            params.remove("_meta");
        }
        remove_from_meta(params, |key| PER_HOP.contains(&key));
        let entries = self.entries();
        if entries.is_empty() {
            return;
        }
        let meta = params.object_or_empty_mut("_meta");
        for (key, value) in entries {
            meta.set(key, value);
        }
    }

    fn entries(&self) -> Vec<(&'static str, RawJson)> {
        let mut entries = Vec::new();
        if let Some(token) = &self.progress_token {
            let token = RawJson::from_serialize(token).expect("a token always serializes");
            entries.push((meta_key::PROGRESS_TOKEN, token));
        }
        if self.version.is_modern() {
            let version = json_string(self.version.as_str());
            entries.push((meta_key::PROTOCOL_VERSION, version));
            entries.push((meta_key::CLIENT_CAPABILITIES, self.capabilities.clone()));
            if let Some(info) = &self.client_info {
                entries.push((meta_key::CLIENT_INFO, info.clone()));
            }
            if let Some(level) = &self.log_level {
                let level = RawJson::from_serialize(level).expect("a level always serializes");
                entries.push((meta_key::LOG_LEVEL, level));
            }
        }
        entries
    }
}
