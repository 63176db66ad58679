//! A configuration file on disk: it is read with a limit, and replaced at once.
//!
//! The new content is written beside the file and renamed. A link in the last part of the path is not followed. A new
//! file is private to its owner, and an existing file keeps its permissions.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::private_file;
use crate::server_files::shown_path;

/// The largest configuration file that is read. The state of Claude Code can have several MiB.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// The end of the name of a backup.
const BACKUP: &str = ".toolwire-backup";

/// A configuration file, which need not exist.
#[derive(Debug)]
pub(crate) struct ConfigFile {
    path: PathBuf,
    /// The text when it was read, or `None` if the file did not exist.
    text: Option<String>,
}

impl ConfigFile {
    /// Reads a file.
    ///
    /// # Errors
    /// Returns an error if it is a link, not a regular file, too long or not UTF-8.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let text = read_text(path).map_err(|error| {
            Failure::usage(format!("{} cannot be read: {error}", shown_path(path)))
        })?;
        Ok(Self {
            path: path.to_owned(),
            text,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the text, which is empty if the file does not exist.
    pub(crate) fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    /// Returns the text before the first edit, or `None` if there is no backup.
    pub(crate) fn backup(&self) -> Result<Option<String>, Failure> {
        Ok(Self::read(&self.backup_path())?.text)
    }

    fn backup_path(&self) -> PathBuf {
        let mut name = self.path.file_name().unwrap_or_default().to_owned();
        name.push(BACKUP);
        self.path.with_file_name(name)
    }

    /// Replaces the text. The first time, the old text becomes the backup.
    pub(crate) fn replace(&self, text: &str) -> Result<(), Failure> {
        let replaced = self.check_unchanged().and_then(|()| {
            if let Some(directory) = self.path.parent() {
                create_directory(directory)?;
            }
            self.back_up()?;
            self.write(text)
        });
        replaced.map_err(|error| self.cannot_write(&error))
    }

    /// Restores the text of the backup, and deletes the backup.
    pub(crate) fn restore(&self, text: &str) -> Result<(), Failure> {
        self.check_unchanged()
            .and_then(|()| self.write(text))
            .and_then(|()| fs::remove_file(self.backup_path()))
            .map_err(|error| self.cannot_write(&error))
    }

    /// Deletes the file.
    pub(crate) fn delete(&self) -> Result<(), Failure> {
        self.check_unchanged()
            .and_then(|()| fs::remove_file(&self.path))
            .map_err(|error| self.cannot_write(&error))
    }

    /// Checks that no other program has changed the file since it was read.
    fn check_unchanged(&self) -> io::Result<()> {
        if read_text(&self.path)? == self.text {
            return Ok(());
        }
        Err(io::Error::other("another program has changed it"))
    }

    /// Writes the backup, unless there is one. It has the complete text, or does not exist.
    fn back_up(&self) -> io::Result<()> {
        let Some(text) = &self.text else {
            return Ok(());
        };
        let backup = self.backup_path();
        match fs::symlink_metadata(&backup) {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                private_file::replace(&backup, text.as_bytes(), None)
            }
            Err(error) => Err(error),
        }
    }

    fn write(&self, text: &str) -> io::Result<()> {
        let permissions = fs::metadata(&self.path).ok().map(|file| file.permissions());
        private_file::replace(&self.path, text.as_bytes(), permissions)
    }

    fn cannot_write(&self, error: &io::Error) -> Failure {
        let path = shown_path(&self.path);
        Failure::usage(format!("{path} cannot be changed: {error}"))
            .with_advice("close the application and try again, or show the entry with --print")
    }
}

fn read_text(path: &Path) -> io::Result<Option<String>> {
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if metadata.is_symlink() {
        return Err(io::Error::other(
            "it is a link, which is not followed; edit the file that it points to",
        ));
    }
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut text = String::new();
    File::open(path)?
        .take(MAX_BYTES + 1)
        .read_to_string(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(io::Error::other(format!(
            "it has more than {MAX_BYTES} bytes"
        )));
    }
    Ok(Some(text))
}

