//! All streams of a log, and their eviction.

use std::collections::{BTreeMap, HashMap};

use tokio::time::Instant;

use crate::engine::Principal;
use crate::store::{Appended, LogEntry, LogWriter, Replay, StoreError, StreamKey, WriterLease};

use crate::store::memory::events::MemoryEventLogLimits;
use crate::store::memory::events::directory::{Directory, StreamId};
use crate::store::memory::events::stream::{EvictionClass, LastUse, ReadResult, StoredStream};

/// The maximum number of expired streams that one call removes. It is higher than the number that one call adds, and
/// low enough that no call is slow.
const REMOVED_PER_CALL: usize = 16;

/// The order in which streams are evicted.
const CLASSES: [EvictionClass; 3] = [
    EvictionClass::Ended,
    EvictionClass::Empty,
    EvictionClass::Live,
];

#[derive(Debug)]
pub(super) struct StreamTable {
    limits: MemoryEventLogLimits,
    directory: Directory,
    streams: HashMap<StreamId, StoredStream>,
    /// Each stream once, in the order of its class, under the number of a use that may not be its last. A use only
    /// changes the stream. Its position here is corrected when it comes to the front.
    ended: BTreeMap<u64, StreamId>,
    empty: BTreeMap<u64, StreamId>,
    live: BTreeMap<u64, StreamId>,
    bytes: usize,
    uses: u64,
    last_id: StreamId,
    /// The highest fence of a writer.
    last_fence: u64,
}

impl StreamTable {
    pub(super) fn new(limits: MemoryEventLogLimits) -> Self {
        Self {
            limits,
            directory: Directory::default(),
            streams: HashMap::new(),
            ended: BTreeMap::new(),
            empty: BTreeMap::new(),
            live: BTreeMap::new(),
            bytes: 0,
            uses: 0,
            last_id: 0,
            last_fence: 0,
        }
    }

    pub(super) fn open(
        &mut self,
        principal: &Principal,
        key: &StreamKey,
        first: u64,
        lease: Option<WriterLease>,
        now: Instant,
    ) -> Result<LogWriter, StoreError> {
        self.remove_expired(now);
        let id = match self.find(principal, key, now) {
            Some(id) => {
                self.mark_used(id, now);
                id
            }
            None => self.add(principal, key, first.max(1), now)?,
        };
        self.last_fence += 1;
        let fence = self.last_fence;
        let stream = self.stream(id);
        let before = stream.bytes();
        let writer = stream.set_writer(fence, first, lease, now);
        self.bytes = self.bytes - before + self.stream(id).bytes();
        self.classify(id);
        Ok(writer)
    }

    pub(super) fn append(
        &mut self,
        principal: &Principal,
        key: &StreamKey,
        writer: LogWriter,
        entries: &[LogEntry],
        now: Instant,
    ) -> Appended {
        self.remove_expired(now);
        let Some(id) = self.find(principal, key, now) else {
            return Appended::Lost { last: 0 };
        };
        self.mark_used(id, now);
        self.last_fence = self.last_fence.max(writer.fence);
        self.change(id, |stream| stream.append(writer, entries, now))
    }

    pub(super) fn read_after(
        &mut self,
        principal: &Principal,
        key: &StreamKey,
        number: u64,
        now: Instant,
    ) -> ReadResult {
        self.remove_expired(now);
        let Some(id) = self.find(principal, key, now) else {
            return ReadResult::Replay(Replay::Unknown);
        };
        self.mark_used(id, now);
        // Checked before the stream may end. Otherwise the end could take the number of a lost entry.
        if number > self.stream(id).last() {
            return ReadResult::Replay(Replay::Unknown);
        }
        let fence = self.last_fence + 1;
        if self.change(id, |stream| stream.end_if_abandoned(fence, now)) {
            self.last_fence = fence;
        }
        let result = self.stream(id).read_after(number);
        self.classify(id);
        result
    }

    pub(super) fn remove_session(&mut self, principal: &Principal, session: &str) {
        for id in self.directory.of_session(principal, session) {
            self.remove(id);
        }
    }

    /// Returns the stream, unless it has expired and was not removed yet.
    fn find(&mut self, principal: &Principal, key: &StreamKey, now: Instant) -> Option<StreamId> {
        let id = self.directory.find(principal, key)?;
        if self.is_expired(id, now) {
            self.remove(id);
            return None;
        }
        Some(id)
    }

    fn add(
        &mut self,
        principal: &Principal,
        key: &StreamKey,
        first: u64,
        now: Instant,
    ) -> Result<StreamId, StoreError> {
        self.evict_if_full(now)?;
        self.last_id += 1;
        let id = self.last_id;
        let used = self.next_use(now);
        self.directory.insert(principal, key, id);
        self.empty.insert(used.number, id);
        self.streams
            .insert(id, StoredStream::new(principal, key, first, used));
        Ok(id)
    }

    fn remove(&mut self, id: StreamId) {
        let Some(stream) = self.streams.remove(&id) else {
            return;
        };
        let (class, listed) = stream.listed;
        self.order(class).remove(&listed.number);
        self.directory.remove(&stream.principal, &stream.key);
        self.bytes -= stream.bytes();
        stream.close();
    }

    /// Changes the entries of a stream, and enforces all limits.
    fn change<T>(&mut self, id: StreamId, change: impl FnOnce(&mut StoredStream) -> T) -> T {
        let stream = self.stream(id);
        let before = stream.bytes();
        let result = change(stream);
        self.bytes = self.bytes - before + self.stream(id).bytes();
        self.trim(id);
        self.classify(id);
        self.enforce_total_bytes(id);
        result
    }

