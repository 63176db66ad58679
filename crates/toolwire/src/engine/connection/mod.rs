//! The state that the server stores about one peer.
//!
//! A stdio process and a legacy HTTP session have one state each. A 2026-07-28 request carries everything itself, so it
//! gets a new state or none. All mutable data about a peer is stored here, so peers cannot see each other's data.

mod in_flight;
pub(crate) mod peer_info;

use std::any::Any;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

#[cfg(feature = "http-server")]
use tokio::time::Instant;
use toolwire_proto::features::SupportedVersions;
use toolwire_proto::lifecycle::Lifecycle;
use toolwire_proto::requests::{self, ExchangeKey, InboundLedger, SendState};
use toolwire_proto::uri_template::MAX_URI_BYTES;
use toolwire_types::{
    ClientCapabilities, ErrorObject, Implementation, LoggingLevel, ProtocolVersion, RequestId,
};

pub(crate) use crate::engine::connection::in_flight::MessageSize;
use crate::engine::connection::in_flight::{InFlight, RunningEntry};
use crate::engine::connection::peer_info::PeerInfo;
use crate::engine::{Cancellation, NotificationQueue};
use crate::sync::lock;

/// The maximum number of resource subscriptions of one connection.
const MAX_SUBSCRIPTIONS: usize = 1024;

/// The minimum log level for legacy clients that never set one.
pub(crate) const DEFAULT_LOG_LEVEL: LoggingLevel = LoggingLevel::Info;

/// The state of one connection or session.
#[derive(Debug, Default)]
pub struct ConnectionState {
    peer: Mutex<PeerInfo>,
    /// The version of a completed handshake. It does not change any more.
    negotiated: OnceLock<ProtocolVersion>,
    in_flight: Mutex<InFlight>,
    /// Set if requests are running, or if none may run. If not set, a request can start without the ledger's lock.
    is_busy: AtomicBool,
    is_closed: AtomicBool,
    /// Created for the first caller that waits for the end of the connection.
    ended: OnceLock<Cancellation>,
    /// Created for the first notification with a handler.
    notifications: OnceLock<NotificationQueue>,
    /// Values that live as long as a subscription.
    subscription_values: Mutex<HashMap<String, Box<dyn Any + Send + Sync>>>,
}

impl ConnectionState {
    /// Creates the state of a new connection.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Like [`new`](Self::new), with a limit on the number of requests in flight.
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

    /// Creates the state of a connection whose peer is known.
    #[cfg(feature = "http-server")]
    pub(crate) fn with_peer(peer: PeerInfo) -> Self {
        let state = Self::new();
        *state.peer() = peer;
        state
    }

    /// Returns a copy of the handshake's state, for the admission of a request.
    #[inline]
    pub(crate) fn lifecycle(&self) -> Lifecycle {
        match self.negotiated.get() {
            Some(&version) => Lifecycle::Initialized { version },
            None => self.current_lifecycle(),
        }
    }

    #[cold]
    fn current_lifecycle(&self) -> Lifecycle {
        let lifecycle = self.peer().lifecycle;
        if let Lifecycle::Initialized { version } = lifecycle {
            self.negotiated.get_or_init(|| version);
        }
        lifecycle
    }

    /// Returns the version that `initialize` negotiated, or `None` before `initialize`.
    #[must_use]
    pub fn version(&self) -> Option<ProtocolVersion> {
        self.lifecycle().version()
    }

    /// Returns `true` if an `initialize` request succeeded.
    #[must_use]
    pub fn is_initialize_processed(&self) -> bool {
        self.version().is_some()
    }

    /// Returns `true` if `notifications/initialized` was received.
    #[must_use]
    pub fn is_initialized(&self) -> bool {
        self.lifecycle().is_initialized()
    }

    /// Returns the capabilities that the client declared at `initialize`. Empty before.
    #[must_use]
    pub fn client_capabilities(&self) -> Arc<ClientCapabilities> {
        Arc::clone(&self.peer().capabilities)
    }

