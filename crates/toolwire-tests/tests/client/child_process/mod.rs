//! Servers as child processes: their protocol versions, their faults, and how they end.
//!
//! Most children are this test program, started again with a [`Behavior`]. On Unix some are scripts of `sh`.

mod child;
#[cfg(unix)]
mod dropped;
#[cfg(unix)]
mod ending;
#[cfg(unix)]
mod environment;
mod eras;
mod noise;
#[cfg(unix)]
mod output;
mod pressure;
mod probe_survival;

use std::sync::Mutex;
use std::time::Duration;

use serde_json::json;
use tokio::sync::mpsc;
use toolwire::{Client, ClientBuilder, ClientLimits, ServerCommand};

use child::Behavior;
use toolwire_tests::peer::within;

/// The lines that children write to standard error.
#[derive(Debug)]
struct StderrLines {
    lines: mpsc::UnboundedReceiver<String>,
    /// The lines that were received.
    so_far: Vec<String>,
}

impl StderrLines {
    /// Returns the command with a listener for standard error, and the lines that it receives.
    fn of(command: ServerCommand) -> (ServerCommand, Self) {
        let (sender, lines) = mpsc::unbounded_channel();
        // All threads share the listener. The lock preserves the order of the lines.
        let sender = Mutex::new(sender);
        let command = command.on_stderr(move |line| {
            let sender = sender.lock().expect("no panic");
            // The test may have dropped the receiver.
            let _ = sender.send(line.to_owned());
        });
        let so_far = Vec::new();
        (command, Self { lines, so_far })
    }

    /// Waits for a line with this beginning, and returns the rest of the line.
    async fn wait_for(&mut self, beginning: &str) -> String {
        loop {
            let line = within(self.lines.recv()).await;
            let line = line.unwrap_or_else(|| panic!("{beginning:?} not in {:?}", self.so_far));
            self.so_far.push(line.clone());
            if let Some(rest) = line.strip_prefix(beginning) {
                return rest.trim().to_owned();
            }
        }
    }

    /// Waits for the id of the process.
    #[cfg(unix)]
    async fn process(&mut self) -> u32 {
        let id = self.wait_for("process ").await;
        id.parse().expect("a process id")
    }

    /// Returns the id of the process, if it has been reported.
    #[cfg(unix)]
    fn process_so_far(&mut self) -> Option<u32> {
        while let Ok(line) = self.lines.try_recv() {
            self.so_far.push(line);
        }
        let mut lines = self.so_far.iter();
        let id = lines.find_map(|line| line.strip_prefix("process "))?;
        Some(id.parse().expect("a process id"))
    }

    /// Returns the methods that the children received. All children must have ended.
    async fn received(mut self) -> Vec<String> {
        while let Ok(line) = self.lines.try_recv() {
            self.so_far.push(line);
        }
        let received = self.so_far.iter();
        let received = received.filter_map(|line| line.strip_prefix("got "));
        received.map(str::to_owned).collect()
    }
}

/// A timeout that a test waits for.
const SHORT: Duration = Duration::from_millis(300);

/// A timeout that must not expire, even on a busy machine.
const LONG: Duration = Duration::from_secs(50);

fn limits() -> ClientLimits {
    let mut limits = ClientLimits::default();
    limits.connect_timeout = 4 * LONG;
    limits.probe_timeout = LONG;
    limits.exit_grace = LONG;
    limits
}

/// Returns the builder of a client with long timeouts.
fn builder() -> ClientBuilder {
    Client::builder("test", "1.0.0").with_limits(limits())
}

/// Returns the builder of a client with a short exit grace period.
fn builder_with_short_grace() -> ClientBuilder {
    let mut limits = limits();
    limits.exit_grace = SHORT;
    builder().with_limits(limits)
}

/// Connects to a child with this behavior.
async fn connect(behavior: Behavior) -> (Client, StderrLines) {
    let mut limits = limits();
    if behavior.needs_probe_timeout() {
        limits.probe_timeout = SHORT;
    }
    if behavior == Behavior::StopsReading {
        limits.exit_grace = SHORT;
    }
    let (command, stderr) = StderrLines::of(behavior.command());
    let client = within(builder().with_limits(limits).spawn(command)).await;
    (client.expect("a connection"), stderr)
}

/// Calls a tool and closes the client. Checks the methods that the children received.
async fn check_call(client: &Client, stderr: StderrLines, expected: &[&str]) {
    let result = client.call_tool("anything", json!({})).await;
    assert_eq!(result.expect("a response").all_text(), "done");
    client.close().await;
    assert_eq!(stderr.received().await, expected);
}
