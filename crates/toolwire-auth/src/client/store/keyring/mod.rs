//! A token store in the keyring of the system.

mod chunks;

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use chunks::Keyring;
use keyring_core::CredentialStore;
use keyring_core::Error as KeyringError;

use crate::client::store::{
    TokenStore, TokenStoreError, TokenStoreFuture, TokenStoreLock, home, lock_file,
};
use crate::documents::Secret;

type Opener = dyn Fn() -> Result<Arc<CredentialStore>, KeyringError> + Send + Sync;

/// A token store in the keyring of the system. Several processes may share it.
///
/// The keyring is the Secret Service on Linux and the BSDs (GNOME Keyring, KWallet, KeePassXC), the keychain on macOS,
/// and the credential manager on Windows. A value that exceeds the limit of a keyring entry is stored in several
/// entries. Keyrings have no locks, so the locks are files in the directory of
/// [`FileTokenStore::in_home`](crate::client::store::FileTokenStore::in_home). They contain no secrets.
#[derive(Clone)]
pub struct KeyringTokenStore {
    service: Arc<str>,
    lock_base: PathBuf,
    lock_timeout: Duration,
    open: Arc<Opener>,
    opened: Arc<OnceLock<Arc<CredentialStore>>>,
}

impl KeyringTokenStore {
    /// Creates a store for the entries of a service. Users see the service name in their keyring. The keyring is opened
    /// on first use.
    ///
    /// # Errors
    /// Returns an error if there is no directory for the locks.
    pub fn new(service: impl Into<String>) -> Result<Self, TokenStoreError> {
        let directory = home::directory()?;
        Ok(Self::with_keyring(service.into(), directory, open_system))
    }

    /// Sets how long to wait for the keyring and for a lock that another process holds. Default: 60 s. A locked keyring
    /// prompts the user, who may not respond.
    #[must_use]
    pub fn with_lock_timeout(mut self, timeout: Duration) -> Self {
        self.lock_timeout = timeout;
        self
    }

    fn with_keyring(
        service: String,
        lock_directory: PathBuf,
        open: impl Fn() -> Result<Arc<CredentialStore>, KeyringError> + Send + Sync + 'static,
    ) -> Self {
        // Services do not share locks. File names are shorter than service names, so the same short form is used.
        let lock_base = lock_file::path_beside(&lock_directory.join("keyring"), &service);
        Self {
            service: service.into(),
            lock_base,
            lock_timeout: lock_file::DEFAULT_TIMEOUT,
            open: Arc::new(open),
            opened: Arc::default(),
        }
    }

    /// Runs a keyring operation on a blocking thread.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Keyring<'_>) -> Result<T, TokenStoreError> + Send + 'static,
    ) -> Result<T, TokenStoreError> {
        let (service, open) = (Arc::clone(&self.service), Arc::clone(&self.open));
        let opened = Arc::clone(&self.opened);
        let task = tokio::task::spawn_blocking(move || {
            let store = match opened.get() {
                Some(store) => store,
                None => {
                    let store = open().map_err(|error| store_error(&error))?;
                    opened.get_or_init(|| store)
                }
            };
            work(&Keyring::new(&**store, &service))
        });
        match tokio::time::timeout(self.lock_timeout, task).await {
            Ok(Ok(result)) => result,
            Ok(Err(error)) => {
                Err(TokenStoreError::new("cannot use the keyring").with_source(error))
            }
            Err(_) => Err(TokenStoreError::new(format!(
                "the keyring of the system did not respond within {} s; it may have to be unlocked first",
                self.lock_timeout.as_secs_f64()
            ))),
        }
    }

    /// Runs a change under the lock for changes.
    async fn change(
        &self,
        change: impl FnOnce(&Keyring<'_>) -> Result<(), TokenStoreError> + Send + 'static,
    ) -> Result<(), TokenStoreError> {
        let lock = lock_file::acquire(
            lock_file::path_beside(&self.lock_base, ""),
            self.lock_timeout,
        )
        .await?;
        self.blocking(move |keyring| {
            // The caller may have dropped the future. A started change completes under the lock.
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
        let path = lock_file::path_beside(&self.lock_base, &format!("lock of {name}"));
        Box::pin(async move {
            let file = lock_file::acquire(path, self.lock_timeout).await?;
            Ok(TokenStoreLock::new(file))
        })
    }
}

/// Converts a keyring error to text without its source, because some errors contain the secret.
fn store_error(error: &KeyringError) -> TokenStoreError {
    let advice = match error {
        KeyringError::NoStorageAccess(_) | KeyringError::PlatformFailure(_) => {
            "; check that a keyring is available and unlocked, or store tokens in a file"
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
