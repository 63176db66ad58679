//! One run of a handler: what came with it, and what it finds out for the next.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use toolwire_proto::journal::{EndlessRounds, Journal};
use toolwire_types::{InputRequests, InputResponses};

/// What the client sent back when it was asked for input, and what is known from earlier rounds.
#[derive(Debug, Default)]
pub(crate) struct Round {
    pub(crate) input_responses: InputResponses,
    /// The empty text is a state, too.
    pub(crate) request_state: Option<String>,
    /// For a state that may be used once.
    pub(crate) to_be_spent: Option<Spending>,
    /// Nothing until the handler asks or remembers something; most never do.
    journal: Mutex<Option<Box<Journal>>>,
}

/// How a state that may be used once is remembered.
#[derive(Debug, Clone)]
pub(crate) struct Spending {
    pub(crate) fingerprint: [u8; 32],
    /// How long it would open.
    pub(crate) lifetime: Duration,
}

impl Round {
    /// What came with the request.
    pub(crate) fn new(input_responses: InputResponses, request_state: Option<String>) -> Self {
        Self {
            input_responses,
            request_state,
            ..Self::default()
        }
    }

    /// Goes on from what earlier rounds have found out.
    pub(crate) fn with_journal(mut self, journal: Journal) -> Self {
        self.journal = Mutex::new(Some(Box::new(journal)));
        self
    }

    /// Reads or writes the journal.
    pub(crate) fn in_journal<T>(&self, work: impl FnOnce(&mut Journal) -> T) -> T {
        let mut journal = self.journal();
        work(journal.get_or_insert_default())
    }

    /// Whether this run could not find something out, or waits for something.
    pub(crate) fn is_unfinished(&self) -> bool {
        self.journal()
            .as_ref()
            .is_some_and(|journal| journal.is_unfinished())
    }

    /// Ends a run of the handler: what it wants to be asked, see [`Journal::suspend`].
    pub(crate) fn suspend(&self) -> Result<Option<InputRequests>, EndlessRounds> {
        let mut journal = self.journal();
        match &mut *journal {
            Some(journal) => journal.suspend(),
            None => Ok(None),
        }
    }

    /// Ends a run of the handler that asks in its own way, see [`Journal::set_aside`].
    pub(crate) fn set_aside(&self) {
        let mut journal = self.journal();
        if let Some(journal) = &mut *journal {
            journal.set_aside();
        }
    }

    /// The journal, for the next round; `None` when nobody has used it.
    pub(crate) fn take_journal(&self) -> Option<Journal> {
        let mut journal = self.journal();
        journal.take().map(|journal| *journal)
    }

    fn journal(&self) -> MutexGuard<'_, Option<Box<Journal>>> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
