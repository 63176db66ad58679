//! Conversions between the state of a session in memory and its stored record.

use std::sync::Arc;

use toolwire_proto::lifecycle::Lifecycle;

use crate::engine::{ConnectionState, PeerInfo};
use crate::store::SessionRecord;

/// Creates the state of a session from its stored record.
pub(crate) fn state_of(record: &SessionRecord) -> ConnectionState {
    ConnectionState::with_peer(peer_of(record))
}

/// Returns the record to store, or `None` before `initialize`.
pub(crate) fn record_of(state: &ConnectionState) -> Option<SessionRecord> {
    record_of_peer(&state.peer())
}

/// Replaces the peer data by the stored record. Changes made here since `before` that are not yet stored are preserved.
pub(crate) fn rebase(state: &ConnectionState, before: &SessionRecord, stored: &SessionRecord) {
    let mut peer = state.peer();
    *peer = match record_of_peer(&peer) {
        Some(here) => peer_of(&stored.with_changes(before, &here)),
        None => peer_of(stored),
    };
}

fn peer_of(record: &SessionRecord) -> PeerInfo {
    let version = record.version;
    PeerInfo {
        lifecycle: if record.initialized {
            Lifecycle::Initialized { version }
        } else {
            Lifecycle::InitializeProcessed { version }
        },
        capabilities: Arc::new(record.capabilities.clone()),
        info: record.client_info.clone().map(Arc::new),
        minimum_log_level: record.log_level,
        subscriptions: record.subscriptions.clone(),
    }
}

fn record_of_peer(peer: &PeerInfo) -> Option<SessionRecord> {
    let mut record = SessionRecord::new(
        peer.lifecycle.version()?,
        (*peer.capabilities).clone(),
        peer.info.as_deref().cloned(),
    );
    record.initialized = peer.lifecycle.is_initialized();
    record.log_level = peer.minimum_log_level;
    record.subscriptions = peer.subscriptions.clone();
    Some(record)
}
