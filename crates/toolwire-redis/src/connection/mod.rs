//! The connection that all stores share.
//!
//! A connection that is lost is replaced in the background, without end. Calls wait for the first attempt only: once an
//! attempt failed, calls fail at once until the engine is back. An engine that stops to respond counts as lost after
//! several timeouts, so that later calls do not wait for it.

mod backoff;
mod cluster;
mod engine_connection;
mod engine_url;
mod fault;
mod reconnects;
mod request;
mod target;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use redis::{ErrorKind, FromRedisValue, RedisError};
use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, sleep, timeout};
use toolwire::store::StoreError;

use crate::call_observer::{CallObserver, outcome_name};
use crate::counters::{CountedEvent, CountedStore, LiveCounters};
use crate::{ConnectError, RedisOptions};
pub(crate) use backoff::Backoff;
use engine_connection::EngineConnection;
use fault::Fault;
pub(crate) use fault::ReportedOnce;
pub(crate) use reconnects::Reconnects;
pub(crate) use request::{Repeat, Request};
pub(crate) use target::Target;

/// The number of timeouts in a row after which the connection counts as lost.
const TIMEOUTS_UNTIL_LOST: u32 = 5;

/// A connection to the engine. Clones share it.
#[derive(Clone)]
pub(crate) struct Connection {
    shared: Arc<SharedConnection>,
    /// The store whose requests are counted.
    store: CountedStore,
}

struct SharedConnection {
    target: Arc<Target>,
    /// How long a call waits for the first attempt to connect again.
    connect_timeout: Duration,
    state: watch::Sender<State>,
    /// The number of timeouts since the last response.
    timeouts: AtomicU32,
    /// One permit for each command that may wait for a response.
    in_flight: Semaphore,
    max_in_flight: usize,
    counters: LiveCounters,
    observer: Option<CallObserver>,
    /// Faults of the configuration, since the last connection was opened.
    misconfiguration: ReportedOnce,
}

#[derive(Clone)]
enum State {
    Connected {
        connection: EngineConnection,
        /// The number of this connection.
        number: u64,
    },
    /// The connection was lost, and the first attempt to replace it is under way.
    Connecting,
    /// An attempt to replace the connection failed. Others follow.
    Down,
}

impl Connection {
    /// Connects to the engine.
    pub(crate) async fn open(
        target: Arc<Target>,
        options: &RedisOptions,
    ) -> Result<Self, ConnectError> {
        let connection = target.connect().await;
        let connection = connection.map_err(ConnectError::not_connected)?;
        let state = State::Connected {
            connection,
            number: 1,
        };
        Ok(Self {
            shared: Arc::new(SharedConnection {
                target,
                connect_timeout: options.connect_timeout,
                state: watch::Sender::new(state),
                timeouts: AtomicU32::new(0),
                in_flight: Semaphore::new(options.commands_in_flight),
                max_in_flight: options.commands_in_flight,
                counters: LiveCounters::default(),
                observer: options.observer.clone(),
                misconfiguration: ReportedOnce::default(),
            }),
            store: CountedStore::Other,
        })
    }

