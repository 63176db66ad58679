//! Progress on its way to the call that asked for it.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use toolwire_proto::requests::spellings;
use toolwire_types::{ProgressNotificationParams, ProgressToken};

/// What a call does with the progress it hears of; runs where messages are read, so it must be quick.
pub(crate) type OnProgress = Arc<dyn Fn(ProgressNotificationParams) + Send + Sync>;

/// Which call a progress token belongs to.
#[derive(Debug, Default)]
pub(crate) struct ProgressRoutes(Mutex<HashMap<ProgressToken, ProgressRoute>>);

struct ProgressRoute {
    tell: OnProgress,
    /// A sign of life: the deadline of the call starts anew.
    alive: Arc<Notify>,
}

impl ProgressRoutes {
    /// Hears of progress under this token until the guard is dropped.
    pub(crate) fn register(
        self: &Arc<Self>,
        token: ProgressToken,
        tell: OnProgress,
        alive: Arc<Notify>,
    ) -> ProgressGuard {
        self.table()
            .insert(token.clone(), ProgressRoute { tell, alive });
        ProgressGuard {
            routes: Arc::clone(self),
            token,
        }
    }

    /// Hands progress to its call; false when nobody asked for it.
    pub(crate) fn deliver(&self, progress: ProgressNotificationParams) -> bool {
        let route = {
            let table = self.table();
            let found = spellings(&progress.progress_token).find_map(|token| table.get(&token));
            found.map(|route| (Arc::clone(&route.tell), Arc::clone(&route.alive)))
        };
        let Some((tell, alive)) = route else {
            return false;
        };
        alive.notify_one();
        let telling = std::panic::AssertUnwindSafe(|| tell(progress));
        if std::panic::catch_unwind(telling).is_err() {
            tracing::error!("a progress listener panicked");
        }
        true
    }

    pub(crate) fn len(&self) -> usize {
        self.table().len()
    }

    fn table(&self) -> MutexGuard<'_, HashMap<ProgressToken, ProgressRoute>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for ProgressRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Route")
    }
}

/// Forgets the token when the call is over.
#[derive(Debug)]
pub(crate) struct ProgressGuard {
    routes: Arc<ProgressRoutes>,
    token: ProgressToken,
}

impl Drop for ProgressGuard {
    fn drop(&mut self) {
        self.routes.table().remove(&self.token);
    }
}
