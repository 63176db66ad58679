//! What the client asks of whoever speaks HTTP for it.
//!
//! [`HttpClient`] is the seam: whatever carries one request to a server and its answer back. Everything above it knows
//! requests, answers and steps that can fail, and no sockets.

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
