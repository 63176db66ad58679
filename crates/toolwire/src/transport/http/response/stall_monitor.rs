//! Detects clients that stop reading an event stream, and drops the stream's source.
//!
//! An HTTP stack polls a body for its next chunk only when it has capacity to send it. If a stream has returned a chunk
//! and is not polled again within the timeout, its client does not read. Its source is then dropped, which cancels the
//! request. This works in every HTTP stack. The listener of toolwire also closes the socket.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use tokio::time::Instant;

use crate::engine::BoxFuture;
use crate::sync::lock;
use crate::transport::http::response::stream_source::StreamSource;

/// The monitored streams of an endpoint.
#[derive(Debug)]
pub(crate) struct StallMonitor {
    origin: Instant,
    timeout: Duration,
    streams: Mutex<MonitoredStreams>,
}

#[derive(Debug, Default)]
struct MonitoredStreams {
    next_key: u64,
    by_key: HashMap<u64, Arc<MonitoredStream>>,
    /// Whether the monitor task is running.
    is_running: bool,
}

/// The source of one stream, with the time of its last chunk.
pub(crate) struct MonitoredStream {
    source: Mutex<Option<Box<dyn StreamSource>>>,
    /// The time of the last chunk in milliseconds since the origin, or [`POLLED`] if the next chunk was requested
    /// since.
    chunk_sent: AtomicU64,
}

/// The value of `chunk_sent` while the stream is waiting for events and not for its client.
const POLLED: u64 = u64::MAX;

impl StallMonitor {
    pub(crate) fn new(timeout: Duration) -> Arc<Self> {
        Arc::new(Self {
            origin: Instant::now(),
            timeout,
            streams: Mutex::default(),
        })
    }

    /// Monitors a stream until the returned guard is dropped.
    pub(crate) fn watch(self: &Arc<Self>, source: Box<dyn StreamSource>) -> MonitorGuard {
        let stream = Arc::new(MonitoredStream {
            source: Mutex::new(Some(source)),
            chunk_sent: AtomicU64::new(POLLED),
        });
        let mut streams = self.lock();
        let key = streams.next_key;
        streams.next_key += 1;
        streams.by_key.insert(key, Arc::clone(&stream));
        if !std::mem::replace(&mut streams.is_running, true) {
            let running: BoxFuture<'_, ()> = Box::pin(run(Arc::downgrade(self), self.timeout / 4));
            tokio::spawn(running);
        }
        drop(streams);
        MonitorGuard {
            stalls: Arc::clone(self),
            stream,
            key,
        }
    }

    /// Drops the sources of all streams whose client has stopped reading. Returns `false` if there are no streams.
    fn sweep(&self) -> bool {
        let now = self.now();
        let timeout = as_millis(self.timeout);
        let mut streams = self.lock();
        streams.is_running = !streams.by_key.is_empty();
        let is_running = streams.is_running;
        let stalled: Vec<_> = streams
            .by_key
            .values()
            .filter(|stream| {
                let since = stream.chunk_sent.load(Ordering::Acquire);
                since != POLLED && now.saturating_sub(since) >= timeout
            })
            .cloned()
            .collect();
        // Dropping a source can run arbitrary code, so the lock is released first.
        drop(streams);
        for stream in stalled {
            tracing::debug!("a stream ends because its client does not read it");
            drop(stream.lock().take());
        }
        is_running
    }

    fn now(&self) -> u64 {
        as_millis(self.origin.elapsed())
    }

    fn lock(&self) -> MutexGuard<'_, MonitoredStreams> {
        lock(&self.streams)
    }
}

/// Sweeps at intervals while there are streams.
async fn run(stalls: Weak<StallMonitor>, interval: Duration) {
    loop {
        tokio::time::sleep(interval.max(Duration::from_millis(1))).await;
        match stalls.upgrade() {
            Some(stalls) if stalls.sweep() => {}
            _ => return,
        }
    }
}

/// A monitored stream. Dropping the guard ends the monitoring and drops the source.
pub(crate) struct MonitorGuard {
    stalls: Arc<StallMonitor>,
    stream: Arc<MonitoredStream>,
    key: u64,
}

impl MonitorGuard {
    /// Records that the next chunk was requested, and returns the source, or `None` if it was dropped.
    pub(crate) fn source(&self) -> MutexGuard<'_, Option<Box<dyn StreamSource>>> {
        self.stream.chunk_sent.store(POLLED, Ordering::Release);
        self.stream.lock()
    }

    /// Records that a chunk was returned. The timeout runs until the next chunk is requested.
    pub(crate) fn record_chunk_sent(&self) {
        let now = self.stalls.now();
        self.stream.chunk_sent.store(now, Ordering::Release);
    }
}

impl Drop for MonitorGuard {
    fn drop(&mut self) {
        self.stalls.lock().by_key.remove(&self.key);
        // The monitor task may have a reference to the stream at this moment.
        drop(self.stream.lock().take());
    }
}

impl MonitoredStream {
    fn lock(&self) -> MutexGuard<'_, Option<Box<dyn StreamSource>>> {
        lock(&self.source)
    }
}

impl std::fmt::Debug for MonitoredStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MonitoredStream").finish_non_exhaustive()
    }
}

fn as_millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX - 1)
}
