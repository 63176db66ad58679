//! The connection on which this node hears the others: bus messages, and notifications for waiting readers.
//!
//! The engine delivers published messages at most once, and does not say when it loses some. So every node numbers what
//! it publishes, and publishes a heartbeat with its last number each second. A missing number, and a new connection,
//! mean that messages were lost. A node that does not hear its own heartbeats replaces the connection.

mod heartbeat_delay;
mod publication;
mod received;
mod stay_connected;
mod waiters;
mod waiting_messages;
mod wake_ups;

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{PushInfo, PushKind, RedisResult, Value, cmd};
use tokio::sync::oneshot::error::TryRecvError;
use tokio::sync::{Mutex as AsyncMutex, Notify, OwnedMutexGuard, broadcast, watch};
use tokio::time::timeout;
use toolwire::store::{BusMessage, StoreError};

use crate::connection::{Connection, Repeat, Target};
use crate::keys::Keys;
use crate::random_id::random_id;
use crate::sealing::Sealing;
use crate::sync::lock;
use crate::{ConnectError, RedisOptions};
use heartbeat_delay::HeartbeatDelay;
pub(crate) use publication::Publication;
pub(crate) use received::{BusCounters, WaitingDelivery};
use received::{Envelope, ReceivedMessages};
use stay_connected::stay_connected;
pub(crate) use waiters::Waiter;
use waiters::Waiters;
use waiting_messages::{Batch, WaitingMessages};
use wake_ups::MailboxWakeUps;
pub(crate) use wake_ups::{WAITING_WAKE_UPS, WakeUp, WakeUpMessage, WakeUps};

/// The time between two heartbeats.
const HEARTBEAT: Duration = Duration::from_secs(1);

/// The number of heartbeats of this node in a row that are published, but not heard. Then the connection is replaced.
const UNHEARD_HEARTBEATS: u32 = 3;

/// The connection on which this node hears the others. Clones share it. It is opened when it is first used.
#[derive(Clone)]
pub(crate) struct Subscriber {
    shared: Arc<SharedSubscriber>,
}

struct SharedSubscriber {
    target: Arc<Target>,
    /// For publishing.
    connection: Connection,
    bus_channel: String,
    wake_channel: String,
    sealing: Option<Sealing>,
    /// The channel that only this node hears.
    node_channel: String,
    /// The id of this node in its messages.
    node: String,
    /// The number of the last published message. Locked while a message is sent, so that messages arrive in order.
    published: Arc<AsyncMutex<u64>>,
    /// The messages that wait until the last publication has ended.
    waiting: WaitingMessages,
    /// The number of messages that were published.
    sent: AtomicU64,
    received: Mutex<ReceivedMessages>,
    waiters: Waiters,
    wake_ups: MailboxWakeUps,
    is_started: AtomicBool,
    is_connected: watch::Sender<bool>,
    heartbeats: HeartbeatDelay,
    connect_timeout: Duration,
}

impl Subscriber {
    pub(crate) fn new(
        target: Arc<Target>,
        connection: Connection,
        keys: &Keys,
        options: &RedisOptions,
    ) -> Result<Self, ConnectError> {
        let node = random_id().map_err(ConnectError::unavailable)?;
        Ok(Self {
            shared: Arc::new(SharedSubscriber {
                target,
                connection,
                bus_channel: keys.bus_channel(),
                wake_channel: keys.wake_channel(),
                sealing: options.sealing.clone(),
                node_channel: keys.node_channel(&node),
                published: Arc::default(),
                waiting: WaitingMessages::default(),
                sent: AtomicU64::new(0),
                received: Mutex::new(ReceivedMessages::new(&node)),
                node,
                waiters: Waiters::default(),
                wake_ups: MailboxWakeUps::default(),
                is_started: AtomicBool::new(false),
                is_connected: watch::Sender::new(false),
                heartbeats: HeartbeatDelay::default(),
                connect_timeout: options.connect_timeout,
            }),
        })
    }

    /// Publishes messages to all nodes, together with those of other callers that wait.
    ///
    /// # Cancellation
    /// Messages of a dropped caller may be published. The other callers get their outcome nevertheless.
    pub(crate) async fn publish(&self, messages: &[BusMessage]) -> Result<(), StoreError> {
        let shared = &self.shared;
        let mut outcome = shared.waiting.add(messages);
        loop {
            let published = Arc::clone(&shared.published).lock_owned().await;
            match outcome.try_recv() {
                Ok(outcome) => return outcome,
                Err(TryRecvError::Closed) => {
                    return Err(StoreError::unknown("the publication was interrupted"));
                }
                Err(TryRecvError::Empty) => {}
            }
            let batch = shared.waiting.take();
            // It has the messages of other callers, so it does not end with this one.
            tokio::spawn(Arc::clone(shared).publish_batch(published, batch));
        }
    }

