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
    /// Why an approval could not be stored.
    failure: Mutex<Option<LockFileError>>,
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
        let seen = FileStamp::of(&path);
        let file = LockFile::read(&path)?;
        Ok(Self {
            path,
            content: Mutex::new(StoreContent {
                stored: file.clone(),
                file,
            }),
            writing: Mutex::default(),
            seen: Mutex::new(seen),
            failure: Mutex::default(),
            is_read_only,
        })
    }

    /// Checks that the file can be written.
    pub(crate) fn check_writable(&self) -> Result<(), LockFileError> {
        if self.is_read_only {
            return Ok(());
        }
        LockFile::check_writable(&self.path)
    }

    /// Reads the file again, unless it is the same as before. Returns `true` if the entries have to be compared again:
    /// another process has changed the file, or an approval could not be stored.
    ///
    /// # Errors
    /// Returns an error, once for each change, if the file is not valid or was deleted. The approved entries stay as they
    /// are.
    pub(crate) fn reload(&self) -> Result<bool, LockFileError> {
        let _writing = lock(&self.writing);
        let has_failed = lock(&self.failure).is_some();
        let now = FileStamp::of(&self.path);
        if std::mem::replace(&mut *lock(&self.seen), now) == now {
            return Ok(has_failed);
        }
        let read = LockFile::read_existing(&self.path)?;
        let mut content = lock(&self.content);
        let Some(file) = read else {
            // What an upstream offers now must not count as its first contact.
            return if content.stored == LockFile::default() {
                Ok(has_failed)
            } else {
                Err(LockFileError::missing(&self.path))
            };
        };
        if file == content.stored {
            return Ok(has_failed);
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

    /// Approves what a new upstream offers. Returns `false` if the file cannot be written: then nothing is approved, because
    /// after a restart anything would be.
    pub(crate) fn approve_first(&self, upstream: &str, first: &UpstreamPins) -> bool {
        let insert = |file: &mut LockFile| {
            file.upstreams.insert(upstream.to_owned(), first.clone());
        };
        if self.is_read_only {
            insert(&mut lock(&self.content).file);
            return true;
        }
        let written = self.write(insert);
        let mut failure = lock(&self.failure);
        match written {
            Ok(()) => {
                *failure = None;
                true
            }
            Err(error) => {
                if failure.as_ref() != Some(&error) {
                    tracing::error!(upstream, %error, "the entries of a new upstream are not approved");
                }
                *failure = Some(error);
                false
            }
        }
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
                Ok(runtime) => drop(runtime.spawn_blocking(move || store.write_or_log())),
                Err(_) => store.write_or_log(),
            }
        }
    }

    fn write_or_log(&self) {
        if let Err(error) = self.write(|_| ()) {
            tracing::error!(%error, "a removed entry is not stored");
        }
    }

    /// Writes the file with an addition, unless another process has changed or deleted it. The addition applies to the
    /// approved entries after it was written.
    fn write(&self, add: impl Fn(&mut LockFile)) -> Result<(), LockFileError> {
        let _writing = lock(&self.writing);
        let (mut file, stored) = {
            let content = lock(&self.content);
            (content.file.clone(), content.stored.clone())
        };
        add(&mut file);
        match LockFile::read_existing(&self.path)? {
            None if stored != LockFile::default() => {
                return Err(LockFileError::missing(&self.path));
            }
            Some(found) if found != stored => return Err(LockFileError::changed(&self.path)),
            _ => {}
        }
        file.write(&self.path)?;
        let mut content = lock(&self.content);
        add(&mut content.file);
        content.stored = file;
        Ok(())
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
    fn change_of_another_process_is_preserved() {
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

    #[test]
    fn deleted_file_is_an_error_and_the_pins_stay() {
        let scratch = Scratch::new("pin-store");
        let path = scratch.path("toolwire.lock");
        let store = Arc::new(PinStore::open(path.clone(), false).unwrap());
        assert!(!store.reload().unwrap());
        store.change("a", approve("one"));
        assert!(!store.reload().unwrap());
        let text = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let error = store.reload().unwrap_err().to_string();
        assert!(error.contains("has been deleted; restore it"), "{error}");
        assert!(!store.reload().unwrap(), "it is reported once");
        assert!(store.approved("a").is_some());
        // Neither a change nor a new upstream creates it again.
        store.change("a", approve("two"));
        assert!(!store.approve_first("b", &UpstreamPins::default()));
        assert!(!path.exists());
        std::fs::write(&path, text).unwrap();
        assert!(store.reload().is_ok());
        assert!(store.approve_first("b", &UpstreamPins::default()));
    }

    #[test]
    fn new_upstream_is_not_approved_before_the_file_is_written() {
        let scratch = Scratch::new("pin-store");
        let store = PinStore::open(scratch.path("toolwire.lock"), false).unwrap();
        let started = std::sync::Barrier::new(2);
        std::thread::scope(|scope| {
            let writing = lock(&store.writing);
            let approving = scope.spawn(|| {
                started.wait();
                store.approve_first("a", &UpstreamPins::default())
            });
            started.wait();
            for _ in 0..1000 {
                assert_eq!(store.approved("a"), None);
                std::thread::yield_now();
            }
            drop(writing);
            assert!(approving.join().unwrap());
        });
        assert!(store.approved("a").is_some());
    }

    #[test]
    fn new_upstream_is_not_approved_while_the_file_cannot_be_written() {
        let scratch = Scratch::new("pin-store");
        let directory = scratch.path("pins");
        let path = directory.join("toolwire.lock");
        let store = PinStore::open(path.clone(), false).unwrap();
        assert!(store.check_writable().is_err());
        assert!(!store.approve_first("a", &UpstreamPins::default()));
        assert_eq!(store.approved("a"), None);
        assert!(store.reload().unwrap(), "the comparison is repeated");
        std::fs::create_dir(&directory).unwrap();
        assert!(store.check_writable().is_ok());
        assert!(store.approve_first("a", &UpstreamPins::default()));
        assert!(LockFile::read(&path).unwrap().upstreams.contains_key("a"));
        assert!(!store.reload().unwrap());
        let read_only = PinStore::open(scratch.path("none/lock"), true).unwrap();
        assert!(read_only.check_writable().is_ok());
        assert!(read_only.approve_first("a", &UpstreamPins::default()));
    }
}
