//! Tasks: requests whose answers come later.
//!
//! There are two designs that share their words and little else: [`core`] is the experimental one of 2025-11-25, where
//! either side may ask for a task; [`extension`] is `io.modelcontextprotocol/tasks` on top of 2026-07-28, where the
//! server alone decides. What both have in common stands here.

pub mod core;
pub mod extension;

use serde::{Deserialize, Serialize};

use crate::meta::Meta;

/// Where a task stands.
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
    /// It is being worked on.
    Working,
    /// It waits for input.
    InputRequired,
    /// It is done, and its result is there.
    Completed,
    /// It failed: for any reason in the core design, with a JSON-RPC error in the extension.
    Failed,
    /// It was cancelled.
    Cancelled,
}

impl TaskStatus {
    /// True when the status never changes again.
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
    /// The task.
    pub task_id: String,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl GetTaskRequestParams {
    /// Asks about a task.
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
    /// The task.
    pub task_id: String,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl CancelTaskRequestParams {
    /// Asks for a task to be cancelled.
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
    fn only_the_last_three_statuses_are_final() {
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
    fn parameters_survive() {
        check::<GetTaskRequestParams>(json!({"taskId": "t", "_meta": {"a": 1}}));
        check::<CancelTaskRequestParams>(json!({"taskId": "t"}));
        assert!(serde_json::from_str::<GetTaskRequestParams>("{}").is_err());
    }
}
