//! Writes messages of a session to the event log.

use toolwire_proto::outbox::OutboxLimits;

use crate::store::{LogEntry, StreamKey};
use crate::transport::http::session::key::SessionKey;
use crate::transport::http::session::stream_reader::ResumableStream;
use crate::transport::http::stores::Stores;

/// A writer to the event log that waits for slow readers.
#[derive(Debug, Clone)]
pub(crate) struct StreamWriter {
    stores: Stores,
    limits: OutboxLimits,
}

impl StreamWriter {
    pub(crate) fn new(stores: Stores, limits: OutboxLimits) -> Self {
        Self { stores, limits }
    }

    /// Appends an entry to a stream once its reader has capacity. Returns `false` if the session has ended or the log
    /// fails.
    pub(crate) async fn append(
        &self,
        session: &SessionKey,
        stream: &ResumableStream,
        entry: LogEntry,
    ) -> bool {
        let bytes = match &entry {
            LogEntry::Message(message) | LogEntry::Last(message) => message.len(),
            LogEntry::End => 0,
        };
        tokio::select! {
            // Writing to a stream of an ended session would create the stream again.
            biased;
            () = session.ended.cancelled() => return false,
            () = stream.wait_for_capacity(bytes, self.limits) => {}
        }
        let key = StreamKey::new(&session.id, stream.stream());
        let appended = self.stores.append(&session.principal, &key, entry);
        match appended.await {
            Ok(sequence) => {
                stream.record_written(sequence, bytes);
                true
            }
            Err(error) => {
                tracing::warn!(%error, "a message is lost because it cannot be stored");
                false
            }
        }
    }
}
