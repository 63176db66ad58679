//! Writes messages of a session to the event log.
//!
//! The log may fail for a while. A call that failed is repeated with the same numbers, so that no entry is stored twice.
//! If that does not help soon, the connection of the reader is broken off: the client resumes the stream later, instead
//! of waiting for messages that may never be stored. The writer goes on until its lease has expired. Then the log ends the
//! stream with an error for the client.

use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;
use toolwire_proto::outbox::OutboxLimits;

use crate::store::{Appended, LogEntry, LogWriter, StoreError, StreamKey, WriterLease};
use crate::transport::http::retry_delay::RetryDelay;
use crate::transport::http::session::key::SessionKey;
use crate::transport::http::session::stream_reader::ResumableStream;
use crate::transport::http::session::writer_state::message_bytes;
use crate::transport::http::stores::Stores;

/// How long the writer of a response may be silent before the log ends its stream.
pub(crate) const WRITER_LEASE: Duration = Duration::from_secs(30);

/// How often a writer renews its lease while it has nothing to write.
pub(crate) const RENEW_INTERVAL: Duration = Duration::from_secs(10);

/// How long the log may fail before the connection of the reader is broken off.
const BREAK_OFF_AFTER: Duration = Duration::from_secs(5);

/// A writer to the event log that waits for slow readers.
#[derive(Debug, Clone)]
pub(crate) struct StreamWriter {
    stores: Stores,
    limits: OutboxLimits,
    session_idle: Duration,
}

/// The result of writing entries to a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WriteOutcome {
    Stored,
    /// The session has ended.
    SessionEnded,
    /// The stream has another writer, or has ended.
    Replaced,
    /// The log has failed for too long.
    Failed,
}

impl StreamWriter {
    pub(crate) fn new(stores: Stores, limits: OutboxLimits, session_idle: Duration) -> Self {
        Self {
            stores,
            limits,
            session_idle,
        }
    }

    /// Makes this node the writer of a stream whose next entry has at least the number `first`.
    pub(crate) async fn open(
        &self,
        session: &SessionKey,
        stream: &ResumableStream,
        first: u64,
        lease: Option<WriterLease>,
    ) -> Result<LogWriter, StoreError> {
        let key = StreamKey::new(&session.id, stream.stream());
        let opened = self
            .stores
            .open_stream(&session.principal, &key, first, lease.clone());
        let writer = opened.await?;
        stream.set_writer(writer, lease);
        Ok(writer)
    }

    /// Appends entries to a stream once its reader has capacity.
    pub(crate) async fn append(
        &self,
        session: &SessionKey,
        stream: &ResumableStream,
        entries: Vec<LogEntry>,
    ) -> WriteOutcome {
        let mut rest = &entries[..];
        while !rest.is_empty() {
            let count = self.fitting(rest);
            let (batch, later) = rest.split_at(count);
            let bytes = batch.iter().map(message_bytes).sum();
            let writing = async {
                stream.wait_for_capacity(count, bytes, self.limits).await;
                self.append_batch(session, stream, batch).await
            };
            // Writing to a stream of an ended session would create the stream again.
            match session.ended.unless_cancelled(writing).await {
                Some(WriteOutcome::Stored) => rest = later,
                Some(other) => return other,
                None => return WriteOutcome::SessionEnded,
            }
        }
        WriteOutcome::Stored
    }

    /// Passes a change notification on to the reader of a stream once it has capacity, without storing it.
    pub(crate) async fn send_change(
        &self,
        session: &SessionKey,
        stream: &ResumableStream,
        notification: Bytes,
    ) {
        let capacity = stream.wait_for_capacity(1, notification.len(), self.limits);
        if session.ended.unless_cancelled(capacity).await.is_some() {
            stream.send_change(notification);
        }
    }

