//! Clients of all nodes that are notified of changes at any node.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::sleep;
use toolwire_tests::http::request::Request;
use toolwire_tests::peer::{call, legacy, modern};

use crate::fleet::events::Events;
use crate::fleet::ledger::Failure;
use crate::fleet::node_client::{LEGACY, NodeClient, in_session};

/// The resource that the tool `bump` changes.
pub(crate) const RESOURCE: &str = "demo://counter";

/// The number of listeners of each era.
const LISTENERS: usize = 3;

/// The longest time until all listeners know a change: longer than any fault.
const CHANGE_TIMEOUT: Duration = Duration::from_secs(30);

/// The delay before a listener connects again.
const RETRY_DELAY: Duration = Duration::from_millis(100);

/// Listeners on all nodes. They end when this is dropped.
#[derive(Debug)]
pub(crate) struct Listeners {
    client: NodeClient,
    states: Vec<Arc<ListenerState>>,
    listening: JoinSet<()>,
}

#[derive(Debug, Default)]
struct ListenerState {
    /// How often the listener had a reason to read the resource again.
    seen: AtomicU64,
    /// Whether its session was lost since the last change.
    is_lost: AtomicBool,
    /// The node of its stream, or why there is none.
    place: Mutex<String>,
}

impl ListenerState {
    fn seen(&self) -> u64 {
        self.seen.load(Ordering::SeqCst)
    }

    fn set_seen(&self) {
        self.seen.fetch_add(1, Ordering::SeqCst);
    }

    fn place(&self) -> MutexGuard<'_, String> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Listeners {
    /// Opens streams of both eras on each node.
    pub(crate) async fn open(client: &NodeClient) -> Result<Self, Failure> {
        let mut listeners = Self {
            client: client.clone(),
            states: Vec::new(),
            listening: JoinSet::new(),
        };
        for number in 0..2 * LISTENERS {
            let state = Arc::<ListenerState>::default();
            listeners.states.push(Arc::clone(&state));
            let mut listener = Listener {
                client: client.clone(),
                era: if number % 2 == 0 {
                    Era::Modern
                } else {
                    Era::Session(None)
                },
            };
            let listening = &mut listeners.listening;
            listening.spawn(async move { listener.keeplistening(&state).await });
        }
        listeners.wait_until_seen(&[0; 2 * LISTENERS]).await?;
        Ok(listeners)
    }

    /// Changes the resource at the next node, and waits until every listener knows it.
    pub(crate) async fn change(&self) -> Result<(), Failure> {
        let node = self.client.next_node();
        let before: Vec<u64> = self.states.iter().map(|state| state.seen()).collect();
        let bump = Request::modern(&call(1, "bump", json!({})));
        let client = self.client.for_requests_without_engine();
        client.result_of(&node, &bump).await?;
        let seen = self.wait_until_seen(&before).await;
        seen.map_err(|failure| {
            let reason = format!("change at {node}: {failure}");
            if self.client.has_node(&node) {
                Failure::Wrong(reason)
            } else {
                // A node responds before it publishes a change. It can be killed in between.
                Failure::Unavailable(reason)
            }
        })?;
        let lost = self.states.iter();
        let lost = lost.filter(|state| state.is_lost.swap(false, Ordering::SeqCst));
        match lost.count() {
            0 => Ok(()),
            count => Err(Failure::Lost(format!("{count} sessions of listeners"))),
        }
    }

    async fn wait_until_seen(&self, before: &[u64]) -> Result<(), Failure> {
        let start = Instant::now();
        loop {
            let listeners = self.states.iter().zip(before);
            let unaware: Vec<String> = listeners
                .filter(|(state, before)| state.seen() <= **before)
                .map(|(state, _)| state.place().clone())
                .collect();
            if unaware.is_empty() {
                return Ok(());
            }
            if start.elapsed() > CHANGE_TIMEOUT {
                return Err(Failure::Wrong(format!("not seen: {unaware:?}")));
            }
            sleep(Duration::from_millis(10)).await;
        }
    }
}

/// A client with an open stream.
struct Listener {
    client: NodeClient,
    era: Era,
}

#[derive(Debug)]
enum Era {
    /// `subscriptions/listen`.
    Modern,
    /// The stream of a session, with its id.
    Session(Option<String>),
}

impl Listener {
    /// Counts the notifications of a stream, and opens it again when it ends. After that a client reads the resource.
    async fn keeplistening(&mut self, state: &ListenerState) {
        loop {
            let node = self.client.next_node();
            let opened = match &mut self.era {
                Era::Modern => listen(&self.client, &node).await,
                Era::Session(session) => read_session(&self.client, &node, session).await,
            };
            match opened {
                Ok(mut events) => {
                    *state.place() = format!("{:?} at {node}", self.era);
                    state.set_seen();
                    while let Ok(Some(event)) = events.next().await {
                        if event.message()["method"] == "notifications/resources/updated" {
                            state.set_seen();
                        }
                    }
                }
                Err(Failure::Lost(_)) => state.is_lost.store(true, Ordering::SeqCst),
                Err(failure) => *state.place() = format!("{:?}: {failure}", self.era),
            }
            sleep(RETRY_DELAY).await;
        }
    }
}

/// Opens a `subscriptions/listen` and waits for its acknowledgement.
async fn listen(client: &NodeClient, node: &str) -> Result<Events, Failure> {
    let filter = json!({"notifications": {"resourceSubscriptions": [RESOURCE]}});
    let listen = modern(1, "subscriptions/listen", filter);
    let client = client.for_requests_without_engine();
    let mut events = client.open(node, &Request::modern(&listen)).await?;
    let acknowledged = events.next().await?;
    acknowledged.ok_or_else(|| Failure::Unavailable("not acknowledged".to_owned()))?;
    Ok(events)
}

/// Opens the stream of a session that is subscribed to the resource. Opens the session first, or if it was lost.
async fn read_session(
    client: &NodeClient,
    node: &str,
    session: &mut Option<String>,
) -> Result<Events, Failure> {
    let id = match session {
        Some(id) => id.clone(),
        None => {
            let id = client.open_session().await?;
            let subscribe = legacy(2, "resources/subscribe", json!({"uri": RESOURCE}));
            let other = client.other_node(node);
            let subscribe = in_session(&id, &subscribe);
            client.result_of(&other, &subscribe).await?;
            session.insert(id).clone()
        }
    };
    let opened = client.open(node, &Request::get(&id, LEGACY)).await;
    if matches!(opened, Err(Failure::Lost(_))) {
        *session = None;
    }
    opened
}
