//! Removes the streams of expired sessions from the event log.
//!
//! The expiry of a session in its store triggers nothing else. So a task takes the expired sessions from the store at
//! intervals, ends their requests and streams on this node, and removes their streams from the event log.

use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use tokio::task::JoinHandle;

use crate::engine::BoxFuture;
use crate::transport::http::limits::HttpLimits;
use crate::transport::http::session::active::ActiveSessions;
use crate::transport::http::stores::Stores;

/// The longest interval between two queries of the store.
const MAX_INTERVAL: Duration = Duration::from_secs(30);

/// The shortest interval between two queries of the store.
const MIN_INTERVAL: Duration = Duration::from_millis(100);

/// The task that removes expired sessions. It starts with the first session and ends with its endpoint.
#[derive(Debug, Default)]
pub(crate) struct SessionExpiry(OnceLock<JoinHandle<()>>);

impl SessionExpiry {
    /// Starts the task, once.
    pub(crate) fn start(&self, stores: &Stores, limits: &HttpLimits, active: &Arc<ActiveSessions>) {
        self.0.get_or_init(|| {
            let removing: BoxFuture<'_, ()> = Box::pin(remove_expired(
                stores.clone(),
                Arc::downgrade(active),
                interval(limits),
            ));
            tokio::spawn(removing)
        });
    }
}

impl Drop for SessionExpiry {
    fn drop(&mut self) {
        if let Some(task) = self.0.get() {
            task.abort();
        }
    }
}

fn interval(limits: &HttpLimits) -> Duration {
    let shortest = limits.effective_session_idle().min(limits.session_init);
    (shortest / 2).clamp(MIN_INTERVAL, MAX_INTERVAL)
}

async fn remove_expired(stores: Stores, active: Weak<ActiveSessions>, interval: Duration) {
    loop {
        tokio::time::sleep(interval).await;
        let Some(active) = active.upgrade() else {
            return;
        };
        let expired = match stores.take_expired_sessions().await {
            Ok(expired) => expired,
            Err(error) => {
                tracing::warn!(%error, "expired sessions cannot be read from the store");
                continue;
            }
        };
        for session in expired {
            // The session ends first, because a later write would create its streams again.
            active.end_deleted(&session.id);
            let removed = stores.remove_streams(&session.principal, &session.id);
            if let Err(error) = removed.await {
                tracing::warn!(%error, "the streams of an expired session cannot be removed");
            }
        }
    }
}
