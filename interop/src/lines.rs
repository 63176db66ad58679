//! Reads the lines of another process with a timeout.

use std::io::{BufRead, BufReader, Read};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// Returns lines as they arrive. The channel closes at the end of the stream.
pub(crate) fn lines_of(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    receiver
}

/// Returns all lines up to the end of the stream. At the timeout, returns the lines so far as an error.
pub(crate) fn collect(
    lines: &Receiver<String>,
    timeout: Duration,
) -> Result<Vec<String>, Vec<String>> {
    let deadline = Instant::now() + timeout;
    let mut collected = Vec::new();
    loop {
        match lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(line) => collected.push(line),
            Err(RecvTimeoutError::Disconnected) => return Ok(collected),
            Err(RecvTimeoutError::Timeout) => return Err(collected),
        }
    }
}
