//! The signal with which a source announces new events.

use std::sync::Arc;

use tokio::sync::watch;

/// A signal that new events may be there. Clones share it.
///
/// A source that returns one from [`EventSource::signal`](crate::events::EventSource::signal) is asked for events as soon
/// as the signal is sent, and not only at intervals.
#[derive(Debug, Clone)]
pub struct EventSignal {
    sender: Arc<watch::Sender<()>>,
}

impl EventSignal {
    /// Creates a signal.
    #[must_use]
    pub fn new() -> Self {
        Self {
            sender: Arc::new(watch::Sender::new(())),
        }
    }

    /// Announces that new events may be there. It does not wait.
    pub fn send(&self) {
        self.sender.send_replace(());
    }

    /// Returns a receiver for signals that are sent from now on.
    pub(crate) fn subscribe(&self) -> watch::Receiver<()> {
        self.sender.subscribe()
    }
}

impl Default for EventSignal {
    fn default() -> Self {
        Self::new()
    }
}