fn create_directory(path: &Path) -> io::Result<()> {
    let mut options = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut options, 0o700);
    options.recursive(true).create(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory that is deleted at the end.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let name = format!("toolwire-{name}-{}", std::process::id());
            let directory = std::env::temp_dir().join(name);
            fs::create_dir_all(&directory).expect("the directory is writable");
            Self(directory)
        }

        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(&self.0).expect("the directory is readable");
            let names = entries.map(|entry| entry.expect("the entry is readable").file_name());
            let mut names: Vec<_> = names.map(|name| name.display().to_string()).collect();
            names.sort();
            names
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn read(path: &Path) -> ConfigFile {
        ConfigFile::read(path).unwrap_or_else(|failure| panic!("{}", failure.text()))
    }

    fn text_of(failed: Result<impl Sized, Failure>) -> String {
        failed
            .err()
            .map(|failure| failure.text())
            .unwrap_or_default()
    }

    #[test]
    fn first_text_becomes_the_backup_once() {
        let scratch = Scratch::new("config-file-backup");
        let path = scratch.0.join("mcp.json");
        fs::write(&path, "one").expect("the directory is writable");
        read(&path).replace("two").expect("the file is writable");
        read(&path).replace("three").expect("the file is writable");
        let file = read(&path);
        assert_eq!(file.text(), "three");
        assert_eq!(
            file.backup().expect("it is readable").as_deref(),
            Some("one")
        );
        assert_eq!(scratch.names(), ["mcp.json", "mcp.json.toolwire-backup"]);
        file.restore("one").expect("the file is writable");
        assert_eq!(read(&path).text(), "one");
        assert_eq!(scratch.names(), ["mcp.json"]);
    }

    #[test]
    fn backup_that_cannot_be_completed_does_not_exist() {
        let scratch = Scratch::new("config-file-incomplete");
        let path = scratch.0.join("mcp.json");
        fs::write(&path, "one").expect("the directory is writable");
        let file = read(&path);
        let mut new = file.backup_path().into_os_string();
        new.push(format!(".{}.new", std::process::id()));
        // The new content of the backup cannot be written.
        fs::create_dir(&new).expect("the directory is writable");
        assert!(!text_of(file.replace("two")).is_empty());
        assert!(!file.backup_path().exists());
        assert_eq!(read(&path).text(), "one");
        fs::remove_dir(&new).expect("the directory is writable");
        file.replace("two").expect("the file is writable");
        let backup = file.backup().expect("it is readable");
        assert_eq!(backup.as_deref(), Some("one"));
    }

    #[test]
    fn file_that_another_program_changed_is_not_replaced() {
        let scratch = Scratch::new("config-file-changed");
        let path = scratch.0.join("mcp.json");
        let file = read(&path);
        fs::write(&path, "other").expect("the directory is writable");
        let text = text_of(file.replace("mine"));
        assert!(text.contains("another program has changed it"), "{text}");
        assert_eq!(scratch.names(), ["mcp.json"]);
        assert_eq!(read(&path).text(), "other");
    }

    #[test]
    fn file_at_the_limit_is_read_and_a_longer_one_is_not() {
        let scratch = Scratch::new("config-file-limit");
        let path = scratch.0.join("mcp.json");
        let file = File::create(&path).expect("the directory is writable");
        file.set_len(MAX_BYTES).expect("the file is writable");
        assert_eq!(read(&path).text().len() as u64, MAX_BYTES);
        file.set_len(MAX_BYTES + 1).expect("the file is writable");
        let text = text_of(ConfigFile::read(&path));
        assert!(text.contains("more than 16777216 bytes"), "{text}");
    }

    #[test]
    #[cfg(unix)]
    fn permissions_stay_and_new_files_are_private() {
        use std::os::unix::fs::PermissionsExt as _;

        let scratch = Scratch::new("config-file-mode");
        let mode = |path: &Path| {
            let metadata = fs::metadata(path).expect("the file exists");
            metadata.permissions().mode() & 0o777
        };
        let new = scratch.0.join("new/mcp.json");
        read(&new).replace("{}").expect("the directory is writable");
        assert_eq!(mode(&new), 0o600);
        let existing = scratch.0.join("mcp.json");
        fs::write(&existing, "{}").expect("the directory is writable");
        let permissions = fs::Permissions::from_mode(0o640);
        fs::set_permissions(&existing, permissions).expect("the file is ours");
        let file = read(&existing);
        file.replace("[]").expect("the file is writable");
        assert_eq!(mode(&existing), 0o640);
        assert_eq!(mode(&file.backup_path()), 0o600);
    }

    #[test]
    #[cfg(unix)]
    fn links_are_not_followed() {
        let scratch = Scratch::new("config-file-link");
        let (target, link) = (scratch.0.join("target"), scratch.0.join("mcp.json"));
        fs::write(&target, "{}").expect("the directory is writable");
        std::os::unix::fs::symlink(&target, &link).expect("the directory is writable");
        let text = text_of(ConfigFile::read(&link));
        assert!(text.contains("it is a link"), "{text}");
        // A backup at a link is not written either.
        let path = scratch.0.join("other.json");
        fs::write(&path, "{}").expect("the directory is writable");
        let file = read(&path);
        std::os::unix::fs::symlink(&target, file.backup_path()).expect("it is writable");
        file.replace("[]").expect("an existing backup stays");
        assert_eq!(fs::read_to_string(&target).expect("it is readable"), "{}");
    }
}
