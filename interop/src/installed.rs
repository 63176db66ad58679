//! Finds the peers that `cargo xtask peers` installed.

use std::path::{Path, PathBuf};

use crate::problem::Problem;

/// The file that `cargo xtask peers` writes last into each directory that it installs.
const INSTALLED_MARK: &str = ".installed-from";

/// Returns `interop/peers`.
pub(crate) fn peers_directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("peers")
}

/// Returns Node.js, if the npm packages are installed.
pub(crate) fn node() -> Result<PathBuf, Problem> {
    require("node_modules")?;
    Ok(PathBuf::from("node"))
}

/// Returns the Python of the virtual environment, if it is complete.
pub(crate) fn python() -> Result<PathBuf, Problem> {
    python_of(".venv")
}

/// Returns the Python of a virtual environment below `interop/peers`, if it is complete.
pub(crate) fn python_of(environment: &str) -> Result<PathBuf, Problem> {
    require(environment)?;
    let program = if cfg!(windows) {
        "Scripts/python.exe"
    } else {
        "bin/python"
    };
    Ok(peers_directory().join(environment).join(program))
}

/// Returns an error if a directory below `interop/peers` is not completely installed.
pub(crate) fn require(directory: &str) -> Result<(), Problem> {
    let mark = peers_directory().join(directory).join(INSTALLED_MARK);
    if mark.is_file() {
        Ok(())
    } else {
        Err(Problem::new(format!(
            "interop/peers/{directory} is not installed: run `cargo xtask peers`, or `cargo xtask test` for all"
        )))
    }
}
