//! Pushes changes to the streams that clients of a session open with GET.
//!
//! A session may have several such streams. Every message goes to exactly one: the oldest stream with a reader. If none
//! has a reader, messages are stored for the stream that was read last, because its client may resume it.
//!
//! Change notifications are not stored. They only say that the client should read something again. So a client that resumes
//! a stream is notified of everything that it is subscribed to, and a change costs no call of the event log.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;
use toolwire_proto::outbox::OutgoingKind;

use crate::engine::{
    BoxFuture, Cancellation, ConnectionState, TokenInfo, TransportContext, deadline_after,
};
use crate::server::Server;
use crate::server::hub::{ChangeListener as _, ClientGuard, ListenerGuard};
use crate::store::LogEntry;
use crate::sync::lock;
use crate::transport::http::response::event_queue::EventQueue;
use crate::transport::http::session::key::SessionKey;
use crate::transport::http::session::stream_reader::ResumableStream;
use crate::transport::http::session::stream_writer::{StreamWriter, WriteOutcome};
use crate::transport::listen::LegacyListener;
use crate::transport::outgoing_queue::MessageSink;

/// How often an open stream is used in the event log, which removes unused streams.
const LOG_RENEWAL: Duration = Duration::from_secs(3 * 60);

/// The task that pushes changes to one session on this node.
#[derive(Debug)]
pub(crate) struct PushTask {
    queue: Arc<EventQueue>,
    targets: Mutex<PushStreams>,
    listener: Arc<LegacyListener>,
    /// Whether there was a change since the task started.
    has_changes: AtomicBool,
}

/// The session that changes are pushed to.
#[derive(Debug)]
pub(crate) struct PushedSession {
    pub(crate) key: SessionKey,
    pub(crate) state: Arc<ConnectionState>,
    /// How long the task continues without a reader.
    pub(crate) idle: Duration,
    /// Raised when the server shuts down.
    pub(crate) shutdown: Cancellation,
    /// The channel to the client. It keeps the session active on this node while the task runs, so that no second task
    /// starts.
    pub(crate) channel: Arc<dyn TransportContext>,
    /// The token of the request that started the task.
    pub(crate) token: Option<Arc<TokenInfo>>,
}

/// The registrations of a session at the server.
struct Registration {
    _listener: ListenerGuard,
    _client: ClientGuard,
}

#[derive(Debug)]
struct PushStreams {
    list: Vec<PushStream>,
    /// Whether the task has ended.
    closed: bool,
}

#[derive(Debug)]
struct PushStream {
    control: Arc<ResumableStream>,
    readers: usize,
}

impl PushTask {
    /// Starts a task that writes the changes that a session subscribed to into one of its streams. Returns the reader of
    /// the first stream.
    pub(crate) fn start(
        session: PushedSession,
        server: &Server,
        queue: EventQueue,
        writer: StreamWriter,
        control: &Arc<ResumableStream>,
    ) -> PushReader {
        let queue = Arc::new(queue);
        let sink = Arc::clone(&queue) as Arc<dyn MessageSink>;
        let listener = Arc::new(LegacyListener::new(
            sink,
            Arc::clone(&session.state),
            server,
            (session.token.clone(), true),
        ));
        // The stream is added before the task is notified of changes, so that none is lost.
        let targets = PushStreams {
            list: vec![PushStream {
                control: Arc::clone(control),
                readers: 1,
            }],
            closed: false,
        };
        let push = Arc::new(Self {
            queue,
            targets: Mutex::new(targets),
            listener: Arc::clone(&listener),
            has_changes: AtomicBool::new(false),
        });
        let registered = Registration {
            _listener: server.hub().listen(listener),
            _client: server.hub().connect(Arc::clone(&session.channel)),
        };
        let running: BoxFuture<'_, ()> =
            Box::pin(run(session, writer, Arc::clone(&push), registered));
        tokio::spawn(running);
        PushReader {
            push,
            control: Arc::clone(control),
        }
    }

    /// Adds a reader of a stream. Returns `None` if the task has ended.
    pub(crate) fn read(self: &Arc<Self>, control: &Arc<ResumableStream>) -> Option<PushReader> {
        let mut targets = self.targets();
        if targets.closed {
            return None;
        }
        match targets.find(control.stream()) {
            Some(target) => target.readers += 1,
            None => targets.list.push(PushStream {
                control: Arc::clone(control),
                readers: 1,
            }),
        }
        drop(targets);
        self.queue.wake();
        Some(PushReader {
            push: Arc::clone(self),
            control: Arc::clone(control),
        })
    }

    /// Removes a stream that is read on another node now. If it still has a reader here, the connection of that reader
    /// is lost.
    pub(crate) fn hand_over(&self, stream: &str) {
        self.targets()
            .list
            .retain(|target| target.control.stream() != stream);
        self.queue.wake();
    }

    /// Returns `true` if there was a change since the task started.
    pub(crate) fn has_changes(&self) -> bool {
        self.has_changes.load(Ordering::Relaxed)
    }

    /// Notifies the client of everything that it is subscribed to, because it may have missed changes.
    pub(crate) fn resync(&self) {
        self.listener.resync();
    }

