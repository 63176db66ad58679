//! Servers as child processes: what they speak, how they misbehave, and how they end.
//!
//! The children are this test program itself, started again to play a part ([`child`]), and on Unix a few lines of `sh`.

mod child;
#[cfg(unix)]
mod dropped;
#[cfg(unix)]
mod ending;
#[cfg(unix)]
mod environment;
mod eras;
mod noise;
mod pressure;

use std::sync::Mutex;
use std::time::Duration;

use tokio::sync::mpsc;
use toolwire::{Client, ClientBuilder, ClientLimits, ServerCommand};

use crate::peer::within;
use child::Part;

/// What a child says on its error output, line by line.
#[derive(Debug)]
struct Heard {
    lines: mpsc::UnboundedReceiver<String>,
    /// What was heard so far.
    so_far: Vec<String>,
}

impl Heard {
    /// The command, and what its children will say.
    fn of(command: ServerCommand) -> (ServerCommand, Self) {
        let (sender, lines) = mpsc::unbounded_channel();
        // The listener is shared by all threads, and only one of them may send at a time in the order of the lines.
        let sender = Mutex::new(sender);
        let command = command.on_stderr(move |line| {
            let sender = sender.lock().expect("no listener panics");
            // A test that has seen enough does not listen any more.
            let _ = sender.send(line.to_owned());
        });
        let so_far = Vec::new();
        (command, Self { lines, so_far })
    }

    /// The rest of the first line that begins like this.
    async fn until(&mut self, beginning: &str) -> String {
        loop {
            let line = within(self.lines.recv()).await;
            let line = line.unwrap_or_else(|| panic!("{beginning:?} not in {:?}", self.so_far));
            self.so_far.push(line.clone());
            if let Some(rest) = line.strip_prefix(beginning) {
                return rest.trim().to_owned();
            }
        }
    }

    /// The id of the process that speaks.
    #[cfg(unix)]
    async fn process(&mut self) -> u32 {
        let id = self.until("process ").await;
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

    /// Everything that was received by children that are all gone.
    async fn received(mut self) -> Vec<String> {
        while let Ok(line) = self.lines.try_recv() {
            self.so_far.push(line);
        }
        let received = self.so_far.iter();
        let received = received.filter_map(|line| line.strip_prefix("got "));
        received.map(str::to_owned).collect()
    }
}

/// Short enough not to hold a test up, where a wait has to run out.
const SHORT: Duration = Duration::from_millis(300);

/// Longer than a busy machine needs, where it must not.
const LONG: Duration = Duration::from_secs(50);

fn limits() -> ClientLimits {
    let mut limits = ClientLimits::default();
    limits.probe_timeout = LONG;
    limits.exit_grace = LONG;
    limits
}

/// A client that waits for its child.
fn builder() -> ClientBuilder {
    Client::builder("test", "1.0.0").with_limits(limits())
}

/// A client that does not wait long for the end of its child.
fn hasty() -> ClientBuilder {
    let mut limits = limits();
    limits.exit_grace = SHORT;
    builder().with_limits(limits)
}

/// Connects to a child that plays this part.
async fn connect(part: Part) -> (Client, Heard) {
    let mut limits = limits();
    if part.leaves_discover_unanswered() {
        limits.probe_timeout = SHORT;
    }
    if part == Part::Deaf {
        limits.exit_grace = SHORT;
    }
    let (command, heard) = Heard::of(part.command());
    let client = within(builder().with_limits(limits).spawn(command)).await;
    (client.expect("it connects"), heard)
}
