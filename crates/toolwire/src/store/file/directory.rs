//! The directory of a file store: private files that are replaced atomically.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use crate::store::file::format::{
    TaskContent, TaskFileError, TaskHeader, read_content, read_header,
};
use crate::store::file::names::task_file_name;
use crate::sync::lock;

/// The name of the file that processes lock.
const LOCK_FILE: &str = "lock";

/// The name of the file that counts the changes.
const CHANGES_FILE: &str = "changes";

const NEW_PREFIX: &str = "new-";
const NEW_SUFFIX: &str = ".tmp";

/// The age from which on an incomplete file is removed. Writing a file takes seconds at most.
const ABANDONED_AFTER: Duration = Duration::from_secs(10 * 60);

/// The maximum number of damaged files whose names are stored. Beyond it, some are reported again.
const MAX_REPORTED: usize = 1024;

#[derive(Debug)]
pub(super) struct TaskDirectory {
    path: PathBuf,
    /// The damaged files that were reported.
    reported: Mutex<BTreeSet<String>>,
}

impl TaskDirectory {
    /// Creates the directory if necessary, and removes incomplete files of processes that ended while they wrote them.
    pub(super) fn open(path: PathBuf) -> io::Result<Self> {
        create_private(&path)?;
        let directory = Self {
            path,
            reported: Mutex::default(),
        };
        directory.remove_abandoned(SystemTime::now())?;
        Ok(directory)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn task_path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    pub(super) fn open_lock_file(&self) -> io::Result<File> {
        self.open_shared(LOCK_FILE)
    }

    pub(super) fn open_changes_file(&self) -> io::Result<File> {
        self.open_shared(CHANGES_FILE)
    }

    fn open_shared(&self, name: &str) -> io::Result<File> {
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false);
        private(&mut options).open(self.path.join(name))
    }

    /// Reads the header of a task. A damaged file counts as absent.
    pub(super) fn header(&self, name: &str) -> io::Result<Option<TaskHeader>> {
        let read = read_header(&self.task_path(name));
        self.absent_if_damaged(name, read, |header| header)
    }

    /// Reads the file of a task. A damaged file counts as absent.
    pub(super) fn content(&self, name: &str) -> io::Result<Option<TaskContent>> {
        let read = read_content(&self.task_path(name));
        self.absent_if_damaged(name, read, |content| &content.header)
    }

    fn absent_if_damaged<T>(
        &self,
        name: &str,
        read: Result<Option<T>, TaskFileError>,
        header: impl Fn(&T) -> &TaskHeader,
    ) -> io::Result<Option<T>> {
        match read {
            Ok(None) => Ok(None),
            Ok(Some(value)) => {
                let is_own = task_file_name(&header(&value).id).as_deref() == Some(name);
                if !is_own {
                    self.report_damage(name, "it is the file of another task");
                }
                Ok(is_own.then_some(value))
            }
            Err(TaskFileError::Damaged(reason)) => {
                self.report_damage(name, &reason);
                Ok(None)
            }
            Err(TaskFileError::Io(error)) => Err(error),
        }
    }

    /// Logs a warning about a damaged file, once for each file.
    pub(super) fn report_damage(&self, name: &str, reason: &str) {
        let mut reported = lock(&self.reported);
        if reported.len() >= MAX_REPORTED {
            reported.clear();
        }
        if reported.insert(name.to_owned()) {
            let path = self.task_path(name);
            tracing::warn!(path = %path.display(), reason, "ignored a damaged task file; move it away");
        }
    }

    /// Lets the next damage of a file that was replaced be reported.
    pub(super) fn forget_damage(&self, name: &str) {
        lock(&self.reported).remove(name);
    }

    /// Writes a new file to the disk. It becomes the file of a task when it is renamed.
    pub(super) fn write_new(&self, header: &TaskHeader, record: &[u8]) -> io::Result<NewTaskFile> {
        let path = self.path.join(new_file_name()?);
        let mut options = File::options();
        options.write(true).create_new(true);
        let mut file = private(&mut options).open(&path)?;
        let new = NewTaskFile { path: Some(path) };
        header.write(record, &mut file)?;
        // If the system fails after the rename, the file must have its content.
        file.sync_all()?;
        Ok(new)
    }

    /// Waits until renamed and removed files are on the disk.
    pub(super) fn sync(&self) -> io::Result<()> {
        // Other systems cannot open a directory like a file.
        #[cfg(unix)]
        File::open(&self.path)?.sync_all()?;
        Ok(())
    }

    pub(super) fn remove_abandoned(&self, now: SystemTime) -> io::Result<()> {
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            let name = entry.file_name();
            let is_new_file = name
                .to_str()
                .is_some_and(|name| name.starts_with(NEW_PREFIX) && name.ends_with(NEW_SUFFIX));
            if !is_new_file {
                continue;
            }
            // Another process may rename or remove the file meanwhile.
            let modified = entry.metadata().and_then(|metadata| metadata.modified());
            let age = modified.map(|modified| now.duration_since(modified).unwrap_or_default());
            if age.is_ok_and(|age| age >= ABANDONED_AFTER) {
                let _ = fs::remove_file(entry.path());
            }
        }
        Ok(())
    }
}

/// A complete file on the disk that is not yet the file of a task. It is removed on drop.
#[derive(Debug)]
pub(super) struct NewTaskFile {
    path: Option<PathBuf>,
}

impl NewTaskFile {
    /// Replaces the file at a path. Readers see either file completely.
    pub(super) fn rename_to(mut self, path: &Path) -> io::Result<()> {
        if let Some(new) = &self.path {
            fs::rename(new, path)?;
        }
        self.path = None;
        Ok(())
    }
}

impl Drop for NewTaskFile {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            let _ = fs::remove_file(path);
        }
    }
}

/// Returns a name that no other process uses.
fn new_file_name() -> io::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    let number = u128::from_le_bytes(bytes);
    Ok(format!("{NEW_PREFIX}{number:032x}{NEW_SUFFIX}"))
}

/// Lets only the user open a file that is created.
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;

        options.mode(0o600);
    }
    options
}

/// Creates a directory that only the user can open, or checks an existing one.
fn create_private(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;

        builder.mode(0o700);
    }
    let is_new = |path: &&Path| !path.as_os_str().is_empty() && !path.exists();
    let new: Vec<&Path> = path.ancestors().take_while(is_new).collect();
    builder.create(path)?;
    for directory in new {
        sync_parent(directory)?;
    }
    #[cfg(unix)]
    restrict(path)?;
    Ok(())
}

/// Waits until the entry of a new directory is on the disk.
#[cfg(unix)]
fn sync_parent(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|it| !it.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}

/// Does nothing, because other systems cannot open a directory like a file.
#[cfg(not(unix))]
fn sync_parent(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Restricts the permissions of a directory that has only files of a store.
#[cfg(unix)]
fn restrict(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;

    let mode = fs::metadata(path)?.permissions().mode();
    if mode & 0o077 == 0 {
        return Ok(());
    }
    let is_own = path.join(LOCK_FILE).exists() || fs::read_dir(path)?.next().is_none();
    if !is_own {
        let reason = format!(
            "other users can open {}, and it has other files: use a directory of its own for tasks",
            path.display()
        );
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
    }
    fs::set_permissions(path, fs::Permissions::from_mode(0o700))
}
