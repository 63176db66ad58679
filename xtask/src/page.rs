//! Builds the page of `toolwire inspect` from `page/`. The build is committed, so that `cargo build` needs no Node.js.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::peers::{Toolchain, install_node_packages};
use crate::steps::{Outcome, run};
use crate::suite::target_directory;

/// Installs the packages, checks the types, and writes the build into the crate of the command.
pub(crate) fn build(root: &Path) -> Outcome {
    install(root, &Toolchain::find()?)?;
    check_types(root)?;
    run(&mut node(root, &["build.mjs"]))
}

/// Checks the types, that the committed build is that of the sources, and that the pictures show this build.
pub(crate) fn check(root: &Path) -> Outcome {
    install(root, &Toolchain::find()?)?;
    check_types(root)?;
    run(&mut node(root, &["build.mjs", "--check"]))?;
    run(&mut node(root, &[PICTURE_DIGEST]))
}

/// The script that compares or stores the digest of the build that the pictures show.
const PICTURE_DIGEST: &str = "picture_digest.mjs";

/// Runs the tests of the page in the browser, which write the pictures of the guide.
pub(crate) fn take_pictures(root: &Path) -> Outcome {
    install(root, &Toolchain::find()?)?;
    run(Command::new(env!("CARGO"))
        .current_dir(root)
        .args(["test", "--package", "toolwire-cli", "--all-features"])
        .args(["--test", "it", "inspect::browser"])
        .env("TOOLWIRE_PICTURES", directory(root).join("pictures")))?;
    run(&mut node(root, &[PICTURE_DIGEST, "--write"]))
}

/// Builds the command as it is released, and prints how long its start and the page take.
pub(crate) fn measure_times(root: &Path) -> Outcome {
    install(root, &Toolchain::find()?)?;
    run(Command::new(env!("CARGO")).current_dir(root).args([
        "build",
        "--release",
        "--package",
        "toolwire-cli",
    ]))?;
    let name = format!("toolwire{}", std::env::consts::EXE_SUFFIX);
    let program = target_directory()?.join("release").join(name);
    run(node(root, &["tests/times.mjs"]).env("TOOLWIRE", program))
}

/// Installs the packages that the build and the tests of the page need.
pub(crate) fn install(root: &Path, toolchain: &Toolchain) -> Outcome {
    install_node_packages(&directory(root), toolchain, "the page", &[])
}

fn check_types(root: &Path) -> Outcome {
    run(&mut node(
        root,
        &["node_modules/typescript/bin/tsc", "--noEmit"],
    ))
}

fn node(root: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("node");
    command.current_dir(directory(root)).args(arguments);
    command
}

fn directory(root: &Path) -> PathBuf {
    root.join("page")
}
