//! The progress tokens of a connection to an upstream.
//!
//! Tokens are unique per connection, but an upstream connection of a relay has requests of several clients, which may
//! use equal tokens. The relay therefore sends a token of its own with the same JSON type, and replaces it in the
//! progress notifications. An entry ends with its request, so a later notification has no receiver.

use std::collections::HashMap;

use toolwire_types::{ProgressToken, RawJson};

use crate::param_members::RawMember;
use crate::raw_object::RawObject;

/// The maximum number of requests with progress on one connection. Further requests get no progress.
pub const MAX_TOKENS: usize = 16_384;

/// The maximum length of a client's token in bytes of JSON. A request with a longer one gets no progress.
pub const MAX_TOKEN_BYTES: usize = 1024;

/// The start of tokens that are strings.
const TEXT_PREFIX: &str = "p";

/// The tokens of the requests in flight on one connection. `O` identifies the request for the relay.
///
/// ```
/// use toolwire_proto::relay::progress_tokens::ProgressTokens;
/// use toolwire_types::RawJson;
///
/// let client_token: RawJson = serde_json::from_str("\"a\"").unwrap();
/// let mut tokens = ProgressTokens::new();
/// let token = tokens.insert(&client_token, "request 1").unwrap();
/// assert_eq!(tokens.get(&token), Some((&client_token, &"request 1")));
/// tokens.remove(&token);
/// assert_eq!(tokens.get(&token), None);
/// ```
#[derive(Debug, Clone)]
pub struct ProgressTokens<O> {
    last: i64,
    entries: HashMap<i64, TokenEntry<O>>,
}

#[derive(Debug, Clone)]
struct TokenEntry<O> {
    client_token: RawJson,
    owner: O,
}

impl<O> Default for ProgressTokens<O> {
    fn default() -> Self {
        Self::new()
    }
}

impl<O> ProgressTokens<O> {
    /// Creates a table without tokens.
    #[must_use]
    pub fn new() -> Self {
        Self {
            last: 0,
            entries: HashMap::new(),
        }
    }

    /// Adds the token of a client's request and returns the token for the upstream, which has the same JSON type.
    ///
    /// Returns `None` if the token is neither a string nor a number, if it is too long, or if there are too many
    /// tokens. The request is then sent without a token.
    pub fn insert(&mut self, client_token: &RawJson, owner: O) -> Option<ProgressToken> {
        let text = client_token.get();
        let is_text = text.starts_with('"');
        let is_number = text.starts_with(|first: char| first == '-' || first.is_ascii_digit());
        if !(is_text || is_number)
            || text.len() > MAX_TOKEN_BYTES
            || self.entries.len() >= MAX_TOKENS
        {
            return None;
        }
        self.last += 1;
        let entry = TokenEntry {
            client_token: client_token.clone(),
            owner,
        };
        self.entries.insert(self.last, entry);
        Some(if is_text {
            ProgressToken::String(format!("{TEXT_PREFIX}{}", self.last).into())
        } else {
            ProgressToken::Number(self.last)
        })
    }

    /// Returns the client's token and the owner of a token that was sent to the upstream.
    #[must_use]
    pub fn get(&self, token: &ProgressToken) -> Option<(&RawJson, &O)> {
        let (number, is_text) = number_of(token)?;
        let entry = self.entries.get(&number)?;
        let fits = entry.client_token.get().starts_with('"') == is_text;
        fits.then_some((&entry.client_token, &entry.owner))
    }

    /// Replaces the token in the parameters of a progress notification by that of the client, and returns the owner.
    ///
    /// Returns `None` if the token belongs to no request in flight. Such a notification is discarded.
    pub fn restore(&self, params: &mut RawObject<'_>) -> Option<&O> {
        let token = params.get("progressToken").map(RawMember::get)?;
        let token: ProgressToken = serde_json::from_str(token).ok()?;
        let (client_token, owner) = self.get(&token)?;
        params.set("progressToken", client_token.clone());
        Some(owner)
    }

    /// Removes the token of a request that ended, and returns its owner.
    pub fn remove(&mut self, token: &ProgressToken) -> Option<O> {
        let (number, _) = number_of(token)?;
        self.get(token)?;
        self.entries.remove(&number).map(|entry| entry.owner)
    }

