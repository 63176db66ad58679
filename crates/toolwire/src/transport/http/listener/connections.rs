//! The connection tasks of a listener.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::{Id, JoinSet};

use crate::engine::BoxFuture;

/// How long aborted connections may take to end.
const ABORT_TIMEOUT: Duration = Duration::from_secs(1);

/// The open connections. Dropping it aborts them.
#[derive(Debug, Default)]
pub(super) struct Connections {
    tasks: JoinSet<()>,
    /// One channel for each task. A connection polls its channel whenever it is woken, and a shared channel would make
    /// all connections contend for one lock.
    shutdown_senders: HashMap<Id, oneshot::Sender<()>>,
    /// The networks of the clients, if connections are counted for each network.
    networks: HashMap<Id, IpAddr>,
    per_network: HashMap<IpAddr, usize>,
}

impl Connections {
    /// Returns `true` if the network of a client has fewer than `limit` open connections.
    pub(super) fn has_capacity(&self, network: IpAddr, limit: usize) -> bool {
        self.per_network.get(&network).copied().unwrap_or(0) < limit
    }

    /// Starts a connection and counts it for `network`, if given. The channel signals the connection to shut down.
    pub(super) fn start<F>(
        &mut self,
        network: Option<IpAddr>,
        connection: impl FnOnce(oneshot::Receiver<()>) -> F,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        let (sender, shutdown) = oneshot::channel();
        // Boxed, so that the code of the runtime is not compiled again for this future.
        let connection: BoxFuture<'_, ()> = Box::pin(connection(shutdown));
        let task = self.tasks.spawn(connection);
        self.shutdown_senders.insert(task.id(), sender);
        if let Some(network) = network {
            self.networks.insert(task.id(), network);
            *self.per_network.entry(network).or_default() += 1;
        }
    }

    pub(super) fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Waits for the end of one connection. Returns `None` if there is no connection.
    ///
    /// # Cancellation
    /// Dropping the future loses no ended connection.
    pub(super) async fn next_ended(&mut self) -> Option<()> {
        let id = match self.tasks.join_next_with_id().await? {
            Ok((id, ())) => id,
            Err(error) => {
                if error.is_panic() {
                    tracing::error!(%error, "a connection panicked");
                }
                error.id()
            }
        };
        self.shutdown_senders.remove(&id);
        if let Some(network) = self.networks.remove(&id) {
            self.release(network);
        }
        Some(())
    }

    fn release(&mut self, network: IpAddr) {
        if let Some(count) = self.per_network.get_mut(&network) {
            *count -= 1;
            if *count == 0 {
                self.per_network.remove(&network);
            }
        }
    }

    /// Signals every connection to end after its current requests.
    pub(super) fn start_shutdown(&mut self) {
        self.shutdown_senders.clear();
    }

    /// Waits until no connection is left.
    pub(super) async fn all_ended(&mut self) {
        while self.next_ended().await.is_some() {}
    }

    /// Aborts the remaining connections.
    pub(super) async fn abort_all(mut self) {
        // A handler that blocks its thread cannot be aborted, and must not block the shutdown of the server.
        if tokio::time::timeout(ABORT_TIMEOUT, self.tasks.shutdown())
            .await
            .is_err()
        {
            tracing::warn!("a connection could not be aborted because its handler blocks a thread");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn connections_end_and_are_removed_at_shutdown() {
        let mut connections = Connections::default();
        for _ in 0..3 {
            connections.start(None, |shutdown| async move {
                shutdown.await.unwrap_err();
            });
        }
        assert_eq!(connections.len(), 3);
        connections.start_shutdown();
        connections.all_ended().await;
        assert_eq!(connections.len(), 0);
    }

    #[tokio::test]
    async fn connections_are_counted_for_their_network_until_they_end() {
        let network = IpAddr::from([192, 0, 2, 1]);
        let mut connections = Connections::default();
        for _ in 0..2 {
            assert!(connections.has_capacity(network, 2));
            connections.start(Some(network), |shutdown| async move {
                shutdown.await.unwrap_err();
            });
        }
        assert!(!connections.has_capacity(network, 2));
        assert!(connections.has_capacity(IpAddr::from([192, 0, 2, 2]), 2));
        connections.start_shutdown();
        connections.all_ended().await;
        assert!(connections.networks.is_empty() && connections.per_network.is_empty());
    }

    #[tokio::test]
    async fn panicked_connection_is_removed() {
        let mut connections = Connections::default();
        connections.start(None, |_| async { panic!("on purpose") });
        assert_eq!(connections.next_ended().await, Some(()));
        assert!(connections.shutdown_senders.is_empty());
        assert_eq!(connections.next_ended().await, None);
    }

    #[tokio::test]
    async fn connection_that_does_not_end_is_aborted() {
        let (sender, dropped) = oneshot::channel::<()>();
        let mut connections = Connections::default();
        connections.start(None, |shutdown| async move {
            let _sender = sender;
            let _shutdown = shutdown;
            std::future::pending::<()>().await;
        });
        connections.abort_all().await;
        dropped.await.unwrap_err();
    }
}
