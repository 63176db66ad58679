//! Signals at any moment: no server process outlives the command.
#![cfg(unix)]

use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process_group};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr, Command};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::client::TempDirectory;
use crate::process::{toolwire, within};

/// The number of runs per signal.
const RUNS: u64 = 50;

/// The number of concurrent runs.
const CONCURRENT_RUNS: usize = 8;

/// The latest time of a signal, in milliseconds after the start.
const MAX_DELAY: u64 = 1500;

/// The approximate number of log lines of a complete run.
const LOG_LINES: u64 = 45;

/// Servers that report their id and do not exit by themselves when their input ends: one that never responds, one that
/// can be called, and one that also ignores SIGTERM.
const SERVERS: [&str; 3] = [
    r#"echo $$ >> "$1"; exec sleep 600"#,
    r#"echo $$ >> "$1"; "$2" demo --stdio; exec sleep 600"#,
    r#"trap '' TERM; echo $$ >> "$1"; "$2" demo --stdio; exec sleep 600"#,
];

/// The weight of each server. The last one takes long to end.
const WEIGHTS: [u64; 3] = [6, 6, 1];

/// Marks the processes of one run in their environment.
const RUN: &str = "TOOLWIRE_TEST_RUN";

/// A command that calls a server of [`SERVERS`], and the file with its process ids.
struct Run {
    directory: TempDirectory,
    mark: String,
    command: Child,
    log: Lines<BufReader<ChildStderr>>,
}

impl Run {
    fn start(name: &str, server: &str) -> Self {
        let directory = TempDirectory::new(&format!("signals-{name}"));
        let ids = directory.write("ids", "");
        let mark = format!("{RUN}={name}-{}", std::process::id());
        let program = env!("CARGO_BIN_EXE_toolwire");
        let mut command = with_default_hangup(toolwire(&[
            "call",
            "countdown",
            "from=20",
            "delay_ms=5",
            "--verbose",
            "--env",
            &mark,
            "--",
            "sh",
            "-c",
            server,
            "sh",
            &ids,
            program,
        ]));
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let mut command = command.spawn().expect("the program under test starts");
        let log = command.stderr.take().expect("standard error is piped");
        Self {
            directory,
            mark,
            command,
            log: BufReader::new(log).lines(),
        }
    }

    fn signal(&self, signal: Signal) {
        let id = self.command.id().expect("the process was not reaped");
        // If it has exited already, it is not reaped yet and still accepts the signal.
        kill_process(pid(id), signal).expect("the process is a child of this process");
    }

    /// Reads the log until it has this many lines, or ends.
    async fn log_lines(&mut self, count: u64) {
        for _ in 0..count {
            let line = self
                .log
                .next_line()
                .await
                .expect("standard error is readable");
            if line.is_none() {
                return;
            }
        }
    }

