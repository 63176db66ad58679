//! Changes of tasks on a `subscriptions/listen` stream.

#[cfg(not(feature = "tasks"))]
mod disabled;
#[cfg(feature = "tasks")]
mod enabled;

#[cfg(not(feature = "tasks"))]
pub(super) use disabled::{RunningFeed, TaskFeed};
#[cfg(feature = "tasks")]
pub(super) use enabled::{RunningFeed, TaskFeed};
