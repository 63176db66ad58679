//! How workers get tasks, and how expired tasks are removed.

use std::time::Duration;

use redis::Value;
use toolwire::store::{StoreError, StoredTask, Worker};

use crate::connection::{Repeat, milliseconds};
use crate::tasks::RedisTaskStore;
use crate::tasks::format::stored_task;

/// The maximum number of expired tasks that one claim removes. It is small, so that no claim is slow.
const REMOVED_PER_CLAIM: usize = 16;

/// The maximum number of tasks that one look for work finds for each tool.
const CLAIMED_AT_ONCE: usize = 100;

/// What the script `work` finds for one tool: the ids of tasks whose lease has ended, and the ids of waiting tasks with
/// the times of their creation.
type ToolWork = (Vec<String>, Vec<(String, f64)>);

/// What there is to do.
struct Work {
    expired: Vec<String>,
    tools: Vec<ToolWork>,
}

impl RedisTaskStore {
    pub(super) async fn claim_tasks(
        &self,
        worker: &Worker,
        lease: Duration,
        limit: usize,
    ) -> Result<Vec<StoredTask>, StoreError> {
        let mut claimed = Vec::new();
        match self.claim_into(&mut claimed, worker, lease, limit).await {
            Err(error) if claimed.is_empty() => Err(error),
            Err(error) => {
                // The worker has the lease of these tasks. Without it, they would wait until the lease ends.
                tracing::warn!(%error, "not all waiting tasks could be claimed");
                Ok(claimed)
            }
            Ok(()) => Ok(claimed),
        }
    }

    /// Claims tasks until there are `limit`. After an error, `claimed` has those that were claimed before it.
    async fn claim_into(
        &self,
        claimed: &mut Vec<StoredTask>,
        worker: &Worker,
        lease: Duration,
        limit: usize,
    ) -> Result<(), StoreError> {
        while claimed.len() < limit {
            let missing = (limit - claimed.len()).min(CLAIMED_AT_ONCE);
            let work = self
                .find_work(&worker.tools, missing, REMOVED_PER_CLAIM)
                .await?;
            self.remove_expired_tasks(&work.expired).await?;
            if self.end_leases(&worker.tools, &work).await? {
                // The tasks of lost workers may be older than those that wait.
                continue;
            }
            let waiting = oldest_first(&worker.tools, work, missing);
            if waiting.is_empty() {
                break;
            }
            for (tool, id) in waiting {
                // Another worker may be faster.
                claimed.extend(self.take(&id, tool, worker, lease).await?);
            }
        }
        Ok(())
    }

    /// Removes up to `limit` expired tasks.
    pub(super) async fn remove_expired(&self, limit: usize) -> Result<(), StoreError> {
        let work = self.find_work(&[], 0, limit).await?;
        self.remove_expired_tasks(&work.expired).await
    }

    async fn remove_expired_tasks(&self, ids: &[String]) -> Result<(), StoreError> {
        for id in ids {
            self.remove_if(id, "expired").await?;
        }
        Ok(())
    }

    async fn find_work(
        &self,
        tools: &[String],
        limit: usize,
        expired: usize,
    ) -> Result<Work, StoreError> {
        let mut invocation = self.scripts.work.prepare_invoke();
        invocation.key(self.keys.of_tasks("expiry"));
        for tool in tools {
            invocation
                .key(self.keys.waiting_tasks(tool))
                .key(self.keys.leased_tasks(tool));
        }
        invocation.arg(limit).arg(expired);
        let mut found: Vec<Value> = self.connection.send(&invocation, Repeat::Harmless).await?;
        let unexpected = |_| StoreError::unavailable("the engine returned an unexpected value");
        let tools = found.split_off(found.len().min(1));
        let expired = found.pop().unwrap_or(Value::Nil);
        Ok(Work {
            expired: redis::from_redis_value(expired).map_err(unexpected)?,
            tools: redis::from_redis_value(Value::Array(tools)).map_err(unexpected)?,
        })
    }

    /// Lists tasks whose lease has ended among the waiting ones. Returns `true` if there were any.
    async fn end_leases(&self, tools: &[String], work: &Work) -> Result<bool, StoreError> {
        let mut any = false;
        for (tool, (ended, _)) in tools.iter().zip(&work.tools) {
            for id in ended {
                any = true;
                let mut invocation = self.scripts.end_lease.prepare_invoke();
                self.add_keys(&mut invocation, id, tool);
                invocation.arg(id);
                self.send(&invocation).await?;
            }
        }
        Ok(any)
    }

    async fn take(
        &self,
        id: &str,
        tool: &str,
        worker: &Worker,
        lease: Duration,
    ) -> Result<Option<StoredTask>, StoreError> {
        let mut invocation = self.scripts.take.prepare_invoke();
        self.add_keys(&mut invocation, id, tool);
        invocation.arg(&worker.id).arg(milliseconds(lease)).arg(id);
        // After a lost response the task has this worker already. It is claimed again when the lease ends.
        let taken = self.connection.send(&invocation, Repeat::Harmful).await?;
        stored_task(taken)
    }
}

/// Returns up to `limit` waiting tasks with their tools, the oldest first.
fn oldest_first(tools: &[String], work: Work, limit: usize) -> Vec<(&str, String)> {
    let mut waiting: Vec<(f64, &str, String)> = Vec::new();
    for (tool, (_, ids)) in tools.iter().zip(work.tools) {
        waiting.extend(
            ids.into_iter()
                .map(|(id, created)| (created, tool.as_str(), id)),
        );
    }
    waiting.sort_by(|one, other| one.0.total_cmp(&other.0));
    waiting.truncate(limit);
    waiting
        .into_iter()
        .map(|(_, tool, id)| (tool, id))
        .collect()
}
