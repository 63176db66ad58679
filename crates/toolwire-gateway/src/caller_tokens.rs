//! The access tokens of callers, for upstreams that get a token in exchange for them (RFC 8693).
//!
//! A token of a caller is sent to the authorization server of an upstream only, never to the upstream. Without such an
//! upstream, no token is stored.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use http::header::AUTHORIZATION;
use http::request::Parts;
use toolwire::{BoxFuture, Principal, TokenInfo};
use toolwire_auth::client::{AssertionSource, AuthError};
use toolwire_auth::documents::Secret;

use crate::sync::lock;

/// The maximum number of callers whose tokens are stored. Beyond it, the token is removed whose caller sent it
/// least recently.
const MAX_CALLERS: usize = 10_000;

/// The newest verified token of each caller. `Debug` prints no token.
#[derive(Default)]
pub(crate) struct CallerTokens {
    /// Whether an upstream needs the tokens.
    is_needed: AtomicBool,
    /// Whether the log has a warning about users with several clients.
    has_warned: AtomicBool,
    tokens: Mutex<StoredTokens>,
}

#[derive(Default)]
struct StoredTokens {
    /// The number of uses, which orders the tokens.
    uses: u64,
    by_caller: HashMap<Principal, StoredToken>,
    /// The callers by the last use of their tokens.
    by_use: BTreeMap<u64, Principal>,
}

struct StoredToken {
    used: u64,
    token: Secret,
    /// The client that got it from the authorization server.
    client: Option<String>,
}

impl CallerTokens {
    /// Sets whether an upstream needs the tokens. Otherwise none are stored, and the stored ones are removed.
    pub(crate) fn set_needed(&self, is_needed: bool) {
        self.is_needed.store(is_needed, Ordering::Release);
        if !is_needed {
            *lock(&self.tokens) = StoredTokens::default();
        }
    }

    /// Stores the token of a request that was verified, if an upstream needs it. A token that names neither a subject nor a
    /// client is not stored, because all callers with such tokens would share it.
    pub(crate) fn store(&self, head: &Parts, info: &TokenInfo) {
        let caller = Principal::of(info);
        if !self.is_needed.load(Ordering::Acquire) || caller == Principal::anonymous() {
            return;
        }
        if info.subject.is_none() && info.client_id.is_none() {
            return;
        }
        let value = head.headers.get(AUTHORIZATION);
        let value = value.and_then(|value| value.to_str().ok());
        if let Some((_, token)) = value.and_then(|value| value.split_once(' ')) {
            let token = Secret::new(token.trim());
            let has_other_client = self.put(caller, token, info.client_id.clone());
            if has_other_client && !self.has_warned.swap(true, Ordering::Relaxed) {
                tracing::warn!(
                    "a user has several clients; `exchange` uses the newest token of the user for all of them, also if their \
                     rights differ"
                );
            }
        }
    }

    /// Stores a token. Returns `true` if it replaces one of another client.
    fn put(&self, caller: Principal, token: Secret, client: Option<String>) -> bool {
        let mut tokens = lock(&self.tokens);
        let tokens = &mut *tokens;
        tokens.uses += 1;
        let stored = StoredToken {
            used: tokens.uses,
            token,
            client,
        };
        let mut has_other_client = false;
        if let Some(old) = tokens.by_caller.get(&caller) {
            tokens.by_use.remove(&old.used);
            has_other_client = old.client != stored.client;
        }
        tokens.by_use.insert(stored.used, caller.clone());
        tokens.by_caller.insert(caller, stored);
        if tokens.by_caller.len() > MAX_CALLERS
            && let Some((_, caller)) = tokens.by_use.pop_first()
        {
            tokens.by_caller.remove(&caller);
        }
        has_other_client
    }

    fn get(&self, caller: &Principal) -> Option<Secret> {
        let tokens = lock(&self.tokens);
        let stored = tokens.by_caller.get(caller);
        stored.map(|stored| stored.token.clone())
    }
}

