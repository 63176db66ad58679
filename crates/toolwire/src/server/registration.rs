//! The error of a registration.

use std::fmt;

/// The reason why a tool, prompt or resource cannot be registered: a duplicate name, an invalid schema, …
///
/// The builder methods of [`Server`](crate::Server) panic with this message, because it is a bug in the program. The
/// `add_*` methods, which also work on a running server, return it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RegistrationError {
    message: String,
}

impl RegistrationError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
        }
    }

    pub(crate) fn duplicate(kind: &str, name: &str) -> Self {
        Self::new(format!(
            "{kind} `{name}` is registered twice; remove the first or rename one"
        ))
    }
}

impl fmt::Display for RegistrationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for RegistrationError {}
