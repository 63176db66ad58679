//! Views of tools: HTML documents that hosts show for a call (extension `io.modelcontextprotocol/ui`).

mod bridge;
mod definition;
mod entry;
mod register;
mod source;

pub use bridge::BRIDGE;
pub use definition::View;
pub(crate) use entry::ToolViewEntry;
pub use source::bundle;
