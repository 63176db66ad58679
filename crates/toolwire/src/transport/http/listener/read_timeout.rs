//! Timeouts for request headers and for idle connections.
//!
//! The header timeout of the first request starts when the connection opens. For later requests, it starts with their
//! first byte. Between requests, the idle timeout runs. For a pipelined request that starts before the previous
//! response, the header timeout starts with that response. The timer of hyper does not distinguish headers and idle
//! time, and is created again for each request. Here, one timer serves the whole connection.
//!
//! On HTTP/2, only the preface has a timeout. After the preface, [`ReadTimeout::disable_for_http2`] ends it, and hyper
//! supervises the connection.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use crate::engine::deadline_after;
use crate::transport::http::listener::forward_io::forward_io;

/// The number of started and finished requests of a connection. The reader of the connection and its responses share
/// it.
#[derive(Debug, Default)]
pub(crate) struct RequestCounter {
    started: AtomicU64,
    finished: AtomicU64,
    /// Whether the body of the last request may be incomplete.
    body_is_open: AtomicBool,
    /// Whether the last response was sent before all of its request was read.
    has_unread: AtomicBool,
}

impl RequestCounter {
    /// Records that the headers of a request are complete. Dropping the guard ends the request.
    pub(super) fn begin(self: &Arc<Self>) -> RequestGuard {
        self.started.fetch_add(1, Ordering::AcqRel);
        RequestGuard(Arc::clone(self))
    }

    /// Records the same as [`begin`](Self::begin) for a request whose body may arrive after the headers.
    pub(super) fn begin_with_body(self: &Arc<Self>, is_open: bool) -> RequestGuard {
        self.body_is_open.store(is_open, Ordering::Release);
        self.begin()
    }

    /// Records that the body of the last request is complete.
    pub(super) fn end_body(&self) {
        self.body_is_open.store(false, Ordering::Release);
    }

    /// Records that a response is sent before its request was read completely. The connection ends after it.
    pub(super) fn record_unread(&self) {
        self.has_unread.store(true, Ordering::Release);
    }

    /// Returns `true` if a response was sent before its request was read completely.
    pub(super) fn has_unread(&self) -> bool {
        self.has_unread.load(Ordering::Acquire)
    }

    fn started(&self) -> u64 {
        self.started.load(Ordering::Acquire)
    }

    pub(super) fn has_started(&self) -> bool {
        self.started() > 0
    }

    pub(super) fn is_idle(&self) -> bool {
        self.started() == self.finished.load(Ordering::Acquire)
    }
}

/// A request whose response is not written yet.
#[derive(Debug)]
pub(crate) struct RequestGuard(Arc<RequestCounter>);

impl Drop for RequestGuard {
    fn drop(&mut self) {
        self.0.finished.fetch_add(1, Ordering::AcqRel);
    }
}

/// A stream whose reads fail with [`io::ErrorKind::TimedOut`] if request headers do not arrive in time.
#[derive(Debug)]
pub(super) struct ReadTimeout<S> {
    stream: S,
    timeouts: ReadTimeouts,
    requests: Arc<RequestCounter>,
    /// Whether the connection uses HTTP/2, which has no timeout here.
    is_http2: bool,
    pending: Option<PendingHeaders>,
    /// The number of started requests when the first bytes of the next request arrived.
    pipelined_after: Option<u64>,
    idle: Option<IdlePeriod>,
    /// Created at the first wait and then reused. It may fire too early, and is then reset.
    timer: Option<Pin<Box<Sleep>>>,
    /// The waker that is registered with the timer.
    waker: Option<Waker>,
}

/// The read timeouts of a connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReadTimeouts {
    /// The time for the headers of a request.
    pub(super) headers: Duration,
    /// The time until the next request.
    pub(super) idle: Duration,
}

/// The time between two requests.
#[derive(Debug, Clone, Copy)]
struct IdlePeriod {
    deadline: Instant,
    /// The number of requests that started before.
    started_before: u64,
}

/// The timeout that has expired.
enum TimedOut {
    Headers,
    NextRequest,
}

/// Request headers that are not complete.
#[derive(Debug, Clone, Copy)]
struct PendingHeaders {
    /// Set at the first wait. Most headers arrive at once and need no clock.
    deadline: Option<Instant>,
    /// The number of requests that started before.
    started_before: u64,
}

impl<S> ReadTimeout<S> {
    pub(super) fn new(stream: S, timeouts: ReadTimeouts, requests: Arc<RequestCounter>) -> Self {
        Self {
            stream,
            timeouts,
            requests,
            is_http2: false,
            pending: Some(PendingHeaders {
                deadline: Some(deadline_after(Instant::now(), timeouts.headers)),
                started_before: 0,
            }),
            pipelined_after: None,
            idle: None,
            timer: None,
            waker: None,
        }
    }

