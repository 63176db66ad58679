//! The connection on which this node hears the others: bus messages, and notifications for waiting readers.
//!
//! The engine delivers published messages at most once, and does not say when it loses some. So every node numbers what
//! it publishes, and publishes a heartbeat with its last number each second. A missing number, and a new connection,
//! mean that messages were lost. A node that does not hear even its own heartbeat replaces the connection.

mod received;
mod waiters;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, IntoConnectionInfo as _, ProtocolVersion, PushInfo, PushKind,
    RedisResult, Value, cmd,
};
use tokio::sync::{Mutex as AsyncMutex, Notify, broadcast, watch};
use tokio::time::{Instant, sleep, timeout};
use toolwire::store::{BusMessage, StoreError};

use crate::connection::{Backoff, Connection, Repeat};
use crate::keys::Keys;
use crate::random_id::random_id;
use crate::{ConnectError, RedisOptions};
pub(crate) use received::WaitingDelivery;
use received::{Envelope, ReceivedMessages};
use waiters::{Waiter, Waiters};

/// The time between two heartbeats.
const HEARTBEAT: Duration = Duration::from_secs(1);

/// The silence after which the connection is replaced.
const LONGEST_SILENCE: Duration = Duration::from_secs(3);

/// The connection on which this node hears the others. Clones share it. It is opened when it is first used.
#[derive(Clone)]
pub(crate) struct Subscriber {
    shared: Arc<SharedSubscriber>,
}

struct SharedSubscriber {
    client: redis::Client,
    config: AsyncConnectionConfig,
    /// For publishing.
    connection: Connection,
    bus_channel: String,
    wake_channel: String,
    /// The id of this node in its messages.
    node: String,
    /// The number of the last published message. Locked while a message is sent, so that messages arrive in order.
    published: AsyncMutex<u64>,
    received: Mutex<ReceivedMessages>,
    waiters: Waiters,
    is_started: AtomicBool,
    is_connected: watch::Sender<bool>,
    connect_timeout: Duration,
}

impl Subscriber {
    pub(crate) fn new(
        url: &str,
        connection: Connection,
        keys: &Keys,
        options: &RedisOptions,
    ) -> Result<Self, ConnectError> {
        let info = url
            .into_connection_info()
            .map_err(ConnectError::invalid_url)?;
        // Messages arrive on the connection of the commands only in this version of the protocol.
        let settings = info.redis_settings().clone();
        let info = info.set_redis_settings(settings.set_protocol(ProtocolVersion::RESP3));
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(options.connect_timeout))
            .set_response_timeout(Some(options.response_timeout));
        Ok(Self {
            shared: Arc::new(SharedSubscriber {
                client: redis::Client::open(info).map_err(ConnectError::invalid_url)?,
                config,
                connection,
                bus_channel: keys.bus_channel(),
                wake_channel: keys.wake_channel(),
                node: random_id().map_err(ConnectError::unavailable)?,
                published: AsyncMutex::new(0),
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
        self.shared.send(*published, messages).await
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

    /// Starts to wait for a notification about a stream.
    pub(crate) fn wait_for(&self, stream: &str) -> Waiter {
        self.start();
        self.shared.waiters.add(stream)
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
        let envelope = Envelope::encode(&self.node, number, messages)?;
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

    /// Opens a connection that hears both channels.
    async fn connect(self: &Arc<Self>, ended: &Arc<Notify>) -> RedisResult<MultiplexedConnection> {
        let (shared, ended) = (Arc::downgrade(self), Arc::clone(ended));
        let config = self.config.clone().set_push_sender(move |push: PushInfo| {
            if push.kind == PushKind::Disconnection {
                ended.notify_one();
            } else if let Some(shared) = shared.upgrade() {
                shared.receive(push);
            }
            Ok::<_, redis::aio::SendError>(())
        });
        let client = &self.client;
        let mut connection = client
            .get_multiplexed_async_connection_with_config(&config)
            .await?;
        connection.subscribe(&self.bus_channel).await?;
        connection.subscribe(&self.wake_channel).await?;
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
        if channel == self.wake_channel.as_bytes() {
            self.waiters.wake(&String::from_utf8_lossy(&payload));
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
