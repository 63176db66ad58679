//! Without the feature `events`, there are no streams of events.

use toolwire_proto::admit::Admitted;
use toolwire_types::RequestId;

use crate::transport::duplex::MessageLoop;

/// The open streams of events. It is always empty.
#[derive(Debug, Default)]
pub(in crate::transport::duplex) struct EventStreams(());

impl EventStreams {
    pub(in crate::transport::duplex) fn serves(_: &str) -> bool {
        false
    }

    pub(in crate::transport::duplex) fn cancel(&self, _: &RequestId) {}

    pub(in crate::transport::duplex) fn cancel_all(&self) {}
}

impl MessageLoop {
    pub(in crate::transport::duplex) fn on_event_stream(&mut self, _: &Admitted<'_>) {}
}
