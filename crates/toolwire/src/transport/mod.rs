//! The transports: HTTP, stdio, and in process.

mod batch;
#[cfg(feature = "client")]
pub(crate) mod child;
mod chunk;
mod duplex;
#[cfg(feature = "http-server")]
pub mod http;
#[cfg(feature = "http-client")]
pub mod http_client;
mod limits;
mod listen;
mod memory;
mod outgoing_queue;
mod single;
mod stdio;
mod stdio_context;

pub use limits::Limits;
pub use memory::InProcess;
pub use stdio::StdioOptions;
pub use stdio_context::StdioContext;
pub use toolwire_proto::outbox::OutgoingKind;