    /// Returns the same connection for the requests of a store.
    pub(crate) fn of_store(&self, store: CountedStore) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            store,
        }
    }

    pub(crate) fn counters(&self) -> &LiveCounters {
        &self.shared.counters
    }

    pub(crate) fn count_event(&self, event: CountedEvent) {
        self.shared.counters.count_event(event);
    }

    pub(crate) fn is_connected(&self) -> bool {
        matches!(&*self.shared.state.borrow(), State::Connected { .. })
    }

    /// Returns the number of requests that wait for a response.
    pub(crate) fn in_flight(&self) -> usize {
        let free = self.shared.in_flight.available_permits();
        self.shared.max_in_flight.saturating_sub(free)
    }

    /// Sends a request and returns the decoded response. If the connection or the response is lost, a request that may
    /// be repeated is sent once more.
    pub(crate) async fn send<T: FromRedisValue>(
        &self,
        request: impl Into<Request<'_>>,
        repeat: Repeat,
    ) -> Result<T, StoreError> {
        let start = Instant::now();
        let request = request.into();
        let observer = self.shared.observer.as_ref();
        let end = observer.map(|observer| observer.start(self.store.name(), &request.operation()));
        let outcome = self.send_uncounted(request, repeat).await;
        if let Some(end) = end {
            end(outcome_name(&outcome));
        }
        let counters = &self.shared.counters;
        counters.count(self.store, &outcome, start.elapsed());
        outcome
    }

    async fn send_uncounted<T: FromRedisValue>(
        &self,
        request: Request<'_>,
        repeat: Repeat,
    ) -> Result<T, StoreError> {
        let _permit = self.shared.in_flight.try_acquire().map_err(|_| {
            StoreError::unavailable("too many commands wait for a response of the engine")
        })?;
        let mut response = self.attempt(&request).await;
        if let Err(fault) = &response
            && repeat.permits(fault)
        {
            response = match self.attempt(&request).await {
                // The first execution may have had an effect, whatever prevented the second one.
                Err(repeated) if repeated.is_unexecuted() => response,
                repeated => repeated,
            };
        }
        let value = response.map_err(StoreError::from)?;
        T::from_redis_value(value).map_err(StoreError::unavailable)
    }

    /// Returns the connections that replace the current one.
    pub(crate) fn reconnects(&self) -> Reconnects {
        Reconnects::new(self)
    }

    /// Checks that the engine responds.
    pub(crate) async fn check(&self) -> Result<(), StoreError> {
        self.send(&redis::cmd("PING"), Repeat::Harmless).await
    }

    async fn attempt(&self, request: &Request<'_>) -> Result<redis::Value, Fault> {
        let (mut connection, number) = self.connected().await?;
        match connection.send(request).await {
            Ok(value) => {
                self.shared.timeouts.store(0, Ordering::Relaxed);
                Ok(value)
            }
            Err(error) => {
                let fault = Fault::of(error);
                self.note(&fault, number);
                Err(fault)
            }
        }
    }

    /// Returns the current connection and its number.
    async fn connected(&self) -> Result<(EngineConnection, u64), Fault> {
        let mut state = self.shared.state.subscribe();
        let is_settled = |state: &State| !matches!(state, State::Connecting);
        let settled = timeout(self.shared.connect_timeout, state.wait_for(is_settled)).await;
        match settled {
            Ok(Ok(state)) => match &*state {
                State::Connected { connection, number } => Ok((connection.clone(), *number)),
                State::Connecting | State::Down => Err(Fault::Disconnected),
            },
            Ok(Err(_)) | Err(_) => Err(Fault::Disconnected),
        }
    }

    /// Replaces the connection if a fault means that it is lost.
    fn note(&self, fault: &Fault, number: u64) {
        let is_lost = match fault {
            Fault::Lost(_) => true,
            // The timeouts of a connection that was replaced say nothing about the current one.
            Fault::Timeout(_) if self.is_current(number) => {
                let timeouts = self.shared.timeouts.fetch_add(1, Ordering::Relaxed) + 1;
                timeouts >= TIMEOUTS_UNTIL_LOST
            }
            Fault::Misconfigured(error) => {
                let reported = &self.shared.misconfiguration;
                reported.report(error, "a command of a store fails");
                false
            }
            Fault::Timeout(_) | Fault::Disconnected | Fault::Full | Fault::Rejected(_) => false,
        };
        if is_lost {
            self.replace(number);
        }
    }

    fn is_current(&self, connection: u64) -> bool {
        matches!(&*self.shared.state.borrow(), State::Connected { number, .. } if *number == connection)
    }

    /// Replaces a connection in the background, unless that has begun already.
    fn replace(&self, lost: u64) {
        let begins = self.shared.state.send_if_modified(|state| {
            let begins = matches!(state, State::Connected { number, .. } if *number == lost);
            if begins {
                *state = State::Connecting;
            }
            begins
        });
        if begins {
            tracing::warn!("the connection to the engine was lost; connecting again");
            let lost_connections = &self.shared.counters.lost_connections;
            lost_connections.fetch_add(1, Ordering::Relaxed);
            tokio::spawn(connect_again(self.clone(), lost + 1));
        }
    }
}

impl fmt::Debug for Connection {
    /// Omits the URL, because it may contain a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").finish_non_exhaustive()
    }
}

/// Connects until it succeeds, or until no store uses the connection any more.
async fn connect_again(connection: Connection, number: u64) {
    let shared = Arc::downgrade(&connection.shared);
    drop(connection);
    let mut backoff = Backoff::new();
    loop {
        let Some(current) = shared.upgrade() else {
            return;
        };
        match connect_and_check(&current).await {
            Ok(connection) => {
                tracing::info!("connected to the engine again");
                current.counters.reconnects.fetch_add(1, Ordering::Relaxed);
                current.timeouts.store(0, Ordering::Relaxed);
                current.misconfiguration.reset();
                current
                    .state
                    .send_replace(State::Connected { connection, number });
                return;
            }
            Err(error) => {
                let consequence = "the engine cannot be used yet";
                current.misconfiguration.report(&error, consequence);
                current.state.send_replace(State::Down);
            }
        }
        drop(current);
        sleep(backoff.next_pause()).await;
    }
}

/// Opens a connection on which the engine responds and accepts writes. An engine that is stopped or loads its data accepts
/// connections, too. A former primary responds, but rejects writes. In a cluster, requests follow the primaries.
async fn connect_and_check(shared: &SharedConnection) -> Result<EngineConnection, RedisError> {
    let mut connection = shared.target.connect().await?;
    // An engine that loads its data rejects it, but not `INFO`.
    let ping = redis::cmd("PING");
    connection.send(&Request::Command(&ping)).await?;
    if shared.target.is_cluster() {
        return Ok(connection);
    }
    let mut info = redis::cmd("INFO");
    info.arg("replication");
    let info = connection.send(&Request::Command(&info)).await?;
    if String::from_redis_value(info)?.contains("role:slave") {
        let rejected = (ErrorKind::Client, "the engine is a replica");
        return Err(rejected.into());
    }
    Ok(connection)
}

/// Returns a duration as the engine expects it: in milliseconds, and not zero.
pub(crate) fn milliseconds(duration: Duration) -> u64 {
    // Larger numbers would not be exact in scripts.
    const MAX: u64 = 1 << 50;
    let milliseconds = u64::try_from(duration.as_millis()).unwrap_or(MAX);
    milliseconds.clamp(1, MAX)
}
