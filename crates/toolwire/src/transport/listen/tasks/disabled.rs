//! Without the feature `tasks`, no task changes.

use std::sync::Arc;

use toolwire_types::SubscriptionFilter;

use crate::engine::Principal;
use crate::server::Server;
use crate::transport::listen::ListenState;

/// The changes of the tasks of one stream. It is always empty.
#[derive(Debug, Default)]
pub(in crate::transport::listen) struct TaskFeed;

/// The feed of a stream, which cannot start.
#[derive(Debug)]
pub(in crate::transport::listen) enum RunningFeed {}

impl TaskFeed {
    pub(in crate::transport::listen) fn add(&self, _: &str) -> bool {
        false
    }

    /// Returns the filter without tasks, because no feed can start.
    pub(in crate::transport::listen) fn start(
        _: &Arc<ListenState>,
        _: &Server,
        mut accepted: SubscriptionFilter,
        _: Principal,
    ) -> Result<RunningFeed, SubscriptionFilter> {
        accepted.task_ids = None;
        Err(accepted)
    }
}
