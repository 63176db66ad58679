//! Reads the server's stderr. It is always drained, so that the server never blocks on it. The last part is stored for
//! the error that describes how the server ended. Reports of the server about its exchanges are not part of it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tokio::io::{AsyncRead, AsyncReadExt};

use crate::transport::child::command::StderrListener;
use crate::transport::child::output::OutputTail;
use crate::transport::child::report_filter::ReportFilter;

/// The size of one read in bytes.
const CHUNK: usize = 16 * 1024;

/// The longest line that is passed to the listener in one part.
const MAX_LINE_BYTES: usize = 8 * 1024;

/// Reads until the server has closed its stderr.
pub(super) async fn drain(
    mut stderr: impl AsyncRead + Unpin,
    tail: &OutputTail,
    listener: Option<StderrListener>,
) {
    let mut lines = StderrLines::default();
    let mut filter = ReportFilter::default();
    let mut chunk = vec![0; CHUNK];
    loop {
        match stderr.read(&mut chunk).await {
            Ok(0) => break,
            Ok(length) => {
                tail.push(&filter.retain(&chunk[..length]));
                lines.push(&chunk[..length], |line| {
                    deliver_line(line, listener.as_ref());
                });
            }
            Err(error) => {
                tracing::debug!(%error, "the server's stderr cannot be read");
                break;
            }
        }
    }
    lines.finish(|line| deliver_line(line, listener.as_ref()));
}

fn deliver_line(line: &[u8], listener: Option<&StderrListener>) {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let line = String::from_utf8_lossy(line);
    let Some(listener) = listener else {
        tracing::debug!(%line, "standard error of the server");
        return;
    };
    // Reading must continue, even if the listener panics.
    if catch_unwind(AssertUnwindSafe(|| listener(&line))).is_err() {
        tracing::error!("a listener for stderr panicked");
    }
}

/// Splits the output into lines, and long lines into parts.
#[derive(Debug, Default)]
struct StderrLines {
    current: Vec<u8>,
}

impl StderrLines {
    fn push(&mut self, mut chunk: &[u8], mut deliver: impl FnMut(&[u8])) {
        while !chunk.is_empty() {
            let capacity = MAX_LINE_BYTES - self.current.len();
            let end = chunk
                .iter()
                .take(capacity + 1)
                .position(|byte| *byte == b'\n');
            let part = end.unwrap_or(capacity.min(chunk.len()));
            self.current.extend_from_slice(&chunk[..part]);
            chunk = &chunk[part + usize::from(end.is_some())..];
            if end.is_some() || self.current.len() == MAX_LINE_BYTES && !chunk.is_empty() {
                deliver(&self.current);
                self.current.clear();
            }
        }
    }

    fn finish(self, mut deliver: impl FnMut(&[u8])) {
        if !self.current.is_empty() {
            deliver(&self.current);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::sync::lock;

    async fn lines_of(output: &[u8]) -> Vec<String> {
        let received = Arc::new(Mutex::new(Vec::new()));
        let listener: StderrListener = Arc::new({
            let received = Arc::clone(&received);
            move |line: &str| received.lock().expect("no panic").push(line.to_owned())
        });
        drain(output, &OutputTail::default(), Some(listener)).await;
        let received = received.lock().expect("no panic");
        received.clone()
    }

    #[tokio::test]
    async fn listener_receives_lines() {
        assert_eq!(lines_of(b"a\r\n\nb").await, ["a", "", "b"]);
        assert!(lines_of(b"").await.is_empty());
    }

    #[tokio::test]
    async fn line_above_the_limit_is_split_into_two_parts() {
        let longest = "x".repeat(MAX_LINE_BYTES);
        assert_eq!(
            lines_of(format!("{longest}\nb\n").as_bytes()).await,
            [&longest, "b"]
        );
        assert_eq!(
            lines_of(format!("{longest}yz\nb").as_bytes()).await,
            [&longest, "yz", "b"]
        );
        assert_eq!(lines_of(longest.as_bytes()).await, [longest]);
    }

    #[tokio::test]
    async fn report_of_an_exchange_is_passed_on_and_is_not_in_the_tail() {
        let tail = OutputTail::default();
        let lines: Arc<Mutex<Vec<String>>> = Arc::default();
        let received = Arc::clone(&lines);
        let listener: StderrListener =
            Arc::new(move |line: &str| lock(&received).push(line.to_owned()));
        let output = b"ready\ntoolwire-inspection: {}\nError: no disk";
        drain(&output[..], &tail, Some(listener)).await;
        assert_eq!(tail.text(), "ready\nError: no disk");
        assert_eq!(lock(&lines).len(), 3);
    }

    #[tokio::test]
    async fn panicking_listener_does_not_stop_reading() {
        let tail = OutputTail::default();
        let listener: StderrListener = Arc::new(|line| assert_eq!(line, "fine", "not fine"));
        drain(&b"bad\nworse\nfine"[..], &tail, Some(listener)).await;
        assert_eq!(tail.text(), "bad\nworse\nfine");
    }
}
