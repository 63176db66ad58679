//! The approved entries in memory, and the lock file.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use crate::pins::{LockFile, LockFileError, UpstreamPins};
use crate::sync::lock;

/// The approved entries of all upstreams of a gateway.
///
/// `toolwire pins accept` changes the file while the gateway runs. If both change it at the same time, the change of the
/// command is the one that stays: the gateway compares again.
#[derive(Debug)]
pub(crate) struct PinStore {
    path: PathBuf,
    content: Mutex<StoreContent>,
    /// Held while the file is written.
    writing: Mutex<()>,
    /// The file when it was read last.
    seen: Mutex<Option<FileStamp>>,
    is_read_only: bool,
}

#[derive(Debug)]
struct StoreContent {
    file: LockFile,
    /// The file as it was read or written last.
    stored: LockFile,
}

/// What changes if a file is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileStamp {
    modified: SystemTime,
    bytes: u64,
    /// The number of the file on its device. Two replacements can be so close that their times are equal.
    number: u64,
}

impl FileStamp {
    fn of(path: &Path) -> Option<Self> {
        let metadata = std::fs::metadata(path).ok()?;
        Some(Self {
            modified: metadata.modified().ok()?,
            bytes: metadata.len(),
            number: file_number(&metadata),
        })
    }
}

#[cfg(unix)]
fn file_number(metadata: &Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt as _;

    metadata.ino()
}

#[cfg(not(unix))]
fn file_number(_metadata: &Metadata) -> u64 {
    0
}

impl PinStore {
    /// Reads the lock file. A read-only store never writes it.
    pub(crate) fn open(path: PathBuf, is_read_only: bool) -> Result<Self, LockFileError> {
        let file = LockFile::read(&path)?;
        Ok(Self {
            path,
            content: Mutex::new(StoreContent {
                stored: file.clone(),
                file,
            }),
            writing: Mutex::default(),
            seen: Mutex::default(),
            is_read_only,
        })
    }

    /// Reads the file again, unless it is the same as before. Returns `true` if another process has changed it.
    ///
    /// # Errors
    /// Returns an error, once for each change, if the file is not valid. The approved entries stay as they are.
    pub(crate) fn reload(&self) -> Result<bool, LockFileError> {
        let _writing = lock(&self.writing);
        let now = FileStamp::of(&self.path);
        if std::mem::replace(&mut *lock(&self.seen), now) == now && now.is_some() {
            return Ok(false);
        }
        let file = LockFile::read(&self.path)?;
        let mut content = lock(&self.content);
        if file == content.stored {
            return Ok(false);
        }
        *content = StoreContent {
            stored: file.clone(),
            file,
        };
        Ok(true)
    }

    /// Returns the approved entries of an upstream. `None` if the upstream is new.
    pub(crate) fn approved(&self, upstream: &str) -> Option<UpstreamPins> {
        let content = lock(&self.content);
        content.file.upstreams.get(upstream).cloned()
    }

    /// Changes the approved entries of an upstream. If `change` returns `true`, the file is written in the background.
    pub(crate) fn change(
        self: &Arc<Self>,
        upstream: &str,
        change: impl FnOnce(&mut UpstreamPins) -> bool,
    ) {
        let mut content = lock(&self.content);
        let pins = content
            .file
            .upstreams
            .entry(upstream.to_owned())
            .or_default();
        let is_changed = change(pins);
        drop(content);
        if is_changed && !self.is_read_only {
            let store = Arc::clone(self);
            match tokio::runtime::Handle::try_current() {
                Ok(runtime) => drop(runtime.spawn_blocking(move || store.write())),
                Err(_) => store.write(),
            }
        }
    }

    /// Writes the file, unless another process has changed it.
    fn write(&self) {
        let _writing = lock(&self.writing);
        let (file, stored) = {
            let content = lock(&self.content);
            (content.file.clone(), content.stored.clone())
        };
        match LockFile::read(&self.path) {
            // The next look at the file reads it.
            Ok(found) if found != stored => return,
            Ok(_) => {}
            Err(error) => {
                tracing::error!(%error, "the lock file is not replaced");
                return;
            }
        }
        match file.write(&self.path) {
            Ok(()) => lock(&self.content).stored = file,
            Err(error) => {
                let path = self.path.display();
                tracing::error!(%path, %error, "the lock file cannot be written");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pins::{Offer, PinnedText};
    use crate::scratch::Scratch;

    fn approve(text: &str) -> impl FnOnce(&mut UpstreamPins) -> bool {
        let pinned = PinnedText::new(text);
        move |pins| {
            *pins = UpstreamPins::of(&Offer::default());
            pins.instructions = Some(pinned);
            true
        }
    }

    #[test]
    fn change_of_another_process_is_kept() {
        let scratch = Scratch::new("pin-store");
        let path = scratch.path("toolwire.lock");
        let store = Arc::new(PinStore::open(path.clone(), false).unwrap());
        store.change("a", approve("one"));
        let stored = LockFile::read(&path).unwrap().upstreams["a"].clone();
        assert_eq!(Some(stored), store.approved("a"));
        assert!(!store.reload().unwrap());

        let other = Arc::new(PinStore::open(path.clone(), false).unwrap());
        other.change("a", approve("two"));
        store.change("a", approve("three"));
        let two = LockFile::read(&path).unwrap().upstreams["a"].clone();
        assert_eq!(Some(two.clone()), other.approved("a"));
        assert!(store.reload().unwrap());
        assert_eq!(store.approved("a"), Some(two));
    }

    #[test]
    fn broken_file_is_not_replaced() {
        let scratch = Scratch::new("pin-store");
        let path = scratch.path("toolwire.lock");
        let store = Arc::new(PinStore::open(path.clone(), false).unwrap());
        std::fs::write(&path, "{").unwrap();
        store.change("a", approve("one"));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{");
        assert!(store.reload().is_err());
        assert!(PinStore::open(path, false).is_err());
    }
}
