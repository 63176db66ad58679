//! Keeps the connection of a subscriber open.

use std::sync::{Arc, Weak};

use redis::{PushInfo, PushKind};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use crate::connection::{Backoff, ReportedOnce};
use crate::subscriber::{HEARTBEAT, SharedSubscriber, UNHEARD_HEARTBEATS};

/// Keeps a connection open until nothing uses the subscriber any more.
pub(super) async fn stay_connected(shared: Weak<SharedSubscriber>) {
    let mut backoff = Backoff::new();
    let misconfiguration = ReportedOnce::default();
    loop {
        let Some(current) = shared.upgrade() else {
            return;
        };
        let ended = Arc::new(Notify::new());
        match current.connect(receiver(&current, &ended)).await {
            Ok(connection) => {
                backoff = Backoff::new();
                misconfiguration.reset();
                // Messages may have been lost since the last connection.
                current.received().lose();
                current.waiters.wake_all();
                current.wake_ups.wake_all();
                current.is_connected.send_replace(true);
                drop(current);
                hear(&shared, &ended).await;
                drop(connection);
                if let Some(current) = shared.upgrade() {
                    current.target.skip_node();
                    current.is_connected.send_replace(false);
                    current.received().lose();
                    current.heartbeats.lose();
                    tracing::warn!("the connection for messages of other nodes was lost");
                }
            }
            Err(error) => {
                misconfiguration.report(&error, "other nodes cannot be heard");
                current.target.skip_node();
                drop(current);
            }
        }
        sleep(backoff.next_pause()).await;
    }
}

/// Returns a function that receives what arrives on a connection, and that reports its end.
fn receiver(
    shared: &Arc<SharedSubscriber>,
    ended: &Arc<Notify>,
) -> impl Fn(PushInfo) + Send + Sync + 'static {
    let (shared, ended) = (Arc::downgrade(shared), Arc::clone(ended));
    move |push| {
        if push.kind == PushKind::Disconnection {
            ended.notify_one();
        } else if let Some(shared) = shared.upgrade() {
            shared.receive(push);
        }
    }
}

/// Publishes heartbeats until the connection ends, or until they are not heard any more.
///
/// Only heartbeats of this node count: others may arrive through an engine to which this node publishes nothing any more.
async fn hear(shared: &Weak<SharedSubscriber>, ended: &Notify) {
    let mut unheard = UnheardHeartbeats::default();
    loop {
        let Some(current) = shared.upgrade() else {
            return;
        };
        if unheard.are_too_many(current.received().heard_own()) {
            return;
        }
        match current.send_heartbeat().await {
            Ok(()) => unheard.published += 1,
            Err(error) => tracing::debug!(%error, "no heartbeat was published"),
        }
        drop(current);
        if timeout(HEARTBEAT, ended.notified()).await.is_ok() {
            return;
        }
    }
}

/// The heartbeats of this node that were published since it heard one.
#[derive(Debug, Default)]
struct UnheardHeartbeats {
    published: u32,
    heard: u64,
}

impl UnheardHeartbeats {
    /// Returns `true` if too many heartbeats were not heard. `heard` is the number of heard messages of this node.
    fn are_too_many(&mut self, heard: u64) -> bool {
        if self.heard != heard {
            *self = Self {
                published: 0,
                heard,
            };
        }
        self.published >= UNHEARD_HEARTBEATS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connection_is_replaced_after_three_unheard_heartbeats() {
        let mut unheard = UnheardHeartbeats::default();
        let mut check = |published: u32, heard: u64, expected: bool| {
            unheard.published += published;
            assert_eq!(unheard.are_too_many(heard), expected);
        };
        check(2, 0, false);
        check(1, 1, false);
        check(2, 1, false);
        // Heartbeats that were not published say nothing about the connection.
        check(0, 1, false);
        check(1, 1, true);
        check(0, 2, false);
    }
}
