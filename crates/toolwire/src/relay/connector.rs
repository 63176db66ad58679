//! Opens connections to the upstream server, within the limits on their number and with pauses after failures.

use std::fmt;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use tokio::time::Instant;
use toolwire_proto::features::VersionFeatures;
use toolwire_proto::negotiate::rejects_legacy_era;
use toolwire_proto::requests::overloaded_error;
use toolwire_types::{ErrorObject, RawJson};

use crate::client::Client;
use crate::engine::Principal;
use crate::error::Error;
use crate::relay::backoff::{Attempt, UpstreamBackoff};
use crate::relay::connection::UpstreamConnection;
use crate::relay::credentials::is_credential_error;
use crate::relay::idle_sessions::IdleSessions;
use crate::relay::messages::UpstreamMessages;
use crate::relay::open_connections::{
    ConnectionLimits, ConnectionPermit, ConnectionUse, OpenConnections, ReachedLimit,
};
use crate::relay::session_owner::SessionOwner;
use crate::relay::upstream::{Sharing, Upstream};

/// How long a request of a modern client waits for a connection, unless the timeout of the upstream server is shorter.
const CONNECTION_WAIT: Duration = Duration::from_secs(30);

/// Opens the connections of a relay.
#[derive(Debug)]
pub(super) struct UpstreamConnector {
    upstream: Upstream,
    backoff: UpstreamBackoff,
    open: Arc<OpenConnections>,
    pub(super) idle: IdleSessions,
    /// The owners of other connections that can be closed for a new one.
    owners: OnceLock<ConnectionOwners>,
    /// Whether the upstream server is a process that each connection starts. Unknown before the first connection.
    is_process: OnceLock<bool>,
    /// Held while the first connection is opened, because its kind decides about the limit.
    first: tokio::sync::Mutex<()>,
    /// Whether the last shared connection showed that the server is modern. Then calls need no sessions of their own.
    is_modern: AtomicBool,
    is_closed: AtomicBool,
}

/// The owner of connections that no request uses.
pub(super) trait UnusedConnections: fmt::Debug + Send + Sync {
    /// Removes a connection that no request uses.
    fn take_unused(&self) -> Option<UpstreamConnection>;
}

/// The owners of connections that can be closed for a new one.
#[derive(Debug)]
pub(super) struct ConnectionOwners {
    pub(super) of_principals: Weak<dyn UnusedConnections>,
    pub(super) of_clients: Weak<dyn UnusedConnections>,
}

/// The connection that a request needs.
#[derive(Debug, Clone, Copy)]
struct Demand<'a> {
    used_for: ConnectionUse,
    /// The client whose idle sessions can be used.
    owner: Option<&'a SessionOwner>,
    /// How long the request waits for other requests.
    deadline: Instant,
}

/// A session that can be used, or the permit to open one.
#[derive(Debug)]
enum Free<'a> {
    Session(UpstreamConnection),
    Permit(ConnectionPermit, Attempt<'a>),
}

impl UpstreamConnector {
    pub(super) fn new(upstream: Upstream) -> Self {
        Self {
            idle: IdleSessions::new(upstream.idle),
            upstream,
            backoff: UpstreamBackoff::default(),
            open: Arc::default(),
            owners: OnceLock::new(),
            is_process: OnceLock::new(),
            first: tokio::sync::Mutex::default(),
            is_modern: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
        }
    }

    /// Sets the owners of connections that can be closed for a new one. Only the first call has an effect.
    pub(super) fn set_owners(&self, owners: ConnectionOwners) {
        let _ = self.owners.set(owners);
    }

    /// Returns the name of the upstream server.
    pub(super) fn name(&self) -> &str {
        &self.upstream.name
    }

    /// Returns how long the connection of a principal may be idle.
    pub(super) fn idle_timeout(&self) -> Duration {
        self.upstream.idle.timeout
    }

    /// Returns the principal whose connections a request uses.
    pub(super) fn owner(&self, principal: Principal) -> Principal {
        if self.is_shared() {
            Principal::anonymous()
        } else {
            principal
        }
    }

    /// Returns `true` if callers of several principals use the same connections.
    fn is_shared(&self) -> bool {
        self.upstream.sharing == Sharing::Shared && !self.upstream.has_credentials_per_caller()
    }

