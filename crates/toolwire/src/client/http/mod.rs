//! The interface between the MCP client and an HTTP client.
//!
//! [`HttpClient`] sends one HTTP request and returns the response. This module does not open connections.

mod body;
mod error;
mod layer;
mod options;
mod stack;

pub use body::ClientBody;
pub use error::{HttpError, HttpPhase};
pub use layer::HttpLayer;
pub(crate) use options::HttpClientOptions;
pub use stack::HttpClient;
