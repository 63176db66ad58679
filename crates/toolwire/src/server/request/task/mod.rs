//! The task that a request has become, if it has.

#[cfg(not(feature = "tasks"))]
mod disabled;
#[cfg(feature = "tasks")]
mod enabled;

#[cfg(not(feature = "tasks"))]
pub(crate) use disabled::RequestTask;
#[cfg(feature = "tasks")]
pub(crate) use enabled::{RequestTask, TaskScope};