    /// Creates the receiver of messages for a connection that callers share.
    pub(super) fn shared_messages(&self) -> Arc<UpstreamMessages> {
        Arc::new(if self.is_shared() {
            UpstreamMessages::of_several_principals()
        } else {
            UpstreamMessages::default()
        })
    }

    /// Returns until when a request that arrives now waits for connections.
    pub(super) fn deadline(&self) -> Instant {
        Instant::now() + self.upstream.timeout.min(CONNECTION_WAIT)
    }

    /// Opens a legacy session for a principal, with these parameters of `initialize`.
    ///
    /// # Errors
    /// Returns an error if the server cannot be reached, during the pause after a failure, and if there are too many
    /// connections.
    pub(super) async fn open_legacy(
        &self,
        principal: &Principal,
        initialize: RawJson,
        messages: Arc<UpstreamMessages>,
    ) -> Result<UpstreamConnection, Error> {
        let owner = self.owner(principal.clone());
        let opening = self.upstream.open_legacy(&owner, initialize, messages);
        let is_failure = |error: &Error| !is_other_era(error);
        let demand = self.legacy_client_demand();
        self.open(demand, opening, is_failure).await
    }

    /// Opens a legacy session like [`open_legacy`](Self::open_legacy), with a server that may be modern. An error for
    /// which [`may_be_modern`] returns `true` does not count as a failure, because the caller then opens a shared
    /// connection.
    pub(super) async fn try_legacy(
        &self,
        principal: &Principal,
        initialize: RawJson,
    ) -> Result<UpstreamConnection, Error> {
        let owner = self.owner(principal.clone());
        let messages = Arc::default();
        let opening = self.upstream.open_legacy(&owner, initialize, messages);
        let is_failure = |error: &Error| !may_be_modern(error);
        let demand = self.legacy_client_demand();
        self.open(demand, opening, is_failure).await
    }

    /// Opens a connection like [`try_legacy`](Self::try_legacy). With a command that supports no legacy revision, it is
    /// modern, so that the command is not started again. The caller then [shares](Self::share) it.
    pub(super) async fn try_legacy_or_modern(
        &self,
        principal: &Principal,
        initialize: RawJson,
    ) -> Result<UpstreamConnection, Error> {
        let owner = self.owner(principal.clone());
        let (upstream, messages) = (&self.upstream, Arc::default());
        let opening = upstream.open_legacy_or_modern(&owner, initialize, messages);
        let is_failure = |error: &Error| !may_be_modern(error);
        let demand = self.legacy_client_demand();
        self.open(demand, opening, is_failure).await
    }

    /// Uses the connection of a legacy client with a modern server for all requests of its principal.
    pub(super) fn share(&self, connection: &UpstreamConnection) {
        if self.is_shared() {
            connection.messages.set_of_several_principals();
        }
        if let Some(permit) = &connection.permit {
            permit.set_use(ConnectionUse::Principal);
        }
        self.set_modern(true);
    }

    /// Records the era of the last shared connection.
    fn set_modern(&self, is_modern: bool) {
        if self.is_modern.swap(is_modern, Ordering::AcqRel) != is_modern {
            // Another limit applies to the requests that wait.
            self.open.notify_all();
        }
    }

