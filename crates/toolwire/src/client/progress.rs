//! Routes progress notifications to the calls that requested them.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::Notify;
use toolwire_proto::requests::spellings;
use toolwire_types::{ProgressNotificationParams, ProgressToken};

use crate::sync::lock;

/// A progress listener of a call. It runs in the reading task, so it must not block.
pub(crate) type OnProgress = Arc<dyn Fn(ProgressNotificationParams) + Send + Sync>;

/// The calls by their progress tokens.
#[derive(Debug, Default)]
pub(crate) struct ProgressRoutes(Mutex<HashMap<ProgressToken, ProgressRoute>>);

struct ProgressRoute {
    listener: OnProgress,
    /// Restarts the timeout of the call.
    activity: Arc<Notify>,
}

impl ProgressRoutes {
    /// Delivers progress with this token to `listener` until the guard is dropped.
    pub(crate) fn register(
        self: &Arc<Self>,
        token: ProgressToken,
        listener: OnProgress,
        activity: Arc<Notify>,
    ) -> ProgressGuard {
        self.table()
            .insert(token.clone(), ProgressRoute { listener, activity });
        ProgressGuard {
            routes: Arc::clone(self),
            token,
        }
    }

    /// Delivers progress to its call. Returns `false` if no call has this token.
    pub(crate) fn deliver(&self, progress: ProgressNotificationParams) -> bool {
        let route = {
            let table = self.table();
            let route = spellings(&progress.progress_token).find_map(|token| table.get(&token));
            route.map(|route| (Arc::clone(&route.listener), Arc::clone(&route.activity)))
        };
        let Some((listener, activity)) = route else {
            return false;
        };
        activity.notify_one();
        let calling = std::panic::AssertUnwindSafe(|| listener(progress));
        if std::panic::catch_unwind(calling).is_err() {
            tracing::error!("a progress listener panicked");
        }
        true
    }

    pub(crate) fn len(&self) -> usize {
        self.table().len()
    }

    fn table(&self) -> MutexGuard<'_, HashMap<ProgressToken, ProgressRoute>> {
        lock(&self.0)
    }
}

/// The progress token of a call whose progress continues after its response.
#[derive(Debug)]
pub(crate) struct LongRoute {
    pub(crate) token: i64,
    /// Restarts the timeout of the call.
    pub(crate) activity: Arc<Notify>,
}

impl fmt::Debug for ProgressRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProgressRoute")
    }
}

/// Removes the token when the call ends.
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
