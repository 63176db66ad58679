//! The event stream of a response: the events of its source, and keep-alive comments in between.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Instant, Sleep};
use toolwire_proto::sse;

use crate::engine::deadline_after;
use crate::transport::http::permits::StreamPermit;
use crate::transport::http::response::stall_monitor::{MonitorGuard, StallMonitor};
use crate::transport::http::response::stream_source::{StreamSource, StreamState};

/// The body of one event stream.
pub(crate) struct EventStream {
    watch: MonitorGuard,
    keep_alive: KeepAlive,
    opened: bool,
    broken: bool,
    _permit: Option<StreamPermit>,
}

impl EventStream {
    /// Creates the stream of a source. A permit is passed for streams that do not belong to a running request.
    pub(crate) fn new(
        stalls: &Arc<StallMonitor>,
        keep_alive: Duration,
        source: Box<dyn StreamSource>,
        permit: Option<StreamPermit>,
    ) -> Self {
        Self {
            watch: stalls.watch(source),
            keep_alive: KeepAlive::new(keep_alive),
            opened: false,
            broken: false,
            _permit: permit,
        }
    }

    /// Returns the next bytes, or `None` after the end.
    ///
    /// # Errors
    /// Returns an error if the stream cannot continue.
    pub(crate) fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        let mut current = self.watch.source();
        let Some(source) = current.as_mut() else {
            return Poll::Ready(self.broken.then(|| Err(stream_broken())));
        };
        let mut out = Vec::new();
        if !std::mem::replace(&mut self.opened, true) {
            // Sent at once, so that the client and all proxies see that the stream is open.
            sse::encode_comment(&mut out, "open");
        }
        let state = source.poll_events(cx, &mut out);
        if let Poll::Ready(StreamState::Ended | StreamState::Broken) = state {
            let ended = current.take();
            drop(current);
            drop(ended);
            self.broken = state == Poll::Ready(StreamState::Broken);
            if out.is_empty() {
                return Poll::Ready(self.broken.then(|| Err(stream_broken())));
            }
            return Poll::Ready(Some(Ok(out.into())));
        }
        if out.is_empty() {
            if self.keep_alive.poll_due(cx).is_pending() {
                return Poll::Pending;
            }
            sse::encode_comment(&mut out, "still here");
        }
        drop(current);
        self.watch.record_chunk_sent();
        self.keep_alive.record_sent();
        Poll::Ready(Some(Ok(out.into())))
    }
}

fn stream_broken() -> io::Error {
    let reason = "the events of the stream cannot be stored; resume it later";
    io::Error::new(io::ErrorKind::ConnectionAborted, reason)
}

/// The timer for keep-alive comments, which are due after an interval without events. The timer is reset only when it
/// fires, not for every event.
struct KeepAlive {
    interval: Duration,
    last_sent: Instant,
    timer: Option<Pin<Box<Sleep>>>,
}

impl KeepAlive {
    fn new(interval: Duration) -> Self {
        Self {
            interval,
            last_sent: Instant::now(),
            timer: None,
        }
    }

    fn record_sent(&mut self) {
        self.last_sent = Instant::now();
    }

    fn poll_due(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let due = deadline_after(self.last_sent, self.interval);
        let timer = self
            .timer
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(due)));
        while timer.as_mut().poll(cx).is_ready() {
            let due = deadline_after(self.last_sent, self.interval);
            if due <= Instant::now() {
                timer
                    .as_mut()
                    .reset(deadline_after(Instant::now(), self.interval));
                return Poll::Ready(());
            }
            timer.as_mut().reset(due);
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::sync::oneshot;

    use super::*;

    const WRITE_STALL: Duration = Duration::from_secs(30);
    const KEEP_ALIVE: Duration = Duration::from_secs(15);

    /// A source that has an event at every poll, or never has one. The channel closes when the source is dropped.
    struct Source {
        has_events: bool,
        _dropped: oneshot::Sender<()>,
    }

    impl StreamSource for Source {
        fn poll_events(&mut self, _: &mut Context<'_>, out: &mut Vec<u8>) -> Poll<StreamState> {
            if !self.has_events {
                return Poll::Pending;
            }
            out.extend_from_slice(b"data: {}\n\n");
            Poll::Ready(StreamState::Open)
        }
    }

    fn stream(has_events: bool) -> (EventStream, oneshot::Receiver<()>) {
        stream_with(KEEP_ALIVE, has_events)
    }

    fn stream_with(keep_alive: Duration, has_events: bool) -> (EventStream, oneshot::Receiver<()>) {
        let (_dropped, dropped) = oneshot::channel();
        let source = Box::new(Source {
            has_events,
            _dropped,
        });
        let stalls = StallMonitor::new(WRITE_STALL);
        let stream = EventStream::new(&stalls, keep_alive, source, None);
        (stream, dropped)
    }

    async fn next(stream: &mut EventStream) -> Option<Bytes> {
        let chunk = poll_fn(|cx| stream.poll_chunk(cx)).await;
        chunk.map(|chunk| chunk.expect("the stream is not broken"))
    }

    #[tokio::test(start_paused = true)]
    async fn source_is_dropped_if_the_client_stops_reading() {
        let (mut stream, mut dropped) = stream(true);
        assert!(next(&mut stream).await.is_some());
        tokio::time::sleep(WRITE_STALL - Duration::from_millis(1)).await;
        assert!(
            dropped
                .try_recv()
                .is_err_and(|error| error == oneshot::error::TryRecvError::Empty)
        );
        let started = Instant::now();
        assert!(dropped.await.is_err(), "the source is dropped");
        assert!(started.elapsed() <= WRITE_STALL / 4 + Duration::from_millis(1));
        assert_eq!(next(&mut stream).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn source_is_retained_if_the_client_reads_slowly() {
        let (mut stream, _dropped) = stream(true);
        for _ in 0..5 {
            assert!(next(&mut stream).await.is_some());
            tokio::time::sleep(WRITE_STALL * 9 / 10).await;
        }
        assert!(next(&mut stream).await.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn maximum_keep_alive_interval_sends_no_comments() {
        let (mut stream, _dropped) = stream_with(Duration::MAX, false);
        assert_eq!(next(&mut stream).await.unwrap(), ": open\n\n");
        let day = Duration::from_secs(24 * 60 * 60);
        let chunk = tokio::time::timeout(day, next(&mut stream));
        chunk.await.unwrap_err();
    }

    #[tokio::test(start_paused = true)]
    async fn stream_without_events_sends_keep_alive_comments() {
        let (mut stream, _dropped) = stream(false);
        assert_eq!(next(&mut stream).await.unwrap(), ": open\n\n");
        for _ in 0..10 {
            let before = Instant::now();
            assert_eq!(next(&mut stream).await.unwrap(), ": still here\n\n");
            assert_eq!(before.elapsed(), KEEP_ALIVE);
        }
    }
}
