//! Files with access for their owner only.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Opens a file to append to it, and creates it if necessary. A link as the last part of the path is not followed.
pub(crate) fn append(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    restrict(&mut options);
    let file = options.open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    restrict_existing(&file)?;
    Ok(file)
}

/// Returns `true` if an open file is the one at a path.
#[cfg(unix)]
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;

    let (Ok(opened), Ok(found)) = (file.metadata(), fs::symlink_metadata(path)) else {
        return false;
    };
    (opened.dev(), opened.ino()) == (found.dev(), found.ino())
}

/// Returns `true`: on other platforms, an open file cannot be moved.
#[cfg(not(unix))]
pub(crate) fn is_at(_file: &File, path: &Path) -> bool {
    path.exists()
}

/// Replaces a file at once: other processes read the old or the new content, and a link is replaced, not followed.
pub(crate) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let new = new_path(path);
    let written = create(&new).and_then(|mut file| {
        file.write_all(content)?;
        file.sync_all()
    });
    let replaced = written.and_then(|()| fs::rename(&new, path));
    if replaced.is_err() {
        let _ = fs::remove_file(&new);
    }
    replaced
}

/// Checks that a file can be replaced, without doing it.
pub(crate) fn check_replaceable(path: &Path) -> io::Result<()> {
    let new = new_path(path);
    create(&new)?;
    fs::remove_file(&new)
}

/// Returns the path of the new content of a file, until it replaces the file.
fn new_path(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    path.with_file_name(name)
}

fn create(new: &Path) -> io::Result<File> {
    // An earlier process with the same id may have left it.
    let _ = fs::remove_file(new);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    restrict(&mut options);
    options.open(new)
}

#[cfg(unix)]
fn restrict(options: &mut OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt as _;

    use rustix::fs::OFlags;

    // Opening a pipe does not block.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    options.mode(0o600).custom_flags(flags.bits().cast_signed());
}

/// Removes the access of others to a file that existed before.
#[cfg(unix)]
fn restrict_existing(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;

    let mut permissions = file.metadata()?.permissions();
    if permissions.mode() & 0o077 == 0 {
        return Ok(());
    }
    permissions.set_mode(0o600);
    file.set_permissions(permissions)
}

// On other platforms, files in a user's directory belong to the user.
#[cfg(not(unix))]
fn restrict(_options: &mut OpenOptions) {}

#[cfg(not(unix))]
fn restrict_existing(_file: &File) -> io::Result<()> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn files_are_private_and_links_are_not_followed() {
        let scratch = Scratch::new("private-file");
        let (file, link, target) = (
            scratch.path("f"),
            scratch.path("link"),
            scratch.path("target"),
        );
        replace(&file, b"one").unwrap();
        append(&file).unwrap().write_all(b" two").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"one two");
        let mode = || fs::metadata(&file).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(), 0o600);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        append(&file).unwrap();
        assert_eq!(mode(), 0o600);

        fs::write(&target, "target").unwrap();
        symlink(&target, &link).unwrap();
        assert!(append(&link).is_err());
        replace(&link, b"new").unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"target");
        assert_eq!(fs::read(&link).unwrap(), b"new");
        // No other file is left.
        assert_eq!(fs::read_dir(scratch.directory()).unwrap().count(), 3);
    }
}