    fn legacy_client_demand(&self) -> Demand<'static> {
        Demand {
            used_for: ConnectionUse::LegacyClient,
            owner: None,
            deadline: self.deadline(),
        }
    }

    /// Returns `true` if a request can have a session of its own, beside the connection of its principal.
    pub(super) fn permits_sessions_of_calls(&self) -> bool {
        self.limits().all >= 2
    }

    /// Returns an idle session of a client, or opens one and ends its initialization. While there are too many
    /// connections, waits until the deadline.
    ///
    /// # Errors
    /// Returns an error under the conditions of [`open_legacy`](Self::open_legacy).
    pub(super) async fn check_out(
        &self,
        owner: &SessionOwner,
        deadline: Instant,
        initialize: RawJson,
        messages: Arc<UpstreamMessages>,
    ) -> Result<UpstreamConnection, Error> {
        let opening = async {
            let principal = self.owner(owner.principal.clone());
            let opening = self.upstream.open_legacy(&principal, initialize, messages);
            let session = opening.await?;
            session.end_initialization(None).await?;
            Ok(session)
        };
        let is_failure = |error: &Error| !is_other_era(error);
        let demand = Demand {
            used_for: ConnectionUse::Call,
            owner: Some(owner),
            deadline,
        };
        self.open(demand, opening, is_failure).await
    }

    /// Stores a session that no request uses any more, for the next request of its client.
    pub(super) fn check_in(&self, owner: SessionOwner, session: UpstreamConnection) {
        // A session beyond the limit is closed.
        drop(self.idle.store(owner, session));
        self.retry_waiting();
    }

    /// Lets the request that waits longest for a connection try again.
    pub(super) fn retry_waiting(&self) {
        self.open.notify_freed();
    }

    /// Opens a connection for the modern requests of a principal. If the server is legacy, the connection is a session
    /// without capabilities, whose initialization the caller ends. While there are too many connections, waits until the
    /// deadline.
    ///
    /// # Errors
    /// Returns an error under the conditions of [`open_legacy`](Self::open_legacy).
    pub(super) async fn open_shared(
        &self,
        principal: &Principal,
        deadline: Instant,
    ) -> Result<UpstreamConnection, Error> {
        let owner = self.owner(principal.clone());
        let opening = self.upstream.open_shared(&owner, self.shared_messages());
        let demand = Demand {
            used_for: ConnectionUse::Principal,
            owner: None,
            deadline,
        };
        let connection = self.open(demand, opening, |_| true).await?;
        self.set_modern(connection.version().is_modern());
        Ok(connection)
    }

    /// Returns an idle session of the owner, or the connection that `opening` opens.
    async fn open(
        &self,
        demand: Demand<'_>,
        opening: impl Future<Output = Result<UpstreamConnection, Error>>,
        is_failure: impl FnOnce(&Error) -> bool,
    ) -> Result<UpstreamConnection, Error> {
        self.check_open()?;
        // The first connection shows which limit applies, so the others wait for it.
        let mut first = None;
        if self.is_process.get().is_none() {
            let locked = tokio::time::timeout_at(demand.deadline, self.first.lock()).await;
            first = Some(locked.map_err(|_| self.limit_error())?);
        }
        if self.is_process.get().is_some() {
            first = None;
        }
        let found = self.free(demand).await;
        // This request may have been woken for a connection that it does not use.
        let found = found.inspect_err(|_| self.retry_waiting());
        let (permit, attempt) = match found? {
            Free::Session(session) => return Ok(session),
            Free::Permit(permit, attempt) => (permit, attempt),
        };
        let mut connection = match opening.await {
            Ok(connection) => connection,
            Err(error) => {
                if is_failure(&error) && !self.is_failure_of_caller(&error) {
                    attempt.fail(&error);
                }
                return Err(error);
            }
        };
        attempt.succeed();
        let client = connection.client.clone();
        self.is_process.get_or_init(|| client.starts_process());
        permit.set_client(client);
        connection.permit = Some(Arc::new(permit));
        drop(first);
        // The relay may have been closed in the meantime.
        self.check_open()?;
        Ok(connection)
    }

    /// Returns `true` if the credentials of one caller are the reason of an error. Then other callers need no pause.
    fn is_failure_of_caller(&self, error: &Error) -> bool {
        self.upstream.has_credentials_per_caller() && is_credential_error(error)
    }

    /// Returns an idle session of the owner, or the permit for a connection. Closes a connection that no request uses if
    /// necessary, the session that was idle for the longest time first.
    async fn free(&self, demand: Demand<'_>) -> Result<Free<'_>, Error> {
        let used_for = demand.used_for;
        loop {
            let mut freed = pin!(self.open.freed());
            // Registered before the checks, so that no release is missed.
            freed.as_mut().enable();
            self.check_open()?;
            if let Some(session) = demand.owner.and_then(|owner| self.idle.take(owner)) {
                return Ok(Free::Session(session));
            }
            let attempt = self.backoff.start()?;
            let reached = match self.open.try_acquire(used_for, self.limits()) {
                Ok(permit) => return Ok(Free::Permit(permit, attempt)),
                Err(reached) => reached,
            };
            // Others may try while this request waits.
            drop(attempt);
            // Dropping an unused connection closes it.
            let is_freed = self.open.is_closing() || self.take_unused(reached).map(drop).is_some();
            // The sessions of legacy clients may be open for hours.
            let may_wait = is_freed || used_for != ConnectionUse::LegacyClient;
            let freed = tokio::time::timeout_at(demand.deadline, freed);
            if !may_wait || freed.await.is_err() {
                return Err(self.limit_error());
            }
        }
    }

    /// Removes a connection that no request uses, and that counts for this limit. The session of a legacy client is the
    /// last choice, because the server may have state for it.
    fn take_unused(&self, reached: ReachedLimit) -> Option<UpstreamConnection> {
        let owners = self.owners.get()?;
        let of_principals = || owners.of_principals.upgrade()?.take_unused();
        let of_clients = || owners.of_clients.upgrade()?.take_unused();
        match reached {
            ReachedLimit::Principals => of_principals(),
            ReachedLimit::All => self
                .idle
                .take_oldest()
                .or_else(of_principals)
                .or_else(of_clients),
        }
    }

    /// Returns `true` if each connection starts a process. Before the first connection, returns `false`.
    fn starts_processes(&self) -> bool {
        self.is_process.get().copied().unwrap_or_default()
    }

    /// Returns the maximum number of connections. A request of a principal holds its connection while it waits for the
    /// session of a call. So one connection stays for such sessions, unless the server is modern and needs none.
    fn limits(&self) -> ConnectionLimits {
        let sessions = self.upstream.max_sessions;
        let all = if self.starts_processes() {
            self.upstream.max_processes.min(sessions)
        } else {
            sessions
        };
        let principals = if self.is_modern.load(Ordering::Acquire) {
            all
        } else {
            all.saturating_sub(1).max(1)
        };
        ConnectionLimits { all, principals }
    }

    /// Returns what the limit counts, and the method that sets it.
    fn limit_names(&self) -> (&'static str, &'static str) {
        if self.starts_processes() {
            ("processes", "with_max_processes")
        } else {
            ("sessions", "with_max_sessions")
        }
    }

    fn limit_error(&self) -> Error {
        let (limit, name) = (self.limits().all, self.name());
        let (what, setting) = self.limit_names();
        Error::from(overloaded_error(format!(
            "the relay has {limit} {what} of the upstream server `{name}`, which is the limit; close a client, or raise \
             the limit with `Upstream::{setting}`"
        )))
    }

    /// Records the loss of a connection, once. A server that ends soon after each start is not started at once again.
    pub(super) fn record_loss(&self, lost: &UpstreamConnection) {
        if let Some(permit) = &lost.permit
            && permit.set_lost()
        {
            self.backoff.record_loss(permit.acquired());
        }
    }

    /// Checks that the relay is not closed.
    ///
    /// # Errors
    /// Returns an error if it is.
    pub(super) fn check_open(&self) -> Result<(), Error> {
        if self.is_closed.load(Ordering::Acquire) {
            return Err(Error::from(ErrorObject::internal("the relay is closed")));
        }
        Ok(())
    }

    /// Returns the number of connections, including those that are being opened or closed.
    pub(super) fn open_connections(&self) -> usize {
        self.open.len()
    }

    /// Returns whether the last attempt reached the server, or `None` before the end of the first one.
    pub(super) fn is_reached(&self) -> Option<bool> {
        self.backoff.is_reached()
    }

    /// Permits no further connections. Returns the clients of all connections, which the caller closes.
    pub(super) fn close(&self) -> Vec<Client> {
        self.is_closed.store(true, Ordering::Release);
        self.open.notify_all();
        let clients = self.open.clients();
        drop(self.idle.take_all());
        clients
    }
}

/// Returns `true` if an error of `initialize` means that the server supports no legacy revision.
pub(super) fn is_other_era(error: &Error) -> bool {
    rejects_legacy_era(error.http_status(), error.rpc())
}

/// Returns `true` if an error of `initialize` may come from a modern server, which may also exit or not respond.
pub(super) fn may_be_modern(error: &Error) -> bool {
    is_other_era(error) || error.is_closed() || error.is_timeout()
}
