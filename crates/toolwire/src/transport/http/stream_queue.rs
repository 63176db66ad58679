//! What a request has said and its client has not read yet.
//!
//! One side pushes, from wherever it runs; the other polls, from inside a response. Nothing is allocated before the
//! first message, because most requests have none.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use toolwire_proto::outbox::{Outbox, OutboxLimits, Outgoing, OutgoingKind};
use toolwire_proto::sse;

use crate::transport::outlet::Outlet;

#[derive(Debug)]
pub(crate) struct StreamQueue {
    limits: OutboxLimits,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    outbox: Option<Box<Outbox>>,
    reader: Option<Waker>,
    /// The reader is to look up although there is no message.
    nudged: bool,
}

impl StreamQueue {
    pub(crate) fn new(limits: OutboxLimits) -> Self {
        Self {
            limits,
            state: Mutex::default(),
        }
    }

    /// Wakes the reader without a message.
    pub(crate) fn nudge(&self) {
        let mut state = self.lock();
        state.nudged = true;
        let reader = state.reader.take();
        drop(state);
        wake(reader);
    }

    /// Ready when a message waits or somebody nudged.
    pub(crate) fn poll_news(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.lock();
        if state.has_message() || std::mem::take(&mut state.nudged) {
            return Poll::Ready(());
        }
        match &mut state.reader {
            Some(reader) => reader.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
        Poll::Pending
    }

    /// Whether a message waits.
    pub(crate) fn has_message(&self) -> bool {
        self.lock().has_message()
    }

    /// Takes every message and appends it as an event without an id.
    pub(crate) fn take_events(&self, out: &mut Vec<u8>) {
        if let Some(mut outbox) = self.take_outbox() {
            outbox.pop_all_into(out, write_event);
        }
    }

    /// Takes every message.
    pub(crate) fn take(&self) -> Vec<Outgoing> {
        match self.take_outbox() {
            Some(mut outbox) => std::iter::from_fn(|| outbox.pop()).collect(),
            None => Vec::new(),
        }
    }

    /// The queue goes with its messages: most streams are silent most of the time, and then need none.
    fn take_outbox(&self) -> Option<Box<Outbox>> {
        self.lock().outbox.take()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn has_message(&self) -> bool {
        self.outbox
            .as_ref()
            .is_some_and(|outbox| !outbox.is_empty())
    }
}

impl Outlet for StreamQueue {
    fn push(&self, kind: OutgoingKind, bytes: Vec<u8>) {
        let mut state = self.lock();
        state
            .outbox
            .get_or_insert_with(|| Box::new(Outbox::new(self.limits)))
            .push(Outgoing::new(kind, bytes));
        let reader = state.reader.take();
        drop(state);
        wake(reader);
    }
}

fn wake(reader: Option<Waker>) {
    if let Some(reader) = reader {
        reader.wake();
    }
}

/// Appends a message as an event without an id.
pub(super) fn write_event(out: &mut Vec<u8>, message: &[u8]) {
    sse::encode_message(out, None, message).expect("there is no id that could be unsafe");
}
