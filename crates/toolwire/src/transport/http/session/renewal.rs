//! Renews the sessions with an open stream, which are not idle.
//!
//! All sessions of a node are renewed together, a few times in the idle time of a session. So an open stream costs no call
//! of the store of its own.

use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use tokio::task::JoinHandle;

use crate::engine::BoxFuture;
use crate::transport::http::limits::HttpLimits;
use crate::transport::http::session::active::{ActiveSession, ActiveSessions};
use crate::transport::http::stores::Stores;

/// How often a session is renewed in its idle time.
const RENEWALS: u32 = 3;

/// The shortest interval between two renewals.
const MIN_INTERVAL: Duration = Duration::from_millis(100);

/// The longest interval between two renewals, which also find sessions that were deleted without a message on the bus.
const MAX_INTERVAL: Duration = Duration::from_secs(5 * 60);

/// The maximum number of sessions in one call of the store.
const MAX_BATCH: usize = 1000;

/// The task that renews sessions. It starts with the first stream and ends with its endpoint.
#[derive(Debug, Default)]
pub(crate) struct StoredSessionRenewal(OnceLock<JoinHandle<()>>);

impl StoredSessionRenewal {
    /// Starts the task, once.
    pub(crate) fn start(&self, stores: &Stores, limits: &HttpLimits, active: &Arc<ActiveSessions>) {
        self.0.get_or_init(|| {
            let renewing: BoxFuture<'_, ()> = Box::pin(renew_sessions(
                stores.clone(),
                Arc::downgrade(active),
                limits.effective_session_idle(),
            ));
            tokio::spawn(renewing)
        });
    }
}

impl Drop for StoredSessionRenewal {
    fn drop(&mut self) {
        if let Some(task) = self.0.get() {
            task.abort();
        }
    }
}

/// Returns the interval between two renewals of a session.
pub(crate) fn interval(session_idle: Duration) -> Duration {
    (session_idle / RENEWALS).clamp(MIN_INTERVAL, MAX_INTERVAL)
}

async fn renew_sessions(stores: Stores, active: Weak<ActiveSessions>, session_idle: Duration) {
    loop {
        tokio::time::sleep(interval(session_idle)).await;
        let Some(active) = active.upgrade() else {
            return;
        };
        for batch in active.with_readers().chunks(MAX_BATCH) {
            renew_batch(&stores, batch, session_idle).await;
        }
    }
}

/// Renews sessions. Ends those that do not exist any more.
async fn renew_batch(stores: &Stores, sessions: &[Arc<ActiveSession>], session_idle: Duration) {
    let keys = sessions.iter().map(|session| &session.key);
    let keys: Vec<_> = keys
        .map(|key| (key.id.clone(), key.principal.clone()))
        .collect();
    match stores.touch_sessions(&keys, session_idle).await {
        Ok(exist) => {
            let sessions = sessions.iter().zip(exist);
            for (session, _) in sessions.filter(|(_, exists)| !exists) {
                tracing::warn!("the streams of a session end because it was deleted");
                session.end();
            }
        }
        Err(error) => tracing::warn!(%error, "sessions with open streams cannot be renewed"),
    }
}
