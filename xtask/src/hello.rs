//! The smallest servers of toolwire and rmcp: how many crates they need, how long they build from nothing, how big they are,
//! and how soon those on stdio give their first answer.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::bench::target_directory;
use crate::steps::{Outcome, cargo, note, run};

/// The packages of `bench/hello`, in pairs of ours and theirs.
const SERVERS: [&str; 4] = ["toolwire-stdio", "rmcp-stdio", "toolwire-http", "rmcp-http"];

/// What is known of one server.
struct Figures {
    name: &'static str,
    crates: usize,
    build_seconds: f64,
    /// What the build cost, whoever else used the machine; only known on Linux.
    processor_seconds: Option<f64>,
    stripped_bytes: u64,
    /// From the start of the process; the median of several. Only of servers on stdio.
    first_answer: Option<Duration>,
}

/// How often a server is started to see how soon it answers.
const STARTS: usize = 51;

/// What a client says first.
const INITIALIZE: &[u8] = include_bytes!("../../bench/hello/initialize.json");

/// Builds each server from nothing, one after the other, and prints a table. Names after `hello` narrow it.
pub(crate) fn measure(root: &Path, names: &[&str]) -> Outcome {
    let workspace = root.join("bench").join("hello");
    let wanted = SERVERS
        .into_iter()
        .filter(|server| names.is_empty() || names.contains(server));
    let mut lines = vec![
        "| server | crates | cold build s | its CPU s | stripped MB | first answer ms |".to_owned(),
    ];
    lines.push("|---|---:|---:|---:|---:|---:|".to_owned());
    for server in wanted {
        let figures = build_from_nothing(root, &workspace, server)?;
        let first_answer = figures.first_answer.map_or("-".to_owned(), |took| {
            format!("{:.1}", took.as_secs_f64() * 1e3)
        });
        let processor = figures
            .processor_seconds
            .map_or("-".to_owned(), |seconds| format!("{seconds:.1}"));
        lines.push(format!(
            "| {} | {} | {:.1} | {processor} | {:.2} | {first_answer} |",
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
    let (began, processor_before) = (Instant::now(), processor_time_of_children());
    let arguments = ["build", "--release", "--quiet", "--package", server];
    run(cargo(workspace, &arguments)
        .env("CARGO_PROFILE_RELEASE_STRIP", "symbols")
        .env_remove("CARGO_TARGET_DIR")
        .arg("--target-dir")
        .arg(&target))?;
    let build_seconds = began.elapsed().as_secs_f64();
    let processor_seconds = processor_time_of_children()
        .zip(processor_before)
        .map(|(after, before)| after - before);
    let file = format!("{server}{}", std::env::consts::EXE_SUFFIX);
    let program = target.join("release").join(file);
    let size = fs::metadata(&program)
        .map_err(|error| format!("cannot read {}: {error}", program.display()))?;
    let first_answer = if server.ends_with("stdio") {
        Some(first_answer(&program)?)
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
        first_answer,
    })
}

/// Seconds that all processes took which were started from here and have ended.
fn processor_time_of_children() -> Option<f64> {
    children_time(&fs::read_to_string("/proc/self/stat").ok()?)
}

/// `cutime` and `cstime` of proc_pid_stat(5), which are told in hundredths of a second.
fn children_time(stat: &str) -> Option<f64> {
    // The name of the program, in parentheses, may have spaces.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(13);
    let user: u32 = fields.next()?.parse().ok()?;
    let system: u32 = fields.next()?.parse().ok()?;
    Some(f64::from(user + system) / 100.0)
}

/// Starts the server again and again; the median of the times until it has answered.
fn first_answer(program: &Path) -> Outcome<Duration> {
    let mut times = (0..STARTS)
        .map(|_| answer_once(program))
        .collect::<std::io::Result<Vec<_>>>()
        .map_err(|error| format!("{} gives no answer: {error}", program.display()))?;
    times.sort_unstable();
    Ok(times[STARTS / 2])
}

fn answer_once(program: &Path) -> std::io::Result<Duration> {
    let began = Instant::now();
    let mut server = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let (Some(mut input), Some(output)) = (server.stdin.take(), server.stdout.take()) else {
        return Err(std::io::Error::other("it has no pipes"));
    };
    input.write_all(INITIALIZE)?;
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line)?;
    let took = began.elapsed();
    server.kill()?;
    server.wait()?;
    if line.contains("serverInfo") {
        Ok(took)
    } else {
        Err(std::io::Error::other(format!("it says {line:?}")))
    }
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
    fn the_time_of_children_is_found_behind_the_name() {
        let stat = "7 (a (b) c) S 1 7 7 0 -1 4194560 1 2 3 4 11 12 1300 214 20 0 1 0 5 6 7";
        assert_eq!(children_time(stat), Some(15.14));
        assert_eq!(children_time("7 (a) S 1"), None);
    }

    #[test]
    fn a_crate_counts_once() {
        let tree = "hello v0.0.0 (/a)\ntokio v1.0.0\nbytes v1.0.0\ntokio v1.0.0 (*)\nsyn v2.0.0 (proc-macro)\n\n";
        assert_eq!(distinct_crates(tree), 4);
    }
}
