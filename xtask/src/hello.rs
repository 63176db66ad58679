//! The smallest servers of toolwire and rmcp: how many crates they need, how long they build from nothing, how big they are.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use crate::bench::target_directory;
use crate::steps::{Outcome, cargo, note, run};

/// The packages of `bench/hello`, in pairs of ours and theirs.
const SERVERS: [&str; 4] = ["toolwire-stdio", "rmcp-stdio", "toolwire-http", "rmcp-http"];

/// What is known of one server.
struct Figures {
    name: &'static str,
    crates: usize,
    build_seconds: f64,
    stripped_bytes: u64,
}

/// Builds each server from nothing, one after the other, and prints a table. Names after `hello` narrow it.
pub(crate) fn measure(root: &Path, names: &[&str]) -> Outcome {
    let workspace = root.join("bench").join("hello");
    let wanted = SERVERS
        .into_iter()
        .filter(|server| names.is_empty() || names.contains(server));
    let mut lines = vec!["| server | crates | cold build s | stripped MB |".to_owned()];
    lines.push("|---|---:|---:|---:|".to_owned());
    for server in wanted {
        let figures = build_from_nothing(root, &workspace, server)?;
        lines.push(format!(
            "| {} | {} | {:.1} | {:.2} |",
            figures.name,
            figures.crates,
            figures.build_seconds,
            figures.stripped_bytes as f64 / 1e6,
        ));
    }
    if lines.len() == 2 {
        return Err(format!("the servers are {}", SERVERS.join(", ")));
    }
    note(&format!("hello world\n\n{}", lines.join("\n")));
    Ok(())
}

fn build_from_nothing(root: &Path, workspace: &Path, server: &'static str) -> Outcome<Figures> {
    let target = target_directory(root).join("bench-hello").join(server);
    if target.exists() {
        fs::remove_dir_all(&target)
            .map_err(|error| format!("cannot remove {}: {error}", target.display()))?;
    }
    // So that downloads are not measured.
    run(&mut cargo(workspace, &["fetch", "--quiet"]))?;
    let crates = count_crates(workspace, server)?;
    let began = Instant::now();
    let arguments = ["build", "--release", "--quiet", "--package", server];
    run(cargo(workspace, &arguments)
        .env("CARGO_PROFILE_RELEASE_STRIP", "symbols")
        .env_remove("CARGO_TARGET_DIR")
        .arg("--target-dir")
        .arg(&target))?;
    let build_seconds = began.elapsed().as_secs_f64();
    let file = format!("{server}{}", std::env::consts::EXE_SUFFIX);
    let program = target.join("release").join(file);
    let size = fs::metadata(&program)
        .map_err(|error| format!("cannot read {}: {error}", program.display()))?;
    Ok(Figures {
        name: server,
        crates,
        build_seconds,
        stripped_bytes: size.len(),
    })
}

/// Everything that is compiled for the program on this machine, the program itself included; build scripts are not.
fn count_crates(workspace: &Path, server: &str) -> Outcome<usize> {
    let arguments = [
        "tree",
        "--edges",
        "normal",
        "--prefix",
        "none",
        "--package",
        server,
    ];
    let mut command: Command = cargo(workspace, &arguments);
    let output = command
        .output()
        .map_err(|error| format!("cannot start cargo tree: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(distinct_crates(&String::from_utf8_lossy(&output.stdout)))
}

/// Lines of `cargo tree` without a prefix; a crate that was listed before ends in `(*)`.
fn distinct_crates(tree: &str) -> usize {
    let lines = tree
        .lines()
        .map(|line| line.trim_end_matches(" (*)").trim());
    let distinct: BTreeSet<&str> = lines.filter(|line| !line.is_empty()).collect();
    distinct.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_counts_once() {
        let tree = "hello v0.0.0 (/a)\ntokio v1.0.0\nbytes v1.0.0\ntokio v1.0.0 (*)\nsyn v2.0.0 (proc-macro)\n\n";
        assert_eq!(distinct_crates(tree), 4);
    }
}
