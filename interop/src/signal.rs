//! Sends signals to processes that the tests started.

use std::process::Command;

/// Sends a signal, such as `TERM`, to a process. Returns `false` if the process has exited.
///
/// The standard library can only send SIGKILL. A shell can send all signals.
pub(crate) fn send_signal(process: u32, name: &str) -> bool {
    let sent = Command::new("sh")
        .args(["-c", "kill -s \"$0\" \"$1\"", name])
        .arg(process.to_string())
        .status();
    sent.is_ok_and(|status| status.success())
}
