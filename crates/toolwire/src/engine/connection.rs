//! What is remembered about one peer.
//!
//! A stdio process and a legacy HTTP session have one of these; a 2026-07-28 request gets a fresh one, or none, because
//! it says everything itself. Nothing mutable about a peer lives anywhere else, so peers cannot see each other.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use serde::Serialize;
use toolwire_proto::features::SupportedVersions;
use toolwire_proto::lifecycle::Lifecycle;
use toolwire_proto::requests::{self, ExchangeKey, InboundLedger, Overloaded, SendState};
use toolwire_proto::uri_template::MAX_URI_BYTES;
use toolwire_types::{
    ClientCapabilities, ErrorObject, Implementation, LoggingLevel, ProtocolVersion, RequestId,
};

use crate::engine::Cancellation;
#[cfg(feature = "http-server")]
use crate::store::SessionRecord;

/// How many resource URIs one connection may subscribe to.
const MAX_SUBSCRIPTIONS: usize = 1024;

/// How many bytes may be stored about one peer: its capabilities, its description and its subscriptions.
pub(crate) const MAX_PEER_BYTES: usize = 64 * 1024;

/// What a member of an object takes in memory besides its text.
const MEMBER_BYTES: usize = 64;

/// What a string takes in memory besides its text.
const STRING_BYTES: usize = 32;

/// The state of one connection or session.
#[derive(Debug, Default)]
pub struct ConnectionState {
    peer: Mutex<PeerInfo>,
    /// The version of a handshake that is complete: it does not change any more.
    negotiated: OnceLock<ProtocolVersion>,
    in_flight: Mutex<InFlight>,
    /// A request may have to be refused because of others. Otherwise nobody needs the ledger to start one.
    is_busy: AtomicBool,
}

#[derive(Debug, Default)]
struct PeerInfo {
    lifecycle: Lifecycle,
    capabilities: Arc<ClientCapabilities>,
    info: Option<Arc<Implementation>>,
    minimum_log_level: Option<LoggingLevel>,
    subscriptions: BTreeSet<String>,
}

