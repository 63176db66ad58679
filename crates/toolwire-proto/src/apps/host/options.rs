//! What a host offers to a view.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use toolwire_types::{ErrorObject, Implementation, RawJson, Tool};

use crate::apps::host::message::shortened;
use crate::apps::{ToolCaller, is_visible_to};

const INLINE: &str = "inline";

/// What a host offers to a view: its identity, its context, and the requests that it serves.
///
/// Requests that the host does not offer get −32601.
#[derive(Debug, Clone)]
pub struct ViewHost {
    info: Implementation,
    pub(super) context: Map<String, Value>,
    /// The tools of the view's server, and whether views may call them.
    tools: Option<BTreeMap<String, bool>>,
    pub(super) reads_resources: bool,
    pub(super) opens_links: bool,
    pub(super) takes_messages: bool,
    pub(super) takes_model_context: bool,
    pub(super) takes_log_messages: bool,
}

impl ViewHost {
    /// Creates a host that offers nothing.
    #[must_use]
    pub fn new(info: Implementation) -> Self {
        Self {
            info,
            context: Map::new(),
            tools: None,
            reads_resources: false,
            opens_links: false,
            takes_messages: false,
            takes_model_context: false,
            takes_log_messages: false,
        }
    }

    /// Sets a member of the host context, such as `theme`, `locale` or `displayMode`.
    #[must_use]
    pub fn with_context(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.context.insert(name.into(), value.into());
        self
    }

    /// Permits calls of these tools of the view's server, as far as they are visible to views.
    #[must_use]
    pub fn with_tools<'t>(mut self, tools: impl IntoIterator<Item = &'t Tool>) -> Self {
        let tools = tools.into_iter().map(|tool| {
            let is_callable = is_visible_to(tool, ToolCaller::App);
            (tool.name.clone(), is_callable)
        });
        self.tools = Some(tools.collect());
        self
    }

    /// Permits reading resources of the view's server.
    #[must_use]
    pub fn with_resources(mut self) -> Self {
        self.reads_resources = true;
        self
    }

    /// Offers to open links.
    #[must_use]
    pub fn with_open_links(mut self) -> Self {
        self.opens_links = true;
        self
    }

    /// Offers to add messages of the user to the conversation.
    #[must_use]
    pub fn with_messages(mut self) -> Self {
        self.takes_messages = true;
        self
    }

    /// Offers to pass the context of the view to the model.
    #[must_use]
    pub fn with_model_context(mut self) -> Self {
        self.takes_model_context = true;
        self
    }

    /// Offers to receive log messages of the view.
    #[must_use]
    pub fn with_logging(mut self) -> Self {
        self.takes_log_messages = true;
        self
    }

    pub(super) fn calls_tools(&self) -> bool {
        self.tools.is_some()
    }

    /// Rejects tools that the server does not have, and those that are not for views, with the same error.
    pub(super) fn check_tool(&self, name: &str) -> Result<(), ErrorObject> {
        let tools = self.tools.as_ref();
        if tools.and_then(|tools| tools.get(name)) == Some(&true) {
            return Ok(());
        }
        Err(ErrorObject::invalid_params(format!(
            "tool {:?} is not available to views",
            shortened(name)
        )))
    }

    pub(super) fn offers_display_mode(&self, mode: &str) -> bool {
        let modes = self.context.get("availableDisplayModes");
        let modes = modes.and_then(Value::as_array);
        modes.is_some_and(|modes| modes.iter().any(|offered| offered == mode))
    }

    pub(super) fn display_mode(&self) -> &str {
        let mode = self.context.get("displayMode").and_then(Value::as_str);
        mode.unwrap_or(INLINE)
    }

    pub(super) fn initialize_result(&self, revision: &str) -> RawJson {
        let offered = [
            (self.opens_links, "openLinks"),
            (self.calls_tools(), "serverTools"),
            (self.reads_resources, "serverResources"),
            (self.takes_log_messages, "logging"),
            (self.takes_messages, "message"),
            (self.takes_model_context, "updateModelContext"),
        ];
        let offered = offered.into_iter().filter(|(is_offered, _)| *is_offered);
        let capabilities: Map<String, Value> = offered
            .map(|(_, name)| (name.to_owned(), json!({})))
            .collect();
        let result = json!({
            "protocolVersion": revision,
            "hostInfo": self.info,
            "hostCapabilities": capabilities,
            "hostContext": self.context,
        });
        result.into()
    }
}