    /// Returns the client's `clientInfo` from `initialize`.
    #[must_use]
    pub fn client_info(&self) -> Option<Arc<Implementation>> {
        self.peer().info.clone()
    }

    /// Returns the level that the client set with `logging/setLevel`.
    #[must_use]
    pub fn minimum_log_level(&self) -> Option<LoggingLevel> {
        self.peer().minimum_log_level
    }

    /// Negotiates the version of a legacy connection and stores the peer's data. If that was done before, returns the
    /// same version and changes nothing.
    pub(crate) fn initialize(
        &self,
        requested: &str,
        supported: &SupportedVersions,
        capabilities: ClientCapabilities,
        info: Option<Implementation>,
    ) -> Result<ProtocolVersion, ErrorObject> {
        let mut peer = self.peer();
        if let Some(version) = peer.lifecycle.version() {
            return Ok(version);
        }
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
        let value = lock(&self.subscription_values).remove(uri);
        // Dropped after the lock is released.
        drop(value);
    }

    /// Stores a value for as long as the subscription to a resource lasts.
    pub(crate) fn hold_subscription(&self, uri: &str, value: Box<dyn Any + Send + Sync>) {
        let previous = lock(&self.subscription_values).insert(uri.to_owned(), value);
        drop(previous);
    }

    /// Returns `true` if the client subscribed to a resource with `resources/subscribe`.
    #[must_use]
    pub fn is_subscribed(&self, uri: &str) -> bool {
        self.peer().subscriptions.contains(uri)
    }

    /// Returns the URIs of the resources that the client subscribed to.
    #[cfg(feature = "http-server")]
    pub(crate) fn subscriptions(&self) -> Vec<String> {
        self.peer().subscriptions.iter().cloned().collect()
    }

    /// Rejects a request if too many requests run, or if the messages of the running requests are too large together.
    #[inline]
    pub(crate) fn check_capacity(&self, size: MessageSize) -> Result<(), ErrorObject> {
        if self.is_busy.load(Ordering::Acquire) {
            self.check_capacity_in_ledger(size)
        } else {
            Ok(())
        }
    }

    #[inline(never)]
    fn check_capacity_in_ledger(&self, size: MessageSize) -> Result<(), ErrorObject> {
        Ok(self.in_flight().check_capacity(size)?)
    }