    /// Starts to publish messages to all nodes. The caller sends them as a part of a script. Returns `None` if another
    /// publication is being sent.
    pub(crate) fn try_begin_publication(&self, messages: &[BusMessage]) -> Option<Publication> {
        let shared = &self.shared;
        let published = Arc::clone(&shared.published).try_lock_owned().ok()?;
        let envelope = shared.envelope(*published + 1, messages).ok()?;
        let publication = Publication::begin(shared, published, envelope, messages.len());
        Some(publication)
    }

    /// Returns `true` if `other` uses the same connection, and messages of scripts arrive in the order in which they are sent.
    ///
    /// In a cluster, scripts run on the primaries of their keys, and messages of different primaries arrive in any order.
    pub(crate) fn can_publish_in_scripts_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared) && !self.is_of_cluster()
    }

    /// Returns how many messages were sent, received and lost.
    pub(crate) fn counters(&self) -> BusCounters {
        BusCounters {
            sent: self.shared.sent.load(Ordering::Relaxed),
            ..self.shared.received().counters()
        }
    }

    /// Returns how long a message takes to this node.
    pub(crate) fn delay(&self) -> Duration {
        self.shared.heartbeats.delay()
    }

    /// Returns the number of messages that have arrived, and that the mailboxes of this node have not taken yet.
    pub(crate) fn waiting_wake_ups(&self) -> usize {
        self.shared.wake_ups.waiting()
    }

    /// Returns the messages that arrive from now on.
    pub(crate) async fn subscribe(
        &self,
    ) -> Result<broadcast::Receiver<WaitingDelivery>, StoreError> {
        self.start();
        let mut state = self.shared.is_connected.subscribe();
        let connected = state.wait_for(|is_connected| *is_connected);
        match timeout(self.shared.connect_timeout, connected).await {
            Ok(Ok(_)) => Ok(self.shared.received().subscribe()),
            Ok(Err(_)) | Err(_) => Err(StoreError::unavailable("the engine is not connected")),
        }
    }

    /// Checks, on a connection of its own, that what this node publishes arrives here.
    pub(crate) async fn check(&self) -> Result<(), StoreError> {
        let heard = Arc::new(Notify::new());
        let receive = || {
            let (shared, was_heard) = (Arc::downgrade(&self.shared), Arc::clone(&heard));
            move |push: PushInfo| {
                if let (Some(shared), Some((channel, payload))) =
                    (shared.upgrade(), message_of(push))
                    && channel == shared.bus_channel.as_bytes()
                    && shared.is_own(&payload)
                {
                    was_heard.notify_one();
                }
            }
        };
        let mut connected = self.shared.connect(receive()).await;
        // One node of a cluster suffices.
        for _ in 1..self.shared.target.subscriber_nodes() {
            if connected.is_ok() {
                break;
            }
            self.shared.target.skip_node();
            connected = self.shared.connect(receive()).await;
        }
        let _connection = connected.map_err(StoreError::unavailable)?;
        for _ in 0..UNHEARD_HEARTBEATS {
            self.shared.send_heartbeat().await?;
            if timeout(HEARTBEAT, heard.notified()).await.is_ok() {
                self.shared.heartbeats.end();
                return Ok(());
            }
        }
        self.shared.heartbeats.lose();
        Err(StoreError::unavailable(
            "a published message did not arrive at its own node",
        ))
    }

    /// Starts to wait for a notification about a stream.
    pub(crate) fn wait_for(&self, stream: &str) -> Waiter {
        self.start();
        self.shared.waiters.add(stream)
    }

    /// Returns the wake-ups of a mailbox of this node from now on. `lease` is the key of the lease of its number.
    pub(crate) fn wake_ups(&self, lease: &str) -> WakeUps {
        self.start();
        self.shared.wake_ups.add(lease)
    }

    /// Returns `true` if the engine is a cluster, which copies each published message to all its nodes.
    pub(crate) fn is_of_cluster(&self) -> bool {
        self.shared.target.is_cluster()
    }

    /// Returns the channel for notifications that only this node needs.
    pub(crate) fn node_channel(&self) -> &str {
        &self.shared.node_channel
    }

    fn start(&self) {
        if !self.shared.is_started.swap(true, Ordering::Relaxed) {
            tokio::spawn(stay_connected(Arc::downgrade(&self.shared)));
        }
    }
}

