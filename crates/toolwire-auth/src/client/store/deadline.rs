//! Deadlines for the calls of token stores: a store that hangs must not block a login for ever.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use crate::client::store::{TokenStore, TokenStoreError, TokenStoreFuture, TokenStoreLock};
use crate::documents::Secret;

/// The time in which a value has to be read or changed. It is longer than a keyring waits for another process and then for
/// its user, 60 s each.
const VALUE_DEADLINE: Duration = Duration::from_secs(150);

/// The time in which a lock has to be acquired. It is longer than the 10 min that a shared store waits for the login of a
/// user.
const LOCK_DEADLINE: Duration = Duration::from_secs(11 * 60);

/// A token store whose calls have a deadline.
#[derive(Debug)]
pub(super) struct WithDeadline(pub(super) Arc<dyn TokenStore>);

impl TokenStore for WithDeadline {
    fn get<'a>(&'a self, name: &'a str) -> TokenStoreFuture<'a, Option<Secret>> {
        Box::pin(within(VALUE_DEADLINE, self.0.get(name)))
    }

    fn put<'a>(&'a self, name: &'a str, value: &'a Secret) -> TokenStoreFuture<'a, ()> {
        Box::pin(within(VALUE_DEADLINE, self.0.put(name, value)))
    }

    fn remove<'a>(&'a self, name: &'a str) -> TokenStoreFuture<'a, ()> {
        Box::pin(within(VALUE_DEADLINE, self.0.remove(name)))
    }

    fn lock<'a>(&'a self, name: &'a str) -> TokenStoreFuture<'a, TokenStoreLock> {
        Box::pin(within(LOCK_DEADLINE, self.0.lock(name)))
    }
}

async fn within<T>(
    deadline: Duration,
    call: TokenStoreFuture<'_, T>,
) -> Result<T, TokenStoreError> {
    let late = |_| {
        Err(TokenStoreError::new(format!(
            "the token store did not respond within {} s",
            deadline.as_secs()
        )))
    };
    timeout(deadline, call).await.unwrap_or_else(late)
}
