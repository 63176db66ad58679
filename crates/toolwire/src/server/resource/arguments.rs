//! The variables of a template, as its reader gets them.

use std::str::FromStr;

use toolwire_proto::uri_template::{TemplateValue, Values};
use toolwire_types::ErrorObject;

use crate::server::prompt::parse_argument;
use crate::server::tool_error::ToolError;

/// The variables a URI gave to a template.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct TemplateArguments {
    values: Values,
}

impl TemplateArguments {
    pub(crate) fn new(values: Values) -> Self {
        Self { values }
    }

    /// The text of a variable, when it is a single value.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        match self.values.get(name)? {
            TemplateValue::String(text) => Some(text),
            _ => None,
        }
    }

    /// Everything that was matched.
    #[must_use]
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// Takes a variable that must be there.
    ///
    /// # Errors
    /// −32602, naming the variable, when it is missing or does not parse.
    pub fn required<T: FromStr>(&mut self, name: &str) -> Result<T, ToolError> {
        self.optional(name)?.ok_or_else(|| {
            ToolError::rpc(ErrorObject::invalid_params(format!(
                "the URI gives no `{name}`"
            )))
        })
    }

    /// Takes a variable that may be absent.
    ///
    /// # Errors
    /// −32602, naming the variable, when it does not parse.
    pub fn optional<T: FromStr>(&mut self, name: &str) -> Result<Option<T>, ToolError> {
        self.get(name)
            .map(|text| parse_argument(name, text))
            .transpose()
    }

    /// The values of an exploded variable; a single value is a list of one.
    #[must_use]
    pub fn list(&self, name: &str) -> Vec<String> {
        match self.values.get(name) {
            Some(TemplateValue::List(items)) => items.clone(),
            Some(TemplateValue::String(text)) => vec![text.clone()],
            _ => Vec::new(),
        }
    }
}
