//! Finds the peers that `cargo xtask peers` installed.

use std::path::{Path, PathBuf};

use crate::problem::Problem;

/// The file that `cargo xtask peers` writes last into `node_modules` and `.venv`.
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
    require(".venv")?;
    let program = if cfg!(windows) {
        ".venv/Scripts/python.exe"
    } else {
        ".venv/bin/python"
    };
    Ok(peers_directory().join(program))
}

fn require(directory: &str) -> Result<(), Problem> {
    let mark = peers_directory().join(directory).join(INSTALLED_MARK);
    if mark.is_file() {
        Ok(())
    } else {
        Err(Problem::new(format!(
            "interop/peers/{directory} is not installed: run `cargo xtask peers`, or `cargo xtask test` for all"
        )))
    }
}
