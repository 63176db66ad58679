//! Directories for temporary files that only the user can read.

use std::path::{Path, PathBuf};
use std::{fs, io};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// A directory that is deleted with this value. On Unix, only its owner can use it. On Windows, it has the permissions of
/// the user's directory for temporary files.
#[derive(Debug)]
pub(crate) struct TemporaryDirectory(PathBuf);

impl TemporaryDirectory {
    /// Creates a directory whose name begins with `name`.
    pub(crate) fn new(name: &str) -> io::Result<Self> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(io::Error::other)?;
        let name = format!("{name}-{}", URL_SAFE_NO_PAD.encode(bytes));
        let directory = std::env::temp_dir().join(name);
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&directory)?;
        Ok(Self(directory))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TemporaryDirectory {
    fn drop(&mut self) {
        // The system deletes temporary files that are left.
        let _ = fs::remove_dir_all(&self.0);
    }
}
