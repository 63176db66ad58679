//! A client that begins a request must finish its head in time, and may rest between requests for a while.
//!
//! The clock runs from the opening of a connection to its first request, and later from the first byte of each next one;
//! between requests another clock runs. A head that begins before the request ahead of it is answered has the same time
//! from the moment of that answer. hyper's own timer cannot tell the two apart, and is made anew for each request;
//! here one timer serves a connection all its life. On HTTP/2 only the preface is timed: whoever has recognised it says so
//! ([`ReadTimeout::leave_to_http2`]). What follows are frames, and hyper looks after those.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use crate::engine::deadline_after;

/// How many requests of a connection have begun and ended. Shared by the connection's two ends: the bytes, and whoever
/// answers.
#[derive(Debug, Default)]
pub(crate) struct RequestCounter {
    begun: AtomicU64,
    ended: AtomicU64,
    /// Whether more of the body may come of the one that began last.
    body_is_open: AtomicBool,
    /// Whether the last response was sent before all of its request was read.
    has_unread: AtomicBool,
}

impl RequestCounter {
    /// A head was read to its end.
    pub(super) fn begin(self: &Arc<Self>) -> RequestGuard {
        self.begun.fetch_add(1, Ordering::AcqRel);
        RequestGuard(Arc::clone(self))
    }

    /// As [`begin`](Self::begin), where the body may come later than the head.
    pub(super) fn begin_with_body(self: &Arc<Self>, is_open: bool) -> RequestGuard {
        self.body_is_open.store(is_open, Ordering::Release);
        self.begin()
    }

    /// All of the body that was open has come.
    pub(super) fn end_body(&self) {
        self.body_is_open.store(false, Ordering::Release);
    }

    /// Records that a response is sent before all of its request was read. The connection ends with it.
    pub(super) fn leave_unread(&self) {
        self.has_unread.store(true, Ordering::Release);
    }

    /// Returns whether a response was sent before all of its request was read.
    pub(super) fn has_unread(&self) -> bool {
        self.has_unread.load(Ordering::Acquire)
    }

    fn begun(&self) -> u64 {
        self.begun.load(Ordering::Acquire)
    }

    pub(super) fn has_begun(&self) -> bool {
        self.begun() > 0
    }

    pub(super) fn is_idle(&self) -> bool {
        self.begun() == self.ended.load(Ordering::Acquire)
    }
}

/// A request whose answer is not written yet.
#[derive(Debug)]
pub(crate) struct RequestGuard(Arc<RequestCounter>);

impl Drop for RequestGuard {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, Ordering::AcqRel);
    }
}

/// Fails a read with [`io::ErrorKind::TimedOut`] when a head does not come in time.
#[derive(Debug)]
pub(super) struct ReadTimeout<S> {
    stream: S,
    patience: ReadTimeouts,
    requests: Arc<RequestCounter>,
    /// Nothing is timed any more.
    is_http2: bool,
    awaited: Option<PendingHeaders>,
    /// How many requests had begun when bytes came that belong to the one after them.
    ahead: Option<u64>,
    rest: Option<IdlePeriod>,
    /// Made when somebody really has to wait, and then kept. It may be set too early, and is set again when it fires.
    timer: Option<Pin<Box<Sleep>>>,
    /// Whom the timer wakes.
    woken: Option<Waker>,
}

/// How long a connection may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReadTimeouts {
    /// For the head of a request.
    pub(super) head: Duration,
    /// Until the next request.
    pub(super) rest: Duration,
}

/// A pause between requests.
#[derive(Debug, Clone, Copy)]
struct IdlePeriod {
    deadline: Instant,
    /// How many requests had begun before it.
    after: u64,
}

/// What has taken too long.
enum TimedOut {
    Head,
    NextRequest,
}

/// A head that has begun.
#[derive(Debug, Clone, Copy)]
struct PendingHeaders {
    /// Set when more of it has to be waited for: most heads come whole, and nobody needs to look at the clock.
    deadline: Option<Instant>,
    /// How many requests had begun before it.
    after: u64,
}

