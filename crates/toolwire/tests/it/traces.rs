//! Everything that is traced, written down for those who look for secrets in it.

#![expect(
    clippy::unwrap_used,
    reason = "a test may panic, also outside its own function"
)]

use std::fmt;
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record as SpanRecord};
use tracing::subscriber::DefaultGuard;
use tracing::{Dispatch, Event, Metadata, Subscriber};

/// Writes down everything that is traced, at every level.
#[derive(Debug, Clone, Default)]
pub(crate) struct Traces(Arc<Mutex<String>>);

impl Traces {
    pub(crate) fn text(&self) -> String {
        self.0.lock().unwrap().clone()
    }
}

/// Writes down what is traced in this thread for as long as it is there.
#[derive(Debug)]
pub(crate) struct Writing {
    _default: DefaultGuard,
    _other: Dispatch,
}

impl Traces {
    pub(crate) fn write_down() -> (Self, Writing) {
        let traces = Self::default();
        // With a single subscriber a place of tracing is switched off for all threads when one without a subscriber
        // comes by first, and other tests do; with two, each is asked.
        let other = Dispatch::new(Self::default());
        let writing = Writing {
            _default: tracing::subscriber::set_default(traces.clone()),
            _other: other,
        };
        (traces, writing)
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
