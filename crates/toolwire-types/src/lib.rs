//! Wire types of the Model Context Protocol, for every released revision.

mod jsonrpc;
mod raw;
mod version;

pub use jsonrpc::{
    ErrorObject, Notification, ProgressToken, Request, RequestId, Response, ResponseId, code,
};
pub use raw::RawJson;
pub use version::{ProtocolVersion, UnknownVersion};
