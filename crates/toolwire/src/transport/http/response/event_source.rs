//! Where the events of a stream come from.

use std::task::{Context, Poll};

/// Where the events of a stream come from.
pub(crate) trait EventSource: Send {
    /// Appends the events that are ready. `Ready(Flow::Ends)` after the last one; `Pending` when nothing was appended.
    fn poll_events(&mut self, cx: &mut Context<'_>, out: &mut Vec<u8>) -> Poll<StreamState>;
}

/// Whether a stream goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamState {
    Open,
    Ended,
}
