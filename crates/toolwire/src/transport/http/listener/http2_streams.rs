//! Resets the streams of an HTTP/2 connection whose client does not read their responses.
//!
//! A client may close the window of one stream, acknowledge pings, and use other streams of the same connection, so a
//! stalled socket is not enough to detect it. hyper runs every stream in its own task. If a part of the response waits
//! too long for the client's window, that task is dropped, which resets the stream and frees the response. Other
//! streams of the connection continue.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::rt::Executor;
use tokio::time::{Instant, Sleep};

use crate::engine::{BoxFuture, deadline_after};
use crate::sync::lock;

/// The maximum number of bytes of a response that wait for the window at once. A client that reads this much in time is
/// not stalled.
const PART: usize = 16 * 1024;

/// The executor of the streams of one connection.
#[derive(Debug, Clone)]
pub(super) struct StreamExecutor {
    timeout: Duration,
    /// The progress of the stream that hyper is about to run.
    accepted: Arc<Mutex<Option<Arc<WriteProgress>>>>,
}

impl StreamExecutor {
    pub(super) fn new(timeout: Duration) -> Self {
        Self {
            timeout,
            accepted: Arc::default(),
        }
    }

    /// Returns the progress of a new stream. hyper calls the service for a request, which calls this function, and then
    /// executes the stream.
    pub(super) fn accept(&self) -> Arc<WriteProgress> {
        let progress = Arc::new(WriteProgress::default());
        *lock(&self.accepted) = Some(Arc::clone(&progress));
        progress
    }
}

impl<F> Executor<F> for StreamExecutor
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, stream: F) {
        let stream: BoxFuture<'static, ()> = Box::pin(stream);
        match lock(&self.accepted).take() {
            Some(progress) => drop(tokio::spawn(StalledReset {
                stream,
                progress,
                timeout: self.timeout,
                timer: None,
            })),
            None => drop(tokio::spawn(stream)),
        }
    }
}

/// The time since which a part of a response has waited for the client.
#[derive(Debug, Default)]
pub(super) struct WriteProgress {
    waiting_since: Mutex<Option<Instant>>,
}

impl WriteProgress {
    fn set_waiting(&self) {
        *lock(&self.waiting_since) = Some(Instant::now());
    }

    fn set_taken(&self) {
        *lock(&self.waiting_since) = None;
    }

    fn waiting_since(&self) -> Option<Instant> {
        *lock(&self.waiting_since)
    }
}

/// A stream that ends if its client does not read a part of the response in time.
struct StalledReset {
    stream: BoxFuture<'static, ()>,
    progress: Arc<WriteProgress>,
    timeout: Duration,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Future for StalledReset {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        if this.stream.as_mut().poll(cx).is_ready() {
            return Poll::Ready(());
        }
        let Some(since) = this.progress.waiting_since() else {
            return Poll::Pending;
        };
        let deadline = deadline_after(since, this.timeout);
        let timer = this
            .timer
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        if timer.deadline() != deadline {
            timer.as_mut().reset(deadline);
        }
        ready!(timer.as_mut().poll(cx));
        tracing::debug!("reset an HTTP/2 stream because its client does not read the response");
        Poll::Ready(())
    }
}

/// A response body in small parts, which records when hyper takes a part and when it polls for the next one.
///
/// hyper takes a part as soon as the window is open by one byte, and buffers the rest of the part. So the last byte of
/// each frame is a separate part, which hyper takes only after all bytes before it were sent.
pub(super) struct PacedBody<B> {
    body: B,
    /// The data of the body that hyper has not taken yet.
    rest: Bytes,
    progress: Arc<WriteProgress>,
}

impl<B> PacedBody<B> {
    pub(super) fn new(body: B, progress: Arc<WriteProgress>) -> Self {
        Self {
            body,
            rest: Bytes::new(),
            progress,
        }
    }

    fn next_part(&mut self) -> Bytes {
        let length = match self.rest.len() {
            0 | 1 => self.rest.len(),
            length => (length - 1).min(PART),
        };
        self.rest.split_to(length)
    }
}

impl<B> Body for PacedBody<B>
where
    B: Body<Data = Bytes> + Unpin,
{
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        self.progress.set_taken();
        if self.rest.is_empty() {
            let frame = match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) => frame,
                end => return Poll::Ready(end),
            };
            match frame.into_data() {
                Ok(data) => self.rest = data,
                Err(other) => return Poll::Ready(Some(Ok(other))),
            }
        }
        self.progress.set_waiting();
        let part = self.next_part();
        Poll::Ready(Some(Ok(Frame::data(part))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let mut hint = self.body.size_hint();
        let rest = self.rest.len() as u64;
        if let Some(upper) = hint.upper() {
            hint.set_upper(upper + rest);
        }
        hint.set_lower(hint.lower() + rest);
        hint
    }
}

impl<B> fmt::Debug for PacedBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PacedBody").finish_non_exhaustive()
    }
}
