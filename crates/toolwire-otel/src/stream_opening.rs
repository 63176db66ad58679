//! The start of a stream, which is recorded once: when the stream is open, or when it fails before.

use std::sync::{Arc, Mutex};

use crate::ending::Ending;
use crate::recording::Recording;
use crate::sync::lock;

/// The recording of a stream that is not open yet. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Opening(Arc<Mutex<Option<Recording>>>);

impl Opening {
    pub(crate) fn new(recording: Recording) -> Self {
        Self(Arc::new(Mutex::new(Some(recording))))
    }

    /// Ends the recording, unless it has ended before.
    pub(crate) fn end(&self, ending: impl FnOnce() -> Ending) {
        if let Some(recording) = self.take() {
            recording.end(&ending());
        }
    }

    /// Returns the recording, once.
    pub(crate) fn take(&self) -> Option<Recording> {
        let mut recording = lock(&self.0);
        recording.take()
    }
}
