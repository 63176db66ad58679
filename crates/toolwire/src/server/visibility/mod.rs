//! Which tools, prompts and resources a caller sees.
//!
//! What is hidden from a caller does not exist for it: it is not listed, and requests for it get the response of an
//! unknown name. A rule that panics fails the request with −32603.

mod caller;
mod denied_request;
mod policies;
mod rule_panic;
mod stored_caller;
mod viewer;

pub use caller::Caller;
pub(crate) use caller::Visibility;
pub(crate) use policies::{
    EntryKind, KnownArguments, LevelName, PolicyEntry, PolicyOfLevel, UsedTemplate,
};
pub(crate) use stored_caller::StoredCaller;
pub(crate) use viewer::Viewer;
