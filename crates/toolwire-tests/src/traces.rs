//! Records all trace output, so that tests can search it for secrets.

use std::fmt;
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record as SpanRecord};
use tracing::subscriber::DefaultGuard;
use tracing::{Dispatch, Event, Metadata, Subscriber};

/// A `tracing` subscriber that records spans and events of every level as text.
#[derive(Debug, Clone, Default)]
pub struct Traces(Arc<Mutex<String>>);

impl Traces {
    /// Returns everything that was recorded.
    pub fn text(&self) -> String {
        self.0.lock().unwrap().clone()
    }
}

/// A guard that sets the recording subscriber for the current thread until it is dropped.
#[derive(Debug)]
pub struct RecordingGuard {
    _default: DefaultGuard,
    _other: Dispatch,
}

impl Traces {
    /// Records everything that this thread traces while the guard exists.
    pub fn record() -> (Self, RecordingGuard) {
        let traces = Self::default();
        // With a single subscriber, `tracing` caches a call site as disabled for all threads if a thread without a
        // subscriber reaches it first, as other tests do. With two subscribers, it asks each one.
        let other = Dispatch::new(Self::default());
        let guard = RecordingGuard {
            _default: tracing::subscriber::set_default(traces.clone()),
            _other: other,
        };
        (traces, guard)
    }
}

impl Visit for Traces {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let mut text = self.0.lock().unwrap();
        text.push_str(&format!("{field}={value:?} "));
    }
}

impl Subscriber for Traces {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        span.record(&mut self.clone());
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &SpanRecord<'_>) {
        values.record(&mut self.clone());
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        event.record(&mut self.clone());
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