    /// Disables the timeouts after the complete HTTP/2 preface.
    pub(super) fn disable_for_http2(&mut self) {
        self.is_http2 = true;
        self.pending = None;
    }

    /// Records that bytes of the next request have arrived.
    pub(super) fn record_next_request(&mut self) {
        self.pipelined_after = Some(self.requests.started());
    }

    fn on_bytes(&mut self, bytes: &[u8]) {
        if self.is_http2 || bytes.is_empty() {
            return;
        }
        self.clear_complete_headers();
        if self.pending.is_some() {
            return;
        }
        if self.requests.is_idle() {
            self.start_headers();
        } else if !self.requests.body_is_open.load(Ordering::Acquire) {
            self.record_next_request();
        }
    }

    fn start_headers(&mut self) {
        self.pending = Some(PendingHeaders {
            deadline: None,
            started_before: self.requests.started(),
        });
    }

    /// Clears the pending headers if they have been completed in the meantime.
    fn clear_complete_headers(&mut self) {
        let started = self.requests.started();
        self.pending = self
            .pending
            .filter(|pending| pending.started_before == started);
    }

    /// Returns `Ready` if a timeout has expired.
    fn poll_timeout(&mut self, context: &mut Context<'_>) -> Poll<TimedOut> {
        self.clear_complete_headers();
        if self.pending.is_none() {
            if self.is_http2 || !self.requests.is_idle() {
                return Poll::Pending;
            }
            if self.pipelined_after == Some(self.requests.started()) {
                self.start_headers();
            }
        }
        let (deadline, timed_out) = match &mut self.pending {
            Some(pending) => {
                let latest = || deadline_after(Instant::now(), self.timeouts.headers);
                (
                    *pending.deadline.get_or_insert_with(latest),
                    TimedOut::Headers,
                )
            }
            None => {
                let started = self.requests.started();
                let deadline = match self.idle {
                    Some(idle) if idle.started_before == started => idle.deadline,
                    _ => {
                        let now = Instant::now();
                        let deadline = deadline_after(now, self.timeouts.idle);
                        self.idle = Some(IdlePeriod {
                            deadline,
                            started_before: started,
                        });
                        // Most idle periods are short, and the timer was set in an earlier one.
                        if self.wakes_between(now, deadline, context.waker()) {
                            return Poll::Pending;
                        }
                        deadline
                    }
                };
                (deadline, TimedOut::NextRequest)
            }
        };
        let timer = self
            .timer
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        if timer.deadline() > deadline {
            timer.as_mut().reset(deadline);
        }
        self.waker = Some(context.waker().clone());
        loop {
            ready!(timer.as_mut().poll(context));
            if timer.deadline() >= deadline {
                return Poll::Ready(timed_out);
            }
            // The timer was set for an earlier deadline, which does not apply any more.
            timer.as_mut().reset(deadline);
        }
    }

