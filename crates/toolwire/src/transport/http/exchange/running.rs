//! The running handler of one POST. The owner of the response polls it.

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
use crate::transport::http::response::stream_source::{StreamSource, StreamState};
use crate::transport::http::response::{FinalMessage, HttpResponse};

/// A running handler with its context and its permit.
pub(crate) struct RunningHandler {
    future: ExchangeFuture,
    pub(crate) context: Arc<HttpStreamContext>,
    on_disconnect: OnDisconnect,
    /// Released when the handler has finished.
    permit: Option<RequestPermit>,
}

/// What happens to a handler whose client disconnects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnDisconnect {
    /// Spec 2026-07-28, basic/patterns/cancellation: the handler is cancelled.
    Cancel,
    /// Spec 2025-11-25, basic/transports: a disconnect is not a cancellation, so the handler continues.
    Finish,
}

/// The future of an exchange, which ends with the final message.
pub(crate) enum ExchangeFuture {
    /// One request that is cancelled when its client disconnects.
    One {
        id: RequestId,
        era: Era,
        future: BoxFuture<'static, Outcome>,
    },
    /// Any other future. It returns `None` if the request was cancelled and gets no response.
    Other(BoxFuture<'static, Option<FinalMessage>>),
    /// The final message, which is sent after the queued messages.
    Ready(Option<FinalMessage>),
    /// The final message was returned.
    Finished,
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
            Self::Finished => Poll::Ready(None),
        };
        if finished.is_ready() {
            *self = Self::Finished;
        }
        finished
    }

    /// Polls the future to completion.
    pub(crate) async fn finish(mut self) -> Option<FinalMessage> {
        poll_fn(|cx| self.poll(cx)).await
    }
}

/// A request after dispatch: the finished response, or the running handler.
pub(crate) enum Dispatched {
    Finished(HttpResponse),
    Running(RunningHandler),
}

/// The start of a response.
pub(crate) enum FirstEvent {
    /// The final message, which is the whole response.
    Outcome(Option<FinalMessage>),
    /// An event stream, because the handler sent another message first or none for too long.
    Stream,
}

impl RunningHandler {
    pub(crate) fn new(
        future: ExchangeFuture,
        context: Arc<HttpStreamContext>,
        on_disconnect: OnDisconnect,
        permit: impl Into<Option<RequestPermit>>,
    ) -> Self {
        Self {
            future,
            context,
            on_disconnect,
            permit: permit.into(),
        }
    }

    /// Lets the handler be cancelled when it is dropped, because its client has a response.
    pub(crate) fn cancel_on_drop(&mut self) {
        self.on_disconnect = OnDisconnect::Cancel;
    }

    /// Polls the handler.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<FinalMessage>> {
        self.future.poll(cx)
    }

    /// Polls the handler until the start of the response is known: the handler finishes, sends another message first,
    /// or sends nothing for `quiet_period`.
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
                self.future = ExchangeFuture::Ready(finished);
                return Poll::Ready(FirstEvent::Stream);
            }
            if self.context.queue.poll_ready(cx).is_ready() {
                return Poll::Ready(FirstEvent::Stream);
            }
            // A handler that finishes at its first poll needs no timer.
            let quiet = quiet.get_or_insert_with(|| Box::pin(tokio::time::sleep(quiet_period)));
            quiet.as_mut().poll(cx).map(|()| FirstEvent::Stream)
        })
    }
}

impl Drop for RunningHandler {
    fn drop(&mut self) {
        if let ExchangeFuture::Finished | ExchangeFuture::Ready(_) = self.future {
            return;
        }
        match (self.on_disconnect, Handle::try_current()) {
            (OnDisconnect::Finish, Ok(runtime)) => {
                let mut rest = Self {
                    future: std::mem::replace(&mut self.future, ExchangeFuture::Finished),
                    context: Arc::clone(&self.context),
                    // If the runtime drops the task at shutdown, it must not be spawned again.
                    on_disconnect: OnDisconnect::Cancel,
                    permit: self.permit.take(),
                };
                let rest: BoxFuture<'_, ()> =
                    Box::pin(async move { drop(poll_fn(|cx| rest.poll(cx)).await) });
                runtime.spawn(rest);
            }
            _ => self.context.set_disconnected(),
        }
    }
}

/// The events of a handler whose response is a stream that cannot be resumed.
pub(crate) struct HandlerEvents(pub(crate) RunningHandler);

impl StreamSource for HandlerEvents {
    fn poll_events(&mut self, cx: &mut Context<'_>, out: &mut Vec<u8>) -> Poll<StreamState> {
        let Self(running) = self;
        // The handler is polled first, so that the messages of this poll are sent in this poll.
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
