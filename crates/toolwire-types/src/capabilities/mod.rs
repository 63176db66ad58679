//! The capabilities that clients and servers declare.
//!
//! A capability is declared if its member is present, even as an empty object. Clients declare capabilities in
//! `initialize` up to 2025-11-25, and in the `_meta` of every request since 2026-07-28. Servers declare capabilities in
//! the results of `initialize` and `server/discover`.

mod client;
mod server;

use indexmap::IndexMap;
use serde::Serialize;

use crate::object::object;
use crate::raw::RawJson;
use crate::result::Extra;
use crate::setters::setters;

pub use client::{ClientCapabilities, ElicitationCapability, RootsCapability, SamplingCapability};
pub use server::{PromptsCapability, ResourcesCapability, ServerCapabilities, ToolsCapability};

/// The requests of the peer that may run as tasks (2025-11-25 only).
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TasksCapability {
    /// Support for `tasks/list`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list: Option<Extra>,
    /// Support for `tasks/cancel`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancel: Option<Extra>,
    /// The requests, by the parts of the method name before and after its slash: `{"tools": {"call": {}}}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<IndexMap<String, IndexMap<String, RawJson>>>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

object!(TasksCapability = TasksCapability::default();
    "list" => list,
    "cancel" => cancel,
    "requests" => requests;
    others stored
);

impl TasksCapability {
    /// Creates a capability without requests.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Declares support for `tasks/list`.
        with_list(list = Extra::new());
        /// Declares support for `tasks/cancel`.
        with_cancel(cancel = Extra::new());
    }

    /// Declares that a method, such as `tools/call`, may run as a task.
    #[must_use]
    pub fn with_request(mut self, method: &str) -> Self {
        let (group, name) = method.split_once('/').unwrap_or((method, ""));
        self.requests
            .get_or_insert_default()
            .entry(group.to_owned())
            .or_default()
            .insert(name.to_owned(), RawJson::empty_object());
        self
    }

    /// Returns `true` if a method, such as `tools/call`, may run as a task.
    #[must_use]
    pub fn supports_request(&self, method: &str) -> bool {
        let declared = || {
            let (group, name) = method.split_once('/')?;
            self.requests.as_ref()?.get(group)?.get(name)
        };
        declared().is_some_and(|settings| !settings.is_null())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn task_support_is_declared_per_method() {
        let wire =
            json!({"requests": {"tools": {"call": {}}, "sampling": {"createMessage": null}}});
        let capability: TasksCapability = serde_json::from_value(wire).unwrap();
        let check = |method: &str, expected| {
            assert_eq!(capability.supports_request(method), expected, "{method}");
        };
        check("tools/call", true);
        check("tools/list", false);
        check("sampling/createMessage", false);
        check("tools", false);
        assert!(!TasksCapability::new().supports_request("tools/call"));
    }

    #[test]
    fn built_task_capability_serializes_to_wire_format() {
        let capability = TasksCapability::new()
            .with_list()
            .with_cancel()
            .with_request("sampling/createMessage")
            .with_request("elicitation/create");
        assert_eq!(
            serde_json::to_value(capability).unwrap(),
            json!({
                "list": {}, "cancel": {},
                "requests": {"sampling": {"createMessage": {}}, "elicitation": {"create": {}}},
            })
        );
    }
}
