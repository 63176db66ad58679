//! A round over HTTP: the load is made by `load-generator`, a separate process.

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use clap::ValueEnum;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{ChildStdout, Command};
use tokio::time::timeout;

use super::sample::Sample;
use crate::load::{Outcome, Plan};
use crate::process::ServerProcess;

/// The timeout of a warm-up or a round. A slower contestant has too much work, or hangs.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Loads the server and measures its cost. `resident_before` is its memory right after the start.
pub(crate) async fn round(
    generator: &Path,
    server: &ServerProcess,
    plan: &Plan,
    resident_before: Option<u64>,
) -> io::Result<Sample> {
    let mut child = Command::new(generator)
        .arg(server.url())
        .args(arguments(plan))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let mut stdin = child.stdin.take().expect("stdin is piped");
    let stdout = child.stdout.take().expect("stdout is piped");
    let mut lines = BufReader::new(stdout).lines();
    if next_line(&mut lines).await?.is_none() {
        let output = child.wait_with_output().await?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(io::Error::other(stderr.trim().to_owned()));
    }

    server.cost().reset_peak();
    let before = server.processor_time();
    stdin.write_all(b"\n").await?;
    let line = next_line(&mut lines).await?.unwrap_or_default();
    let after = server.processor_time();
    let memory = server.memory();

    let outcome: Outcome = serde_json::from_str(&line)?;
    if let Some(error) = outcome.first_error {
        return Err(io::Error::other(error));
    }
    let requests = outcome.requests as f64;
    let peak = memory.map(|memory| memory.peak);
    let growth = peak.zip(resident_before);
    Ok(Sample {
        per_second: Some(requests / outcome.seconds),
        p50_us: outcome.p50_us,
        p99_us: outcome.p99_us,
        cpu_us: before
            .zip(after)
            .map(|(before, after)| after.saturating_sub(before).as_secs_f64() * 1e6 / requests),
        peak_bytes: peak.map(|bytes| bytes as f64),
        growth_bytes: growth.map(|(peak, before)| peak.saturating_sub(before) as f64),
        ..Sample::default()
    })
}

async fn next_line(lines: &mut Lines<BufReader<ChildStdout>>) -> io::Result<Option<String>> {
    timeout(TIMEOUT, lines.next_line()).await?
}

fn arguments(plan: &Plan) -> Vec<String> {
    let value = |name: &str, value: String| [format!("--{name}"), value];
    let word = |word: Option<clap::builder::PossibleValue>| {
        word.map_or_else(String::new, |word| word.get_name().to_owned())
    };
    let workload = &plan.workload;
    let mut arguments = vec!["--wait".to_owned()];
    arguments.extend(value("era", word(workload.era.to_possible_value())));
    arguments.extend(value("kind", word(workload.kind.to_possible_value())));
    arguments.extend(value("amount", workload.amount.to_string()));
    arguments.extend(value("protocol", word(plan.protocol.to_possible_value())));
    if let Some(trusted) = &plan.trusted {
        arguments.extend(value("trusted", trusted.display().to_string()));
    }
    arguments.extend(value("connections", plan.connections.to_string()));
    arguments.extend(value("requests", plan.requests.to_string()));
    arguments.extend(value("warm-up", plan.warm_up.to_string()));
    if plan.one_session {
        arguments.push("--one-session".to_owned());
        arguments.extend(value("idle-sessions", plan.idle_sessions.to_string()));
    }
    arguments.extend(value("listen-streams", plan.listen_streams.to_string()));
    arguments
}
