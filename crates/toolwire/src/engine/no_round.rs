//! Stands in for what a run of a handler finds out for the next when the feature `input` is off: there is no next.

/// Nothing.
#[derive(Debug)]
pub(crate) struct Round;
