//! Opens files below a directory, without following links.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// An open directory. Files are opened only below it.
#[derive(Debug)]
pub(super) struct Root {
    /// The path without links.
    path: PathBuf,
    #[cfg(unix)]
    directory: File,
}

impl Root {
    /// Opens a directory. The path itself may contain links.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let path = fs::canonicalize(path)?;
        if !path.metadata()?.is_dir() {
            return Err(io::Error::from(io::ErrorKind::NotADirectory));
        }
        Ok(Self {
            #[cfg(unix)]
            directory: File::open(&path)?,
            path,
        })
    }

    /// Returns the path of the directory without links.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a regular file. `target` is below the root and has no links.
    ///
    /// # Errors
    /// Returns an error if the file cannot be opened, is not a regular file, or is reached through a link.
    pub(super) fn open_file(&self, target: &Path) -> io::Result<File> {
        let outside = |_| io::Error::other("it is outside of the directory of skills");
        let relative = target.strip_prefix(&self.path).map_err(outside)?;
        let file = self.open_relative(relative)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is not a file"));
        }
        Ok(file)
    }

    /// Opens each directory of the path in the one above it, so that none of them can be replaced by a link meanwhile.
    #[cfg(unix)]
    fn open_relative(&self, relative: &Path) -> io::Result<File> {
        use std::path::Component;

        use rustix::fs::{Mode, OFlags, openat};

        let mut current: Option<File> = None;
        let mut components = relative.components().peekable();
        while let Some(component) = components.next() {
            let Component::Normal(name) = component else {
                return Err(io::Error::other("it is outside of the directory of skills"));
            };
            // Without `NONBLOCK`, opening a named pipe waits for a writer.
            let kind = match components.peek() {
                Some(_) => OFlags::DIRECTORY,
                None => OFlags::NONBLOCK,
            };
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | kind;
            let parent = current.as_ref().unwrap_or(&self.directory);
            current = Some(File::from(openat(parent, name, flags, Mode::empty())?));
        }
        current.ok_or_else(|| io::Error::from(io::ErrorKind::IsADirectory))
    }

    #[cfg(not(unix))]
    fn open_relative(&self, relative: &Path) -> io::Result<File> {
        let path = self.path.join(relative);
        if path.symlink_metadata()?.is_symlink() {
            return Err(io::Error::other("it is a link"));
        }
        File::open(path)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::Read as _;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_are_never_followed() {
        let name = format!("toolwire-beneath-{}", std::process::id());
        let parent = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&parent);
        let directory = parent.join("root");
        fs::create_dir_all(directory.join("a")).expect("a directory");
        fs::write(parent.join("secret"), "secret").expect("a file");
        fs::write(directory.join("a/file"), "content").expect("a file");
        symlink(parent.join("secret"), directory.join("a/link")).expect("a link");
        symlink(&parent, directory.join("out")).expect("a link");
        symlink("a", directory.join("in")).expect("a link");

        let root = Root::open(&directory).expect("a directory");
        let open = |path: &str| root.open_file(&root.path().join(path));
        let mut text = String::new();
        let mut file = open("a/file").expect("a file");
        file.read_to_string(&mut text).expect("text");
        assert_eq!(text, "content");
        for path in [
            "a/link",
            "out/secret",
            "in/file",
            "a",
            "",
            "a/none",
            "../secret",
            "a/../../secret",
        ] {
            assert!(open(path).is_err(), "{path}");
        }
        assert!(root.open_file(&parent.join("secret")).is_err());
        assert!(Root::open(&directory.join("a/file")).is_err());
        fs::remove_dir_all(&parent).expect("the directory exists");
    }
}
