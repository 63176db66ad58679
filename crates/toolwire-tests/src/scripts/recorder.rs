//! Records what happens during a test.

use std::sync::{Arc, Mutex};

/// Events in order. Copies share them.
#[derive(Debug, Clone, Default)]
pub struct Recorder(Arc<Mutex<Vec<String>>>);

impl Recorder {
    /// Records an event and returns the number of recorded events.
    pub fn record(&self, event: impl Into<String>) -> usize {
        let mut events = self.0.lock().expect("the lock is not poisoned");
        events.push(event.into());
        events.len()
    }

    /// Removes all events and returns them.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().expect("the lock is not poisoned"))
    }
}
