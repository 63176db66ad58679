//! The interface of the sources of event streams.

use std::task::{Context, Poll};

/// A source of the events of one stream.
pub(crate) trait StreamSource: Send {
    /// Appends the events that are ready to `out`. Returns [`StreamState::Ended`] after the last event, and `Pending`
    /// if nothing was appended.
    fn poll_events(&mut self, cx: &mut Context<'_>, out: &mut Vec<u8>) -> Poll<StreamState>;
}

/// The state of a stream after its events were polled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamState {
    Open,
    Ended,
    /// The stream cannot continue, and its response must not look complete.
    Broken,
}