    /// Reports a notification that was dropped because the queue is full.
    #[cfg(feature = "relay")]
    pub(crate) fn report_drop(&self) {
        self.queue.drops().report(1);
    }

    fn remove_reader(&self, stream: &str) {
        let mut targets = self.targets();
        if let Some(target) = targets.find(stream) {
            target.readers -= 1;
        }
        // A stream without a reader stays only if no other stream has a reader.
        let has_reader = targets.has_reader();
        targets.list.retain(|target| {
            if has_reader {
                target.readers > 0
            } else {
                target.control.stream() == stream
            }
        });
        drop(targets);
        self.queue.wake();
    }

    /// Returns the stream for the next message.
    fn target(&self) -> Option<Arc<ResumableStream>> {
        let targets = self.targets();
        let read = targets.list.iter().find(|target| target.readers > 0);
        let target = read.or_else(|| targets.list.first());
        target.map(|target| Arc::clone(&target.control))
    }

    /// Returns the streams with a reader.
    fn read_streams(&self) -> Vec<Arc<ResumableStream>> {
        let targets = self.targets();
        let read = targets.list.iter().filter(|target| target.readers > 0);
        read.map(|target| Arc::clone(&target.control)).collect()
    }

    pub(crate) fn has_reader(&self) -> bool {
        self.targets().has_reader()
    }

    /// Closes the task unless a stream has a reader. Returns `true` if the task is closed.
    fn close_unless_read(&self) -> bool {
        let mut targets = self.targets();
        targets.closed |= !targets.has_reader();
        targets.closed
    }

    fn close(&self) {
        self.targets().closed = true;
    }

    fn targets(&self) -> MutexGuard<'_, PushStreams> {
        lock(&self.targets)
    }
}

impl MessageSink for PushTask {
    fn push(&self, kind: OutgoingKind, bytes: Vec<u8>) {
        self.queue.push(kind, bytes);
    }

    #[cfg(any(feature = "tasks", feature = "events", feature = "relay"))]
    fn is_full(&self) -> bool {
        self.queue.is_full()
    }
}

impl PushStreams {
    fn find(&mut self, stream: &str) -> Option<&mut PushStream> {
        let mut targets = self.list.iter_mut();
        targets.find(|target| target.control.stream() == stream)
    }

    fn has_reader(&self) -> bool {
        self.list.iter().any(|target| target.readers > 0)
    }
}

/// A connection that reads pushed messages. Dropping it removes the reader.
#[derive(Debug)]
pub(crate) struct PushReader {
    push: Arc<PushTask>,
    control: Arc<ResumableStream>,
}

impl PushReader {
    pub(crate) fn task(&self) -> &Arc<PushTask> {
        &self.push
    }
}

impl Drop for PushReader {
    fn drop(&mut self) {
        self.push.remove_reader(self.control.stream());
    }
}

/// Writes changes to the log until the session ends, the server shuts down, or no stream has a reader for the idle
/// time.
async fn run(
    session: PushedSession,
    writer: StreamWriter,
    push: Arc<PushTask>,
    _registered: Registration,
) {
    let idle = session.idle;
    let mut renewal = deadline_after(Instant::now(), LOG_RENEWAL);
    let mut deadline = deadline_after(Instant::now(), idle);
    loop {
        tokio::select! {
            () = std::future::poll_fn(|cx| push.queue.poll_ready(cx)) => {}
            () = session.key.ended.cancelled() => break,
            () = session.shutdown.cancelled() => break,
            () = tokio::time::sleep_until(renewal) => {
                for control in push.read_streams() {
                    writer.renew(&session.key, &control).await;
                }
                renewal = deadline_after(Instant::now(), LOG_RENEWAL);
            }
            () = tokio::time::sleep_until(deadline) => {
                if push.close_unless_read() {
                    break;
                }
                deadline = deadline_after(Instant::now(), idle);
            }
        }
        if push.has_reader() {
            deadline = deadline_after(Instant::now(), idle);
        }
        for outgoing in push.queue.take() {
            let is_change = matches!(
                outgoing.kind,
                OutgoingKind::ListChanged { .. } | OutgoingKind::ResourceUpdated { .. }
            );
            if is_change {
                push.has_changes.store(true, Ordering::Relaxed);
            }
            if !is_change {
                store_message(&session.key, &writer, &push, outgoing.bytes.into()).await;
            } else if let Some(control) = push.target() {
                writer
                    .send_change(&session.key, &control, outgoing.bytes.into())
                    .await;
            }
        }
    }
    push.close();
}

/// Stores a message in one of the streams. Another node may have become the writer of the first one in the meantime, so
/// others are tried.
async fn store_message(
    session: &SessionKey,
    writer: &StreamWriter,
    push: &PushTask,
    message: Bytes,
) {
    while let Some(control) = push.target() {
        let entry = LogEntry::Message(message.clone());
        match writer.append(session, &control, vec![entry]).await {
            WriteOutcome::Stored => return,
            WriteOutcome::Replaced => {
                control.hand_over();
                push.hand_over(control.stream());
            }
            WriteOutcome::Failed | WriteOutcome::SessionEnded => break,
        }
    }
    tracing::warn!("a message for a client is lost because it cannot be stored");
}
