//! URL elicitations that clients were asked to complete: their ids, and the clients that receive the
//! notification of the completion.
//!
//! Spec 2025-11-25, client/elicitation, "Completion Notifications for URL Mode Elicitation": the notification goes only
//! to the client that received the elicitation.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, Weak};

use crate::engine::{ConnectionState, TransportContext};
use crate::sync::lock;

/// The maximum number of elicitations whose completion can be announced. The oldest ones are removed first.
const MAX_ELICITATIONS: usize = 10_000;

/// The elicitations of all clients of one server.
#[derive(Debug, Default)]
pub(crate) struct UrlElicitations {
    table: Mutex<ElicitationTable>,
}

#[derive(Debug, Default)]
struct ElicitationTable {
    by_id: HashMap<String, Recipient>,
    /// The ids in the order in which they were added, including those that were removed since.
    order: VecDeque<String>,
}

/// The client that received an elicitation.
#[derive(Debug, Clone)]
pub(crate) struct Recipient {
    /// The name of the session. A session has another state after a while without requests.
    token: Option<String>,
    state: Weak<ConnectionState>,
}

impl Recipient {
    fn of(client: &dyn TransportContext) -> Option<Self> {
        Some(Self {
            token: client.connection_token().map(str::to_owned),
            state: Arc::downgrade(client.connection_state()?),
        })
    }

    /// Returns `true` if this channel reaches the same client.
    pub(crate) fn is(&self, client: &dyn TransportContext) -> bool {
        match &self.token {
            Some(token) => client.connection_token() == Some(token),
            None => client
                .connection_state()
                .is_some_and(|state| Weak::as_ptr(&self.state) == Arc::as_ptr(state)),
        }
    }
}

impl UrlElicitations {
    /// Adds an elicitation that this client received.
    pub(crate) fn add(&self, id: &str, client: &dyn TransportContext) {
        let Some(recipient) = Recipient::of(client) else {
            return;
        };
        let mut table = lock(&self.table);
        if table.by_id.insert(id.to_owned(), recipient).is_none() {
            table.order.push_back(id.to_owned());
        }
        while table.order.len() > MAX_ELICITATIONS {
            if let Some(oldest) = table.order.pop_front() {
                table.by_id.remove(&oldest);
            }
        }
    }

    /// Returns the client that received an elicitation.
    pub(crate) fn recipient(&self, id: &str) -> Option<Recipient> {
        lock(&self.table).by_id.get(id).cloned()
    }

    /// Removes an elicitation. Returns `true` if it existed.
    pub(crate) fn remove(&self, id: &str) -> bool {
        let mut table = lock(&self.table);
        let existed = table.by_id.remove(id).is_some();
        if existed {
            table.order.retain(|other| other != id);
        }
        existed
    }
}

#[cfg(test)]
mod tests {
    use toolwire_types::RawJson;

    use super::*;
    use crate::engine::{BoxFuture, NullContext, OutgoingNotification};
    use crate::error::Error;

    #[derive(Debug)]
    struct Session(Arc<ConnectionState>, &'static str);

    impl TransportContext for Session {
        fn notify(&self, _: OutgoingNotification) {}

        fn request<'a>(&'a self, _: &'a str, _: RawJson) -> BoxFuture<'a, Result<RawJson, Error>> {
            panic!("nothing is requested in these tests")
        }

        fn can_request(&self) -> bool {
            true
        }

        fn connection_state(&self) -> Option<&Arc<ConnectionState>> {
            Some(&self.0)
        }

        fn connection_token(&self) -> Option<&str> {
            Some(self.1).filter(|token| !token.is_empty())
        }
    }

    #[test]
    fn recipient_is_the_same_connection_or_session() {
        let state = Arc::new(ConnectionState::new());
        let stdio = Recipient::of(&Session(Arc::clone(&state), "")).unwrap();
        assert!(stdio.is(&Session(Arc::clone(&state), "")));
        assert!(!stdio.is(&Session(Arc::default(), "")));
        let http = Recipient::of(&Session(state, "session-1")).unwrap();
        assert!(http.is(&Session(Arc::default(), "session-1")));
        assert!(!http.is(&Session(Arc::default(), "session-2")));
        assert!(Recipient::of(&NullContext::new()).is_none());
    }

    #[test]
    fn oldest_elicitations_are_removed_first() {
        let elicitations = UrlElicitations::default();
        let client = Session(Arc::default(), "session-1");
        for number in 0..=MAX_ELICITATIONS {
            elicitations.add(&number.to_string(), &client);
        }
        assert!(elicitations.recipient("0").is_none());
        assert!(elicitations.recipient("1").is_some());
        assert!(elicitations.remove("1"));
        assert!(!elicitations.remove("1"));
        let table = lock(&elicitations.table);
        assert_eq!(table.by_id.len(), MAX_ELICITATIONS - 1);
        assert_eq!(table.order.len(), MAX_ELICITATIONS - 1);
    }
}
