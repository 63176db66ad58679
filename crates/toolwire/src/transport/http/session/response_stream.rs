//! Responses that are resumable streams: the handler runs in its own task, which writes its messages to the event log.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;

use tokio::time::Instant;
use toolwire_proto::event_id::EventId;
use toolwire_proto::features::VersionFeatures;
use toolwire_proto::sse::SseEvent;

use crate::engine::{BoxFuture, Cancellation};
use crate::store::{LogEntry, StreamKey, WriterLease};
use crate::transport::http::endpoint::HttpEndpoint;
use crate::transport::http::exchange::running::RunningHandler;
use crate::transport::http::random_id::random_id;
use crate::transport::http::response::{self, FinalMessage, HttpResponse};
use crate::transport::http::session::active::ActiveSession;
use crate::transport::http::session::log_reader::{LogReader, ReaderContext};
use crate::transport::http::session::push::PushReader;
use crate::transport::http::session::stream_reader::{Attachment, ResumableStream};
use crate::transport::http::session::stream_writer::{
    RENEW_INTERVAL, StreamWriter, WRITER_LEASE, WriteOutcome,
};

/// The first letter of the names of streams that are responses to a POST.
pub(crate) const RESPONSE_STREAM_PREFIX: &str = "p";

/// Turns the response into a resumable stream and spawns its handler as a task. If this node stops, the stream ends with
/// `lost_response`.
pub(crate) async fn open(
    endpoint: &Arc<HttpEndpoint>,
    session: Arc<ActiveSession>,
    running: RunningHandler,
    lost_response: LogEntry,
) -> HttpResponse {
    running.context.set_streaming();
    let name = match random_id(RESPONSE_STREAM_PREFIX, 16) {
        Ok(name) => name,
        Err(error) => return response::store_error(&error),
    };
    let control = session.stream(&name);
    let writer = endpoint.stream_writer();
    let lease = WriterLease::new(WRITER_LEASE, lost_response.clone());
    let opened = writer.open(&session.key, &control, 1, Some(lease)).await;
    if let Err(error) = opened {
        return response::store_error(&error);
    }
    running.context.set_control(Arc::clone(&control));
    let attachment = control.attach(endpoint.streams.bytes());
    let context = endpoint.reader_context(&session, attachment, None, None);
    let priming_event = priming_event(endpoint, &session, &control);
    let handler = StreamingHandler {
        running,
        finished: None,
        stopping: endpoint.active_sessions.stopping().clone(),
        lost_response,
    };
    let writing: BoxFuture<'_, ()> =
        Box::pin(write_to_log(writer, Arc::clone(&session), control, handler));
    tokio::spawn(writing);
    let source = LogReader::new(context, 0, None, priming_event);
    endpoint.stream(Box::new(source), None)
}

/// Returns the first event of a stream, with an event id and the retry delay. Spec 2025-11-25, basic/transports.
pub(crate) fn priming_event(
    endpoint: &HttpEndpoint,
    session: &ActiveSession,
    control: &ResumableStream,
) -> Option<SseEvent> {
    let version = session.state.version()?;
    let id = EventId::new(control.stream(), 0).filter(|_| version.has_priming_event())?;
    Some(
        SseEvent::new("")
            .with_id(id.to_string())
            .with_retry(endpoint.options.random_retry()),
    )
}

/// Polls a handler and writes its messages to the log, its outcome last. If this node stops before, the client gets the
/// error now that it would otherwise get when the lease of the writer ends.
async fn write_to_log(
    writer: StreamWriter,
    session: Arc<ActiveSession>,
    control: Arc<ResumableStream>,
    mut handler: StreamingHandler,
) {
    loop {
        let ready = tokio::time::timeout(RENEW_INTERVAL, handler.wait()).await;
        if ready.is_err() {
            let renewing = writer.renew(&session.key, &control);
            if !handler.run_during(renewing).await {
                tracing::warn!("a stream has ended before its response, because its lease expired");
                return control.leave_to_log();
            }
            continue;
        }
        let (entries, is_last) = handler.take_entries();
        let appending = writer.append(&session.key, &control, entries);
        match handler.run_during(appending).await {
            WriteOutcome::Stored if is_last => return,
            WriteOutcome::Stored => {}
            WriteOutcome::SessionEnded => return session.end(),
            WriteOutcome::Replaced | WriteOutcome::Failed => {
                tracing::warn!("the response to a request cannot be stored");
                return control.leave_to_log();
            }
        }
        if handler.running.context.take_release_request() {
            control.release();
        }
    }
}

