//! The state of one round: the client's input, and the journal for the next round.

use std::sync::{LazyLock, Mutex, MutexGuard};
use std::time::Duration;

use toolwire_proto::journal::{Journal, RoundLimitError};
use toolwire_types::{ErrorObject, InputRequests, InputResponses};

use crate::engine::Principal;
use crate::sync::lock;

/// The input responses and request state of the client, and the journal of earlier rounds.
#[derive(Debug, Default)]
pub(crate) struct RoundState {
    /// `None` for a request without input responses and request state, which is the usual case.
    retry: Option<Box<RetryInput>>,
    /// `None` until the handler asks for input or stores a result. Most handlers never do.
    journal: Mutex<Option<Box<Journal>>>,
}

/// What the client sent with its retry.
#[derive(Debug, Default)]
struct RetryInput {
    input_responses: InputResponses,
    /// An empty string is a valid state.
    request_state: Option<String>,
    /// The state as the client sent it, sealed.
    sent_state: Option<String>,
    /// Set if the state may be used only once.
    single_use: Option<SingleUseState>,
    /// Why the input is invalid, unless it belongs to another server.
    rejection: Option<ErrorObject>,
}

static NO_RESPONSES: LazyLock<InputResponses> = LazyLock::new(InputResponses::new);

/// The record that marks a single-use state as used.
#[derive(Debug, Clone)]
pub(crate) struct SingleUseState {
    /// The principal that the state belongs to.
    pub(crate) owner: Principal,
    pub(crate) fingerprint: [u8; 32],
    /// How long the state stays valid.
    pub(crate) lifetime: Duration,
}

impl RoundState {
    /// Creates the round from the input that the request carried.
    pub(crate) fn new(input_responses: InputResponses, request_state: Option<String>) -> Self {
        let retry = RetryInput {
            input_responses,
            request_state,
            sent_state: None,
            single_use: None,
            rejection: None,
        };
        Self {
            retry: Some(Box::new(retry)),
            journal: Mutex::default(),
        }
    }

    /// Creates the round of a request whose input this server rejects, unless a middleware gives the request to a raw
    /// entry.
    #[cold]
    pub(crate) fn rejected(error: ErrorObject) -> Self {
        let retry = RetryInput {
            rejection: Some(error),
            ..RetryInput::default()
        };
        Self {
            retry: Some(Box::new(retry)),
            journal: Mutex::default(),
        }
    }

    /// Returns why this server rejects the input of the request.
    pub(crate) fn rejection(&self) -> Option<&ErrorObject> {
        self.retry.as_ref()?.rejection.as_ref()
    }

    /// Sets the record of a state that may be used only once.
    pub(crate) fn with_single_use(mut self, single_use: Option<SingleUseState>) -> Self {
        self.retry.get_or_insert_default().single_use = single_use;
        self
    }

    /// Sets the state as the client sent it.
    pub(crate) fn with_sent_state(mut self, state: Option<String>) -> Self {
        if let Some(retry) = &mut self.retry {
            retry.sent_state = state;
        }
        self
    }

    /// Returns the state as the client sent it.
    pub(crate) fn sent_state(&self) -> Option<&str> {
        self.retry.as_ref()?.sent_state.as_deref()
    }

    /// Returns `true` if the request says that it carries the input that an earlier round asked for.
    pub(crate) fn is_retry(&self) -> bool {
        self.retry.is_some()
    }

    /// Returns the client's responses to the input requests of the previous round.
    pub(crate) fn input_responses(&self) -> &InputResponses {
        match &self.retry {
            Some(retry) => &retry.input_responses,
            None => &NO_RESPONSES,
        }
    }

    /// Returns the state that the previous round set. An empty string is a valid state.
    pub(crate) fn request_state(&self) -> Option<&str> {
        self.retry.as_ref()?.request_state.as_deref()
    }

    /// Returns the record of a state that may be used only once.
    pub(crate) fn single_use_state(&self) -> Option<&SingleUseState> {
        self.retry.as_ref()?.single_use.as_ref()
    }

    /// Sets the journal of earlier rounds.
    pub(crate) fn with_journal(mut self, journal: Journal) -> Self {
        self.journal = Mutex::new(Some(Box::new(journal)));
        self
    }

    /// Runs `work` on the journal.
    pub(crate) fn in_journal<T>(&self, work: impl FnOnce(&mut Journal) -> T) -> T {
        let mut journal = self.journal();
        work(journal.get_or_insert_default())
    }

    /// Returns `true` if this run lacks input, or waits for a later run.
    pub(crate) fn is_unfinished(&self) -> bool {
        self.journal()
            .as_ref()
            .is_some_and(|journal| journal.is_unfinished())
    }

    /// Ends a run of the handler and returns its input requests; see [`Journal::suspend`].
    pub(crate) fn suspend(&self) -> Result<Option<InputRequests>, RoundLimitError> {
        let mut journal = self.journal();
        match &mut *journal {
            Some(journal) => journal.suspend(),
            None => Ok(None),
        }
    }

    /// Ends a run of a handler that returned its own `input_required`; see [`Journal::discard_requests`].
    pub(crate) fn discard_requests(&self) {
        let mut journal = self.journal();
        if let Some(journal) = &mut *journal {
            journal.discard_requests();
        }
    }

    /// Takes the journal for the next round. Returns `None` if the handler did not use it.
    pub(crate) fn take_journal(&self) -> Option<Journal> {
        let mut journal = self.journal();
        journal.take().map(|journal| *journal)
    }

    fn journal(&self) -> MutexGuard<'_, Option<Box<Journal>>> {
        lock(&self.journal)
    }
}
