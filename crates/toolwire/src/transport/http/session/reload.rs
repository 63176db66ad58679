//! Loads the sessions that this node serves again after messages of other nodes were lost.
//!
//! Another node may have changed or deleted these sessions. One task loads them, one after the other. Losses that are
//! reported while it runs cause one more run.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::engine::BoxFuture;
use crate::store::{LoadedSession, StoreError};
use crate::transport::http::limits::HttpLimits;
use crate::transport::http::retry_delay::RetryDelay;
use crate::transport::http::session::active::{ActiveSession, ActiveSessions};
use crate::transport::http::session::key::SessionKey;
use crate::transport::http::stores::Stores;

/// The task that loads sessions again. It starts with the first loss and ends with its endpoint.
#[derive(Debug, Default)]
pub(crate) struct SessionReload {
    requested: Arc<Notify>,
    task: OnceLock<JoinHandle<()>>,
}

impl SessionReload {
    /// Loads all sessions with an open stream or a running request again, soon.
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
                limits.effective_session_idle(),
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
        let mut is_finished = false;
        while !is_finished {
            let Some(sessions) = active.upgrade().map(|active| active.served()) else {
                return;
            };
            let sessions = sessions.iter().map(Arc::downgrade).collect();
            let reloading = reload(&stores, sessions, session_idle, &requested);
            is_finished = reloading.await;
        }
    }
}

/// Loads sessions again. Ends those that do not exist any more.
///
/// A session that cannot be loaded now is loaded after the others. Returns `false` if another reload is requested while
/// it waits for that. The sessions that are left are part of that reload, too.
async fn reload(
    stores: &Stores,
    mut sessions: VecDeque<Weak<ActiveSession>>,
    session_idle: Duration,
    requested: &Notify,
) -> bool {
    let mut retry = RetryDelay::new();
    while let Some(session) = sessions.pop_front() {
        let Some(active) = session.upgrade() else {
            continue;
        };
        let Err(error) = reload_one(stores, &active, session_idle).await else {
            retry = RetryDelay::new();
            continue;
        };
        drop(active);
        if matches!(error, StoreError::Unavailable(_) | StoreError::Unknown(_)) {
            tracing::warn!(%error, "a session in use cannot be loaded again; it is loaded later");
            sessions.push_back(session);
            let delay = tokio::time::timeout(retry.next(), requested.notified());
            if delay.await.is_ok() {
                return false;
            }
        } else {
            tracing::error!(%error, "a session in use cannot be loaded again; its next request fails");
        }
    }
    true
}

async fn reload_one(
    stores: &Stores,
    session: &ActiveSession,
    session_idle: Duration,
) -> Result<(), StoreError> {
    let SessionKey { id, principal, .. } = &session.key;
    let known = Some(session.revision());
    let loaded = stores.load_session(id, principal, session_idle, known);
    match loaded.await? {
        Some(LoadedSession::Newer(stored)) => session.refresh(&stored),
        Some(LoadedSession::Same) => {}
        None => {
            tracing::warn!("the streams and requests of a session end because it was deleted");
            session.end();
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use toolwire_types::{ClientCapabilities, ProtocolVersion};

    use super::*;
    use crate::engine::{BoxFuture, Principal};
    use crate::store::{SessionRecord, SessionStore, StoreError, StoredSession};
    use crate::transport::http::HttpOptions;

    const IDLE: Duration = Duration::from_secs(300);

    /// A store in which the session `new` has a newer format, `away` fails once, and no other session exists.
    #[derive(Debug, Default)]
    struct FailingStore {
        loads: std::sync::Mutex<Vec<String>>,
    }

    type StoreFuture<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

    impl SessionStore for FailingStore {
        fn create<'a>(
            &'a self,
            _: &'a str,
            _: &'a Principal,
            _: SessionRecord,
            _: Duration,
        ) -> StoreFuture<'a, StoredSession> {
            Box::pin(async { Err(StoreError::Full) })
        }

        fn load<'a>(
            &'a self,
            id: &'a str,
            _: &'a Principal,
            _: Duration,
            _: Option<u64>,
        ) -> StoreFuture<'a, Option<LoadedSession>> {
            let mut loads = crate::sync::lock(&self.loads);
            loads.push(id.to_owned());
            let is_first = loads.iter().filter(|loaded| *loaded == id).count() == 1;
            Box::pin(async move {
                match id {
                    "new" => Err(StoreError::UnsupportedFormat),
                    "away" if is_first => Err(StoreError::unavailable("away")),
                    _ => Ok(None),
                }
            })
        }

        fn touch<'a>(&'a self, _: &'a str, _: &'a Principal, _: Duration) -> StoreFuture<'a, bool> {
            Box::pin(async { Ok(false) })
        }

        fn replace<'a>(
            &'a self,
            _: &'a str,
            _: &'a Principal,
            _: u64,
            _: SessionRecord,
        ) -> StoreFuture<'a, Option<u64>> {
            Box::pin(async { Ok(None) })
        }

        fn delete<'a>(&'a self, _: &'a str, _: &'a Principal) -> StoreFuture<'a, bool> {
            Box::pin(async { Ok(false) })
        }
    }

    fn session(active: &Arc<ActiveSessions>, id: &str) -> Arc<ActiveSession> {
        let record = SessionRecord::new(ProtocolVersion::LATEST, ClientCapabilities::new(), None);
        let stored = StoredSession::new(Arc::new(record), 1);
        active.enter(id, &Principal::anonymous(), &stored, IDLE, || {
            Duration::ZERO
        })
    }

    #[tokio::test(start_paused = true)]
    async fn failed_load_does_not_stop_the_others() {
        let store = Arc::<FailingStore>::default();
        let options = HttpOptions::new().with_session_store(store.clone());
        let active = Arc::new(ActiveSessions::default());
        let sessions = ["away", "new", "deleted"].map(|id| session(&active, id));
        let queue = sessions.iter().map(Arc::downgrade).collect();
        let (stores, requested) = (Stores::new(&options), Notify::new());
        let reloading = reload(&stores, queue, IDLE, &requested);
        let is_finished = tokio::time::timeout(Duration::from_secs(60), reloading).await;
        assert_eq!(is_finished, Ok(true), "an error that stays is not retried");
        let ended = sessions.map(|session| session.key.ended.is_cancelled());
        assert_eq!(ended, [true, false, true]);
        let loads = crate::sync::lock(&store.loads);
        assert_eq!(*loads, ["away", "new", "deleted", "away"]);
    }
    #[tokio::test(start_paused = true)]
    async fn new_loss_is_not_delayed_by_a_session_that_cannot_be_loaded() {
        let options = HttpOptions::new().with_session_store(Arc::<FailingStore>::default());
        let session = session(&Arc::default(), "away");
        let requested = Notify::new();
        requested.notify_one();
        let queue = VecDeque::from([Arc::downgrade(&session)]);
        assert!(!reload(&Stores::new(&options), queue, IDLE, &requested).await);
    }
}
