//! The connections of a listener: each is a task, and all are owned here.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::{Id, JoinSet};

use crate::engine::BoxFuture;

/// How long connections that were cut off may take to clean up behind themselves.
const ABORT_TIMEOUT: Duration = Duration::from_secs(1);

/// The connections that are open. Dropping it cuts them off.
#[derive(Debug, Default)]
pub(super) struct Connections {
    tasks: JoinSet<()>,
    /// One for each task rather than one for all: a connection looks at it whenever it is woken, and should then not
    /// meet all others at a lock.
    leave: HashMap<Id, oneshot::Sender<()>>,
    /// The networks of clients, where their connections are counted.
    networks: HashMap<Id, IpAddr>,
    per_network: HashMap<IpAddr, usize>,
}

impl Connections {
    /// Returns whether the network of a client has fewer than `limit` connections open.
    pub(super) fn has_capacity(&self, network: IpAddr, limit: usize) -> bool {
        self.per_network.get(&network).copied().unwrap_or(0) < limit
    }

    /// Starts a connection, and counts it for the network of its client if there is a limit on those. It hears on the given
    /// channel when it should come to an end.
    pub(super) fn start<F>(
        &mut self,
        network: Option<IpAddr>,
        connection: impl FnOnce(oneshot::Receiver<()>) -> F,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        let (leave, told_to_leave) = oneshot::channel();
        // In a box, so that what runs tasks is not compiled anew for all that a connection holds.
        let connection: BoxFuture<'_, ()> = Box::pin(connection(told_to_leave));
        let task = self.tasks.spawn(connection);
        self.leave.insert(task.id(), leave);
        if let Some(network) = network {
            self.networks.insert(task.id(), network);
            *self.per_network.entry(network).or_default() += 1;
        }
    }

    pub(super) fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Waits for the end of one connection; `None` when there is none.
    ///
    /// # Cancellation
    /// Dropping the future is harmless.
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
        self.leave.remove(&id);
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

    /// Tells every connection to end after the requests it has begun.
    pub(super) fn start_shutdown(&mut self) {
        self.leave.clear();
    }

    /// Waits until no connection is left.
    pub(super) async fn all_ended(&mut self) {
        while self.next_ended().await.is_some() {}
    }

    /// Ends what is left, now.
    pub(super) async fn abort_all(mut self) {
        // A handler that blocks its thread cannot be ended; it must not hold the server back either.
        if tokio::time::timeout(ABORT_TIMEOUT, self.tasks.shutdown())
            .await
            .is_err()
        {
            tracing::warn!("a connection could not be ended: its handler blocks a thread");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn those_told_to_leave_do_and_are_forgotten() {
        let mut connections = Connections::default();
        for _ in 0..3 {
            connections.start(None, |leave| async move {
                leave.await.unwrap_err();
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
            connections.start(Some(network), |leave| async move {
                leave.await.unwrap_err();
            });
        }
        assert!(!connections.has_capacity(network, 2));
        assert!(connections.has_capacity(IpAddr::from([192, 0, 2, 2]), 2));
        connections.start_shutdown();
        connections.all_ended().await;
        assert!(connections.networks.is_empty() && connections.per_network.is_empty());
    }

    #[tokio::test]
    async fn one_that_panics_is_forgotten_like_any_other() {
        let mut connections = Connections::default();
        connections.start(None, |_| async { panic!("on purpose") });
        assert_eq!(connections.next_ended().await, Some(()));
        assert!(connections.leave.is_empty());
        assert_eq!(connections.next_ended().await, None);
    }

    #[tokio::test]
    async fn one_that_does_not_leave_is_cut_off() {
        let (held, dropped) = oneshot::channel::<()>();
        let mut connections = Connections::default();
        connections.start(None, |leave| async move {
            let _held = held;
            let _leave = leave;
            std::future::pending::<()>().await;
        });
        connections.abort_all().await;
        dropped.await.unwrap_err();
    }
}
