//! Files that only their owner may read, and that nobody else has put there.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

/// Opens a file of ours. Rights that are too wide are taken back.
///
/// # Errors
/// A symbolic link, a pipe or a file of somebody else is refused: what is written there would go to who knows where.
pub(super) fn open(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let is_link = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink());
    if is_link {
        return Err(refused("it is a symbolic link; name the file itself"));
    }
    restrict(options);
    let file = options.open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(refused("it is no ordinary file"));
    }
    check_owner(&file, &metadata, path)?;
    Ok(file)
}

/// Makes the directories above a file that are not there, for their owner only.
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

fn refused(why: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, why.into())
}

#[cfg(unix)]
fn restrict(options: &mut OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt as _;

    use rustix::fs::OFlags;

    // A link that somebody puts there after the look is not followed, and a pipe is not waited for.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    options.mode(0o600).custom_flags(flags.bits().cast_signed());
}

#[cfg(unix)]
fn check_owner(file: &File, metadata: &fs::Metadata, path: &Path) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    check_user(metadata.uid(), rustix::process::geteuid().as_raw())?;
    if metadata.mode() & 0o077 != 0 {
        tracing::warn!(path = %path.display(), "others could read this file; now they cannot");
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
    }
    Ok(())
}

/// Also for root: what root writes in the place of a user's file, the user cannot read any more.
#[cfg(unix)]
fn check_user(owner: u32, ourselves: u32) -> io::Result<()> {
    match owner == ourselves {
        true => Ok(()),
        false => Err(refused(format!(
            "it belongs to the user {owner}, and this is the user {ourselves}"
        ))),
    }
}

// Elsewhere what is in the directory of a user is the user's.

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
    fn files_of_others_are_refused() {
        assert!(check_user(1000, 1000).is_ok());
        for (owner, ourselves) in [(1000, 1001), (1000, 0), (0, 1000)] {
            let error = check_user(owner, ourselves).unwrap_err();
            let text = error.to_string();
            assert!(text.contains(&format!("user {owner},")), "{text}");
        }
    }
}
