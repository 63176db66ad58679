//! A token file for one test.

use std::path::PathBuf;

use toolwire::ProtocolVersion;
use toolwire_auth::client::FileTokenStore;

/// A token file in its own directory, which is removed when this is dropped.
pub(crate) struct TokenFile(PathBuf);

impl TokenFile {
    pub(crate) fn new(name: &str, version: ProtocolVersion) -> Self {
        let process = std::process::id();
        let name = format!("toolwire-interop-{process}-{name}-{}", version.as_str());
        Self(std::env::temp_dir().join(name))
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.0.join("tokens.json")
    }

    pub(crate) fn store(&self) -> FileTokenStore {
        FileTokenStore::new(self.path())
    }
}

impl Drop for TokenFile {
    fn drop(&mut self) {
        // A directory that cannot be removed is left to the system.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
