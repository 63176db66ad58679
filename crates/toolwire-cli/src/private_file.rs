//! Files that are replaced at once, with access for their owner only.

use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Replaces or creates a file: other processes read the old or the new content, also after a crash. A link is replaced, not
/// followed. Only the owner has access to the file, unless other permissions are given.
pub(crate) fn replace(
    path: &Path,
    content: &[u8],
    permissions: Option<Permissions>,
) -> io::Result<()> {
    let new = new_path(path);
    // An earlier process with the same id may have left it.
    let _ = fs::remove_file(&new);
    let written = create(&new, permissions).and_then(|mut file| {
        file.write_all(content)?;
        // Otherwise, a file without content could have the name after a power failure.
        file.sync_all()
    });
    let replaced = written.and_then(|()| fs::rename(&new, path));
    if replaced.is_err() {
        let _ = fs::remove_file(&new);
    }
    replaced
}

/// Returns the path of the new content of a file, until it replaces the file.
fn new_path(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    path.with_file_name(name)
}

fn create(path: &Path, permissions: Option<Permissions>) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    if let Some(permissions) = permissions {
        file.set_permissions(permissions)?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::temporary_directory::TemporaryDirectory;

    /// Returns the names in a directory, in their order.
    fn names(directory: &TemporaryDirectory) -> Vec<String> {
        let entries = fs::read_dir(directory.path()).expect("the directory is readable");
        let names = entries.map(|entry| entry.expect("the entry is readable").file_name());
        let mut names: Vec<_> = names.map(|name| name.display().to_string()).collect();
        names.sort();
        names
    }

    #[test]
    fn content_is_replaced_and_no_other_file_stays() {
        let directory = TemporaryDirectory::new("toolwire-private-file").expect("a directory");
        let path = directory.path().join("file");
        for content in ["long content", "short"] {
            // Left by an earlier process with the same id.
            fs::write(new_path(&path), "incomplete").expect("the directory is writable");
            replace(&path, content.as_bytes(), None).expect("the directory is writable");
            assert_eq!(fs::read_to_string(&path).expect("a file"), content);
        }
        // A directory is not replaced.
        let other = directory.path().join("other");
        fs::create_dir(&other).expect("the directory is writable");
        assert!(replace(&other, b"content", None).is_err());
        assert_eq!(names(&directory), ["file", "other"]);
    }

    #[test]
    #[cfg(unix)]
    fn files_are_private_and_links_are_replaced() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};

        let directory = TemporaryDirectory::new("toolwire-private-file").expect("a directory");
        let path = |name: &str| directory.path().join(name);
        let mode = |path: &Path| {
            let metadata = fs::symlink_metadata(path).expect("the file exists");
            metadata.permissions().mode() & 0o777
        };
        let (target, link) = (path("target"), path("link"));
        fs::write(&target, "target").expect("the directory is writable");
        symlink(&target, &link).expect("the directory is writable");
        replace(&link, b"new", None).expect("the directory is writable");
        assert_eq!(mode(&link), 0o600);
        assert_eq!(fs::read_to_string(&target).expect("a file"), "target");
        let permissions = Permissions::from_mode(0o640);
        replace(&link, b"new", Some(permissions)).expect("the directory is writable");
        assert_eq!(mode(&link), 0o640);
    }
}