    /// Renews the lease of a writer that has nothing to write. A failure is ignored, because the lease lasts for several
    /// attempts. Returns `false` if the stream has another writer, or has ended.
    pub(crate) async fn renew(&self, session: &SessionKey, stream: &ResumableStream) -> bool {
        let Some(writer) = stream.writer() else {
            return false;
        };
        let key = StreamKey::new(&session.id, stream.stream());
        let renewed = self.stores.append(&session.principal, &key, writer, &[]);
        match renewed.await {
            Ok(Appended::Fenced | Appended::Ended) => false,
            // Lost entries are stored again with the next entry.
            Ok(Appended::Stored | Appended::Lost { .. }) => true,
            Err(error) => {
                tracing::warn!(%error, "the lease of a stream cannot be renewed");
                true
            }
        }
    }

    /// Returns how many of the entries are written together. They fit into the queue of a reader that has read
    /// everything.
    fn fitting(&self, entries: &[LogEntry]) -> usize {
        let mut bytes = 0;
        let fits = entries
            .iter()
            .take(self.limits.messages)
            .take_while(|entry| {
                bytes += message_bytes(entry);
                bytes <= self.limits.bytes
            });
        fits.count().max(1)
    }

    /// Appends entries, and repeats the call while the log fails.
    async fn append_batch(
        &self,
        session: &SessionKey,
        stream: &ResumableStream,
        entries: &[LogEntry],
    ) -> WriteOutcome {
        let started = Instant::now();
        let mut retry = RetryDelay::new();
        let mut lost = None;
        loop {
            let result = match lost.take() {
                None => self.try_append(session, stream, entries).await,
                Some(last) => self.append_after_loss(session, stream, last, entries).await,
            };
            let error = match result {
                Ok(Appended::Stored) => {
                    stream.record_written(entries);
                    return WriteOutcome::Stored;
                }
                Ok(Appended::Fenced | Appended::Ended) => return WriteOutcome::Replaced,
                Ok(Appended::Lost { last }) => {
                    if last == 0 && self.is_deleted(session).await {
                        return WriteOutcome::SessionEnded;
                    }
                    lost = Some(last);
                    StoreError::unavailable("the log has lost entries of a stream")
                }
                Err(error) => error,
            };
            let timeout = if stream.has_lease() {
                WRITER_LEASE
            } else {
                BREAK_OFF_AFTER
            };
            let failing = started.elapsed();
            tracing::warn!(%error, ?failing, "messages of a stream cannot be stored");
            if failing >= timeout {
                stream.set_uncertain();
                return WriteOutcome::Failed;
            }
            if failing >= BREAK_OFF_AFTER {
                stream.break_off();
            }
            tokio::time::sleep(retry.next()).await;
        }
    }

    async fn try_append(
        &self,
        session: &SessionKey,
        stream: &ResumableStream,
        entries: &[LogEntry],
    ) -> Result<Appended, StoreError> {
        let Some(mut writer) = stream.writer() else {
            return Ok(Appended::Fenced);
        };
        if stream.is_uncertain() {
            writer = self.open(session, stream, writer.next, None).await?;
        }
        let key = StreamKey::new(&session.id, stream.stream());
        let appended = self
            .stores
            .append(&session.principal, &key, writer, entries);
        appended.await
    }

    /// Appends entries to a stream of which the log has only the entries up to `last`. The lost entries are written again
    /// if this node still has them. Otherwise their numbers become a gap, which is reported to readers.
    async fn append_after_loss(
        &self,
        session: &SessionKey,
        stream: &ResumableStream,
        last: u64,
        entries: &[LogEntry],
    ) -> Result<Appended, StoreError> {
        let Some((first, mut again, lease)) = stream.entries_after(last) else {
            return Ok(Appended::Fenced);
        };
        let key = StreamKey::new(&session.id, stream.stream());
        let opened = self
            .stores
            .open_stream(&session.principal, &key, first, lease);
        let fence = opened.await?.fence;
        stream.set_fence(fence);
        tracing::warn!(
            lost = again.len(),
            "lost messages of a stream are stored again"
        );
        again.extend_from_slice(entries);
        let writer = LogWriter::new(fence, first);
        let appended = self.stores.append(&session.principal, &key, writer, &again);
        appended.await
    }

    /// Returns `true` if a session does not exist any more.
    async fn is_deleted(&self, session: &SessionKey) -> bool {
        let touched = self
            .stores
            .touch_session(&session.id, &session.principal, self.session_idle);
        matches!(touched.await, Ok(false))
    }
}
