//! One run of a handler: what came with it, and what it finds out for the next.

use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use toolwire_proto::journal::{Journal, RoundLimitError};
use toolwire_types::{InputRequests, InputResponses};

use crate::engine::Principal;

/// What the client sent back when it was asked for input, and what is known from earlier rounds.
#[derive(Debug, Default)]
pub(crate) struct RoundState {
    /// Nothing, for most requests.
    brought: Option<Box<RetryInput>>,
    /// Nothing until the handler asks or remembers something; most never do.
    journal: Mutex<Option<Box<Journal>>>,
}

/// What the client sent back.
#[derive(Debug, Default)]
struct RetryInput {
    input_responses: InputResponses,
    /// The empty text is a state, too.
    request_state: Option<String>,
    /// For a state that may be used once.
    to_be_spent: Option<SingleUseState>,
}

static NO_RESPONSES: LazyLock<InputResponses> = LazyLock::new(InputResponses::new);

/// How a state that may be used once is remembered.
#[derive(Debug, Clone)]
pub(crate) struct SingleUseState {
    /// The principal that the state belongs to.
    pub(crate) owner: Principal,
    pub(crate) fingerprint: [u8; 32],
    /// How long it would open.
    pub(crate) lifetime: Duration,
}

impl RoundState {
    /// What came with the request.
    pub(crate) fn new(input_responses: InputResponses, request_state: Option<String>) -> Self {
        let brought = RetryInput {
            input_responses,
            request_state,
            to_be_spent: None,
        };
        Self {
            brought: Some(Box::new(brought)),
            journal: Mutex::default(),
        }
    }

    /// The state that came can be used once.
    pub(crate) fn with_spending(mut self, spending: Option<SingleUseState>) -> Self {
        self.brought.get_or_insert_default().to_be_spent = spending;
        self
    }

    /// The answers to what an earlier round has asked.
    pub(crate) fn input_responses(&self) -> &InputResponses {
        match &self.brought {
            Some(brought) => &brought.input_responses,
            None => &NO_RESPONSES,
        }
    }

    /// The state an earlier round has left; the empty text is one, too.
    pub(crate) fn request_state(&self) -> Option<&str> {
        self.brought.as_ref()?.request_state.as_deref()
    }

    /// For a state that may be used once.
    pub(crate) fn single_use_state(&self) -> Option<&SingleUseState> {
        self.brought.as_ref()?.to_be_spent.as_ref()
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
    pub(crate) fn suspend(&self) -> Result<Option<InputRequests>, RoundLimitError> {
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
