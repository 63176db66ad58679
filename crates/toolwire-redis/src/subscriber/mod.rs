//! The connection on which this node hears the others: bus messages, and notifications for waiting readers.
//!
//! The engine delivers published messages at most once, and does not say when it loses some. So every node numbers what
//! it publishes, and publishes a heartbeat with its last number each second. A missing number, and a new connection,
//! mean that messages were lost. A node that does not hear even its own heartbeat replaces the connection.

mod received;
mod waiters;

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{PushInfo, PushKind, RedisResult, Value, cmd};
use tokio::sync::{Mutex as AsyncMutex, Notify, broadcast, watch};
use tokio::time::{Instant, sleep, timeout};
use toolwire::store::{BusMessage, StoreError};

use crate::connection::{Backoff, Connection, Repeat, Target};
use crate::keys::Keys;
use crate::random_id::random_id;
use crate::sealing::Sealing;
use crate::{ConnectError, RedisOptions};
pub(crate) use received::{BusCounters, WaitingDelivery};
use received::{Envelope, ReceivedMessages};
pub(crate) use waiters::Waiter;
use waiters::Waiters;

/// The time between two heartbeats.
const HEARTBEAT: Duration = Duration::from_secs(1);

/// The silence after which the connection is replaced.
const LONGEST_SILENCE: Duration = Duration::from_secs(3);

/// The time between two looks whether a message has arrived.
const LOOK_INTERVAL: Duration = Duration::from_millis(10);

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
    published: AsyncMutex<u64>,
    /// The number of messages that were published.
    sent: AtomicU64,
    received: Mutex<ReceivedMessages>,
    waiters: Waiters,
    is_started: AtomicBool,
    is_connected: watch::Sender<bool>,
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
                node,
                published: AsyncMutex::new(0),
                sent: AtomicU64::new(0),
                received: Mutex::default(),
                waiters: Waiters::default(),
                is_started: AtomicBool::new(false),
                is_connected: watch::Sender::new(false),
                connect_timeout: options.connect_timeout,
            }),
        })
    }

    /// Publishes messages to all nodes.
    pub(crate) async fn publish(&self, messages: &[BusMessage]) -> Result<(), StoreError> {
        let mut published = self.shared.published.lock().await;
        // A number is used once, also if it is unknown whether its message was sent.
        *published += 1;
        self.shared.send(*published, messages).await?;
        let count = u64::try_from(messages.len()).unwrap_or(u64::MAX);
        self.shared.sent.fetch_add(count, Ordering::Relaxed);
        Ok(())
    }

    /// Returns how many messages were sent, received and lost.
    pub(crate) fn counters(&self) -> BusCounters {
        BusCounters {
            sent: self.shared.sent.load(Ordering::Relaxed),
            ..self.shared.received().counters()
        }
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
        let start = Instant::now();
        let connected = self.shared.connect(&Arc::new(Notify::new())).await;
        let _connection = connected.map_err(StoreError::unavailable)?;
        let published = *self.shared.published.lock().await;
        self.shared.send(published, &[]).await?;
        let heard = async {
            while self.shared.received().last_heard() < Some(start) {
                sleep(LOOK_INTERVAL).await;
            }
        };
        timeout(LONGEST_SILENCE, heard).await.map_err(|_| {
            StoreError::unavailable("a published message did not arrive at its own node")
        })
    }

    /// Starts to wait for a notification about a key: a stream, or the mailbox of this node.
    pub(crate) fn wait_for(&self, key: &str) -> Waiter {
        self.start();
        self.shared.waiters.add(key)
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
        self.received.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn send(&self, number: u64, messages: &[BusMessage]) -> Result<(), StoreError> {
        let mut envelope = Envelope::encode(&self.node, number, messages)?;
        if let Some(sealing) = &self.sealing {
            envelope = sealing.seal(&self.bus_channel, &envelope)?.into_bytes();
        }
        let mut publish = cmd("PUBLISH");
        publish.arg(&self.bus_channel).arg(envelope);
        self.connection.send(&publish, Repeat::Harmful).await
    }

    /// Publishes the number of the last message.
    async fn send_heartbeat(&self) {
        let published = self.published.lock().await;
        if let Err(error) = self.send(*published, &[]).await {
            tracing::debug!(%error, "no heartbeat was published");
        }
    }

    /// Opens a connection that hears all channels of this node.
    async fn connect(self: &Arc<Self>, ended: &Arc<Notify>) -> RedisResult<MultiplexedConnection> {
        let (shared, ended) = (Arc::downgrade(self), Arc::clone(ended));
        let receive = move |push: PushInfo| {
            if push.kind == PushKind::Disconnection {
                ended.notify_one();
            } else if let Some(shared) = shared.upgrade() {
                shared.receive(push);
            }
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

    fn receive(&self, push: PushInfo) {
        if push.kind != PushKind::Message {
            return;
        }
        let mut parts = push.data.into_iter();
        let (Some(Value::BulkString(channel)), Some(Value::BulkString(payload))) =
            (parts.next(), parts.next())
        else {
            return;
        };
        if channel != self.bus_channel.as_bytes() {
            self.waiters.wake(&String::from_utf8_lossy(&payload));
        } else if let Some(sealing) = &self.sealing {
            // A message that other keys have sealed is reported as lost.
            let opened = sealing.open(&self.bus_channel, &payload);
            self.received().receive(&opened.unwrap_or_default());
        } else {
            self.received().receive(&payload);
        }
    }
}

/// Keeps a connection open until nothing uses the subscriber any more.
async fn stay_connected(shared: Weak<SharedSubscriber>) {
    let mut backoff = Backoff::new();
    loop {
        let Some(current) = shared.upgrade() else {
            return;
        };
        let ended = Arc::new(Notify::new());
        match current.connect(&ended).await {
            Ok(connection) => {
                backoff = Backoff::new();
                // Messages may have been lost since the last connection.
                current.received().lose();
                current.waiters.wake_all();
                current.is_connected.send_replace(true);
                drop(current);
                hear(&shared, &ended).await;
                drop(connection);
                if let Some(current) = shared.upgrade() {
                    current.is_connected.send_replace(false);
                    current.received().lose();
                    tracing::warn!("the connection for messages of other nodes was lost");
                }
            }
            Err(error) => {
                tracing::debug!(%error, "other nodes cannot be heard");
                drop(current);
            }
        }
        sleep(backoff.next_pause()).await;
    }
}

/// Publishes heartbeats until the connection ends, or until they are not heard any more.
async fn hear(shared: &Weak<SharedSubscriber>, ended: &Notify) {
    let start = Instant::now();
    loop {
        let Some(current) = shared.upgrade() else {
            return;
        };
        current.send_heartbeat().await;
        let last = current.received().last_heard().unwrap_or(start).max(start);
        drop(current);
        if last.elapsed() > LONGEST_SILENCE {
            return;
        }
        if timeout(HEARTBEAT, ended.notified()).await.is_ok() {
            return;
        }
    }
}
