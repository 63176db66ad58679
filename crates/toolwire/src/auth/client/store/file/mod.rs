//! Tokens in a file that only its owner can read.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use toolwire_types::auth::Secret;

use crate::auth::client::store::{
    TokenStore, TokenStoreError, TokenStoreFuture, TokenStoreLock, home, lock_file, private_file,
};

/// How the file is laid out today.
const LAYOUT: u64 = 1;

/// Keeps tokens in a file. Several processes may share it.
///
/// The file and what lies beside it can be read by their owner only, and a new version takes the place of the old one in
/// one step. The tokens in it are not encrypted: whoever can read the files of the user can read them. Where that is not
/// enough, use the keyring of the system.
///
/// A file that cannot be read, or is not ours, is an error that says what to do about it. It is never written over.
#[derive(Debug, Clone)]
pub struct FileTokenStore {
    path: Arc<Path>,
    lock_wait: Duration,
}

impl FileTokenStore {
    /// The file at a path; it and its directory are made when the first token is kept.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into().into(),
            lock_wait: lock_file::DEFAULT_WAIT,
        }
    }

    /// The file of the `toolwire` command, `tokens.json`, in a directory for state that the system gives to this user:
    /// `$XDG_STATE_HOME/toolwire` (`~/.local/state/toolwire`), on macOS `~/Library/Application Support/toolwire`, on
    /// Windows `%LOCALAPPDATA%\toolwire`. The variable `TOOLWIRE_HOME` names another directory.
    ///
    /// # Errors
    /// When the user has no such directory.
    pub fn in_home() -> Result<Self, TokenStoreError> {
        Ok(Self::new(home::directory()?.join("tokens.json")))
    }

    /// How long a lock that another process holds is waited for: 60 seconds by default.
    #[must_use]
    pub fn with_lock_timeout(mut self, wait: Duration) -> Self {
        self.lock_wait = wait;
        self
    }

    /// Where the file is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads, changes and writes, while nobody else does.
    async fn change(
        &self,
        change: impl FnOnce(&mut Values) -> bool + Send + 'static,
    ) -> Result<(), TokenStoreError> {
        let lock = lock_file::acquire(self.lock_path(""), self.lock_wait).await?;
        self.blocking(move |path| {
            // Whoever asked may have gone; what has begun is finished under the lock.
            let _lock = lock;
            let mut values = read(path)?;
            match change(&mut values) {
                true => write(path, values).map_err(FileError::Io),
                false => Ok(()),
            }
        })
        .await
    }

    fn lock_path(&self, name: &str) -> PathBuf {
        lock_file::beside(&self.path, name)
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Path) -> Result<T, FileError> + Send + 'static,
    ) -> Result<T, TokenStoreError> {
        let path = Arc::clone(&self.path);
        let done = tokio::task::spawn_blocking(move || work(&path)).await;
        let done = done.unwrap_or_else(|error| Err(FileError::Io(io::Error::other(error))));
        done.map_err(|problem| problem.at(&self.path))
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
            let held = lock_file::acquire(path, self.lock_wait).await?;
            Ok(TokenStoreLock::new(held))
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

/// Why the file is of no use.
#[derive(Debug)]
enum FileError {
    Io(io::Error),
    /// It cannot be read from this line and column on.
    Damaged(usize, usize),
    /// Another program, or a later version of this one, has written it.
    Foreign(u64),
}

impl FileError {
    fn at(self, path: &Path) -> TokenStoreError {
        let shown = path.display();
        match self {
            Self::Io(error) => {
                TokenStoreError::new(format!("the token file {shown} cannot be used: {error}"))
                    .with_source(error)
            }
            Self::Damaged(line, column) => TokenStoreError::new(format!(
                "{shown} is no token file, or it is damaged at line {line}, column {column}; move it away and log in again"
            )),
            Self::Foreign(layout) => TokenStoreError::new(format!(
                "the token file {shown} was written by a newer version (layout {layout}); update this program, or move the file away and log in again"
            )),
        }
    }
}

impl From<serde_json::Error> for FileError {
    /// Only where: the words of the error repeat what is in the file, and that may be a token.
    fn from(error: serde_json::Error) -> Self {
        Self::Damaged(error.line(), error.column())
    }
}

/// Reads all values; a file that is not there has none.
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
        return Err(FileError::Foreign(toolwire_tokens));
    }
    Ok(serde_json::from_slice::<FileContent>(&bytes)?.values)
}

/// Writes beside the file, then puts that in its place: whoever reads meanwhile sees one or the other.
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
    // A process may have ended before it had put its own in place.
    match fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = private_file::open(File::options().write(true).create_new(true), &new)?;
    file.write_all(&bytes)?;
    // A refresh token that was used up is worth nothing, so the new one has to be on the disk before anything goes on.
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