impl<S> ReadTimeout<S> {
    pub(super) fn new(stream: S, patience: ReadTimeouts, requests: Arc<RequestCounter>) -> Self {
        Self {
            stream,
            patience,
            requests,
            is_http2: false,
            awaited: Some(PendingHeaders {
                deadline: Some(deadline_after(Instant::now(), patience.head)),
                after: 0,
            }),
            ahead: None,
            rest: None,
            timer: None,
            woken: None,
        }
    }

    /// The whole preface of HTTP/2 has come.
    pub(super) fn leave_to_http2(&mut self) {
        self.is_http2 = true;
        self.awaited = None;
    }

    /// Something has come of the request after those that have begun.
    pub(super) fn next_has_begun(&mut self) {
        self.ahead = Some(self.requests.begun());
    }

    fn on_bytes(&mut self, bytes: &[u8]) {
        if self.is_http2 || bytes.is_empty() {
            return;
        }
        self.forget_what_came();
        if self.awaited.is_some() {
            return;
        }
        if self.requests.is_idle() {
            self.await_head();
        } else if !self.requests.body_is_open.load(Ordering::Acquire) {
            self.next_has_begun();
        }
    }

    fn await_head(&mut self) {
        self.awaited = Some(PendingHeaders {
            deadline: None,
            after: self.requests.begun(),
        });
    }

    /// A head that was awaited may have come to its end meanwhile.
    fn forget_what_came(&mut self) {
        let begun = self.requests.begun();
        self.awaited = self.awaited.filter(|awaited| awaited.after == begun);
    }

