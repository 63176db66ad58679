//! The connections that replace a lost one.

use std::sync::{Arc, Weak};

use tokio::sync::watch;

use crate::connection::{Connection, SharedConnection, State};
use crate::counters::CountedStore;

/// The connections that replace a lost one. It does not keep the connection open.
pub(crate) struct Reconnects {
    shared: Weak<SharedConnection>,
    store: CountedStore,
    state: watch::Receiver<State>,
    /// The number of the last connection.
    last: u64,
}

impl Reconnects {
    pub(super) fn new(connection: &Connection) -> Self {
        let state = connection.shared.state.subscribe();
        let last = match &*state.borrow() {
            State::Connected { number, .. } => *number,
            // The next connection counts.
            State::Connecting | State::Down => 0,
        };
        Self {
            shared: Arc::downgrade(&connection.shared),
            store: connection.store,
            state,
            last,
        }
    }

    /// Waits until the connection was replaced. Returns `false` if no store uses it any more.
    pub(crate) async fn wait(&mut self) -> bool {
        let last = self.last;
        let is_new =
            |state: &State| matches!(state, State::Connected { number, .. } if *number > last);
        match self.state.wait_for(is_new).await.as_deref() {
            Ok(State::Connected { number, .. }) => {
                self.last = *number;
                true
            }
            _ => false,
        }
    }

    /// Returns the connection, unless no store uses it any more.
    pub(crate) fn connection(&self) -> Option<Connection> {
        let shared = self.shared.upgrade()?;
        let store = self.store;
        Some(Connection { shared, store })
    }
}
