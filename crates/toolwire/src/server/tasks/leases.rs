//! The leases of running tasks: each is renewed three times before it ends.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::engine::deadline_after;
use crate::server::tasks::registrations::TaskRegistration;
use crate::server::tasks::runtime::TaskRuntime;
use crate::store::StoreError;

/// How many renewals the store gets at once.
const CONCURRENT_RENEWALS: usize = 16;

/// The shortest time between two renewals, for leases that are too short.
const MIN_INTERVAL: Duration = Duration::from_millis(10);

/// Keeps the leases of running tasks, as long as the server exists.
pub(super) async fn keep_leases(runtime: Weak<TaskRuntime>) {
    loop {
        let next = {
            let Some(runtime) = runtime.upgrade() else {
                return;
            };
            if runtime.server().is_none() {
                return;
            }
            runtime.renew_due_leases().await
        };
        tokio::time::sleep_until(next).await;
    }
}

impl TaskRuntime {
    /// Renews the leases that are due. Returns when the next ones are.
    async fn renew_due_leases(&self) -> Instant {
        let start = Instant::now();
        let interval = (self.config.lease / 3).max(MIN_INTERVAL);
        let due_at = |task: &TaskRegistration| deadline_after(task.renewed_at(), interval);
        // Leases that are due soon are renewed too. So the leases of many tasks are renewed together.
        let soon = deadline_after(start, interval / 4);
        let worker = Arc::new(self.worker(Vec::new()));
        let mut renewing = JoinSet::new();
        for task in self.running.all() {
            if due_at(&task) > soon {
                continue;
            }
            if renewing.len() >= CONCURRENT_RENEWALS
                && let Some(Ok(renewed)) = renewing.join_next().await
            {
                self.on_renewed(renewed, start);
            }
            let (store, lease) = (self.config.store.clone(), self.config.lease);
            let worker = Arc::clone(&worker);
            renewing.spawn(async move {
                let renewed = store.renew(&task.id, &worker, lease).await;
                (task, renewed)
            });
        }
        while let Some(renewed) = renewing.join_next().await {
            if let Ok(renewed) = renewed {
                self.on_renewed(renewed, start);
            }
        }
        // A failed renewal is due at once, and is tried again after a quarter.
        let tasks = self.running.all();
        let next = tasks.iter().map(|task| due_at(task)).min();
        let last = deadline_after(start, interval);
        next.unwrap_or(last).clamp(soon, last)
    }

    fn on_renewed(
        &self,
        (task, renewed): (Arc<TaskRegistration>, Result<bool, StoreError>),
        start: Instant,
    ) {
        match renewed {
            Ok(is_owner) => {
                task.set_renewed_at(start);
                if !is_owner {
                    // The run finds out why it lost the task.
                    self.wake(&task.id);
                }
            }
            Err(error) => tracing::warn!(%error, "a lease of a task could not be renewed"),
        }
    }
}