    /// Waits for the first server process to report its id.
    async fn server(&self) -> u32 {
        within(async {
            loop {
                if let Some(id) = self.groups().first() {
                    return *id;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await
    }

    /// Waits for the command and then for its servers to end. Returns the exit code as in a shell.
    async fn ended(mut self) -> i32 {
        // The log must be read, or the command cannot exit.
        let end = async {
            while let Ok(Some(_)) = self.log.next_line().await {}
            self.command.wait().await.expect("the process is a child")
        };
        let status = within(end).await;
        let all_exited = async {
            while !self.remaining_processes().is_empty() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let bound = Duration::from_secs(20);
        if tokio::time::timeout(bound, all_exited).await.is_err() {
            let remaining = self.remaining_processes();
            for group in self.groups() {
                let _ = kill_process_group(pid(group), Signal::KILL);
            }
            panic!(
                "{} did not end {remaining:?}, and exited with {status}",
                self.mark
            );
        }
        status
            .code()
            .unwrap_or_else(|| 128 + status.signal().expect("the process exited"))
    }

    /// Returns the ids of the server processes so far. Each one is the leader of a process group.
    fn groups(&self) -> Vec<u32> {
        let ids = std::fs::read_to_string(self.directory.0.join("ids")).unwrap_or_default();
        // The last line may be incomplete.
        let lines = ids.split_inclusive('\n');
        let lines = lines.filter_map(|line| line.strip_suffix('\n'));
        lines.map(|id| id.parse().expect("a process id")).collect()
    }

    /// Returns the processes of this run that have not exited.
    fn remaining_processes(&self) -> Vec<u32> {
        let groups = self.groups();
        if !cfg!(target_os = "linux") {
            let is_alive = |group: &u32| test_kill_process_group(pid(*group)).is_ok();
            return groups.into_iter().filter(is_alive).collect();
        }
        let processes = std::fs::read_dir("/proc")
            .expect("Linux has /proc")
            .flatten();
        let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        ids.filter(|id| self.belongs_to_run(*id, &groups)).collect()
    }

    /// Returns `true` if a process belongs to a group of this run or has its mark. A zombie process has exited.
    fn belongs_to_run(&self, id: u32, groups: &[u32]) -> bool {
        let read = |name: &str| std::fs::read(format!("/proc/{id}/{name}")).unwrap_or_default();
        let stat = String::from_utf8_lossy(&read("stat")).into_owned();
        let Some((_, fields)) = stat.rsplit_once(") ") else {
            return false;
        };
        let mut fields = fields.split(' ');
        let (state, group) = (fields.next(), fields.nth(1));
        let group = group.and_then(|group| group.parse().ok());
        let has_mark = || {
            let environment = read("environ");
            let mut variables = environment.split(|byte| *byte == 0);
            variables.any(|variable| variable == self.mark.as_bytes())
        };
        state != Some("Z") && (group.is_some_and(|group| groups.contains(&group)) || has_mark())
    }
}

fn pid(id: u32) -> Pid {
    Pid::from_raw(id.cast_signed()).expect("a process id is not zero")
}

/// Resets SIGHUP to its default. If the tests run with `nohup`, the command would inherit and respect it.
fn with_default_hangup(command: Command) -> Command {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    if mask.is_none_or(|mask| mask & 1 == 0) {
        return command;
    }
    let command = command.as_std();
    let mut reset = Command::new("env");
    reset
        .arg("--default-signal=HUP")
        .arg(command.get_program())
        .args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => reset.env(name, value),
            None => reset.env_remove(name),
        };
    }
    reset
}

/// Pseudo-random numbers (xorshift), the same in every run of a test.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    fn server(&mut self) -> &'static str {
        let mut number = self.below(WEIGHTS.iter().sum());
        for (server, weight) in SERVERS.iter().zip(WEIGHTS) {
            match number.checked_sub(weight) {
                Some(rest) => number = rest,
                None => return server,
            }
        }
        unreachable!("the number is below the sum of all weights")
    }
}

/// Sends a signal after a random number of log lines or a random time, whichever comes first.
async fn run_once(signal: Signal, seed: u64) {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let name = format!("{}-{seed}", signal.as_raw());
    let mut run = Run::start(&name, random.server());
    let (lines, time) = (random.below(LOG_LINES), random.below(MAX_DELAY));
    let _ = tokio::time::timeout(Duration::from_millis(time), run.log_lines(lines)).await;
    run.signal(signal);
    let code = run.ended().await;
    // Zero if the command had finished before.
    let expected = [128 + signal.as_raw(), 0];
    assert!(expected.contains(&code), "{name}: {code}");
}

async fn check(signal: Signal) {
    let permits = Arc::new(Semaphore::new(CONCURRENT_RUNS));
    let mut runs = JoinSet::new();
    for seed in 0..RUNS {
        let permits = Arc::clone(&permits);
        runs.spawn(async move {
            let _permit = permits.acquire().await.expect("the semaphore is open");
            run_once(signal, seed).await;
        });
    }
    while let Some(ended) = runs.join_next().await {
        ended.expect("no run panics");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sigint_at_any_moment_leaves_no_process() {
    check(Signal::INT).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_at_any_moment_leaves_no_process() {
    check(Signal::TERM).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sighup_at_any_moment_leaves_no_process() {
    check(Signal::HUP).await;
}

#[tokio::test]
async fn signal_while_connecting_ends_the_server() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let run = Run::start(&format!("connecting-{code}"), SERVERS[0]);
        run.server().await;
        run.signal(signal);
        assert_eq!(run.ended().await, code);
    }
}

#[tokio::test]
async fn second_signal_kills_a_server_that_ignores_sigterm() {
    let server = r#"trap '' TERM; echo $$ >> "$1"; exec sleep 600"#;
    let run = Run::start("twice", server);
    run.server().await;
    run.signal(Signal::INT);
    run.signal(Signal::TERM);
    let code = run.ended().await;
    // The second signal may be received first.
    assert!([130, 143].contains(&code), "{code}");
}