impl PeerInfo {
    /// Rejects what would be stored about a peer if it is too large.
    fn check_size(
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

/// Returns about how many bytes a value takes in memory: its JSON, and something for each member and each string.
pub(crate) fn json_bytes(value: &impl Serialize) -> usize {
    let Ok(text) = serde_json::to_string(value) else {
        return usize::MAX / 4;
    };
    let members = text.matches("\":").count();
    let strings = text.matches('"').count() / 2;
    text.len() + MEMBER_BYTES * members + STRING_BYTES * strings
}

#[cfg(feature = "http-server")]
impl PeerInfo {
    fn of_record(record: &SessionRecord) -> Self {
        let version = record.version;
        Self {
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

    fn to_record(&self) -> Option<SessionRecord> {
        let mut record = SessionRecord::new(
            self.lifecycle.version()?,
            (*self.capabilities).clone(),
            self.info.as_deref().cloned(),
        );
        record.initialized = self.lifecycle.is_initialized();
        record.log_level = self.minimum_log_level;
        record.subscriptions = self.subscriptions.clone();
        Some(record)
    }
}

#[derive(Debug, Default)]
struct InFlight {
    ledger: InboundLedger<RunningEntry>,
    bytes: usize,
}

impl InFlight {
    fn check_capacity(&self, size: MessageSize) -> Result<(), Overloaded> {
        let is_too_much = self.bytes > 0 && self.bytes.saturating_add(size.bytes) > size.limit;
        if is_too_much || self.ledger.is_full() {
            Err(Overloaded::new())
        } else {
            Ok(())
        }
    }

    fn enter(
        &mut self,
        id: &RequestId,
        cancellable: requests::CancelPolicy,
        cancellation: &Cancellation,
        size: MessageSize,
    ) -> ExchangeKey {
        let running = RunningEntry {
            cancellation: cancellation.clone(),
            bytes: size.bytes,
        };
        self.bytes += size.bytes;
        self.ledger.enter(id.clone(), cancellable, running)
    }

    fn is_busy(&self) -> bool {
        self.ledger.is_full() || !self.ledger.is_empty()
    }
}

#[derive(Debug)]
struct RunningEntry {
    cancellation: Cancellation,
    /// The size of the message it came in.
    bytes: usize,
}

impl ConnectionState {
    /// The state of a connection nobody has spoken on.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// As [`new`](Self::new), with another bound on the requests that may run at once.
    #[must_use]
    pub fn with_limit(requests_in_flight: usize) -> Self {
        let in_flight = InFlight {
            ledger: InboundLedger::new(requests_in_flight),
            ..InFlight::default()
        };
        Self {
            is_busy: AtomicBool::new(in_flight.is_busy()),
            in_flight: Mutex::new(in_flight),
            ..Self::default()
        }
    }

    /// The state of a session as a store keeps it.
    #[cfg(feature = "http-server")]
    pub(crate) fn of_session(record: &SessionRecord) -> Self {
        let state = Self::new();
        *state.peer() = PeerInfo::of_record(record);
        state
    }

    /// Replaces what is remembered about the peer by what a store has. What was changed here since `before`, and is still
    /// to be stored, stays changed.
    #[cfg(feature = "http-server")]
    pub(crate) fn rebase(&self, before: &SessionRecord, stored: &SessionRecord) {
        let mut peer = self.peer();
        *peer = match peer.to_record() {
            Some(here) => PeerInfo::of_record(&stored.with_changes(before, &here)),
            None => PeerInfo::of_record(stored),
        };
    }

    /// What a store has to keep; nothing before `initialize`.
    #[cfg(feature = "http-server")]
    pub(crate) fn to_record(&self) -> Option<SessionRecord> {
        self.peer().to_record()
    }

    /// A copy of the handshake's state, for the admission of a request.
    #[must_use]
    #[inline]
    pub fn lifecycle(&self) -> Lifecycle {
        match self.negotiated.get() {
            Some(&version) => Lifecycle::Initialized { version },
            None => self.unsettled_lifecycle(),
        }
    }

    #[cold]
    fn unsettled_lifecycle(&self) -> Lifecycle {
        let lifecycle = self.peer().lifecycle;
        if let Lifecycle::Initialized { version } = lifecycle {
            self.negotiated.get_or_init(|| version);
        }
        lifecycle
    }

    /// The version `initialize` settled on, if there was one.
    #[must_use]
    pub fn version(&self) -> Option<ProtocolVersion> {
        self.lifecycle().version()
    }

    /// Whether an `initialize` request was answered with success.
    #[must_use]
    pub fn is_initialize_processed(&self) -> bool {
        self.version().is_some()
    }

    /// Whether `notifications/initialized` was received.
    #[must_use]
    pub fn is_initialized(&self) -> bool {
        self.lifecycle().is_initialized()
    }

    /// What the client declared at `initialize`; empty before.
    #[must_use]
    pub fn client_capabilities(&self) -> Arc<ClientCapabilities> {
        Arc::clone(&self.peer().capabilities)
    }

    /// What the client called itself at `initialize`.
    #[must_use]
    pub fn client_info(&self) -> Option<Arc<Implementation>> {
        self.peer().info.clone()
    }

    /// The level `logging/setLevel` asked for.
    #[must_use]
    pub fn minimum_log_level(&self) -> Option<LoggingLevel> {
        self.peer().minimum_log_level
    }

    /// Opens legacy semantics: negotiates a version once and remembers the peer.
    pub(crate) fn initialize(
        &self,
        requested: &str,
        supported: &SupportedVersions,
        capabilities: ClientCapabilities,
        info: Option<Implementation>,
    ) -> Result<ProtocolVersion, ErrorObject> {
        let mut peer = self.peer();
        PeerInfo::check_size(&capabilities, info.as_ref(), &peer.subscriptions)?;
        let version = peer.lifecycle.on_initialize(requested, supported)?;
        peer.capabilities = Arc::new(capabilities);
        peer.info = info.map(Arc::new);
        Ok(version)
    }

    pub(crate) fn initialized(&self) {
        self.peer().lifecycle.on_initialized();
    }

    pub(crate) fn set_minimum_log_level(&self, level: LoggingLevel) {
        self.peer().minimum_log_level = Some(level);
    }

    pub(crate) fn subscribe(&self, uri: &str) -> Result<(), ErrorObject> {
        let mut peer = self.peer();
        if peer.subscriptions.len() >= MAX_SUBSCRIPTIONS && !peer.subscriptions.contains(uri) {
            return Err(ErrorObject::invalid_params(format!(
                "this connection already subscribes to {MAX_SUBSCRIPTIONS} resources; unsubscribe from some first"
            )));
        }
        if uri.len() > MAX_URI_BYTES {
            return Err(ErrorObject::invalid_params(format!(
                "the URI has {} bytes; the limit is {MAX_URI_BYTES}",
                uri.len()
            )));
        }
        let added = peer.subscriptions.insert(uri.to_owned());
        let (capabilities, info) = (&peer.capabilities, peer.info.as_deref());
        let fits = PeerInfo::check_size(capabilities, info, &peer.subscriptions);
        if fits.is_err() && added {
            peer.subscriptions.remove(uri);
        }
        fits
    }

    pub(crate) fn unsubscribe(&self, uri: &str) {
        self.peer().subscriptions.remove(uri);
    }

    /// Whether the client subscribed to a resource with `resources/subscribe`.
    #[must_use]
    pub fn is_subscribed(&self, uri: &str) -> bool {
        self.peer().subscriptions.contains(uri)
    }

    /// The resources the client subscribed to.
    #[cfg(feature = "http-server")]
    pub(crate) fn subscriptions(&self) -> Vec<String> {
        self.peer().subscriptions.iter().cloned().collect()
    }

    /// Refuses a request when too many run, or when the messages of those that run are too large together.
    #[inline]
    pub(crate) fn check_room(&self, size: MessageSize) -> Result<(), ErrorObject> {
        if self.is_busy.load(Ordering::Acquire) {
            self.check_room_beside_others(size)
        } else {
            Ok(())
        }
    }

    #[inline(never)]
    fn check_room_beside_others(&self, size: MessageSize) -> Result<(), ErrorObject> {
        Ok(self.in_flight().check_capacity(size)?)
    }

    /// Enters a request into the ledger of running ones, with the flag that cancels it.
    ///
    /// Refused like [`check_room`](Self::check_room).
    #[cfg(feature = "http-server")]
    pub(crate) fn begin(
        &self,
        id: &RequestId,
        cancellable: requests::CancelPolicy,
        cancellation: &Cancellation,
        size: MessageSize,
    ) -> Result<ExchangeKey, ErrorObject> {
        let mut in_flight = self.in_flight();
        in_flight.check_capacity(size)?;
        let key = in_flight.enter(id, cancellable, cancellation, size);
        self.is_busy.store(true, Ordering::Release);
        Ok(key)
    }

    /// The same for a request that had its first turn since there was found to be room for it.
    pub(crate) fn enter(
        &self,
        id: &RequestId,
        cancellable: requests::CancelPolicy,
        cancellation: &Cancellation,
        size: MessageSize,
    ) -> ExchangeKey {
        let mut in_flight = self.in_flight();
        self.is_busy.store(true, Ordering::Release);
        in_flight.enter(id, cancellable, cancellation, size)
    }

    /// Raises the flag of every running request with this id. Unknown ids are ignored.
    pub(crate) fn cancel(&self, id: &RequestId) {
        let mut in_flight = self.in_flight();
        for key in in_flight.ledger.cancel(id) {
            if let Some(running) = in_flight.ledger.note(key) {
                running.cancellation.cancel();
            }
        }
    }

    /// Takes a request out of the ledger; says whether its answer may still be sent.
    pub(crate) fn finish(&self, key: ExchangeKey) -> bool {
        let mut in_flight = self.in_flight();
        let (may_send, running) = in_flight.ledger.finish(key);
        in_flight.bytes -= running.map_or(0, |running| running.bytes);
        self.is_busy.store(in_flight.is_busy(), Ordering::Release);
        may_send == SendState::Waiting
    }

    /// Raises every flag: the peer is gone.
    pub(crate) fn cancel_all(&self) {
        for running in self.in_flight().ledger.notes() {
            running.cancellation.cancel();
        }
    }

    fn peer(&self) -> MutexGuard<'_, PeerInfo> {
        self.peer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn in_flight(&self) -> MutexGuard<'_, InFlight> {
        self.in_flight
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// The size of a request's message, and how large all that run may be together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MessageSize {
    pub(crate) bytes: usize,
    pub(crate) limit: usize,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SMALL: MessageSize = MessageSize {
        bytes: 10,
        limit: 25,
    };

    fn enter(state: &ConnectionState) -> ExchangeKey {
        let cancellable = requests::CancelPolicy::Allowed;
        state.enter(&1.into(), cancellable, &Cancellation::new(), SMALL)
    }

    fn initialize(capabilities: ClientCapabilities) -> Result<ConnectionState, ErrorObject> {
        let state = ConnectionState::new();
        let supported = SupportedVersions::default();
        state.initialize("2025-11-25", &supported, capabilities, None)?;
        Ok(state)
    }

    fn capabilities(members: usize, bytes: usize) -> ClientCapabilities {
        let text = "x".repeat(bytes);
        let mut capabilities = ClientCapabilities::new();
        let experimental = (0..members).map(|n| (n.to_string(), json!(text).into()));
        capabilities.experimental = Some(experimental.collect());
        capabilities
    }

    #[test]
    fn capabilities_may_take_64_kib() {
        assert!(initialize(capabilities(1, 65_000)).is_ok());
        let error = initialize(capabilities(1, 66_000)).unwrap_err();
        assert_eq!(error.code, -32602);
        assert!(error.message.contains("65536 bytes"), "{}", error.message);
        // Small members take more memory than text.
        assert!(initialize(capabilities(400, 0)).is_ok());
        assert!(initialize(capabilities(600, 0)).is_err());
    }

    #[test]
    fn subscriptions_count_towards_the_64_kib() {
        let state = initialize(capabilities(1, 30_000)).unwrap();
        let uri = |n: usize| format!("{n:02}").repeat(1000);
        for number in 0..17 {
            state.subscribe(&uri(number)).unwrap();
        }
        assert_eq!(state.subscribe(&uri(17)).unwrap_err().code, -32602);
        assert!(!state.is_subscribed(&uri(17)));
        assert!(state.subscribe(&uri(3)).is_ok(), "it is there already");
        state.unsubscribe(&uri(3));
        assert!(state.subscribe(&uri(17)).is_ok());
    }

    #[test]
    fn a_uri_to_subscribe_to_may_have_8_kib() {
        let state = ConnectionState::new();
        assert!(state.subscribe(&"a".repeat(MAX_URI_BYTES)).is_ok());
        let error = state.subscribe(&"a".repeat(MAX_URI_BYTES + 1)).unwrap_err();
        assert_eq!(error.code, -32602);
    }

    #[test]
    fn there_is_room_until_too_many_run() {
        let state = ConnectionState::with_limit(1);
        assert!(state.check_room(SMALL).is_ok());
        let key = enter(&state);
        assert!(state.check_room(SMALL).is_err());
        assert!(state.finish(key));
        assert!(state.check_room(SMALL).is_ok());
        assert!(
            ConnectionState::with_limit(0).check_room(SMALL).is_err(),
            "nobody may run where nobody is wanted"
        );
    }

    #[test]
    fn there_is_room_until_those_that_run_are_too_large() {
        let state = ConnectionState::with_limit(10);
        let keys = [enter(&state), enter(&state)];
        assert!(state.check_room(SMALL).is_err());
        assert!(state.finish(keys[0]));
        assert!(state.check_room(SMALL).is_ok());
        assert!(state.finish(keys[1]));
        // One that is alone may be of any size.
        let large = MessageSize { bytes: 26, ..SMALL };
        assert!(state.check_room(large).is_ok());
    }
}
