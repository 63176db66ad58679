//! Builds benchmarks in release mode and runs them one at a time.

use std::path::{Path, PathBuf};

use crate::hello;
use crate::peers::{self, Toolchain};
use crate::plots;
use crate::programs::NGINX;
use crate::steps::{Outcome, cargo, note, run};
use crate::suite;

const PACKAGE: [&str; 3] = ["--release", "--package", "toolwire-bench"];

/// The server whose toolwire has HTTP/2 and TLS.
const WITH_HTTP2_AND_TLS: [&str; 4] =
    ["--features", "http2-tls", "--bin", "bench-server-http2-tls"];

/// The server whose toolwire has tasks.
const WITH_TASKS: [&str; 4] = ["--features", "tasks", "--bin", "task-server"];

/// The server whose toolwire has stores on Redis.
const WITH_FLEET: [&str; 4] = ["--features", "fleet", "--bin", "fleet-server"];

/// The names of the other contestants in the benchmark.
const RMCP: &str = "rmcp";
const TYPESCRIPT: &str = "typescript";
const PYTHON: &str = "python";

/// Builds what the benchmark needs and runs it. Without a name, it runs the comparison with the peers.
pub(crate) fn bench(root: &Path, arguments: &[&str]) -> Outcome {
    match arguments {
        ["hello", rest @ ..] => hello::measure(root, rest),
        ["instructions"] => suite::instructions(root),
        ["--plot"] => plots::write(root),
        ["peers", rest @ ..] => compare(root, rest),
        [] => compare(root, &[]),
        ["tasks", ..] => run_with(root, &WITH_TASKS, arguments),
        ["fleet", ..] => run_with(root, &WITH_FLEET, arguments),
        ["proxy", ..] => proxy(root, arguments),
        [flag, ..] if flag.starts_with("--") && *flag != "--help" => compare(root, arguments),
        _ => {
            build(root)?;
            run_built(root, arguments, &[])
        }
    }
}

/// Runs a benchmark whose server has features that must not become part of the other programs, so it is built separately.
fn run_with(root: &Path, server: &[&str], arguments: &[&str]) -> Outcome {
    build(root)?;
    run(cargo(root, &["build"]).args(PACKAGE).args(server))?;
    run_built(root, arguments, &[])
}

/// Compares the command `toolwire proxy` with other proxies.
fn proxy(root: &Path, arguments: &[&str]) -> Outcome {
    let nginx = NGINX.find_or_install()?;
    build(root)?;
    let build_command = ["build", "--release", "--package", "toolwire-cli"];
    run(&mut cargo(root, &build_command))?;
    run_built(root, arguments, &["--nginx".to_owned(), nginx])
}

fn build(root: &Path) -> Outcome {
    // All programs of the package, because the load generator starts a server beside it.
    run(cargo(root, &["build"]).args(PACKAGE))
}

fn run_built(root: &Path, arguments: &[&str], peers: &[String]) -> Outcome {
    run(cargo(root, &["run", "--quiet"])
        .args(PACKAGE)
        .args(["--bin", "toolwire-bench", "--"])
        .args(arguments)
        .args(peers))
}

/// Builds or installs every selected peer. A peer that cannot be used is listed with the reason.
fn compare(root: &Path, arguments: &[&str]) -> Outcome {
    let mut run_arguments = vec!["peers"];
    run_arguments.extend(arguments);
    if arguments.contains(&"--help") {
        build(root)?;
        return run_built(root, &run_arguments, &[]);
    }
    let mut peers = Vec::new();
    if is_selected(arguments, RMCP) {
        match build_rmcp(root) {
            Ok(directory) => peers.extend(["--rmcp".to_owned(), path_text(&directory)]),
            Err(problem) => peers.extend(absent(RMCP, &problem)),
        }
    }
    let scripts = [TYPESCRIPT, PYTHON].map(|name| is_selected(arguments, name));
    if scripts.contains(&true) {
        let toolchain = Toolchain::find();
        if scripts[0] {
            peers.extend(
                typescript(root, &toolchain).unwrap_or_else(|problem| absent(TYPESCRIPT, &problem)),
            );
        }
        if scripts[1] {
            peers.extend(
                python(root, &toolchain).unwrap_or_else(|problem| absent(PYTHON, &problem)),
            );
        }
    }
    build(root)?;
    // A separate build, because HTTP/2 and TLS must not become part of the other programs.
    run(cargo(root, &["build"])
        .args(PACKAGE)
        .args(WITH_HTTP2_AND_TLS))?;
    run_built(root, &run_arguments, &peers)
}

/// Returns `true` if a contestant is selected: all are, unless some are named with `--contestant toolwire`.
fn is_selected(arguments: &[&str], name: &str) -> bool {
    let named = arguments.iter().enumerate().filter_map(|(at, argument)| {
        match argument.strip_prefix("--contestant") {
            Some("") => arguments.get(at + 1).copied(),
            Some(rest) => rest.strip_prefix('='),
            None => None,
        }
    });
    let named: Vec<&str> = named.collect();
    named.is_empty() || named.contains(&name)
}

fn build_rmcp(root: &Path) -> Outcome<PathBuf> {
    let manifest = root.join("bench/peers/rmcp/Cargo.toml");
    let target = target_directory(root).join("bench-peers");
    run(cargo(root, &["build", "--release", "--locked"])
        .arg("--manifest-path")
        .arg(&manifest)
        .arg("--target-dir")
        .arg(&target))?;
    Ok(target.join("release"))
}

fn typescript(root: &Path, toolchain: &Outcome<Toolchain>) -> Outcome<Vec<String>> {
    let toolchain = toolchain.as_ref().map_err(Clone::clone)?;
    let directory = peers::directory(root);
    peers::install_node_packages(&directory, toolchain, "the peers", &[])?;
    let script = directory.join("servers/bench_typescript.mjs");
    Ok(vec!["--typescript".to_owned(), path_text(&script)])
}

fn python(root: &Path, toolchain: &Outcome<Toolchain>) -> Outcome<Vec<String>> {
    let toolchain = toolchain.as_ref().map_err(Clone::clone)?;
    let directory = peers::directory(root);
    let program = peers::install_python_packages(&directory, toolchain)?;
    let script = directory.join("servers/bench_python.py");
    Ok(vec![
        "--python".to_owned(),
        path_text(&script),
        "--python-program".to_owned(),
        path_text(&program),
    ])
}

fn absent(name: &str, problem: &str) -> Vec<String> {
    note(&format!("{name} is skipped: {problem}"));
    let reason = problem.lines().next().unwrap_or_default();
    vec!["--absent".to_owned(), format!("{name}={reason}")]
}

/// Returns the target directory of this workspace.
pub(crate) fn target_directory(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |set| root.join(set))
}

fn path_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_are_built_unless_others_are_named() {
        fn check(arguments: &[&str], expected: bool) {
            assert_eq!(is_selected(arguments, RMCP), expected, "{arguments:?}");
        }
        check(&[], true);
        check(&["--quick", "--case", "stdio"], true);
        check(&["--contestant", "rmcp"], true);
        check(&["--contestant=toolwire", "--contestant=rmcp"], true);
        check(&["--contestant", "toolwire"], false);
        check(&["--contestant=python", "--case", "rmcp"], false);
    }

    #[test]
    fn absence_reason_is_one_line() {
        assert_eq!(
            absent(RMCP, "failed: cargo build\nsee above"),
            ["--absent", "rmcp=failed: cargo build"]
        );
    }
}
