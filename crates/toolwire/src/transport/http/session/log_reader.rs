//! Reads the events of a resumable stream from the event log.
//!
//! Every connection reads from the log, both the first one and one that resumes the stream. So no event can be lost or
//! duplicated between stored and new events.

use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;
use toolwire_proto::event_id::EventId;
use toolwire_proto::sse::{self, SseEvent};

use crate::engine::{BoxFuture, Cancellation};
use crate::store::{LogEntry, Replay, StreamKey};
use crate::sync::lock;
use crate::transport::http::exchange::token_expiry;
use crate::transport::http::response::event_source::{EventSource, StreamState};
use crate::transport::http::session::active::ActiveSession;
use crate::transport::http::session::key::SessionKey;
use crate::transport::http::session::push::PushReader;
use crate::transport::http::session::stream_reader::{Attachment, DetachReason};
use crate::transport::http::stores::Stores;

/// The stream, the stores and the limits that a reader uses.
pub(crate) struct ReaderContext {
    pub(crate) stores: Stores,
    pub(crate) session: Arc<ActiveSession>,
    pub(crate) key: StreamKey,
    pub(crate) attachment: Attachment,
    /// How long to wait for an entry, and how often the session is renewed.
    pub(crate) interval: Duration,
    /// When the session was renewed last.
    pub(crate) last_touched: Mutex<Instant>,
    pub(crate) session_idle: Duration,
    /// Ends a stream that has no end of its own when the server shuts down.
    pub(crate) shutdown: Option<Cancellation>,
    /// When the token of such a stream expires. The client resumes the stream with a new token and loses no event.
    pub(crate) token_expires_at: Option<Instant>,
    /// Registers this connection as a reader of pushed messages.
    pub(crate) _push: Option<PushReader>,
}

/// The events of one stream for one connection.
pub(crate) struct LogReader {
    context: Arc<ReaderContext>,
    /// The number of the last entry that was sent.
    after: u64,
    next: Option<BoxFuture<'static, ReadStep>>,
    /// The event that is sent first.
    priming_event: Option<SseEvent>,
}

enum ReadStep {
    Entries(Vec<(u64, LogEntry)>),
    /// The last entries for this connection.
    LastEntries(Vec<(u64, LogEntry)>),
    /// Entries were removed because the client was slow. Reading continues after this entry.
    Skip(u64),
    End,
}

impl LogReader {
    /// Creates a reader that starts after an entry. `read` are entries that were already read from the log.
    pub(crate) fn new(
        context: ReaderContext,
        after: u64,
        read: Option<Replay>,
        priming_event: Option<SseEvent>,
    ) -> Self {
        let next = read.map(|replay| -> BoxFuture<'static, ReadStep> {
            Box::pin(std::future::ready(ReadStep::from(replay)))
        });
        Self {
            context: Arc::new(context),
            after,
            next,
            priming_event,
        }
    }

    /// Writes entries. Returns the state of the stream after them.
    fn write(&mut self, entries: Vec<(u64, LogEntry)>, out: &mut Vec<u8>) -> StreamState {
        for (sequence, entry) in entries {
            self.after = sequence;
            match entry {
                LogEntry::Message(message) => self.write_message(sequence, &message, out),
                LogEntry::Last(message) => {
                    self.write_message(sequence, &message, out);
                    return StreamState::Ended;
                }
                LogEntry::End => return StreamState::Ended,
            }
        }
        StreamState::Open
    }

    fn write_message(&self, sequence: u64, message: &Bytes, out: &mut Vec<u8>) {
        let id = EventId::new(&self.context.key.stream, sequence).map(|id| id.to_string());
        sse::encode_message(out, id.as_deref(), message)
            .expect("event ids are made of visible characters");
        self.context.attachment.record_read(message.len());
    }
}

impl EventSource for LogReader {
    fn poll_events(&mut self, cx: &mut Context<'_>, out: &mut Vec<u8>) -> Poll<StreamState> {
        if let Some(priming_event) = self.priming_event.take() {
            priming_event
                .encode_into(out)
                .expect("event ids are made of visible characters");
        }
        loop {
            let (context, after) = (&self.context, self.after);
            let next = self
                .next
                .get_or_insert_with(|| Box::pin(Arc::clone(context).step(after)));
            let Poll::Ready(step) = next.as_mut().poll(cx) else {
                return if out.is_empty() {
                    Poll::Pending
                } else {
                    Poll::Ready(StreamState::Open)
                };
            };
            self.next = None;
            match step {
                ReadStep::Entries(entries) => {
                    if self.write(entries, out) == StreamState::Ended {
                        return Poll::Ready(StreamState::Ended);
                    }
                    if !out.is_empty() {
                        return Poll::Ready(StreamState::Open);
                    }
                }
                ReadStep::LastEntries(entries) => {
                    self.write(entries, out);
                    return Poll::Ready(StreamState::Ended);
                }
                ReadStep::Skip(after) => self.after = after,
                ReadStep::End => return Poll::Ready(StreamState::Ended),
            }
        }
    }
}

impl From<Replay> for ReadStep {
    fn from(replay: Replay) -> Self {
        match replay {
            Replay::Entries(entries) => Self::Entries(entries),
            Replay::Gap { oldest } => Self::Skip(oldest.saturating_sub(1)),
            Replay::Ended | Replay::Unknown => Self::End,
        }
    }
}

impl ReaderContext {
    /// Waits for the entries after an entry, or for the end of the stream.
    async fn step(self: Arc<Self>, after: u64) -> ReadStep {
        let shutdown = async {
            match &self.shutdown {
                Some(shutdown) => shutdown.cancelled().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            reason = self.attachment.detached() => match reason {
                DetachReason::TakenOver => ReadStep::End,
                // All entries so far are sent before the connection ends.
                DetachReason::Released => match self.read(after, Duration::ZERO).await {
                    ReadStep::Entries(entries) => ReadStep::LastEntries(entries),
                    _ => ReadStep::End,
                },
            },
            () = self.session.key.ended.cancelled() => ReadStep::End,
            () = shutdown => ReadStep::End,
            () = token_expiry::sleep_until_expiry(self.token_expires_at) => ReadStep::End,
            step = self.read(after, self.interval) => if self.touch_session().await { step } else { ReadStep::End }
        }
    }

    async fn read(&self, after: u64, wait: Duration) -> ReadStep {
        let principal = &self.session.key.principal;
        match self
            .stores
            .read_after(principal, &self.key, after, wait)
            .await
        {
            Ok(replay) => replay.into(),
            Err(error) => {
                tracing::warn!(%error, "the events of a stream cannot be read");
                ReadStep::End
            }
        }
    }

    /// Renews the session once in an interval, because a session with an open stream is not idle. Returns `false` if
    /// the session does not exist any more.
    async fn touch_session(&self) -> bool {
        {
            let mut last_touched = lock(&self.last_touched);
            if last_touched.elapsed() < self.interval {
                return true;
            }
            *last_touched = Instant::now();
        }
        let SessionKey { id, principal, .. } = &self.session.key;
        let touched = self.stores.touch_session(id, principal, self.session_idle);
        match touched.await {
            Ok(true) => {}
            Ok(false) => {
                tracing::warn!("a stream ends because its session was deleted");
                self.session.end();
                return false;
            }
            Err(error) => tracing::warn!(%error, "a session cannot be renewed"),
        }
        true
    }
}
