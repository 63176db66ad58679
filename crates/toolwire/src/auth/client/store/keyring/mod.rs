//! Tokens in the keyring of the system.

mod chunks;

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use keyring_core::CredentialStore;
use keyring_core::Error as KeyringError;
use toolwire_types::auth::Secret;

use crate::auth::client::store::{
    TokenStore, TokenStoreError, TokenStoreFuture, TokenStoreLock, home, lock_file,
};
use chunks::Keyring;

type Opener = dyn Fn() -> Result<Arc<CredentialStore>, KeyringError> + Send + Sync;

/// Keeps tokens in the keyring of the system: the Secret Service on Linux and the BSDs (GNOME Keyring, KWallet,
/// KeePassXC), the keychain on macOS, the credential manager on Windows. Several processes may share it.
///
/// A value that is longer than a keyring takes is kept in pieces. A keyring knows no locks, so these are files in the
/// directory of [`FileTokenStore::in_home`](crate::auth::client::store::FileTokenStore::in_home); there are no secrets in them.
#[derive(Clone)]
pub struct KeyringTokenStore {
    service: Arc<str>,
    lock_base: PathBuf,
    wait: Duration,
    open: Arc<Opener>,
    opened: Arc<OnceLock<Arc<CredentialStore>>>,
}

impl KeyringTokenStore {
    /// The entries of a service, which is the name under which users see them. The keyring is opened when it is needed.
    ///
    /// # Errors
    /// When there is no directory for the locks.
    pub fn new(service: impl Into<String>) -> Result<Self, TokenStoreError> {
        let directory = home::directory()?;
        Ok(Self::with_keyring(service.into(), directory, open_system))
    }

    /// How long the keyring, and a lock that another process holds, are waited for: 60 seconds by default. A keyring that
    /// is locked asks its user, who may be slow or not there.
    #[must_use]
    pub fn with_wait(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    fn with_keyring(
        service: String,
        lock_directory: PathBuf,
        open: impl Fn() -> Result<Arc<CredentialStore>, KeyringError> + Send + Sync + 'static,
    ) -> Self {
        // Two services share no lock. Names of files take less than names of services, so they have the same short form.
        let lock_base = lock_file::beside(&lock_directory.join("keyring"), &service);
        Self {
            service: service.into(),
            lock_base,
            wait: lock_file::DEFAULT_WAIT,
            open: Arc::new(open),
            opened: Arc::default(),
        }
    }

    /// Does something with the keyring on a thread that may wait.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Keyring<'_>) -> Result<T, TokenStoreError> + Send + 'static,
    ) -> Result<T, TokenStoreError> {
        let (service, open) = (Arc::clone(&self.service), Arc::clone(&self.open));
        let opened = Arc::clone(&self.opened);
        let done = tokio::task::spawn_blocking(move || {
            let store = match opened.get() {
                Some(store) => store,
                None => {
                    let store = open().map_err(|error| failed(&error))?;
                    opened.get_or_init(|| store)
                }
            };
            work(&Keyring::new(&**store, &service))
        });
        match tokio::time::timeout(self.wait, done).await {
            Ok(Ok(done)) => done,
            Ok(Err(error)) => {
                Err(TokenStoreError::new("the keyring cannot be used").with_source(error))
            }
            Err(_) => Err(TokenStoreError::new(format!(
                "the keyring of the system did not answer within {} s; it may be waiting to be unlocked",
                self.wait.as_secs_f64()
            ))),
        }
    }

    /// Changes something, while nobody else does.
    async fn change(
        &self,
        change: impl FnOnce(&Keyring<'_>) -> Result<(), TokenStoreError> + Send + 'static,
    ) -> Result<(), TokenStoreError> {
        let lock = lock_file::acquire(lock_file::beside(&self.lock_base, ""), self.wait).await?;
        self.blocking(move |keyring| {
            // Whoever asked may have gone; what has begun is finished under the lock.
            let _lock = lock;
            change(keyring)
        })
        .await
    }
}

impl fmt::Debug for KeyringTokenStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyringTokenStore")
            .field("service", &self.service)
            .finish_non_exhaustive()
    }
}

impl TokenStore for KeyringTokenStore {
    fn get<'a>(&'a self, name: &'a str) -> TokenStoreFuture<'a, Option<Secret>> {
        let name = name.to_owned();
        Box::pin(self.blocking(move |keyring| keyring.get(&name)))
    }

    fn put<'a>(&'a self, name: &'a str, value: &'a Secret) -> TokenStoreFuture<'a, ()> {
        let (name, value) = (name.to_owned(), value.clone());
        Box::pin(self.change(move |keyring| keyring.put(&name, &value)))
    }

    fn remove<'a>(&'a self, name: &'a str) -> TokenStoreFuture<'a, ()> {
        let name = name.to_owned();
        Box::pin(self.change(move |keyring| keyring.remove(&name)))
    }

    fn lock<'a>(&'a self, name: &'a str) -> TokenStoreFuture<'a, TokenStoreLock> {
        // The lock of the empty name is for changes.
        let path = lock_file::beside(&self.lock_base, &format!("lock of {name}"));
        Box::pin(async move {
            let held = lock_file::acquire(path, self.wait).await?;
            Ok(TokenStoreLock::new(held))
        })
    }
}

/// Tells of an error of the keyring in words only: some errors carry the secret itself.
fn failed(error: &KeyringError) -> TokenStoreError {
    let advice = match error {
        KeyringError::NoStorageAccess(_) | KeyringError::PlatformFailure(_) => {
            "; check that there is one and that it is unlocked, or keep tokens in a file"
        }
        _ => "",
    };
    TokenStoreError::new(format!("the keyring of the system failed: {error}{advice}"))
}

#[cfg(all(unix, not(target_vendor = "apple"), not(target_os = "android")))]
fn open_system() -> Result<Arc<CredentialStore>, KeyringError> {
    Ok(zbus_secret_service_keyring_store::Store::new()?)
}

#[cfg(target_vendor = "apple")]
fn open_system() -> Result<Arc<CredentialStore>, KeyringError> {
    Ok(apple_native_keyring_store::keychain::Store::new()?)
}

#[cfg(windows)]
fn open_system() -> Result<Arc<CredentialStore>, KeyringError> {
    Ok(windows_native_keyring_store::Store::new()?)
}

#[cfg(not(any(
    windows,
    target_vendor = "apple",
    all(unix, not(target_os = "android"))
)))]
fn open_system() -> Result<Arc<CredentialStore>, KeyringError> {
    Err(KeyringError::NoDefaultStore)
}

#[cfg(test)]
mod tests;
