//! A warning about handlers that block their thread.
//!
//! A handler that blocks inside an async function holds its thread and cannot be interrupted, so this module logs its
//! name. Handlers marked `#[tool(blocking)]` run on the blocking pool and are never reported.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::Mutex;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use pin_project_lite::pin_project;

use crate::sync::lock;

/// The longest poll of a handler without a warning.
const LONG_POLL: Duration = Duration::from_millis(100);

/// Limits of the stored reports: the number of handlers, and the characters of a name. Clients choose the URIs of
/// resources.
const MAX_REPORTED: usize = 1000;
const MAX_NAME_CHARS: usize = 128;

/// The handlers that were reported, by method and name.
static REPORTED: Mutex<BTreeSet<(String, String)>> = Mutex::new(BTreeSet::new());

pin_project! {
    /// A future that reports each long poll of the inner future.
    pub(crate) struct SlowPoll<F, R> {
        #[pin]
        future: F,
        report: R,
    }
}

impl<F: Future, R: Fn(Duration)> SlowPoll<F, R> {
    pub(crate) fn new(future: F, report: R) -> Self {
        Self { future, report }
    }
}

impl<F: Future, R: Fn(Duration)> Future for SlowPoll<F, R> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let started = Instant::now();
        let polled = this.future.poll(cx);
        let duration = started.elapsed();
        if duration >= LONG_POLL {
            (this.report)(duration);
        }
        polled
    }
}

/// Logs a warning that a handler blocked its thread, once per handler.
#[cold]
pub(crate) fn report_blocking(method: &str, name: &str, duration: Duration) {
    let mut reported = lock(&REPORTED);
    let name: String = name.chars().take(MAX_NAME_CHARS).collect();
    let key = (method.to_owned(), name.clone());
    if reported.len() >= MAX_REPORTED || !reported.insert(key) {
        return;
    }
    drop(reported);
    let milliseconds = duration.as_millis();
    tracing::warn!(
        method,
        name,
        "handler blocked its thread for {milliseconds} ms; use #[tool(blocking)]"
    );
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::pin::pin;
    use std::task::Waker;

    use super::*;

    #[test]
    fn only_long_polls_are_reported() {
        for (blocks, expected) in [(Duration::ZERO, 0), (LONG_POLL, 1)] {
            let reports = Cell::new(0);
            let future = async { std::thread::sleep(blocks) };
            let future = pin!(SlowPoll::new(future, |duration| {
                assert!(duration >= LONG_POLL);
                reports.set(reports.get() + 1);
            }));
            let polled = future.poll(&mut Context::from_waker(Waker::noop()));
            assert_eq!(polled, Poll::Ready(()));
            assert_eq!(reports.get(), expected);
        }
    }

    #[test]
    fn long_names_are_stored_shortened() {
        let name = "x".repeat(10 * MAX_NAME_CHARS);
        report_blocking("test/long_names", &name, LONG_POLL);
        let reported = REPORTED.lock().unwrap();
        let stored = reported
            .iter()
            .find(|(method, _)| method == "test/long_names");
        assert_eq!(stored.unwrap().1.len(), MAX_NAME_CHARS);
    }
}
