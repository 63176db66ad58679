//! A round of a client: a process that calls `echo` for a second and reports its cost.

use std::io;
use std::process::Command;

use serde::Deserialize;

use super::sample::Sample;

/// The last line of every client.
#[derive(Debug, Deserialize)]
struct Outcome {
    calls: u64,
    secs: f64,
    cpu_s: f64,
}

/// Runs the client to its end.
pub(crate) async fn round(command: Command) -> io::Result<Sample> {
    let output = tokio::process::Command::from(command)
        .kill_on_drop(true)
        .output()
        .await?;
    let text = String::from_utf8_lossy(&output.stdout);
    let outcome = text
        .lines()
        .next_back()
        .and_then(|line| serde_json::from_str::<Outcome>(line).ok());
    match outcome {
        Some(outcome) if output.status.success() && outcome.calls > 0 => {
            let calls = outcome.calls as f64;
            Ok(Sample {
                per_second: Some(calls / outcome.secs),
                cpu_us: Some(outcome.cpu_s * 1e6 / calls),
                ..Sample::default()
            })
        }
        _ => {
            let stderr = String::from_utf8_lossy(&output.stderr);
            Err(io::Error::other(format!(
                "the client failed ({}): {stderr:.300}",
                output.status
            )))
        }
    }
}
