//! Clients that do not read their stream.
//!
//! Whoever sends a body asks for its next piece only when there is room for it. A stream that handed out a piece and is not
//! asked again for too long has a client that does not read: its source is dropped, which cancels what it works for.
//! This holds in every HTTP stack and on every connection; our own listener also closes the socket.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::time::Instant;

use crate::engine::BoxFuture;
use crate::transport::http::response::event_source::EventSource;

/// The streams of an endpoint that somebody has to look after.
#[derive(Debug)]
pub(crate) struct StallMonitor {
    origin: Instant,
    patience: Duration,
    watched: Mutex<MonitoredStreams>,
}

#[derive(Debug, Default)]
struct MonitoredStreams {
    next_key: u64,
    by_key: HashMap<u64, Arc<MonitoredStream>>,
    /// Whether a task looks after them.
    attended: bool,
}

/// The source of one stream, and since when its client has not asked for more.
pub(crate) struct MonitoredStream {
    source: Mutex<Option<Box<dyn EventSource>>>,
    /// In milliseconds since the origin; [`ASKED`] while the client waits for us and not we for it.
    handed_out: AtomicU64,
}

const ASKED: u64 = u64::MAX;

impl StallMonitor {
    pub(crate) fn new(patience: Duration) -> Arc<Self> {
        Arc::new(Self {
            origin: Instant::now(),
            patience,
            watched: Mutex::default(),
        })
    }

    /// Looks after a stream until the returned value is dropped.
    pub(crate) fn watch(self: &Arc<Self>, source: Box<dyn EventSource>) -> MonitorGuard {
        let stream = Arc::new(MonitoredStream {
            source: Mutex::new(Some(source)),
            handed_out: AtomicU64::new(ASKED),
        });
        let mut watched = self.lock();
        let key = watched.next_key;
        watched.next_key += 1;
        watched.by_key.insert(key, Arc::clone(&stream));
        if !std::mem::replace(&mut watched.attended, true) {
            let attending: BoxFuture<'_, ()> =
                Box::pin(run(Arc::downgrade(self), self.patience / 4));
            tokio::spawn(attending);
        }
        drop(watched);
        MonitorGuard {
            stalls: Arc::clone(self),
            stream,
            key,
        }
    }

    /// Drops the sources of all streams whose client has not read for too long. False when there is none to look after.
    fn sweep(&self) -> bool {
        let now = self.now();
        let patience = as_millis(self.patience);
        let mut watched = self.lock();
        watched.attended = !watched.by_key.is_empty();
        let attended = watched.attended;
        let stalled: Vec<_> = watched
            .by_key
            .values()
            .filter(|stream| {
                let since = stream.handed_out.load(Ordering::Acquire);
                since != ASKED && now.saturating_sub(since) >= patience
            })
            .cloned()
            .collect();
        // A source may do anything when it is dropped, so nothing is locked then.
        drop(watched);
        for stream in stalled {
            tracing::debug!("a client does not read its stream, which ends");
            drop(stream.lock().take());
        }
        attended
    }

    fn now(&self) -> u64 {
        as_millis(self.origin.elapsed())
    }

    fn lock(&self) -> MutexGuard<'_, MonitoredStreams> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sweeps from time to time, for as long as there are streams.
async fn run(stalls: Weak<StallMonitor>, interval: Duration) {
    loop {
        tokio::time::sleep(interval.max(Duration::from_millis(1))).await;
        match stalls.upgrade() {
            Some(stalls) if stalls.sweep() => {}
            _ => return,
        }
    }
}

/// A stream that is looked after.
pub(crate) struct MonitorGuard {
    stalls: Arc<StallMonitor>,
    stream: Arc<MonitoredStream>,
    key: u64,
}

impl MonitorGuard {
    /// The source, if it is still there: the client asks for more.
    pub(crate) fn source(&self) -> MutexGuard<'_, Option<Box<dyn EventSource>>> {
        self.stream.handed_out.store(ASKED, Ordering::Release);
        self.stream.lock()
    }

    /// The client was given something, and has to ask again.
    pub(crate) fn record_chunk_sent(&self) {
        let now = self.stalls.now();
        self.stream.handed_out.store(now, Ordering::Release);
    }
}

impl Drop for MonitorGuard {
    fn drop(&mut self) {
        self.stalls.lock().by_key.remove(&self.key);
        // The sweeper may hold the stream at this moment.
        drop(self.stream.lock().take());
    }
}

impl MonitoredStream {
    fn lock(&self) -> MutexGuard<'_, Option<Box<dyn EventSource>>> {
        self.source.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for MonitoredStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stream").finish_non_exhaustive()
    }
}

fn as_millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX - 1)
}
