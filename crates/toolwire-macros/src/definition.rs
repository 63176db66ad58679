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
    pub(crate) served: &'static str,
    /// Builds the expression that creates the handler.
    pub(crate) serve: fn(Entries, Handler) -> Result<TokenStream>,
}

pub(crate) const TOOL: Definition = Definition {
    attribute: "tool",
    keys: tool::KEYS,
    subject: tool::SUBJECT,
    served: "ToolHandler",
    serve: tool::serve,
};

pub(crate) const PROMPT: Definition = Definition {
    attribute: "prompt",
    keys: prompt::KEYS,
    subject: prompt::SUBJECT,
    served: "PromptHandler",
    serve: prompt::serve,
};

pub(crate) const RESOURCE: Definition = Definition {
    attribute: "resource",
    keys: resource::KEYS,
    subject: resource::SUBJECT,
    served: "ResourceHandler",
    serve: resource::serve,
};

pub(crate) const RESOURCE_TEMPLATE: Definition = Definition {
    attribute: "resource_template",
    keys: resource_template::KEYS,
    subject: resource_template::SUBJECT,
    served: "ResourceTemplateHandler",
    serve: resource_template::serve,
};

pub(crate) const ALL: [&Definition; 4] = [&TOOL, &PROMPT, &RESOURCE, &RESOURCE_TEMPLATE];
