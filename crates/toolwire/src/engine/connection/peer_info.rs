//! The data of a connection about its peer, and their limit.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Serialize;
use toolwire_proto::lifecycle::Lifecycle;
use toolwire_types::{ClientCapabilities, ErrorObject, Implementation, LoggingLevel};

/// The maximum number of bytes stored about one peer: its capabilities, its description and its subscriptions.
pub(crate) const MAX_PEER_BYTES: usize = 64 * 1024;

/// The memory of an object member besides its text, in bytes.
const MEMBER_BYTES: usize = 64;

/// The memory of a string besides its text, in bytes.
const STRING_BYTES: usize = 32;

/// The data of a connection about its peer.
#[derive(Debug, Default)]
pub(crate) struct PeerInfo {
    pub(crate) lifecycle: Lifecycle,
    pub(crate) capabilities: Arc<ClientCapabilities>,
    pub(crate) info: Option<Arc<Implementation>>,
    pub(crate) minimum_log_level: Option<LoggingLevel>,
    pub(crate) subscriptions: BTreeSet<String>,
}

impl PeerInfo {
    /// Rejects peer data that exceeds [`MAX_PEER_BYTES`].
    pub(super) fn check_size(
        capabilities: &ClientCapabilities,
        info: Option<&Implementation>,
        subscriptions: &BTreeSet<String>,
    ) -> Result<(), ErrorObject> {
        let described = json_bytes(capabilities) + info.map_or(0, json_bytes);
        let subscribed: usize = subscriptions
            .iter()
            .map(|uri| uri.len() + STRING_BYTES)
            .sum();
        let bytes = described + subscribed;
        if bytes <= MAX_PEER_BYTES {
            return Ok(());
        }
        Err(ErrorObject::invalid_params(format!(
            "capabilities, clientInfo and subscriptions of a client may take {MAX_PEER_BYTES} bytes together, not {bytes}"
        )))
    }
}

/// Returns the approximate memory of a value in bytes: its JSON, and an overhead for each member and each string.
pub(crate) fn json_bytes(value: &impl Serialize) -> usize {
    let Ok(text) = serde_json::to_string(value) else {
        return usize::MAX / 4;
    };
    let members = text.matches("\":").count();
    let strings = text.matches('"').count() / 2;
    text.len() + MEMBER_BYTES * members + STRING_BYTES * strings
}
