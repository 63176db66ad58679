//! Return values of resource readers, and their conversion into contents.

use toolwire_types::{ReadResourceResult, ResourceContents};
#[cfg(feature = "input")]
use {
    serde::Serialize,
    toolwire_types::{InputRequests, InputRequiredResult},
};

use crate::server::response::conversion;
#[cfg(feature = "input")]
use crate::server::response::{input_required, state_text};
use crate::server::tool_error::{IntoToolError, ToolError};

/// The outcome of a read: contents or an input request.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ResourceResponse {
    /// The contents of the resource.
    Contents(ResourceData),
    /// A complete result from the author.
    Complete(ReadResourceResult),
    /// The client must gather input and retry.
    #[cfg(feature = "input")]
    InputRequired(InputRequiredResult),
}

/// The data of a resource. The URI and MIME type come from its descriptor.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResourceData {
    /// Text.
    Text(String),
    /// Bytes, sent as base64.
    Bytes(Vec<u8>),
}

#[cfg(feature = "input")]
impl ResourceResponse {
    /// Asks the client for input, as [`ToolResponse::input_required`](crate::ToolResponse::input_required) does.
    #[must_use]
    pub fn input_required(requests: InputRequests, state: Option<String>) -> Self {
        Self::InputRequired(input_required(requests, state))
    }

    /// Like [`input_required`](Self::input_required), with a typed state.
    ///
    /// # Errors
    /// Returns an error if the state cannot be written as JSON.
    pub fn input_required_with<S: Serialize>(
        requests: InputRequests,
        state: &S,
    ) -> Result<Self, ToolError> {
        Ok(Self::input_required(requests, Some(state_text(state)?)))
    }
}

/// A return value of a resource reader: text, bytes, contents, a result, or a `Result` of these.
#[diagnostic::on_unimplemented(
    message = "a resource cannot return `{Self}`",
    note = "return text, `Vec<u8>`, `ResourceContents` or a `Vec` of them, a `ReadResourceResult`, a \
            `ResourceResponse`, or a `Result` of one of these"
)]
pub trait IntoResourceResponse<M> {
    /// Converts the value into a response.
    ///
    /// # Errors
    /// Returns an error if the reader failed.
    fn into_resource_response(self) -> Result<ResourceResponse, ToolError>;
}

impl IntoResourceResponse<conversion::FromProtocol> for ResourceResponse {
    fn into_resource_response(self) -> Result<ResourceResponse, ToolError> {
        Ok(self)
    }
}

impl IntoResourceResponse<conversion::FromProtocol> for ReadResourceResult {
    fn into_resource_response(self) -> Result<ResourceResponse, ToolError> {
        Ok(ResourceResponse::Complete(self))
    }
}

impl IntoResourceResponse<conversion::FromProtocol> for ResourceContents {
    fn into_resource_response(self) -> Result<ResourceResponse, ToolError> {
        vec![self].into_resource_response()
    }
}

impl IntoResourceResponse<conversion::FromProtocol> for Vec<ResourceContents> {
    fn into_resource_response(self) -> Result<ResourceResponse, ToolError> {
        Ok(ResourceResponse::Complete(ReadResourceResult::new(self)))
    }
}

impl IntoResourceResponse<conversion::FromProtocol> for String {
    fn into_resource_response(self) -> Result<ResourceResponse, ToolError> {
        Ok(ResourceResponse::Contents(ResourceData::Text(self)))
    }
}

impl IntoResourceResponse<conversion::FromProtocol> for &str {
    fn into_resource_response(self) -> Result<ResourceResponse, ToolError> {
        self.to_owned().into_resource_response()
    }
}

impl IntoResourceResponse<conversion::FromProtocol> for Vec<u8> {
    fn into_resource_response(self) -> Result<ResourceResponse, ToolError> {
        Ok(ResourceResponse::Contents(ResourceData::Bytes(self)))
    }
}

impl<T, E, M> IntoResourceResponse<conversion::FromResult<M>> for Result<T, E>
where
    T: IntoResourceResponse<M>,
    E: IntoToolError,
{
    fn into_resource_response(self) -> Result<ResourceResponse, ToolError> {
        match self {
            Ok(value) => value.into_resource_response(),
            Err(error) => Err(error.into_tool_error()),
        }
    }
}
