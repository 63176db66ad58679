//! Entries whose descriptors, parameters and results are raw JSON, for sources that forward them.
//!
//! Unknown members, the order of members and the text of numbers are preserved. Schemas are not compiled, and neither arguments
//! nor results are checked.

mod descriptor;
mod entry;

pub(crate) use descriptor::stamped;
pub(crate) use entry::{RawEntry, RawHandler};
