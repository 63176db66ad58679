//! Installs the releases of `interop/peers/releases`: npm packages, one Python environment per file in `requirements`,
//! and the programs of the Rust package `rmcp`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::thread;

use crate::peers::{self, Toolchain};
use crate::steps::{Outcome, run};
use crate::suite;

/// Installs the packages of all releases if needed.
pub(crate) fn install(root: &Path, toolchain: &Toolchain, uv: &Path) -> Outcome {
    let releases = directory(root);
    peers::install_node_packages(&releases, toolchain, "the releases", &[])?;
    install_environments(&releases, toolchain, uv)
}

fn directory(root: &Path) -> PathBuf {
    peers::directory(root).join("releases")
}

/// Installs the Python environments, several at a time: an installation waits for the network most of the time.
fn install_environments(releases: &Path, toolchain: &Toolchain, uv: &Path) -> Outcome {
    let requirements = Mutex::new(requirement_files(releases)?.into_iter());
    let next = || requirements.lock().ok()?.next();
    let install_remaining = || -> Outcome {
        while let Some(file) = next() {
            install_environment(releases, &file, toolchain, uv)?;
        }
        Ok(())
    };
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..workers)
            .map(|_| scope.spawn(install_remaining))
            .collect();
        workers.into_iter().try_for_each(|worker| {
            let stopped = || Err("the installation of an environment panicked".to_owned());
            worker.join().unwrap_or_else(|_| stopped())
        })
    })
}

fn requirement_files(releases: &Path) -> Outcome<Vec<PathBuf>> {
    let directory = releases.join("requirements");
    let cannot_read =
        |error: std::io::Error| format!("cannot read {}: {error}", directory.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(&directory).map_err(cannot_read)? {
        files.push(entry.map_err(cannot_read)?.path());
    }
    files.sort_unstable();
    Ok(files)
}

fn install_environment(
    releases: &Path,
    requirements: &Path,
    toolchain: &Toolchain,
    uv: &Path,
) -> Outcome {
    let name = requirements.file_stem().unwrap_or_default();
    let environment = releases.join(".venv").join(name);
    peers::install_with_uv(&environment, requirements, toolchain, uv)
}

/// Builds the client and the server of rmcp into the target directory of the tests, where the tests find them.
pub(crate) fn build_rmcp(root: &Path, cargo: impl Fn(&Path, &[&str]) -> Command) -> Outcome {
    run(cargo(root, &["build", "--locked", "--manifest-path"])
        .arg(directory(root).join("rmcp/Cargo.toml"))
        .arg("--target-dir")
        .arg(suite::target_directory()?))
}
