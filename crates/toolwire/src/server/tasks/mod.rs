//! Tasks: tool calls that outlive their request.

mod options;

pub use options::TaskOptions;
pub(crate) use options::TaskStart;