impl fmt::Debug for CallerTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let callers = lock(&self.tokens).by_caller.len();
        f.debug_struct("CallerTokens")
            .field("callers", &callers)
            .finish_non_exhaustive()
    }
}

/// The token of one caller, as the subject of an exchange.
#[derive(Debug)]
pub(crate) struct TokenOfCaller {
    pub(crate) tokens: Arc<CallerTokens>,
    pub(crate) caller: Principal,
}

impl AssertionSource for TokenOfCaller {
    fn assertion<'a>(&'a self, _audience: &'a str) -> BoxFuture<'a, Result<Secret, AuthError>> {
        let token = self.tokens.get(&self.caller).ok_or_else(|| {
            AuthError::new("the gateway has no access token of the caller to exchange")
                .with_advice("send the request again with an access token")
        });
        Box::pin(std::future::ready(token))
    }
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn caller(name: usize) -> TokenInfo {
        TokenInfo::verified().with_subject(name.to_string())
    }

    fn head(token: usize) -> Parts {
        let request = Request::builder().header(AUTHORIZATION, format!("Bearer {token}"));
        request.body(()).unwrap().into_parts().0
    }

    #[test]
    fn tokens_are_stored_only_if_an_upstream_needs_them() {
        let tokens = CallerTokens::default();
        let ann = Principal::of(&caller(1));
        tokens.store(&head(7), &caller(1));
        assert_eq!(tokens.get(&ann), None);
        tokens.set_needed(true);
        tokens.store(&head(7), &caller(1));
        tokens.store(&head(8), &caller(2));
        tokens.store(&head(9), TokenInfo::none());
        assert_eq!(tokens.get(&ann), Some(Secret::new("7")));
        assert_eq!(tokens.get(&Principal::anonymous()), None);
        assert!(!format!("{tokens:?}").contains('7'));
        let unnamed = TokenInfo::verified();
        tokens.store(&head(9), &unnamed);
        assert_eq!(tokens.get(&Principal::of(&unnamed)), None);
        tokens.set_needed(false);
        assert_eq!(tokens.get(&ann), None);
    }

    #[test]
    fn token_of_another_client_of_the_user_is_noticed() {
        let tokens = CallerTokens::default();
        let put = |name: usize, client: &str| {
            let token = Secret::new(client);
            tokens.put(Principal::of(&caller(name)), token, Some(client.to_owned()))
        };
        assert!(!put(1, "editor") && !put(1, "editor"));
        assert!(!put(2, "terminal"), "another user");
        assert!(put(1, "terminal"));
        // The newest token is used for both clients.
        let token = tokens.get(&Principal::of(&caller(1)));
        assert_eq!(token, Some(Secret::new("terminal")));
    }

    #[test]
    fn warning_is_logged_once() {
        let tokens = CallerTokens::default();
        tokens.set_needed(true);
        let request = |client: &str| {
            let info = TokenInfo::verified().with_subject("ann");
            tokens.store(&head(1), &info.with_client_id(client));
            tokens.has_warned.load(Ordering::Relaxed)
        };
        assert_eq!(
            ["a", "a", "b", "a"].map(request),
            [false, false, true, true]
        );
    }

    #[test]
    fn least_recently_used_token_is_removed_at_the_limit() {
        let tokens = CallerTokens::default();
        tokens.set_needed(true);
        for number in 0..MAX_CALLERS {
            tokens.store(&head(number), &caller(number));
        }
        tokens.store(&head(0), &caller(0));
        assert!(tokens.get(&Principal::of(&caller(1))).is_some());
        tokens.store(&head(MAX_CALLERS), &caller(MAX_CALLERS));
        assert!(tokens.get(&Principal::of(&caller(0))).is_some());
        assert!(tokens.get(&Principal::of(&caller(1))).is_none());
        let stored = lock(&tokens.tokens);
        assert_eq!(stored.by_caller.len(), MAX_CALLERS);
        assert_eq!(stored.by_use.len(), MAX_CALLERS);
    }
}