    /// Enforces the limits of one stream.
    fn trim(&mut self, id: StreamId) {
        let limits = self.limits;
        let stream = self.stream(id);
        let before = stream.bytes();
        while stream.len() > 1
            && (stream.len() > limits.events_per_stream || stream.bytes() > limits.bytes_per_stream)
        {
            stream.drop_oldest();
        }
        let after = stream.bytes();
        self.bytes -= before - after;
    }

    /// Enforces the byte limit of all streams after an entry was added to the stream `newest`, which retains it.
    fn enforce_total_bytes(&mut self, newest: StreamId) {
        while self.bytes > self.limits.total_bytes {
            if let Some(id) = self
                .least_recent(EvictionClass::Ended)
                .filter(|id| *id != newest)
            {
                self.remove(id);
                continue;
            }
            let Some(id) = self.least_recent(EvictionClass::Live) else {
                return;
            };
            let stream = self.stream(id);
            if id == newest && stream.len() == 1 {
                return;
            }
            let before = stream.bytes();
            stream.drop_oldest();
            let after = stream.bytes();
            self.bytes -= before - after;
            self.classify(id);
        }
    }

    /// Evicts a stream if the maximum number of streams is reached.
    fn evict_if_full(&mut self, now: Instant) -> Result<(), StoreError> {
        for class in CLASSES {
            let started = self.uses;
            while self.streams.len() >= self.limits.streams {
                let Some(id) = self.least_recent(class) else {
                    break;
                };
                let stream = self.stream(id);
                if stream.used.number > started {
                    // All streams of this class were checked, and each has a waiting reader.
                    break;
                }
                if stream.has_waiting_reader() {
                    self.mark_used(id, now);
                } else {
                    self.remove(id);
                }
            }
        }
        if self.streams.len() >= self.limits.streams {
            return Err(StoreError::Full);
        }
        Ok(())
    }

    /// Removes some of the expired streams.
    fn remove_expired(&mut self, now: Instant) {
        let retention = self.limits.retention;
        for class in CLASSES {
            for _ in 0..REMOVED_PER_CALL {
                let Some(id) = self.order(class).values().next().copied() else {
                    break;
                };
                let listed_at = self.stream(id).listed.1.at;
                if now.duration_since(listed_at) < retention {
                    break;
                }
                if self.is_expired(id, now) {
                    self.remove(id);
                } else {
                    // The stream was used since, or has a waiting reader, which counts as use.
                    if self.stream(id).has_waiting_reader() {
                        self.mark_used(id, now);
                    }
                    self.reindex(id);
                }
            }
        }
    }

    fn is_expired(&mut self, id: StreamId, now: Instant) -> bool {
        let retention = self.limits.retention;
        let stream = self.stream(id);
        !stream.has_waiting_reader() && now.duration_since(stream.used.at) >= retention
    }

    /// Returns the least recently used stream of a class.
    fn least_recent(&mut self, class: EvictionClass) -> Option<StreamId> {
        loop {
            let id = self.order(class).values().next().copied()?;
            let stream = self.stream(id);
            if stream.used.number == stream.listed.1.number {
                return Some(id);
            }
            self.reindex(id);
        }
    }

    fn mark_used(&mut self, id: StreamId, now: Instant) {
        let used = self.next_use(now);
        self.stream(id).used = used;
    }

    fn next_use(&mut self, at: Instant) -> LastUse {
        self.uses += 1;
        LastUse {
            number: self.uses,
            at,
        }
    }

    /// Lists a stream again if its class has changed.
    fn classify(&mut self, id: StreamId) {
        let stream = self.stream(id);
        if stream.class() != stream.listed.0 {
            self.reindex(id);
        }
    }

    /// Puts a stream at the position of its class and last use.
    fn reindex(&mut self, id: StreamId) {
        let stream = self.stream(id);
        let (old_class, old_use) = stream.listed;
        let (class, used) = (stream.class(), stream.used);
        stream.listed = (class, used);
        self.order(old_class).remove(&old_use.number);
        self.order(class).insert(used.number, id);
    }

    fn order(&mut self, class: EvictionClass) -> &mut BTreeMap<u64, StreamId> {
        match class {
            EvictionClass::Ended => &mut self.ended,
            EvictionClass::Empty => &mut self.empty,
            EvictionClass::Live => &mut self.live,
        }
    }

    fn stream(&mut self, id: StreamId) -> &mut StoredStream {
        self.streams
            .get_mut(&id)
            .expect("every listed stream is in the table")
    }
}

#[cfg(test)]
impl StreamTable {
    pub(super) fn is_empty(&self) -> bool {
        self.streams.is_empty() && self.directory.is_empty() && self.bytes == 0
    }

    /// Checks the invariants between calls.
    pub(super) fn check(&self) {
        let bytes: usize = self.streams.values().map(StoredStream::bytes).sum();
        assert_eq!(self.bytes, bytes, "bytes are counted");
        assert!(
            self.streams.len() <= self.limits.streams,
            "streams are limited"
        );
        let with_entries = self.streams.values().filter(|stream| stream.len() > 0);
        assert!(
            bytes <= self.limits.total_bytes || with_entries.count() == 1,
            "bytes are limited, except for the newest entry"
        );
        let listed = self.ended.len() + self.empty.len() + self.live.len();
        assert_eq!(self.streams.len(), listed, "every stream is listed once");
        for stream in self.streams.values() {
            let (class, used) = stream.listed;
            assert_eq!(class, stream.class(), "streams are listed by class");
            let order = match class {
                EvictionClass::Ended => &self.ended,
                EvictionClass::Empty => &self.empty,
                EvictionClass::Live => &self.live,
            };
            assert!(order.contains_key(&used.number), "streams are listed");
        }
    }
}
