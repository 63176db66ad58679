//! Tasks: requests whose results the requester fetches later.
//!
//! There are two designs. [`core`] is the experimental design of 2025-11-25, in which client and server can request a
//! task. [`extension`] is `io.modelcontextprotocol/tasks` for 2026-07-28, in which only the server decides. This module
//! contains the types that both designs share.

pub mod core;
pub mod extension;

use serde::{Deserialize, Serialize};

use crate::meta::Meta;

/// The status of a task.
///
/// ```text
///            ┌──────────────┐
///   working ─┤              ├─▶ completed │ failed │ cancelled
///     ▲  │   └──────────────┘                  ▲
///     │  ▼                                     │
///   input_required ────────────────────────────┘
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TaskStatus {
    /// The task is running.
    Working,
    /// The task requires input.
    InputRequired,
    /// The task is complete, and its result is available.
    Completed,
    /// The task failed: for any reason in the core design, with a JSON-RPC error in the extension.
    Failed,
    /// The task was cancelled.
    Cancelled,
}

impl TaskStatus {
    /// Returns `true` if the status is final.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

/// The parameters of `tasks/get`, in both designs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct GetTaskRequestParams {
    /// The id of the task.
    pub task_id: String,
    /// The `_meta` object.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl GetTaskRequestParams {
    /// Creates the parameters for a task.
    #[must_use]
    pub fn new(task_id: impl Into<String>) -> Self {
        Self {
            task_id: task_id.into(),
            meta: None,
        }
    }
}

/// The parameters of `tasks/cancel`, in both designs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CancelTaskRequestParams {
    /// The id of the task.
    pub task_id: String,
    /// The `_meta` object.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl CancelTaskRequestParams {
    /// Creates the parameters for a task.
    #[must_use]
    pub fn new(task_id: impl Into<String>) -> Self {
        Self {
            task_id: task_id.into(),
            meta: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::round_trip::check;

    #[test]
    fn only_completed_failed_and_cancelled_are_terminal() {
        let check = |name: &str, terminal| {
            let status = check::<TaskStatus>(json!(name));
            assert_eq!(status.is_terminal(), terminal, "{name}");
        };
        check("working", false);
        check("input_required", false);
        check("completed", true);
        check("failed", true);
        check("cancelled", true);
        assert!(serde_json::from_str::<TaskStatus>(r#""paused""#).is_err());
    }

    #[test]
    fn parameters_round_trip() {
        check::<GetTaskRequestParams>(json!({"taskId": "t", "_meta": {"a": 1}}));
        check::<CancelTaskRequestParams>(json!({"taskId": "t"}));
        assert!(serde_json::from_str::<GetTaskRequestParams>("{}").is_err());
    }
}