    /// Ready when something takes too long.
    fn poll_late(&mut self, context: &mut Context<'_>) -> Poll<TimedOut> {
        self.forget_what_came();
        if self.awaited.is_none() {
            if self.is_http2 || !self.requests.is_idle() {
                return Poll::Pending;
            }
            if self.ahead == Some(self.requests.begun()) {
                self.await_head();
            }
        }
        let (deadline, late) = match &mut self.awaited {
            Some(awaited) => {
                let latest = || deadline_after(Instant::now(), self.patience.head);
                (*awaited.deadline.get_or_insert_with(latest), TimedOut::Head)
            }
            None => {
                let begun = self.requests.begun();
                let deadline = match self.rest {
                    Some(rest) if rest.after == begun => rest.deadline,
                    _ => {
                        let now = Instant::now();
                        let deadline = deadline_after(now, self.patience.rest);
                        self.rest = Some(IdlePeriod {
                            deadline,
                            after: begun,
                        });
                        // Most pauses are short, and the timer was set in an earlier one.
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
        self.woken = Some(context.waker().clone());
        loop {
            ready!(timer.as_mut().poll(context));
            if timer.deadline() >= deadline {
                return Poll::Ready(late);
            }
            // It was set for something that has come since.
            timer.as_mut().reset(deadline);
        }
    }

    /// Whether a task was promised to be woken after one moment, and not after another.
    fn wakes_between(&self, now: Instant, deadline: Instant, waker: &Waker) -> bool {
        let (Some(timer), Some(woken)) = (&self.timer, &self.woken) else {
            return false;
        };
        now < timer.deadline() && timer.deadline() <= deadline && woken.will_wake(waker)
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
        self.poll_late(context).map(|late| match late {
            TimedOut::Head => {
                let refusal = "the client did not finish the head of its request in time";
                Err(io::Error::new(io::ErrorKind::TimedOut, refusal))
            }
            // To hyper, it is as if the client had closed the connection.
            TimedOut::NextRequest => Ok(()),
        })
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for ReadTimeout<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(10);
    const REST: Duration = Duration::from_secs(70);

    fn pair() -> (ReadTimeout<DuplexStream>, Arc<RequestCounter>, DuplexStream) {
        let (near, far) = tokio::io::duplex(64);
        let requests = Arc::new(RequestCounter::default());
        let stream = ReadTimeout::new(
            near,
            ReadTimeouts {
                head: PATIENCE,
                rest: REST,
            },
            Arc::clone(&requests),
        );
        (stream, requests, far)
    }

    async fn says(far: &mut DuplexStream, stream: &mut ReadTimeout<DuplexStream>, text: &str) {
        far.write_all(text.as_bytes()).await.unwrap();
        let mut read = vec![0; text.len()];
        stream.read_exact(&mut read).await.unwrap();
    }

    /// Nothing more is said: after how long is the client given up?
    async fn given_up_after(mut stream: ReadTimeout<DuplexStream>) -> Option<Duration> {
        let began = Instant::now();
        let patient = tokio::time::timeout(100 * PATIENCE, stream.read_u8());
        let error = patient.await.ok()?.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        Some(began.elapsed())
    }

    /// The next request does not come: after how long does the connection end?
    async fn closed_after(stream: &mut ReadTimeout<DuplexStream>) -> Duration {
        let began = Instant::now();
        assert_eq!(stream.read(&mut [0; 8]).await.unwrap(), 0);
        began.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_must_say_its_first_head_or_preface_in_time() {
        for said in [
            "",
            "P",
            "POST /mcp HTTP/1.1\r\nHo",
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r",
            // Only whoever compares all of it can tell.
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        ] {
            let (mut stream, _requests, mut far) = pair();
            says(&mut far, &mut stream, said).await;
            assert_eq!(given_up_after(stream).await, Some(PATIENCE), "{said:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_deadline_is_one_for_all_bytes() {
        let (mut stream, _requests, mut far) = pair();
        let began = Instant::now();
        let drip = tokio::spawn(async move {
            while far.write_u8(b'P').await.is_ok() {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        });
        stream.read_to_end(&mut Vec::new()).await.unwrap_err();
        assert_eq!(began.elapsed(), PATIENCE);
        drop(stream);
        drip.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn work_is_not_late() {
        let (mut stream, requests, mut far) = pair();
        says(&mut far, &mut stream, "POST a").await;
        let _working = requests.begin();
        says(&mut far, &mut stream, "the next head").await;
        assert_eq!(given_up_after(stream).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_rest_has_an_end_of_its_own() {
        let (mut stream, requests, mut far) = pair();
        says(&mut far, &mut stream, "POST a").await;
        let working = requests.begin_with_body(true);
        says(&mut far, &mut stream, "its body").await;
        requests.end_body();
        tokio::time::sleep(5 * REST).await;
        drop(working);
        assert_eq!(closed_after(&mut stream).await, REST);
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_that_began_early_has_its_time_from_the_answer_ahead_of_it() {
        let (mut stream, requests, mut far) = pair();
        says(&mut far, &mut stream, "POST a").await;
        let working = requests.begin_with_body(true);
        says(&mut far, &mut stream, "its body").await;
        requests.end_body();
        says(&mut far, &mut stream, "POST b").await;
        tokio::time::sleep(5 * REST).await;
        drop(working);
        assert_eq!(given_up_after(stream).await, Some(PATIENCE));
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_came_early_as_a_whole_lets_the_connection_rest() {
        let (mut stream, requests, mut far) = pair();
        says(&mut far, &mut stream, "POST a").await;
        let working = requests.begin();
        says(&mut far, &mut stream, "POST b").await;
        drop(working);
        drop(requests.begin());
        assert_eq!(closed_after(&mut stream).await, REST);
    }

    #[tokio::test(start_paused = true)]
    async fn each_request_lets_the_connection_rest_anew() {
        // With the last, some requests come at the moment the timer was set for.
        for pause in [REST - PATIENCE, REST / 3, REST / 7] {
            let (mut stream, requests, mut far) = pair();
            for _ in 0..20 {
                says(&mut far, &mut stream, "POST a").await;
                drop(requests.begin());
                // Somebody waits for the next request, but not long enough to be turned away.
                let waiting = tokio::time::timeout(pause, stream.read_u8());
                waiting.await.unwrap_err();
            }
            let rest = closed_after(&mut stream).await;
            assert_eq!(rest.as_millis(), (REST - pause).as_millis());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_next_head_has_a_deadline_of_its_own() {
        let (mut stream, requests, mut far) = pair();
        says(&mut far, &mut stream, "POST a").await;
        drop(requests.begin());
        tokio::time::sleep(5 * PATIENCE).await;
        says(&mut far, &mut stream, "POST b").await;
        assert_eq!(given_up_after(stream).await, Some(PATIENCE));
    }

    #[tokio::test(start_paused = true)]
    async fn after_its_preface_http2_may_be_silent() {
        let (mut stream, _requests, mut far) = pair();
        says(&mut far, &mut stream, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
        stream.leave_to_http2();
        says(&mut far, &mut stream, "frames").await;
        assert_eq!(given_up_after(stream).await, None);
    }
}
