//! Closes connections, and ends the server processes of this command.

use std::time::Duration;

use toolwire::ProcessTracker;

use crate::failure::Failure;
use crate::interrupts::Interrupts;

/// The longest time for closing: a child process exits, and a session over HTTP is deleted.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);

/// Closes connections and waits until every server process has exited. At the timeout, or at another signal, it kills
/// the remaining processes.
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
    closed
}
