//! Loads the sessions of open streams again after messages of other nodes were lost.
//!
//! Another node may have changed or deleted these sessions. One task loads them, one after the other. Losses that are
//! reported while it runs cause one more run.

use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::engine::BoxFuture;
use crate::store::{LoadedSession, StoreError};
use crate::transport::http::limits::HttpLimits;
use crate::transport::http::retry_delay::RetryDelay;
use crate::transport::http::session::active::ActiveSessions;
use crate::transport::http::session::key::SessionKey;
use crate::transport::http::stores::Stores;

/// The task that loads sessions again. It starts with the first loss and ends with its endpoint.
#[derive(Debug, Default)]
pub(crate) struct SessionReload {
    requested: Arc<Notify>,
    task: OnceLock<JoinHandle<()>>,
}

impl SessionReload {
    /// Loads all sessions with an open stream again, soon.
    pub(crate) fn request(
        &self,
        stores: &Stores,
        limits: &HttpLimits,
        active: &Arc<ActiveSessions>,
    ) {
        self.requested.notify_one();
        self.task.get_or_init(|| {
            let reloading: BoxFuture<'_, ()> = Box::pin(reload_on_request(
                Arc::clone(&self.requested),
                stores.clone(),
                Arc::downgrade(active),
                limits.session_idle,
            ));
            tokio::spawn(reloading)
        });
    }
}

impl Drop for SessionReload {
    fn drop(&mut self) {
        if let Some(task) = self.task.get() {
            task.abort();
        }
    }
}

async fn reload_on_request(
    requested: Arc<Notify>,
    stores: Stores,
    active: Weak<ActiveSessions>,
    session_idle: Duration,
) {
    loop {
        requested.notified().await;
        let mut retry = RetryDelay::new();
        loop {
            let Some(active) = active.upgrade() else {
                return;
            };
            let Err(error) = reload(&stores, &active, session_idle).await else {
                break;
            };
            tracing::warn!(%error, "sessions with open streams cannot be loaded again; they are loaded later");
            drop(active);
            tokio::time::sleep(retry.next()).await;
        }
    }
}

/// Loads sessions again. Ends those that do not exist any more.
async fn reload(
    stores: &Stores,
    active: &ActiveSessions,
    session_idle: Duration,
) -> Result<(), StoreError> {
    for session in active.with_readers() {
        let SessionKey { id, principal, .. } = &session.key;
        let known = Some(session.revision());
        let loaded = stores.load_session(id, principal, session_idle, known);
        match loaded.await? {
            Some(LoadedSession::Newer(stored)) => session.refresh(&stored),
            Some(LoadedSession::Same) => {}
            None => {
                tracing::warn!("the streams of a session end because it was deleted");
                session.end();
            }
        }
    }
    Ok(())
}
