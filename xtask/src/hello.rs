//! Measures the smallest servers of toolwire and rmcp: the number of crates, the time of a cold build, the size, and
//! the time to the first response over stdio.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::bench::target_directory;
use crate::processor_time;
use crate::steps::{Outcome, cargo, note, run};

/// The packages of `bench/hello`, in pairs of toolwire and rmcp.
const SERVERS: [&str; 4] = ["toolwire-stdio", "rmcp-stdio", "toolwire-http", "rmcp-http"];

/// The figures of one server.
struct Figures {
    name: &'static str,
    crates: usize,
    build_seconds: f64,
    /// The CPU time of the build, independent of other load. Only known on Linux.
    processor_seconds: Option<f64>,
    stripped_bytes: u64,
    /// The median time from the start of the process to the first response. Only for servers on stdio.
    first_response: Option<Duration>,
}

/// The number of starts for the median.
const STARTS: usize = 51;

/// The first message of a client.
const INITIALIZE: &[u8] = include_bytes!("../../bench/hello/initialize.json");

/// Builds each server without a cache, one after the other, and prints a table. Names after `hello` select servers.
pub(crate) fn measure(root: &Path, names: &[&str]) -> Outcome {
    let workspace = root.join("bench").join("hello");
    let selected = SERVERS
        .into_iter()
        .filter(|server| names.is_empty() || names.contains(server));
    let mut lines = vec![
        "| server | crates | cold build s | its CPU s | stripped MB | first response ms |"
            .to_owned(),
    ];
    lines.push("|---|---:|---:|---:|---:|---:|".to_owned());
    for server in selected {
        let figures = build_cold(root, &workspace, server)?;
        let first_response = figures.first_response.map_or("-".to_owned(), |took| {
            format!("{:.1}", took.as_secs_f64() * 1e3)
        });
        let processor = figures
            .processor_seconds
            .map_or("-".to_owned(), |seconds| format!("{seconds:.1}"));
        lines.push(format!(
            "| {} | {} | {:.1} | {processor} | {:.2} | {first_response} |",
            figures.name,
            figures.crates,
            figures.build_seconds,
            figures.stripped_bytes as f64 / 1e6,
        ));
    }
    if lines.len() == 2 {
        return Err(format!("unknown server; use one of {}", SERVERS.join(", ")));
    }
    note(&format!("hello world\n\n{}", lines.join("\n")));
    Ok(())
}

fn build_cold(root: &Path, workspace: &Path, server: &'static str) -> Outcome<Figures> {
    let target = target_directory(root).join("bench-hello").join(server);
    if target.exists() {
        fs::remove_dir_all(&target)
            .map_err(|error| format!("cannot remove {}: {error}", target.display()))?;
    }
    // Downloads first, so that they are not measured.
    run(&mut cargo(workspace, &["fetch", "--quiet"]))?;
    let crates = count_crates(workspace, server)?;
    let (start, processor_before) = (Instant::now(), processor_time::of_children());
    let arguments = ["build", "--release", "--quiet", "--package", server];
    run(cargo(workspace, &arguments)
        .env("CARGO_PROFILE_RELEASE_STRIP", "symbols")
        .env_remove("CARGO_TARGET_DIR")
        .arg("--target-dir")
        .arg(&target))?;
    let build_seconds = start.elapsed().as_secs_f64();
    let processor_seconds = processor_time::of_children()
        .zip(processor_before)
        .map(|(after, before)| after - before);
    let file = format!("{server}{}", std::env::consts::EXE_SUFFIX);
    let program = target.join("release").join(file);
    let size = fs::metadata(&program)
        .map_err(|error| format!("cannot read {}: {error}", program.display()))?;
    let first_response = if server.ends_with("stdio") {
        Some(first_response(&program)?)
    } else {
        None
    };
    fs::remove_dir_all(&target)
        .map_err(|error| format!("cannot remove {}: {error}", target.display()))?;
    Ok(Figures {
        name: server,
        crates,
        build_seconds,
        processor_seconds,
        stripped_bytes: size.len(),
        first_response,
    })
}

/// Starts the server several times and returns the median time to the first response.
fn first_response(program: &Path) -> Outcome<Duration> {
    let mut times = (0..STARTS)
        .map(|_| response_once(program))
        .collect::<std::io::Result<Vec<_>>>()
        .map_err(|error| format!("{} does not respond: {error}", program.display()))?;
    times.sort_unstable();
    Ok(times[STARTS / 2])
}

fn response_once(program: &Path) -> std::io::Result<Duration> {
    let start = Instant::now();
    let mut server = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let (Some(mut input), Some(output)) = (server.stdin.take(), server.stdout.take()) else {
        return Err(std::io::Error::other("the process has no pipes"));
    };
    input.write_all(INITIALIZE)?;
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line)?;
    let took = start.elapsed();
    server.kill()?;
    server.wait()?;
    if line.contains("serverInfo") {
        Ok(took)
    } else {
        Err(std::io::Error::other(format!(
            "unexpected response {line:?}"
        )))
    }
}

/// Counts the crates that are compiled for the program on this machine, including the program, without build scripts.
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

/// Counts the lines of `cargo tree` without a prefix. A repeated crate ends in `(*)`.
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
    fn repeated_crate_counts_once() {
        let tree = "hello v0.0.0 (/a)\ntokio v1.0.0\nbytes v1.0.0\ntokio v1.0.0 (*)\nsyn v2.0.0 (proc-macro)\n\n";
        assert_eq!(distinct_crates(tree), 4);
    }
}
