//! Files that only their owner can read and that another user did not create.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

/// Opens a file of the current user and restricts permissions that are too wide.
///
/// # Errors
/// Returns an error for a symbolic link, a non-regular file or a file of another user, because secrets would be written
/// to an unknown destination.
pub(super) fn open(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let is_link = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink());
    if is_link {
        return Err(rejection(
            "it is a symbolic link; use the path of the file itself",
        ));
    }
    restrict(options);
    let file = options.open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(rejection("it is not a regular file"));
    }
    check_owner(&file, &metadata, path)?;
    Ok(file)
}

/// Creates the missing parent directories of a file, with access for their owner only.
pub(super) fn create_directory_of(path: &Path) -> io::Result<()> {
    let parent = path.parent();
    let Some(directory) = parent.filter(|parent| !parent.as_os_str().is_empty()) else {
        return Ok(());
    };
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;

        builder.mode(0o700);
    }
    builder.create(directory)
}

fn rejection(reason: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, reason.into())
}

#[cfg(unix)]
fn restrict(options: &mut OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt as _;

    use rustix::fs::OFlags;

    // A link that is created after the check is not followed, and opening a pipe does not block.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    options.mode(0o600).custom_flags(flags.bits().cast_signed());
}

#[cfg(unix)]
fn check_owner(file: &File, metadata: &fs::Metadata, path: &Path) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    check_user(metadata.uid(), rustix::process::geteuid().as_raw())?;
    if metadata.mode() & 0o077 != 0 {
        tracing::warn!(path = %path.display(), "the file was readable by other users; its permissions are now restricted");
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
    }
    Ok(())
}

/// Checks the owner, also for root: a user cannot read a file that root creates instead of the user's file.
#[cfg(unix)]
fn check_user(owner: u32, current: u32) -> io::Result<()> {
    if owner == current {
        Ok(())
    } else {
        Err(rejection(format!(
            "it belongs to user {owner}, and the current user is {current}"
        )))
    }
}

// On other platforms, files in a user's directory belong to the user.

#[cfg(not(unix))]
fn restrict(_options: &mut OpenOptions) {}

#[cfg(not(unix))]
fn check_owner(_file: &File, _metadata: &fs::Metadata, _path: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn files_of_other_users_are_rejected() {
        assert!(check_user(1000, 1000).is_ok());
        for (owner, current) in [(1000, 1001), (1000, 0), (0, 1000)] {
            let error = check_user(owner, current).unwrap_err();
            let text = error.to_string();
            assert!(text.contains(&format!("user {owner},")), "{text}");
        }
    }
}
