//! The four attributes that make a function a handler, and the items that generated code uses for each.

use proc_macro2::TokenStream;
use syn::Result;

use crate::attributes::Entries;
use crate::handler::{Handler, Subject};
use crate::{prompt, resource, resource_template, tool};

/// One of the attributes `#[tool]`, `#[prompt]`, `#[resource]`, `#[resource_template]`.
pub(crate) struct Definition {
    /// The name of the attribute, and of the method of `Server` that registers the handler.
    pub(crate) attribute: &'static str,
    /// The keys of the attribute.
    pub(crate) keys: &'static [&'static str],
    pub(crate) subject: Subject,
    /// The type of the handler.
    pub(crate) handler_type: &'static str,
    /// Builds the expression that creates the handler.
    pub(crate) handler_expression: fn(Entries, Handler) -> Result<TokenStream>,
}

pub(crate) const TOOL: Definition = Definition {
    attribute: "tool",
    keys: tool::KEYS,
    subject: tool::SUBJECT,
    handler_type: "ToolHandler",
    handler_expression: tool::handler_expression,
};

pub(crate) const PROMPT: Definition = Definition {
    attribute: "prompt",
    keys: prompt::KEYS,
    subject: prompt::SUBJECT,
    handler_type: "PromptHandler",
    handler_expression: prompt::handler_expression,
};

pub(crate) const RESOURCE: Definition = Definition {
    attribute: "resource",
    keys: resource::KEYS,
    subject: resource::SUBJECT,
    handler_type: "ResourceHandler",
    handler_expression: resource::handler_expression,
};

pub(crate) const RESOURCE_TEMPLATE: Definition = Definition {
    attribute: "resource_template",
    keys: resource_template::KEYS,
    subject: resource_template::SUBJECT,
    handler_type: "ResourceTemplateHandler",
    handler_expression: resource_template::handler_expression,
};

pub(crate) const ALL: [&Definition; 4] = [&TOOL, &PROMPT, &RESOURCE, &RESOURCE_TEMPLATE];