    /// Returns the number of requests in flight that have a token.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns `true` if no request in flight has a token.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// Returns the number of a token of [`ProgressTokens::insert`], and whether the token is a string.
fn number_of(token: &ProgressToken) -> Option<(i64, bool)> {
    match token {
        ProgressToken::Number(number) => Some((*number, false)),
        ProgressToken::String(text) => {
            let digits = text.strip_prefix(TEXT_PREFIX)?;
            let number: i64 = digits.parse().ok()?;
            // Other spellings, such as `p007`, are not tokens of this table.
            (number.to_string() == digits).then_some((number, true))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> RawJson {
        RawJson::from_string(text.to_owned()).expect("the text is JSON")
    }

    #[test]
    fn equal_tokens_of_two_clients_differ_upstream_and_keep_their_type() {
        let mut tokens = ProgressTokens::new();
        let mut sent = Vec::new();
        for (client, token) in ["1", "1", "\"1\"", "\"1\"", "1.5", "-3"].iter().enumerate() {
            let upstream = tokens.insert(&raw(token), client).expect("a token");
            let is_text = matches!(upstream, ProgressToken::String(_));
            assert_eq!(is_text, token.starts_with('"'));
            assert!(!sent.contains(&upstream));
            sent.push(upstream);
        }
        for (client, upstream) in sent.iter().enumerate() {
            assert_eq!(tokens.get(upstream).map(|(_, owner)| *owner), Some(client));
        }
        let notification = raw(r#"{"progressToken":5,"progress":1.0,"x":{}}"#);
        let mut params = RawObject::parse(notification.as_raw_value()).unwrap();
        assert_eq!(tokens.restore(&mut params), Some(&4));
        assert_eq!(
            params.finish().get(),
            r#"{"progressToken":1.5,"progress":1.0,"x":{}}"#
        );
    }

    #[test]
    fn token_ends_with_its_request() {
        let mut tokens = ProgressTokens::new();
        let first = tokens.insert(&raw("\"a\""), 1).unwrap();
        assert_eq!(tokens.remove(&first), Some(1));
        assert_eq!(tokens.remove(&first), None);
        let second = tokens.insert(&raw("\"a\""), 2).unwrap();
        assert_ne!(first, second);
        assert!(tokens.get(&first).is_none());
        assert_eq!(tokens.len(), 1);
    }

    #[test]
    fn unknown_tokens_have_no_owner() {
        let mut tokens = ProgressTokens::new();
        tokens.insert(&raw("7"), ());
        tokens.insert(&raw("\"7\""), ());
        for unknown in ["p1", "p02", "p+2", "2", "p", "", "p-2"] {
            assert!(tokens.get(&unknown.into()).is_none(), "{unknown}");
        }
        for unknown in [0, 2, 3, -1, i64::MIN] {
            assert!(tokens.get(&unknown.into()).is_none(), "{unknown}");
        }
        assert!(tokens.get(&1.into()).is_some());
        assert!(tokens.get(&"p2".into()).is_some());
        for params in ["{}", r#"{"progressToken":null}"#, r#"{"progressToken":9}"#] {
            let params = raw(params);
            let mut object = RawObject::parse(params.as_raw_value()).unwrap();
            assert!(tokens.restore(&mut object).is_none());
            assert!(!object.is_edited());
        }
    }

    #[test]
    fn number_and_length_of_tokens_are_limited() {
        let mut tokens = ProgressTokens::new();
        for odd in ["null", "true", "{}", "[1]"] {
            assert!(tokens.insert(&raw(odd), ()).is_none(), "{odd}");
        }
        let longest = format!("\"{}\"", "x".repeat(MAX_TOKEN_BYTES - 2));
        assert!(tokens.insert(&raw(&longest), ()).is_some());
        let longer = format!("\"{}\"", "x".repeat(MAX_TOKEN_BYTES - 1));
        assert!(tokens.insert(&raw(&longer), ()).is_none());
        while tokens.len() < MAX_TOKENS {
            assert!(tokens.insert(&raw("1"), ()).is_some());
        }
        assert!(tokens.insert(&raw("1"), ()).is_none());
    }
}
