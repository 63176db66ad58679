//! Reads the events of a resumable stream.
//!
//! Events that are written on this node while a connection reads them are passed on in memory after they were stored. All
//! others are read from the event log. Events have consecutive numbers, so none is lost or duplicated in between. If the log
//! does not have the next event any more, the connection is broken off: the client resumes the stream, and gets the error that
//! its event is not stored.

use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;
use toolwire_proto::event_id::EventId;
use toolwire_proto::sse::{self, SseEvent};

use crate::engine::{BoxFuture, Cancellation};
use crate::store::{LogEntry, Replay, StoreError, StreamKey};
use crate::sync::lock;
use crate::transport::http::exchange::token_expiry;
use crate::transport::http::response::stream_source::{StreamSource, StreamState};
use crate::transport::http::session::active::{ActiveSession, SessionReader};
use crate::transport::http::session::local_events::LocalRead;
use crate::transport::http::session::push::PushReader;
use crate::transport::http::session::stream_reader::{Attachment, DetachReason};
use crate::transport::http::stores::Stores;

/// The stream, the stores and the limits that a reader uses.
pub(crate) struct ReaderContext {
    pub(crate) stores: Stores,
    pub(crate) session: Arc<ActiveSession>,
    pub(crate) key: StreamKey,
    pub(crate) attachment: Attachment,
    /// Renews the session while this connection reads.
    pub(crate) _reader: SessionReader,
    /// How long to wait for an entry.
    pub(crate) interval: Duration,
    /// Ends a stream that has no end of its own when the server shuts down.
    pub(crate) shutdown: Option<Cancellation>,
    /// When the token of such a stream expires. The client resumes the stream with a new token and loses no event.
    pub(crate) token_expires_at: Option<Instant>,
    /// Since when the event log has failed.
    pub(crate) failing_since: Mutex<Option<Instant>>,
    /// Registers this connection as a reader of pushed messages.
    pub(crate) push: Option<PushReader>,
}

/// How long the event log may fail before the connection of a response is broken off.
const BREAK_OFF_AFTER: Duration = Duration::from_secs(5);

/// The delay before the next attempt to read a log that failed.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

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
    /// Entries, and then change notifications, which are not stored.
    Local(Vec<(u64, LogEntry)>, Vec<Bytes>),
    /// The last entries for this connection.
    LastEntries(Vec<(u64, LogEntry)>),
    End,
    /// The connection is broken off, so that the client resumes the stream later.
    Break,
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
                LogEntry::Message(message) => self.write_entry(sequence, &message, out),
                LogEntry::Last(message) => {
                    self.write_entry(sequence, &message, out);
                    return StreamState::Ended;
                }
                LogEntry::End => return StreamState::Ended,
            }
        }
        StreamState::Open
    }

    fn write_entry(&self, sequence: u64, message: &Bytes, out: &mut Vec<u8>) {
        self.write_message(sequence, message, out);
        self.context.attachment.record_read(sequence, message.len());
    }

    /// Writes a change notification. A client that resumes after it resumes after the last stored entry.
    fn write_change(&self, change: &Bytes, out: &mut Vec<u8>) {
        self.write_message(self.after, change, out);
        self.context.attachment.record_change_read(change.len());
    }

    fn write_message(&self, sequence: u64, message: &Bytes, out: &mut Vec<u8>) {
        let id = EventId::new(&self.context.key.stream, sequence).map(|id| id.to_string());
        sse::encode_message(out, id.as_deref(), message)
            .expect("event ids are made of visible characters");
    }
}

impl StreamSource for LogReader {
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
                ReadStep::Local(entries, changes) => {
                    if self.write(entries, out) == StreamState::Ended {
                        return Poll::Ready(StreamState::Ended);
                    }
                    for change in &changes {
                        self.write_change(change, out);
                    }
                    return Poll::Ready(StreamState::Open);
                }
                ReadStep::LastEntries(entries) => {
                    self.write(entries, out);
                    return Poll::Ready(StreamState::Ended);
                }
                ReadStep::End => return Poll::Ready(StreamState::Ended),
                ReadStep::Break => return Poll::Ready(StreamState::Broken),
            }
        }
    }
}

impl From<Replay> for ReadStep {
    fn from(replay: Replay) -> Self {
        match replay {
            Replay::Entries(entries) => Self::Entries(entries),
            Replay::Gap { oldest } => {
                tracing::warn!(
                    oldest,
                    "a stream is broken off, because the log does not have its next event any more"
                );
                Self::Break
            }
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
                DetachReason::BrokenOff => ReadStep::Break,
                // All entries so far are sent before the connection ends.
                DetachReason::Released => match self.read(after, Duration::ZERO).await {
                    ReadStep::Entries(entries) | ReadStep::Local(entries, _) => {
                        ReadStep::LastEntries(entries)
                    }
                    _ => ReadStep::End,
                },
            },
            () = self.session.key.ended.cancelled() => ReadStep::End,
            () = shutdown => ReadStep::End,
            () = token_expiry::sleep_until_expiry(self.token_expires_at) => ReadStep::End,
            step = self.read(after, self.interval) => step,
        }
    }

    /// Returns the entries after an entry. If no entry is stored yet, it waits for one, at most for `wait`.
    async fn read(&self, after: u64, wait: Duration) -> ReadStep {
        let changed = self.attachment.changed();
        tokio::pin!(changed);
        // Registered before the entries are taken, so that a change in between is not missed.
        changed.as_mut().enable();
        match self.attachment.take_local(after) {
            LocalRead::Next(entries, changes) => ReadStep::Local(entries, changes),
            LocalRead::Nothing => {
                let _ = tokio::time::timeout(wait, changed).await;
                ReadStep::Entries(Vec::new())
            }
            LocalRead::Log { before } if before == u64::MAX => {
                // This node may become the writer in the meantime.
                tokio::select! {
                    step = self.read_log(after, before, wait) => step,
                    () = changed => ReadStep::Entries(Vec::new()),
                }
            }
            LocalRead::Log { before } => self.read_log(after, before, Duration::ZERO).await,
        }
    }

    /// Reads the entries after an entry from the log, without those from number `before` on.
    async fn read_log(&self, after: u64, before: u64, wait: Duration) -> ReadStep {
        let principal = &self.session.key.principal;
        let read = self.stores.read_after(principal, &self.key, after, wait);
        match read.await {
            Ok(Replay::Entries(mut entries)) => {
                *lock(&self.failing_since) = None;
                entries.retain(|(number, _)| *number < before);
                if entries.is_empty() && wait.is_zero() && before != u64::MAX {
                    // The log has lost entries. The writer stores them again with its next entry.
                    tokio::time::sleep(RETRY_INTERVAL).await;
                }
                ReadStep::Entries(entries)
            }
            Ok(replay) => replay.into(),
            Err(error) => self.on_failed_read(&error).await,
        }
    }

    /// Waits before the next attempt to read. The client of a response that cannot be read for long has to resume it. A
    /// stream of pushed messages stays open.
    async fn on_failed_read(&self, error: &StoreError) -> ReadStep {
        let failing_since = *lock(&self.failing_since).get_or_insert_with(Instant::now);
        let failing = failing_since.elapsed();
        tracing::warn!(%error, ?failing, "the events of a stream cannot be read");
        if self.push.is_none() && failing >= BREAK_OFF_AFTER {
            return ReadStep::Break;
        }
        tokio::time::sleep(RETRY_INTERVAL).await;
        ReadStep::Entries(Vec::new())
    }
}
