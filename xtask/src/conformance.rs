//! Installs the official conformance suite below the target directory and runs it with `toolwire-conformance`.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::peers::{self, Toolchain};
use crate::steps::{Outcome, cargo, run};
use crate::suite::target_directory;

/// The suite needs a newer Node.js than the peers. On Linux, an optional npm package contains one.
const OLDEST_NODE: (u32, u32) = (22, 0);

/// The files that pin the packages. They are copied to the installation directory.
const MANIFESTS: [&str; 2] = ["package.json", "package-lock.json"];

/// Installs the suite and runs its scenarios with the `server`, the `client` or the `authorization` server of
/// `toolwire-conformance`.
pub(crate) fn check(root: &Path, subject: &str) -> Outcome {
    install(root, &Toolchain::find()?)?;
    run(&mut cargo(
        root,
        &["build", "--package", "toolwire-conformance", "--bins"],
    ))?;
    let target = target_directory()?;
    let program = |name: &str| {
        target
            .join("debug")
            .join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
    };
    run(Command::new(program("conformance-run"))
        .arg("--suite")
        .arg(target.join("conformance"))
        .args([subject, "--binary"])
        .arg(program(&format!("conformance-{subject}"))))
}

/// Installs the suite if needed. The tests of `toolwire-conformance` look for it there.
pub(crate) fn install(root: &Path, toolchain: &Toolchain) -> Outcome {
    let directory = target_directory()?.join("conformance");
    fs::create_dir_all(&directory)
        .map_err(|error| format!("cannot create {}: {error}", directory.display()))?;
    for name in MANIFESTS {
        let source = root.join("conformance").join("suite").join(name);
        fs::copy(&source, directory.join(name))
            .map_err(|error| format!("cannot copy {}: {error}", source.display()))?;
    }
    let flags: &[&str] = if toolchain.has_node(OLDEST_NODE) {
        &["--omit=optional"]
    } else if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        &[]
    } else {
        return Err("the conformance suite needs Node.js 22 or newer; install it".to_owned());
    };
    peers::install_node_packages(&directory, toolchain, "the conformance suite", flags)
}
