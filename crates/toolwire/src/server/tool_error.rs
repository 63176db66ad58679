//! The errors of handlers.
//!
//! The model reads the error of a tool: the result has `isError`. A protocol error (an [`ErrorObject`], or a
//! [`crate::Error`] that contains one) becomes the JSON-RPC error of the request instead.

use std::error::Error as StdError;
use std::fmt;

use toolwire_types::ErrorObject;

use crate::error::{Error, chain};

/// The error of a tool, prompt or resource handler.
///
/// Every error type converts with `?`. Strings convert with [`ToolError::failed`].
///
/// ```
/// use toolwire::ToolError;
///
/// fn parse(text: &str) -> Result<i64, ToolError> {
///     if text.is_empty() {
///         return Err(ToolError::failed("nothing to parse"));
///     }
///     Ok(text.parse()?)
/// }
/// assert_eq!(parse("x").unwrap_err().to_string(), "invalid digit found in string");
/// ```
#[derive(Debug)]
#[doc(alias = "McpError", alias = "is_error")]
pub struct ToolError(ToolErrorKind);

#[derive(Debug)]
enum ToolErrorKind {
    /// Sent to the model as a result with `isError`.
    Text(String),
    /// Sent to the client as a JSON-RPC error.
    Rpc(ErrorObject),
}

impl ToolError {
    /// Creates an error for the model to read.
    #[must_use]
    #[cold]
    pub fn failed(message: impl Into<String>) -> Self {
        Self(ToolErrorKind::Text(message.into()))
    }

    /// Creates a JSON-RPC error for the client.
    #[must_use]
    pub fn rpc(error: ErrorObject) -> Self {
        Self(ToolErrorKind::Rpc(error))
    }

    /// Creates the error of an unknown resource. Its code depends on the client's revision.
    #[must_use]
    pub fn resource_not_found(uri: impl Into<String>) -> Self {
        let uri = uri.into();
        let error = ErrorObject::invalid_params(format!("there is no resource `{uri}`"));
        Self::rpc(error.with_data(serde_json::json!({ "uri": uri })))
    }

    /// Returns the text for the model, or the JSON-RPC error.
    pub(crate) fn into_text(self) -> Result<String, ErrorObject> {
        match self.0 {
            ToolErrorKind::Text(text) => Ok(text),
            ToolErrorKind::Rpc(error) => Err(error),
        }
    }

    /// Returns the JSON-RPC error of a request that has no other error form (prompts, resources).
    pub(crate) fn into_error_object(self) -> ErrorObject {
        match self.0 {
            ToolErrorKind::Text(text) => ErrorObject::internal(text),
            ToolErrorKind::Rpc(error) => error,
        }
    }

    fn from_boxed(error: Box<dyn StdError + Send + Sync>) -> Self {
        let error = match error.downcast::<ErrorObject>() {
            Ok(rpc) => return Self(ToolErrorKind::Rpc(*rpc)),
            Err(other) => other,
        };
        match error.downcast::<Error>() {
            // Declining is information for the model, not a fault.
            Ok(error) if error.elicit_action().is_some() => Self::failed(error.to_string()),
            Ok(error) => Self(ToolErrorKind::Rpc(error.into_error_object())),
            Err(other) => Self(ToolErrorKind::Text(chain(&*other))),
        }
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            ToolErrorKind::Text(text) => f.write_str(text),
            ToolErrorKind::Rpc(error) => write!(f, "{error}"),
        }
    }
}

// `ToolError` does not implement `Error`, which permits this conversion from all types that do (as in `anyhow`).
impl<E: StdError + Send + Sync + 'static> From<E> for ToolError {
    fn from(error: E) -> Self {
        Self::from_boxed(Box::new(error))
    }
}

/// The error type of a handler's `Result`: any error, a string, or a [`ToolError`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the error of a handler",
    label = "not an error toolwire can report",
    note = "use `ToolError`, a `String`, or any type that implements `std::error::Error + Send + Sync`"
)]
pub trait IntoToolError {
    /// Converts the value into a [`ToolError`].
    fn into_tool_error(self) -> ToolError;
}

impl IntoToolError for ToolError {
    fn into_tool_error(self) -> ToolError {
        self
    }
}

impl<E: Into<Box<dyn StdError + Send + Sync>>> IntoToolError for E {
    fn into_tool_error(self) -> ToolError {
        ToolError::from_boxed(self.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protocol_errors_stay_protocol_errors_with_the_try_operator() {
        fn inner() -> Result<(), ToolError> {
            Err(ErrorObject::invalid_params("no"))?;
            Ok(())
        }
        fn outer() -> Result<(), ToolError> {
            Err(Error::from(ErrorObject::invalid_params("no")))?;
            Ok(())
        }
        for error in [inner().unwrap_err(), outer().unwrap_err()] {
            assert_eq!(error.into_text().unwrap_err().code, -32602);
        }
    }

    #[test]
    fn strings_and_errors_become_text() {
        assert_eq!("plain".into_tool_error().into_text().unwrap(), "plain");
        assert_eq!(
            String::from("owned").into_tool_error().into_text().unwrap(),
            "owned"
        );
        let io = std::io::Error::other("disk full");
        assert_eq!(io.into_tool_error().into_text().unwrap(), "disk full");
    }
}
