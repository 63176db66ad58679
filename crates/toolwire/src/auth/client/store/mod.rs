//! Where a client keeps what it got: registrations and tokens.

pub mod contract;
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

use toolwire_types::auth::Secret;

pub use file::FileTokenStore;
#[cfg(feature = "keyring")]
pub use keyring::KeyringTokenStore;
pub use memory::MemoryTokenStore;
pub(super) use records::{Records, StoredClient, StoredToken};

use crate::engine::BoxFuture;

/// What every call of a token store returns.
pub type TokenStoreFuture<'a, T> = BoxFuture<'a, Result<T, TokenStoreError>>;

/// Keeps secrets by name: in memory, in a file, in the keyring of the system, or where you like.
///
/// Names and values are texts. A value is a secret: whoever can read it can speak in the user's name. [`contract`] holds
/// the tests that every store has to pass.
pub trait TokenStore: Send + Sync + fmt::Debug {
    /// The value under a name.
    fn get<'a>(&'a self, name: &'a str) -> TokenStoreFuture<'a, Option<Secret>>;

    /// Puts a value under a name, in place of an older one.
    fn put<'a>(&'a self, name: &'a str, value: &'a Secret) -> TokenStoreFuture<'a, ()>;

    /// Forgets a value.
    fn remove<'a>(&'a self, name: &'a str) -> TokenStoreFuture<'a, ()>;

    /// Waits until nobody else who shares the store, in this process or another, holds the lock of this name.
    ///
    /// A token that can be refreshed once is refreshed by one process, while the others wait for what it got.
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

/// A lock that ends when it is dropped.
pub struct TokenStoreLock {
    _held: Box<dyn Send + Sync>,
}

impl TokenStoreLock {
    /// Holds the lock as long as this value lives.
    #[must_use]
    pub fn new(held: impl Send + Sync + 'static) -> Self {
        Self {
            _held: Box::new(held),
        }
    }
}

impl fmt::Debug for TokenStoreLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenStoreLock").finish_non_exhaustive()
    }
}

/// Why a token store did not do what it was asked.
#[derive(Debug)]
pub struct TokenStoreError {
    what: String,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl TokenStoreError {
    /// What did not work. Never put a secret into it.
    pub fn new(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            source: None,
        }
    }

    /// Adds the cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }
}

impl fmt::Display for TokenStoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl StdError for TokenStoreError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source
            .as_deref()
            .map(|source| source as &(dyn StdError + 'static))
    }
}
