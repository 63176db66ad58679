//! The ids of URL elicitations, which a client needs to recognize their completion.
//!
//! A server announces an id in a URL elicitation or in the error −32042. Later it reports with
//! `notifications/elicitation/complete` that the user finished at the URL. Spec 2025-11-25, client/elicitation: a client
//! ignores this notification for ids that are unknown or already completed.

use std::collections::VecDeque;

use toolwire_types::{ErrorObject, URLElicitationRequiredData, code};

/// The number of ids that a client stores. Beyond it, the oldest is removed.
pub const MAX_ELICITATION_IDS: usize = 1024;

/// The longest id in bytes. A server does not send a longer one, and a client does not store it.
pub const MAX_ELICITATION_ID_BYTES: usize = 1024;

/// The announced ids of one connection.
#[derive(Debug, Clone, Default)]
pub struct ElicitationIds {
    /// The oldest first.
    announced: VecDeque<AnnouncedId>,
}

#[derive(Debug, Clone)]
struct AnnouncedId {
    id: String,
    is_completed: bool,
}

impl ElicitationIds {
    /// Stores an id that the server announced. An id that is stored already does not change.
    pub fn announce(&mut self, id: &str) {
        if id.len() > MAX_ELICITATION_ID_BYTES || self.announced.iter().any(|known| known.id == id)
        {
            return;
        }
        if self.announced.len() == MAX_ELICITATION_IDS {
            self.announced.pop_front();
        }
        self.announced.push_back(AnnouncedId {
            id: id.to_owned(),
            is_completed: false,
        });
    }

    /// Stores the ids that an error announces, if it is the error −32042.
    pub fn announce_error(&mut self, error: &ErrorObject) {
        if error.code != code::URL_ELICITATION_REQUIRED {
            return;
        }
        let data = error.data.as_ref().and_then(|data| data.parse().ok());
        let Some(URLElicitationRequiredData { elicitations, .. }) = data else {
            return;
        };
        // More could not be stored, and every id is compared with the stored ones.
        for elicitation in elicitations.iter().take(MAX_ELICITATION_IDS) {
            if let Some(id) = &elicitation.elicitation_id {
                self.announce(id);
            }
        }
    }

    /// Records the completion of an elicitation. Returns `true` if it is the first for an announced id.
    pub fn complete(&mut self, id: &str) -> bool {
        let known = self.announced.iter_mut().find(|known| known.id == id);
        match known {
            Some(known) => !std::mem::replace(&mut known.is_completed, true),
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_the_first_completion_of_an_announced_id_counts() {
        let mut ids = ElicitationIds::default();
        assert!(!ids.complete("a"));
        ids.announce("a");
        ids.announce("b");
        assert!(ids.complete("a"));
        assert!(!ids.complete("a"));
        // A second announcement does not start again.
        ids.announce("a");
        assert!(!ids.complete("a"));
        assert!(ids.complete("b"));
    }

    #[test]
    fn error_announces_the_ids_of_its_elicitations() {
        let elicitation = |id: &str| json!({"mode": "url", "elicitationId": id, "url": "https://example.com/", "message": "Log in"});
        let data = json!({"elicitations": [elicitation("a"), elicitation("b")]});
        let mut ids = ElicitationIds::default();
        ids.announce_error(&ErrorObject::new(-32602, "other").with_data(data.clone()));
        assert!(!ids.complete("a"));
        ids.announce_error(&ErrorObject::new(-32042, "no data"));
        ids.announce_error(&ErrorObject::new(-32042, "bad data").with_data(json!([1])));
        ids.announce_error(&ErrorObject::new(-32042, "log in first").with_data(data));
        assert!(ids.complete("a"));
        assert!(ids.complete("b"));
    }

    #[test]
    fn oldest_id_is_removed_at_the_limit() {
        let mut ids = ElicitationIds::default();
        for number in 0..MAX_ELICITATION_IDS {
            ids.announce(&number.to_string());
        }
        assert!(ids.complete("0"));
        ids.announce("one more");
        assert!(!ids.complete("0"));
        assert!(ids.complete("1"));
        assert!(ids.complete("one more"));
        assert_eq!(ids.announced.len(), MAX_ELICITATION_IDS);
    }

    #[test]
    fn id_above_the_limit_is_not_stored() {
        let mut ids = ElicitationIds::default();
        let longest = "x".repeat(MAX_ELICITATION_ID_BYTES);
        ids.announce(&longest);
        assert!(ids.complete(&longest));
        let longer = format!("{longest}x");
        ids.announce(&longer);
        assert!(!ids.complete(&longer));
    }
}
