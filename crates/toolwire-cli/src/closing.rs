//! Closes connections, and ends the server processes of this command.

use std::time::Duration;

use toolwire::ProcessTracker;

use crate::failure::Failure;
use crate::interrupts::Interrupts;

/// The longest time for closing: a child process exits, and a session over HTTP is deleted.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);

/// The longest time until killed processes have ended.
const KILL_TIMEOUT: Duration = Duration::from_secs(1);

/// Closes connections and waits until every server process has exited. At the timeout, or at another signal, it kills
/// the remaining processes. Later ones are not started.
pub(crate) async fn close(
    connections: impl Future<Output = ()>,
    processes: &ProcessTracker,
    interrupts: &mut Interrupts,
) -> Result<(), Failure> {
    let closing = async {
        connections.await;
        processes.ended().await;
    };
    let closed = tokio::select! {
        _ = tokio::time::timeout(CLOSE_TIMEOUT, closing) => Ok(()),
        exit = interrupts.next() => Err(Failure::silent(exit)),
    };
    processes.kill();
    // A task that was aborted may still start a process, which is killed only if this process still runs.
    let _ = tokio::time::timeout(KILL_TIMEOUT, processes.ended()).await;
    closed
}
