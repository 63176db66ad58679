//! How messages travel: HTTP, byte streams on stdio, and in process.

mod batch;
mod duplex;
#[cfg(feature = "http-server")]
pub mod http;
mod limits;
mod listen;
mod memory;
mod out_stream;
mod outlet;
mod single;
mod stdio;
mod stdio_context;

pub use limits::Limits;
pub use memory::InProcess;
pub use stdio::StdioOptions;
pub use stdio_context::StdioContext;