impl fmt::Debug for Subscriber {
    /// Omits the URL, because it may contain a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscriber").finish_non_exhaustive()
    }
}

impl SharedSubscriber {
    fn received(&self) -> std::sync::MutexGuard<'_, ReceivedMessages> {
        lock(&self.received)
    }

    fn envelope(&self, number: u64, messages: &[BusMessage]) -> Result<Vec<u8>, StoreError> {
        let envelope = Envelope::encode(&self.node, number, messages)?;
        match &self.sealing {
            Some(sealing) => Ok(sealing.seal(&self.bus_channel, &envelope)?.into_bytes()),
            None => Ok(envelope),
        }
    }

    /// Publishes the messages of several callers.
    async fn publish_batch(self: Arc<Self>, published: OwnedMutexGuard<u64>, batch: Batch) {
        let envelope = match self.envelope(*published + 1, &batch.messages) {
            Ok(envelope) => envelope,
            Err(error) => return batch.end(&Err(error)),
        };
        let count = batch.messages.len();
        let publication = Publication::begin(&self, published, envelope, count);
        let mut publish = cmd("PUBLISH");
        publish
            .arg(publication.channel())
            .arg(publication.envelope());
        let sent = self.connection.send(&publish, Repeat::Harmful).await;
        // The callers get their outcome before the number is unlocked, so none of them waits without messages.
        batch.end(&sent);
        publication.end_with(&sent);
    }

    /// Publishes the number of the last message.
    async fn send_heartbeat(&self) -> Result<(), StoreError> {
        let published = self.published.lock().await;
        let mut publish = cmd("PUBLISH");
        publish
            .arg(&self.bus_channel)
            .arg(self.envelope(*published, &[])?);
        self.heartbeats.begin();
        let sent = self.connection.send(&publish, Repeat::Harmful).await;
        if sent.is_err() {
            self.heartbeats.lose();
        }
        sent
    }

    /// Opens a connection that hears all channels of this node.
    async fn connect(
        &self,
        receive: impl Fn(PushInfo) + Send + Sync + 'static,
    ) -> RedisResult<MultiplexedConnection> {
        let receive = move |push: PushInfo| {
            receive(push);
            Ok::<_, redis::aio::SendError>(())
        };
        let target = &self.target;
        let mut connection = target
            .connect_subscriber(|config| config.set_push_sender(receive))
            .await?;
        connection.subscribe(&self.bus_channel).await?;
        connection.subscribe(&self.wake_channel).await?;
        connection.subscribe(&self.node_channel).await?;
        Ok(connection)
    }

    /// Returns the envelope in a bus message. It is empty if other keys have sealed it.
    fn open(&self, payload: Vec<u8>) -> Vec<u8> {
        match &self.sealing {
            Some(sealing) => {
                let opened = sealing.open(&self.bus_channel, &payload);
                opened.unwrap_or_default()
            }
            None => payload,
        }
    }

    /// Returns `true` if this node has published a bus message.
    fn is_own(&self, payload: &[u8]) -> bool {
        received::sender_of(&self.open(payload.to_vec())).as_deref() == Some(&*self.node)
    }

    fn receive(&self, push: PushInfo) {
        let Some((channel, payload)) = message_of(push) else {
            return;
        };
        if channel == self.wake_channel.as_bytes() {
            self.waiters.wake(&String::from_utf8_lossy(&payload));
        } else if channel == self.node_channel.as_bytes() {
            self.wake_ups.receive(&payload);
        } else {
            // A message that other keys have sealed is reported as lost.
            let opened = self.open(payload);
            if self.received().receive(&opened) {
                self.heartbeats.end();
            }
        }
    }
}

/// Returns the channel and the payload of a published message.
fn message_of(push: PushInfo) -> Option<(Vec<u8>, Vec<u8>)> {
    if push.kind != PushKind::Message {
        return None;
    }
    let mut parts = push.data.into_iter();
    match (parts.next(), parts.next()) {
        (Some(Value::BulkString(channel)), Some(Value::BulkString(payload))) => {
            Some((channel, payload))
        }
        _ => None,
    }
}
