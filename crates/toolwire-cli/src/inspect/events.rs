//! The events that every open page gets.

use std::sync::Arc;

use serde::Serialize;
use tokio::sync::broadcast;

/// The number of events that wait for one page. A page that misses events loads everything again.
pub(super) const MAX_WAITING: usize = 1024;

/// An event with its data as JSON.
#[derive(Debug, Clone)]
pub(super) struct InspectEvent {
    pub(super) name: &'static str,
    pub(super) data: Arc<str>,
}

/// Sends events to all open pages. Clones share the receivers.
#[derive(Debug, Clone)]
pub(super) struct PageEvents(broadcast::Sender<InspectEvent>);

impl PageEvents {
    pub(super) fn new() -> Self {
        Self(broadcast::Sender::new(MAX_WAITING))
    }

    /// Sends an event. Without an open page, nothing happens.
    pub(super) fn send(&self, name: &'static str, data: &impl Serialize) {
        let data = serde_json::to_string(data).unwrap_or_else(|_| "null".to_owned());
        let _ = self.0.send(InspectEvent {
            name,
            data: data.into(),
        });
    }

    pub(super) fn receive(&self) -> broadcast::Receiver<InspectEvent> {
        self.0.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::broadcast::error::TryRecvError;

    use super::*;

    #[test]
    fn events_beyond_the_limit_are_reported_as_missed() {
        let events = PageEvents::new();
        let (mut enough, mut less) = (events.receive(), events.receive());
        for number in 0..MAX_WAITING {
            events.send("call", &number);
        }
        assert_eq!(&*enough.try_recv().expect("the first event").data, "0");
        events.send("call", &"one more");
        assert!(matches!(less.try_recv(), Err(TryRecvError::Lagged(1))));
        assert!(enough.try_recv().is_ok());
    }
}
