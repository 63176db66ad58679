//! The signal with which a source announces new events.

use std::sync::Arc;
use std::time::Duration;

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
    fn subscribe(&self) -> watch::Receiver<()> {
        self.sender.subscribe()
    }
}

impl Default for EventSignal {
    fn default() -> Self {
        Self::new()
    }
}

/// Waits for new events of a source: for its signal, or for its interval if it has none.
#[derive(Debug)]
pub(super) struct NewEvents {
    signal: Option<watch::Receiver<()>>,
    poll_interval: Duration,
}

impl NewEvents {
    /// Begins to wait. Signals that are sent from now on are not lost.
    pub(super) fn new(signal: Option<EventSignal>, poll_interval: Duration) -> Self {
        Self {
            signal: signal.map(|signal| signal.subscribe()),
            poll_interval,
        }
    }

    /// Ignores the signals that were sent until now.
    pub(super) fn mark_seen(&mut self) {
        if let Some(signal) = &mut self.signal {
            signal.mark_unchanged();
        }
    }

    /// Waits until new events may be there.
    pub(super) async fn wait(&mut self) {
        match &mut self.signal {
            Some(signal) => {
                if signal.changed().await.is_err() {
                    // The source dropped its signal, and is asked at intervals from now on.
                    self.signal = None;
                }
            }
            None => tokio::time::sleep(self.poll_interval).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    const INTERVAL: Duration = Duration::from_secs(5);

    #[tokio::test(start_paused = true)]
    async fn source_without_its_signal_is_asked_at_intervals() {
        let signal = EventSignal::new();
        let mut events = NewEvents::new(Some(signal.clone()), INTERVAL);
        let start = Instant::now();
        signal.send();
        events.wait().await;
        drop(signal);
        events.wait().await;
        assert_eq!(start.elapsed(), Duration::ZERO);
        events.wait().await;
        assert_eq!(start.elapsed(), INTERVAL);
    }

    #[tokio::test(start_paused = true)]
    async fn seen_signal_does_not_end_the_next_wait() {
        let signal = EventSignal::new();
        let mut events = NewEvents::new(Some(signal.clone()), INTERVAL);
        signal.send();
        events.mark_seen();
        let waited = tokio::time::timeout(Duration::from_secs(60), events.wait()).await;
        assert!(waited.is_err());
    }
}
