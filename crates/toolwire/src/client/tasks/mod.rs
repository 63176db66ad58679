//! Tasks: tool calls whose results the client fetches later. Without the feature `tasks`, no call becomes a task.
//!
//! `Client::run` calls this module for a client with tasks: before a call, because a 2025-11-25 client requests its
//! tasks itself, and after a call whose result is a task. [`TaskHandle`] is the same for callers that wait later.

#[cfg(feature = "tasks")]
mod called;
#[cfg(feature = "tasks")]
mod cancel_on_drop;
#[cfg(feature = "tasks")]
mod changes;
#[cfg(not(feature = "tasks"))]
mod disabled;
#[cfg(feature = "tasks")]
mod enabled;
#[cfg(feature = "tasks")]
mod handle;
#[cfg(feature = "tasks")]
mod methods;
#[cfg(feature = "tasks")]
pub(crate) mod notifications;
#[cfg(feature = "tasks")]
mod requests;
#[cfg(feature = "tasks")]
mod waiting;

#[cfg(feature = "tasks")]
pub use called::Called;
#[cfg(feature = "tasks")]
pub use handle::TaskHandle;

use std::borrow::Cow;

use toolwire_types::RawJson;

use crate::client::Client;
use crate::client::call::CallOptions;
use crate::engine::BoxFuture;
use crate::error::Error;

/// Runs a call from its parameters to its result.
type RunCall = for<'a> fn(
    &'a Client,
    &'a Cow<'static, str>,
    Option<RawJson>,
    &'a CallOptions,
) -> BoxFuture<'a, Result<RawJson, Error>>;

/// Waits for the task of a result.
type TaskOutcome =
    for<'a> fn(&'a Client, RawJson, &'a CallOptions) -> BoxFuture<'a, Result<RawJson, Error>>;

/// The functions of both alternatives.
const _: () = {
    let _: fn(&Client, &str) -> bool = Client::may_request_task;
    let _: RunCall = Client::run_with_task;
    let _: TaskOutcome = Client::task_outcome;
};
