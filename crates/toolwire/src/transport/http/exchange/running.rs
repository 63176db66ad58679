//! A handler at work for one POST, polled by whoever owns the answer.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::Sleep;
use toolwire_proto::features::Era;
use toolwire_types::RequestId;

use crate::engine::{BoxFuture, Outcome};
use crate::transport::http::exchange::context::HttpStreamContext;
use crate::transport::http::permits::RequestPermit;
use crate::transport::http::response::event_queue::write_event;
use crate::transport::http::response::event_source::{EventSource, StreamState};
use crate::transport::http::response::{FinalMessage, HttpResponse};

/// A handler at work.
pub(crate) struct RunningHandler {
    work: ExchangeFuture,
    pub(crate) context: Arc<HttpStreamContext>,
    on_disconnect: OnDisconnect,
    /// Held until the handler is done.
    slot: Option<RequestPermit>,
}

/// What becomes of a handler whose client has gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnDisconnect {
    /// Spec 2026-07-28, basic/patterns/cancellation: it is cancelled.
    Cancel,
    /// Spec 2025-11-25, basic/transports: leaving is no cancellation, so it runs on.
    Finish,
}

/// What is polled.
pub(crate) enum ExchangeFuture {
    /// One request whose client cancels it by leaving.
    One {
        id: RequestId,
        era: Era,
        future: BoxFuture<'static, Outcome>,
    },
    /// Whatever else ends with a message; `None` when it was cancelled, and nothing is said.
    Other(BoxFuture<'static, Option<FinalMessage>>),
    /// The outcome, which something goes before.
    Ready(Option<FinalMessage>),
    /// Done.
    Over,
}

impl ExchangeFuture {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<FinalMessage>> {
        let finished = match self {
            Self::One { id, era, future } => future
                .as_mut()
                .poll(cx)
                .map(|outcome| Some(FinalMessage::new(id, *era, outcome))),
            Self::Other(future) => future.as_mut().poll(cx),
            Self::Ready(finished) => Poll::Ready(finished.take()),
            Self::Over => Poll::Ready(None),
        };
        if finished.is_ready() {
            *self = Self::Over;
        }
        finished
    }

    /// Runs to the end.
    pub(crate) async fn finish(mut self) -> Option<FinalMessage> {
        poll_fn(|cx| self.poll(cx)).await
    }
}

/// A request after its start.
pub(crate) enum Dispatched {
    Answered(HttpResponse),
    Running(RunningHandler),
}

/// How the answer begins.
pub(crate) enum FirstEvent {
    /// With its end.
    Outcome(Option<FinalMessage>),
    /// With something else, or with silence.
    Stream,
}

impl RunningHandler {
    pub(crate) fn new(
        work: ExchangeFuture,
        context: Arc<HttpStreamContext>,
        on_disconnect: OnDisconnect,
        slot: impl Into<Option<RequestPermit>>,
    ) -> Self {
        Self {
            work,
            context,
            on_disconnect,
            slot: slot.into(),
        }
    }

    /// Drives the handler.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<FinalMessage>> {
        self.work.poll(cx)
    }

    /// Drives the handler until it is known how the answer begins: it ends at once, it says something first, or it was
    /// silent for too long.
    pub(crate) fn open(
        &mut self,
        quiet_period: Duration,
    ) -> impl Future<Output = FirstEvent> + Send {
        let mut quiet: Option<Pin<Box<Sleep>>> = None;
        poll_fn(move |cx| {
            if let Poll::Ready(finished) = self.poll(cx) {
                if !self.context.queue.has_message() {
                    return Poll::Ready(FirstEvent::Outcome(finished));
                }
                self.work = ExchangeFuture::Ready(finished);
                return Poll::Ready(FirstEvent::Stream);
            }
            if self.context.queue.poll_ready(cx).is_ready() {
                return Poll::Ready(FirstEvent::Stream);
            }
            // A handler that is done at its first turn never gets here, and costs no timer.
            let quiet = quiet.get_or_insert_with(|| Box::pin(tokio::time::sleep(quiet_period)));
            quiet.as_mut().poll(cx).map(|()| FirstEvent::Stream)
        })
    }
}

impl Drop for RunningHandler {
    fn drop(&mut self) {
        if let ExchangeFuture::Over | ExchangeFuture::Ready(_) = self.work {
            return;
        }
        match (self.on_disconnect, Handle::try_current()) {
            (OnDisconnect::Finish, Ok(runtime)) => {
                let mut rest = Self {
                    work: std::mem::replace(&mut self.work, ExchangeFuture::Over),
                    context: Arc::clone(&self.context),
                    // Dropped by the end of the runtime, it is not started again.
                    on_disconnect: OnDisconnect::Cancel,
                    slot: self.slot.take(),
                };
                let rest: BoxFuture<'_, ()> =
                    Box::pin(async move { drop(poll_fn(|cx| rest.poll(cx)).await) });
                runtime.spawn(rest);
            }
            _ => self.context.set_disconnected(),
        }
    }
}

/// A handler whose answer has become a stream, without a way to resume it.
pub(crate) struct HandlerEvents(pub(crate) RunningHandler);

impl EventSource for HandlerEvents {
    fn poll_events(&mut self, cx: &mut Context<'_>, out: &mut Vec<u8>) -> Poll<StreamState> {
        let Self(running) = self;
        // The handler goes first, so that what it says in this turn leaves in this turn.
        let finished = running.poll(cx);
        running.context.queue.take_events(out);
        match finished {
            Poll::Ready(finished) => {
                if let Some(finished) = finished {
                    write_event(out, &finished.message.into_bytes());
                }
                Poll::Ready(StreamState::Ended)
            }
            Poll::Pending if !out.is_empty() => Poll::Ready(StreamState::Open),
            Poll::Pending => running.context.queue.poll_ready(cx).map(|()| {
                running.context.queue.take_events(out);
                StreamState::Open
            }),
        }
    }
}