    /// Adds a request to the ledger of running requests, with the flag that cancels it.
    ///
    /// # Errors
    /// Returns an error under the conditions of [`check_capacity`](Self::check_capacity).
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
        let begun = Some(Instant::now());
        let key = in_flight.enter(id, cancellable, cancellation, size, begun);
        self.is_busy.store(true, Ordering::Release);
        Ok(key)
    }

    /// Adds a request whose capacity was checked before its first poll.
    pub(crate) fn enter(
        &self,
        id: &RequestId,
        cancellable: requests::CancelPolicy,
        cancellation: &Cancellation,
        size: MessageSize,
    ) -> ExchangeKey {
        let mut in_flight = self.in_flight();
        self.is_busy.store(true, Ordering::Release);
        in_flight.enter(id, cancellable, cancellation, size, None)
    }

    /// Returns `true` if requests are running.
    #[cfg(feature = "http-server")]
    pub(crate) fn has_requests(&self) -> bool {
        !self.in_flight().ledger.is_empty()
    }

    /// Sets the cancellation flag of each running request with this id, with the client's reason. Returns `false` if there
    /// is no such request.
    pub(crate) fn cancel(&self, id: &RequestId, reason: Option<&str>) -> bool {
        self.cancel_if(id, reason, |_| true)
    }

    /// Cancels like [`cancel`](Self::cancel), without the requests of [`begin`](Self::begin) that began after `last`.
    #[cfg(feature = "http-server")]
    pub(crate) fn cancel_begun_until(&self, id: &RequestId, last: Instant) -> bool {
        self.cancel_if(id, None, |running| {
            running.begun.is_none_or(|begun| begun <= last)
        })
    }

    fn cancel_if(
        &self,
        id: &RequestId,
        reason: Option<&str>,
        condition: impl Fn(&RunningEntry) -> bool,
    ) -> bool {
        let mut in_flight = self.in_flight();
        let mut is_running = false;
        for key in in_flight.ledger.cancel_if(id, condition) {
            if let Some(running) = in_flight.ledger.data(key) {
                match reason {
                    Some(reason) => running.cancellation.cancel_because(reason),
                    None => running.cancellation.cancel(),
                }
                is_running = true;
            }
        }
        is_running
    }

    /// Removes a request from the ledger. Returns `true` if its response may still be sent.
    pub(crate) fn finish(&self, key: ExchangeKey) -> bool {
        let mut in_flight = self.in_flight();
        let (may_send, running) = in_flight.ledger.finish(key);
        in_flight.bytes -= running.map_or(0, |running| running.bytes);
        self.is_busy.store(in_flight.is_busy(), Ordering::Release);
        may_send == SendState::Waiting
    }

    /// Sets all cancellation flags, because the peer disconnected.
    pub(crate) fn cancel_all(&self) {
        for running in self.in_flight().ledger.all_data() {
            running.cancellation.cancel();
        }
    }

    /// Records that the connection or session has ended.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        if let Some(ended) = self.ended.get() {
            ended.cancel();
        }
    }

    /// Returns a flag that is set when the connection or session has ended.
    pub(crate) fn ended(&self) -> Cancellation {
        let ended = self.ended.get_or_init(Cancellation::new);
        if self.is_closed() {
            ended.cancel();
        }
        ended.clone()
    }

    /// Returns `true` if the connection or session has ended.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// Returns the queue of the notifications that have handlers.
    pub(crate) fn notifications(&self) -> &NotificationQueue {
        self.notifications.get_or_init(NotificationQueue::default)
    }

    /// Locks the data about the peer.
    pub(crate) fn peer(&self) -> MutexGuard<'_, PeerInfo> {
        lock(&self.peer)
    }

    fn in_flight(&self) -> MutexGuard<'_, InFlight> {
        lock(&self.in_flight)
    }
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
    fn capabilities_are_limited_to_64_kib() {
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
        assert!(state.subscribe(&uri(3)).is_ok(), "the subscription exists");
        state.unsubscribe(&uri(3));
        assert!(state.subscribe(&uri(17)).is_ok());
    }

    #[test]
    fn subscribed_uri_is_limited_to_8_kib() {
        let state = ConnectionState::new();
        assert!(state.subscribe(&"a".repeat(MAX_URI_BYTES)).is_ok());
        let error = state.subscribe(&"a".repeat(MAX_URI_BYTES + 1)).unwrap_err();
        assert_eq!(error.code, -32602);
    }

    #[test]
    fn requests_beyond_the_limit_are_rejected() {
        let state = ConnectionState::with_limit(1);
        assert!(state.check_capacity(SMALL).is_ok());
        let key = enter(&state);
        assert!(state.check_capacity(SMALL).is_err());
        assert!(state.finish(key));
        assert!(state.check_capacity(SMALL).is_ok());
        assert!(
            ConnectionState::with_limit(0)
                .check_capacity(SMALL)
                .is_err(),
            "a limit of 0 permits no request"
        );
    }

    #[test]
    fn requests_beyond_the_byte_limit_are_rejected() {
        let state = ConnectionState::with_limit(10);
        let keys = [enter(&state), enter(&state)];
        assert!(state.check_capacity(SMALL).is_err());
        assert!(state.finish(keys[0]));
        assert!(state.check_capacity(SMALL).is_ok());
        assert!(state.finish(keys[1]));
        // A single request may have any size.
        let large = MessageSize { bytes: 26, ..SMALL };
        assert!(state.check_capacity(large).is_ok());
    }
}
