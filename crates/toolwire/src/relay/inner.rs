//! The state of a relay that all its requests share.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Weak};

use tokio::time::Instant;

use crate::engine::Principal;
use crate::error::Error;
use crate::relay::connector::{ConnectionOwners, UpstreamConnector};
use crate::relay::opening_sessions::OpeningSessions;
use crate::relay::parked::ParkedCalls;
use crate::relay::sessions::RelaySessions;
use crate::relay::shared_upstream::{SharedUpstream, SharedUpstreams};
use crate::relay::upstream::Upstream;

/// The state of a relay.
#[derive(Debug)]
pub(super) struct RelayInner {
    pub(super) connector: Arc<UpstreamConnector>,
    pub(super) sessions: Arc<RelaySessions>,
    pub(super) opening: Arc<OpeningSessions>,
    pub(super) shared: Arc<SharedUpstreams>,
    pub(super) parked: ParkedCalls,
    /// Set if the upstream server is modern and accepts no sessions.
    pub(super) rejects_sessions: AtomicBool,
}

impl RelayInner {
    pub(super) fn new(upstream: Upstream) -> Self {
        let connector = Arc::new(UpstreamConnector::new(upstream));
        let shared = Arc::<SharedUpstreams>::default();
        let sessions = Arc::<RelaySessions>::default();
        let of_principals: Weak<SharedUpstreams> = Arc::downgrade(&shared);
        let of_clients: Weak<RelaySessions> = Arc::downgrade(&sessions);
        connector.set_owners(ConnectionOwners {
            of_principals,
            of_clients,
        });
        Self {
            connector,
            sessions,
            opening: Arc::default(),
            shared,
            parked: ParkedCalls::default(),
            rejects_sessions: AtomicBool::new(false),
        }
    }

    /// Returns the connection for requests of a principal without a session. While there are too many connections, waits
    /// until the deadline.
    pub(super) async fn shared(
        &self,
        principal: Principal,
        deadline: Instant,
    ) -> Result<SharedUpstream, Error> {
        let owner = self.connector.owner(principal);
        let (connector, parked) = (&self.connector, &self.parked);
        self.shared.get(owner, deadline, connector, parked).await
    }

    /// Closes all connections to the upstream server and waits until their resources are released.
    pub(super) async fn close(&self) {
        let clients = self.connector.close();
        // Dropping parked calls cancels them. Their connections are among those of the clients.
        self.parked.clear();
        drop(self.sessions.take_all());
        self.shared.clear();
        let closing: Vec<_> = clients
            .into_iter()
            .map(|client| tokio::spawn(async move { client.close().await }))
            .collect();
        for task in closing {
            // A panic in one task must not keep the others open.
            drop(task.await);
        }
    }
}