    /// Returns `true` if the timer will wake this task after `now` and not after `deadline`.
    fn wakes_between(&self, now: Instant, deadline: Instant, waker: &Waker) -> bool {
        let (Some(timer), Some(registered)) = (&self.timer, &self.waker) else {
            return false;
        };
        now < timer.deadline() && timer.deadline() <= deadline && registered.will_wake(waker)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ReadTimeout<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let outcome = Pin::new(&mut self.stream).poll_read(context, buffer);
        if outcome.is_ready() {
            self.on_bytes(&buffer.filled()[before..]);
            return outcome;
        }
        self.poll_timeout(context).map(|timed_out| match timed_out {
            TimedOut::Headers => {
                let message = "the headers of a request did not arrive in time";
                Err(io::Error::new(io::ErrorKind::TimedOut, message))
            }
            // For hyper, this is the same as a connection that the client has closed.
            TimedOut::NextRequest => Ok(()),
        })
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for ReadTimeout<S> {
    forward_io!(stream: poll_write, poll_write_vectored, is_write_vectored, poll_flush, poll_shutdown);
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

    use super::*;

    const HEADERS: Duration = Duration::from_secs(10);
    const IDLE: Duration = Duration::from_secs(70);

    fn pair() -> (ReadTimeout<DuplexStream>, Arc<RequestCounter>, DuplexStream) {
        let (local, peer) = tokio::io::duplex(64);
        let requests = Arc::new(RequestCounter::default());
        let stream = ReadTimeout::new(
            local,
            ReadTimeouts {
                headers: HEADERS,
                idle: IDLE,
            },
            Arc::clone(&requests),
        );
        (stream, requests, peer)
    }

    async fn send(peer: &mut DuplexStream, stream: &mut ReadTimeout<DuplexStream>, text: &str) {
        peer.write_all(text.as_bytes()).await.unwrap();
        let mut read = vec![0; text.len()];
        stream.read_exact(&mut read).await.unwrap();
    }

    /// Returns the time after which a read without further input fails, or `None` if it does not time out.
    async fn read_fails_after(mut stream: ReadTimeout<DuplexStream>) -> Option<Duration> {
        let start = Instant::now();
        let reading = tokio::time::timeout(100 * HEADERS, stream.read_u8());
        let error = reading.await.ok()?.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        Some(start.elapsed())
    }

    /// Returns the time after which the connection ends without a next request.
    async fn closed_after(stream: &mut ReadTimeout<DuplexStream>) -> Duration {
        let start = Instant::now();
        assert_eq!(stream.read(&mut [0; 8]).await.unwrap(), 0);
        start.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn first_headers_or_preface_have_a_timeout() {
        for input in [
            "",
            "P",
            "POST /mcp HTTP/1.1\r\nHo",
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r",
            // The preface disables the timeout only after a call of `disable_for_http2`.
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        ] {
            let (mut stream, _requests, mut peer) = pair();
            send(&mut peer, &mut stream, input).await;
            assert_eq!(read_fails_after(stream).await, Some(HEADERS), "{input:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn further_bytes_do_not_extend_the_deadline() {
        let (mut stream, _requests, mut peer) = pair();
        let start = Instant::now();
        let client = tokio::spawn(async move {
            while peer.write_u8(b'P').await.is_ok() {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        });
        stream.read_to_end(&mut Vec::new()).await.unwrap_err();
        assert_eq!(start.elapsed(), HEADERS);
        drop(stream);
        client.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn running_request_has_no_timeout() {
        let (mut stream, requests, mut peer) = pair();
        send(&mut peer, &mut stream, "POST a").await;
        let _running = requests.begin();
        send(&mut peer, &mut stream, "the next request").await;
        assert_eq!(read_fails_after(stream).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn idle_timeout_starts_after_the_response() {
        let (mut stream, requests, mut peer) = pair();
        send(&mut peer, &mut stream, "POST a").await;
        let running = requests.begin_with_body(true);
        send(&mut peer, &mut stream, "its body").await;
        requests.end_body();
        tokio::time::sleep(5 * IDLE).await;
        drop(running);
        assert_eq!(closed_after(&mut stream).await, IDLE);
    }

    #[tokio::test(start_paused = true)]
    async fn header_timeout_of_a_pipelined_request_starts_after_the_previous_response() {
        let (mut stream, requests, mut peer) = pair();
        send(&mut peer, &mut stream, "POST a").await;
        let running = requests.begin_with_body(true);
        send(&mut peer, &mut stream, "its body").await;
        requests.end_body();
        send(&mut peer, &mut stream, "POST b").await;
        tokio::time::sleep(5 * IDLE).await;
        drop(running);
        assert_eq!(read_fails_after(stream).await, Some(HEADERS));
    }

    #[tokio::test(start_paused = true)]
    async fn idle_timeout_starts_after_a_complete_pipelined_request() {
        let (mut stream, requests, mut peer) = pair();
        send(&mut peer, &mut stream, "POST a").await;
        let running = requests.begin();
        send(&mut peer, &mut stream, "POST b").await;
        drop(running);
        drop(requests.begin());
        assert_eq!(closed_after(&mut stream).await, IDLE);
    }

    #[tokio::test(start_paused = true)]
    async fn each_request_restarts_the_idle_timeout() {
        // With the last pause, some requests arrive exactly when the timer fires.
        for pause in [IDLE - HEADERS, IDLE / 3, IDLE / 7] {
            let (mut stream, requests, mut peer) = pair();
            for _ in 0..20 {
                send(&mut peer, &mut stream, "POST a").await;
                drop(requests.begin());
                // Waits for the next request, but less than the idle timeout.
                let waiting = tokio::time::timeout(pause, stream.read_u8());
                waiting.await.unwrap_err();
            }
            let idle = closed_after(&mut stream).await;
            assert_eq!(idle.as_millis(), (IDLE - pause).as_millis());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn next_headers_have_their_own_deadline() {
        let (mut stream, requests, mut peer) = pair();
        send(&mut peer, &mut stream, "POST a").await;
        drop(requests.begin());
        tokio::time::sleep(5 * HEADERS).await;
        send(&mut peer, &mut stream, "POST b").await;
        assert_eq!(read_fails_after(stream).await, Some(HEADERS));
    }

    #[tokio::test(start_paused = true)]
    async fn http2_has_no_timeout_after_the_preface() {
        let (mut stream, _requests, mut peer) = pair();
        send(&mut peer, &mut stream, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
        stream.disable_for_http2();
        send(&mut peer, &mut stream, "frames").await;
        assert_eq!(read_fails_after(stream).await, None);
    }
}
