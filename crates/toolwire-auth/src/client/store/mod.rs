//! Stores for the registrations and tokens of a client.

pub mod contract;
mod deadline;
#[cfg(feature = "resource-server")]
mod faulty;
mod file;
mod home;
#[cfg(feature = "keyring")]
mod keyring;
mod lock_file;
mod memory;
mod private_file;
mod records;

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use crate::documents::Secret;

pub use file::FileTokenStore;
#[cfg(feature = "keyring")]
pub use keyring::KeyringTokenStore;
pub use memory::MemoryTokenStore;
pub(super) use records::{Records, StoredClient, StoredToken};

use toolwire::BoxFuture;

/// The future that the methods of a token store return.
pub type TokenStoreFuture<'a, T> = BoxFuture<'a, Result<T, TokenStoreError>>;

/// A store of secrets by name: in memory, in a file, in the keyring of the system, or elsewhere.
///
/// Names and values are texts. A value is a secret: a program that reads it can act as the user. [`contract`] contains
/// the tests that every store has to pass. A client waits at most 150 s for a value and at most 11 min for a lock.
/// [`Faulty`](toolwire::store::contract::Faulty) wraps a store whose calls fail on purpose, for tests (with the feature
/// `resource-server`).
pub trait TokenStore: Send + Sync + fmt::Debug {
    /// Returns the value of a name.
    fn get<'a>(&'a self, name: &'a str) -> TokenStoreFuture<'a, Option<Secret>>;

    /// Stores a value under a name and replaces an older value.
    fn put<'a>(&'a self, name: &'a str, value: &'a Secret) -> TokenStoreFuture<'a, ()>;

    /// Removes a value.
    fn remove<'a>(&'a self, name: &'a str) -> TokenStoreFuture<'a, ()>;

    /// Waits until no other user of the store, in this process or another, holds the lock of this name.
    ///
    /// One process refreshes a token that can be refreshed once, while the others wait for the new token.
    ///
    /// The lock of a process that was lost has to end. A store over a network gives it a lease, which it renews while
    /// the lock exists. It rejects a `put` of the same name by an owner whose lease has ended.
    fn lock<'a>(&'a self, name: &'a str) -> TokenStoreFuture<'a, TokenStoreLock>;
}

impl<T: TokenStore + ?Sized> TokenStore for Arc<T> {
    fn get<'a>(&'a self, name: &'a str) -> TokenStoreFuture<'a, Option<Secret>> {
        (**self).get(name)
    }

    fn put<'a>(&'a self, name: &'a str, value: &'a Secret) -> TokenStoreFuture<'a, ()> {
        (**self).put(name, value)
    }

    fn remove<'a>(&'a self, name: &'a str) -> TokenStoreFuture<'a, ()> {
        (**self).remove(name)
    }

    fn lock<'a>(&'a self, name: &'a str) -> TokenStoreFuture<'a, TokenStoreLock> {
        (**self).lock(name)
    }
}

/// A lock that is released on drop.
pub struct TokenStoreLock {
    _guard: Box<dyn Send + Sync>,
}

impl TokenStoreLock {
    /// Creates a lock that owns a guard and drops it when the lock is released.
    #[must_use]
    pub fn new(guard: impl Send + Sync + 'static) -> Self {
        Self {
            _guard: Box::new(guard),
        }
    }
}

impl fmt::Debug for TokenStoreLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenStoreLock").finish_non_exhaustive()
    }
}

/// The error of a token store.
#[derive(Debug)]
pub struct TokenStoreError {
    message: String,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl TokenStoreError {
    /// Creates an error with a message. The message must not contain a secret.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            source: None,
        }
    }

    /// Sets the cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }
}

impl fmt::Display for TokenStoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for TokenStoreError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source
            .as_deref()
            .map(|source| source as &(dyn StdError + 'static))
    }
}
