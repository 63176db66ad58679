//! Implied scopes, and the selection of scopes for a request.

mod hierarchy;
mod selection;

pub use self::hierarchy::ScopeHierarchy;
pub(crate) use self::selection::{OFFLINE_ACCESS, ScopeSources};
