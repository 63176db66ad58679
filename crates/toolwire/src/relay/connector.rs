//! Opens connections to the upstream server, within the limits on their number and with pauses after failures.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use toolwire_proto::negotiate::rejects_legacy_era;
use toolwire_proto::requests::overloaded_error;
use toolwire_types::{ErrorObject, RawJson};

use crate::client::Client;
use crate::engine::Principal;
use crate::error::Error;
use crate::relay::backoff::UpstreamBackoff;
use crate::relay::connection::UpstreamConnection;
use crate::relay::credentials::is_credential_error;
use crate::relay::idle_sessions::IdleSessions;
use crate::relay::messages::UpstreamMessages;
use crate::relay::open_connections::{ConnectionPermit, OpenConnections};
use crate::relay::upstream::{Sharing, Upstream};

/// Opens the connections of a relay.
#[derive(Debug)]
pub(super) struct UpstreamConnector {
    upstream: Upstream,
    backoff: UpstreamBackoff,
    open: Arc<OpenConnections>,
    pub(super) idle: IdleSessions,
    /// Other connections that can be closed for a new one.
    unused: OnceLock<Weak<dyn UnusedConnections>>,
    /// Whether the upstream server is a process that each connection starts. Unknown before the first connection.
    is_process: OnceLock<bool>,
    /// Held while the first connection is opened, because its kind decides about the limit.
    first: tokio::sync::Mutex<()>,
    is_closed: AtomicBool,
}

/// The owner of connections that no request uses.
pub(super) trait UnusedConnections: fmt::Debug + Send + Sync {
    /// Removes a connection that no request uses.
    fn take_unused(&self) -> Option<UpstreamConnection>;
}

impl UpstreamConnector {
    pub(super) fn new(upstream: Upstream) -> Self {
        Self {
            upstream,
            backoff: UpstreamBackoff::default(),
            open: Arc::default(),
            idle: IdleSessions::default(),
            unused: OnceLock::new(),
            is_process: OnceLock::new(),
            first: tokio::sync::Mutex::default(),
            is_closed: AtomicBool::new(false),
        }
    }

    /// Sets the owner of connections that can be closed for a new one. Only the first call has an effect.
    pub(super) fn set_unused(&self, unused: Weak<dyn UnusedConnections>) {
        let _ = self.unused.set(unused);
    }

    /// Returns the name of the upstream server.
    pub(super) fn name(&self) -> &str {
        &self.upstream.name
    }

    /// Returns the principal whose connections a request uses.
    pub(super) fn owner(&self, principal: Principal) -> Principal {
        match self.upstream.sharing {
            Sharing::Shared if !self.upstream.has_credentials_per_caller() => {
                Principal::anonymous()
            }
            Sharing::Shared | Sharing::PerPrincipal => principal,
        }
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
        self.open(opening, |error| !is_other_era(error)).await
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
        self.open(opening, |error| !may_be_modern(error)).await
    }

    /// Opens a connection for the modern requests of a principal. If the server is legacy, the connection is a session without capabilities,
    /// whose initialization the caller ends.
    ///
    /// # Errors
    /// Returns an error under the conditions of [`open_legacy`](Self::open_legacy).
    pub(super) async fn open_shared(
        &self,
        principal: &Principal,
    ) -> Result<UpstreamConnection, Error> {
        let owner = self.owner(principal.clone());
        let opening = self.upstream.open_shared(&owner, Arc::default());
        self.open(opening, |_| true).await
    }

    async fn open(
        &self,
        opening: impl Future<Output = Result<UpstreamConnection, Error>>,
        is_failure: impl FnOnce(&Error) -> bool,
    ) -> Result<UpstreamConnection, Error> {
        self.check_open()?;
        let _first = match self.is_process.get() {
            Some(_) => None,
            None => Some(self.first.lock().await),
        };
        let attempt = self.backoff.start()?;
        let permit = self.permit().await?;
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
        // The relay may have been closed in the meantime.
        self.check_open()?;
        Ok(connection)
    }

    /// Returns `true` if the credentials of one caller are the reason of an error. Then other callers need no pause.
    fn is_failure_of_caller(&self, error: &Error) -> bool {
        self.upstream.has_credentials_per_caller() && is_credential_error(error)
    }

    /// Returns the permit for a connection. Closes an idle connection for it if necessary.
    async fn permit(&self) -> Result<ConnectionPermit, Error> {
        let is_process = self.is_process.get().copied().unwrap_or_default();
        let sessions = self.upstream.max_sessions;
        let limit = if is_process {
            self.upstream.max_processes.min(sessions)
        } else {
            sessions
        };
        loop {
            if let Some(permit) = self.open.try_acquire(limit) {
                return Ok(permit);
            }
            let unused = self.idle.take_oldest().or_else(|| {
                let unused = self.unused.get()?.upgrade()?;
                unused.take_unused()
            });
            let Some(unused) = unused else {
                let name = self.name();
                let (what, setting) = if is_process {
                    ("processes", "with_max_processes")
                } else {
                    ("sessions", "with_max_sessions")
                };
                return Err(Error::from(overloaded_error(format!(
                    "the relay has {limit} {what} of the upstream server `{name}`, which is the limit; close a client, \
                     or raise the limit with `Upstream::{setting}`"
                ))));
            };
            unused.client.close().await;
        }
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

    /// Permits no further connections. Returns the clients of all connections, which the caller closes.
    pub(super) fn close(&self) -> Vec<Client> {
        self.is_closed.store(true, Ordering::Release);
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
