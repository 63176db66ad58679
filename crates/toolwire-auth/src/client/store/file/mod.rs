//! A token store in a file that only its owner can read.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::client::store::{
    TokenStore, TokenStoreError, TokenStoreFuture, TokenStoreLock, home, lock_file, private_file,
};
use crate::documents::Secret;

/// The current version of the file format.
const LAYOUT: u64 = 1;

/// A token store in a file. Several processes may share it.
///
/// Only the owner can read the file and the files beside it. A write replaces the file atomically. The tokens are not
/// encrypted: any program with access to the user's files can read them. If that is insufficient, use the keyring of
/// the system.
///
/// A file that is unreadable or has another format returns an error with a remedy. It is never overwritten.
#[derive(Debug, Clone)]
pub struct FileTokenStore {
    path: Arc<Path>,
    lock_timeout: Duration,
}

impl FileTokenStore {
    /// Creates a store for the file at a path. The first write creates the file and its directory.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into().into(),
            lock_timeout: lock_file::DEFAULT_TIMEOUT,
        }
    }

    /// Creates a store for `tokens.json`, the file of the `toolwire` command, in the state directory of the user. The
    /// directory is `$XDG_STATE_HOME/toolwire` (`~/.local/state/toolwire`), on macOS `~/Library/Application
    /// Support/toolwire`, on Windows `%LOCALAPPDATA%\toolwire`. The variable `TOOLWIRE_HOME` overrides it.
    ///
    /// # Errors
    /// Returns an error if the user has no such directory.
    pub fn in_home() -> Result<Self, TokenStoreError> {
        Ok(Self::new(home::directory()?.join("tokens.json")))
    }

    /// Sets how long to wait for a lock that another process holds. Default: 60 s.
    #[must_use]
    pub fn with_lock_timeout(mut self, timeout: Duration) -> Self {
        self.lock_timeout = timeout;
        self
    }

    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads, changes and writes the file under its lock.
    async fn change(
        &self,
        change: impl FnOnce(&mut Values) -> bool + Send + 'static,
    ) -> Result<(), TokenStoreError> {
        let lock = lock_file::acquire(self.lock_path(""), self.lock_timeout).await?;
        self.blocking(move |path| {
            // The caller may have dropped the future. A started change completes under the lock.
            let _lock = lock;
            let mut values = read(path)?;
            if change(&mut values) {
                write(path, values).map_err(FileError::Io)
            } else {
                Ok(())
            }
        })
        .await
    }

    fn lock_path(&self, name: &str) -> PathBuf {
        lock_file::path_beside(&self.path, name)
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Path) -> Result<T, FileError> + Send + 'static,
    ) -> Result<T, TokenStoreError> {
        let path = Arc::clone(&self.path);
        let result = tokio::task::spawn_blocking(move || work(&path)).await;
        let result = result.unwrap_or_else(|error| Err(FileError::Io(io::Error::other(error))));
        result.map_err(|error| error.into_store_error(&self.path))
    }
}

impl TokenStore for FileTokenStore {
    fn get<'a>(&'a self, name: &'a str) -> TokenStoreFuture<'a, Option<Secret>> {
        let name = name.to_owned();
        Box::pin(self.blocking(move |path| Ok(read(path)?.remove(&name))))
    }

    fn put<'a>(&'a self, name: &'a str, value: &'a Secret) -> TokenStoreFuture<'a, ()> {
        let (name, value) = (name.to_owned(), value.clone());
        Box::pin(self.change(move |values| {
            values.insert(name, value);
            true
        }))
    }

    fn remove<'a>(&'a self, name: &'a str) -> TokenStoreFuture<'a, ()> {
        let name = name.to_owned();
        Box::pin(self.change(move |values| values.remove(&name).is_some()))
    }

    fn lock<'a>(&'a self, name: &'a str) -> TokenStoreFuture<'a, TokenStoreLock> {
        // The lock of the empty name is for changes of the file.
        let path = self.lock_path(&format!("lock of {name}"));
        Box::pin(async move {
            let file = lock_file::acquire(path, self.lock_timeout).await?;
            Ok(TokenStoreLock::new(file))
        })
    }
}

type Values = BTreeMap<String, Secret>;

#[derive(Debug, Serialize, Deserialize)]
struct Layout {
    toolwire_tokens: u64,
}

#[derive(Debug, Serialize, Deserialize)]
struct FileContent {
    #[serde(flatten)]
    layout: Layout,
    values: Values,
}

/// The reason why the file is unusable.
#[derive(Debug)]
enum FileError {
    Io(io::Error),
    /// The JSON is invalid at this line and column.
    Damaged(usize, usize),
    /// Another program or a later version wrote the file with this format version.
    UnknownVersion(u64),
}

impl FileError {
    fn into_store_error(self, path: &Path) -> TokenStoreError {
        let path_text = path.display();
        match self {
            Self::Io(error) => {
                TokenStoreError::new(format!("cannot use the token file {path_text}: {error}"))
                    .with_source(error)
            }
            Self::Damaged(line, column) => TokenStoreError::new(format!(
                "{path_text} is not a token file, or it is damaged at line {line}, column {column}; move it away and log in again"
            )),
            Self::UnknownVersion(layout) => TokenStoreError::new(format!(
                "the token file {path_text} was written by a newer version (layout {layout}); update this program, or move the file away and log in again"
            )),
        }
    }
}

impl From<serde_json::Error> for FileError {
    /// Stores only the position, because the message repeats file content, which may be a token.
    fn from(error: serde_json::Error) -> Self {
        Self::Damaged(error.line(), error.column())
    }
}

/// Reads all values. An absent file has none.
fn read(path: &Path) -> Result<Values, FileError> {
    let mut file = match private_file::open(File::options().read(true), path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Values::new()),
        Err(error) => return Err(FileError::Io(error)),
    };
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(FileError::Io)?;
    let Layout { toolwire_tokens } = serde_json::from_slice(&bytes)?;
    if toolwire_tokens != LAYOUT {
        return Err(FileError::UnknownVersion(toolwire_tokens));
    }
    Ok(serde_json::from_slice::<FileContent>(&bytes)?.values)
}

/// Writes a new file and renames it over the old one, so that readers see either version completely.
fn write(path: &Path, values: Values) -> io::Result<()> {
    let content = FileContent {
        layout: Layout {
            toolwire_tokens: LAYOUT,
        },
        values,
    };
    let bytes = serde_json::to_vec_pretty(&content)?;
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let new = path.with_file_name(name);
    // A process may have ended before the rename.
    match fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = private_file::open(File::options().write(true).create_new(true), &new)?;
    file.write_all(&bytes)?;
    // A rotated refresh token is lost if it is not on the disk, so the file is synced before anything continues.
    file.sync_all()?;
    drop(file);
    fs::rename(&new, path)?;
    #[cfg(unix)]
    if let Some(directory) = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
    {
        File::open(directory)?.sync_all()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