/// A handler that runs while its messages are stored.
struct StreamingHandler {
    running: RunningHandler,
    /// The final message after the handler has finished. `None` in it if the request was cancelled.
    finished: Option<Option<FinalMessage>>,
    /// Raised when this node stops.
    stopping: Cancellation,
    /// The last entry of a stream whose node stops.
    lost_response: LogEntry,
}

impl StreamingHandler {
    /// Runs the handler until it has messages, has finished, or requests that the client disconnect, or until this node
    /// stops.
    async fn wait(&mut self) {
        let stopping = self.stopping.clone();
        let mut stopping = pin!(stopping.cancelled());
        poll_fn(|cx| {
            // The handler is polled after that, because its requests to the client fail now.
            let is_stopping = stopping.as_mut().poll(cx).is_ready();
            loop {
                if self.poll(cx) || self.running.context.is_release_requested() {
                    return Poll::Ready(());
                }
                // If a message was queued since the handler was polled, the handler is polled again.
                let context = &self.running.context;
                if context.queue.has_message() {
                    return Poll::Ready(());
                }
                if context.queue.poll_ready(cx).is_pending() {
                    return if is_stopping {
                        Poll::Ready(())
                    } else {
                        Poll::Pending
                    };
                }
            }
        })
        .await;
    }

    /// Runs the handler while a future runs. Its messages wait in its queue.
    async fn run_during<T>(&mut self, future: impl Future<Output = T>) -> T {
        let mut future = pin!(future);
        poll_fn(|cx| {
            self.poll(cx);
            future.as_mut().poll(cx)
        })
        .await
    }

    /// Polls the handler. Returns `true` if it has finished.
    fn poll(&mut self, cx: &mut std::task::Context<'_>) -> bool {
        if self.finished.is_none()
            && let Poll::Ready(finished) = self.running.poll(cx)
        {
            self.finished = Some(finished);
        }
        self.finished.is_some()
    }

    /// Takes the queued messages, and the final message if the handler has finished. Returns whether they are the last.
    fn take_entries(&mut self) -> (Vec<LogEntry>, bool) {
        let messages = self.running.context.queue.take();
        let mut entries: Vec<_> = messages
            .into_iter()
            .map(|message| LogEntry::Message(message.bytes.into()))
            .collect();
        match self.finished.take() {
            None if self.stopping.is_cancelled() => {
                self.running.cancel_on_drop();
                entries.push(self.lost_response.clone());
                (entries, true)
            }
            None => (entries, false),
            Some(Some(finished)) => {
                entries.push(LogEntry::Last(finished.message.into_bytes().into()));
                (entries, true)
            }
            // The request was cancelled, so the remaining messages are not sent.
            Some(None) => (vec![LogEntry::End], true),
        }
    }
}

impl HttpEndpoint {
    /// Makes a connection the reader of a stream.
    pub(crate) fn reader_context(
        &self,
        session: &Arc<ActiveSession>,
        attachment: Attachment,
        push: Option<PushReader>,
        token_expires_at: Option<Instant>,
    ) -> ReaderContext {
        let limits = &self.options.limits;
        self.renewal
            .start(&self.stores, limits, &self.active_sessions);
        ReaderContext {
            stores: self.stores.clone(),
            session: Arc::clone(session),
            key: StreamKey::new(&session.key.id, attachment.stream()),
            attachment,
            failing_since: Mutex::new(None),
            _reader: session.add_reader(),
            interval: limits.keep_alive,
            // The response to a request ends with the request. A stream of pushed messages has no end of its own.
            shutdown: push.as_ref().map(|_| self.server.shutdown_signal().clone()),
            token_expires_at,
            push,
        }
    }
}
