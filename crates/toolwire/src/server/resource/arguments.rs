//! The template variables that a reader receives.

use std::str::FromStr;

use toolwire_proto::uri_template::{TemplateValue, Values};
use toolwire_types::ErrorObject;

use crate::server::prompt::parse_argument;
use crate::server::tool_error::ToolError;

/// The variables that a template matched in a URI.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct TemplateArguments {
    values: Values,
}

impl TemplateArguments {
    pub(crate) fn new(values: Values) -> Self {
        Self { values }
    }

    /// Returns the text of a variable, if it is a single value.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        match self.values.get(name)? {
            TemplateValue::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns all matched variables.
    #[must_use]
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// Parses a required variable.
    ///
    /// # Errors
    /// Returns error −32602, which names the variable, if it is missing or cannot be parsed.
    pub fn required<T: FromStr>(&mut self, name: &str) -> Result<T, ToolError> {
        self.optional(name)?.ok_or_else(|| {
            ToolError::rpc(ErrorObject::invalid_params(format!(
                "the URI has no value for `{name}`"
            )))
        })
    }

    /// Parses an optional variable.
    ///
    /// # Errors
    /// Returns error −32602, which names the variable, if it cannot be parsed.
    pub fn optional<T: FromStr>(&mut self, name: &str) -> Result<Option<T>, ToolError> {
        self.get(name)
            .map(|text| parse_argument(name, text))
            .transpose()
    }

    /// Returns the values of an exploded variable. A single value is a list of one.
    #[must_use]
    pub fn list(&self, name: &str) -> Vec<String> {
        match self.values.get(name) {
            Some(TemplateValue::List(items)) => items.clone(),
            Some(TemplateValue::String(text)) => vec![text.clone()],
            _ => Vec::new(),
        }
    }
}
