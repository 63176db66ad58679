//! The transports: HTTP, stdio, in process, and pairs of streams of your own.

mod batch;
mod batch_responses;
#[cfg(feature = "client")]
pub(crate) mod child;
mod chunk;
mod drop_reporter;
mod duplex;
#[cfg(feature = "http-server")]
pub mod http;
#[cfg(feature = "http-client")]
pub mod http_client;
mod limits;
mod listen;
mod memory;
mod message_streams;
mod outgoing_queue;
mod single;
mod start_message;
mod stdio;
mod stdio_context;
#[cfg(all(feature = "events", feature = "http-client"))]
mod webhooks;

pub use limits::Limits;
pub use memory::InProcess;
pub use message_streams::{MessageReader, MessageWriter};
pub use stdio::StdioOptions;
pub use stdio_context::StdioContext;
pub use toolwire_proto::outbox::OutgoingKind;
