//! The event sources of these tests, and their messages.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::Notify;
use toolwire::events::{
    DeliveryMode, Emitter, Event, EventContext, EventPage, EventSignal, EventSource, NoArguments,
    Since, forbidden,
};
use toolwire::{ErrorObject, JsonSchema, Server};
use toolwire_tests::peer::{Peer, modern, server};

pub(crate) const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Filter {
    /// The lowest severity.
    #[serde(default)]
    #[schemars(range(max = 5))]
    pub(crate) severity: u8,
}

/// An incident was created.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Incident {
    pub(crate) severity: u8,
}

pub(crate) type Incidents = Emitter<Filter, Incident>;

pub(crate) fn incidents() -> Incidents {
    Emitter::new()
        .matching(|filter: &Filter, incident: &Incident| incident.severity >= filter.severity)
}

/// Returns a server with incidents, and their emitter.
pub(crate) fn desk() -> (Server, Incidents) {
    let incidents = incidents();
    let server = server().event("incident.created", incidents.clone());
    (server, incidents)
}

pub(crate) fn emit(incidents: &Incidents, id: &str, severity: u8) {
    let event = Event::new(Incident { severity }).with_id(id);
    incidents.emit(event).unwrap();
}

pub(crate) fn poll(id: i64, params: Value) -> Value {
    modern(id, "events/poll", with_name(params))
}

pub(crate) fn stream(id: impl Into<Value>, params: Value) -> Value {
    modern(id, "events/stream", with_name(params))
}

fn with_name(mut params: Value) -> Value {
    if params.get("name").is_none() {
        params["name"] = json!("incident.created");
    }
    params
}

/// Returns the parameters of the next message, which must be this notification of the stream with this id.
pub(crate) async fn next(peer: &mut Peer, id: &Value, notification: &str) -> Value {
    let mut message = peer.receive().await;
    let method = format!("notifications/events/{notification}");
    assert_eq!(message["method"], method, "{message}");
    let params = message["params"].take();
    assert_eq!(params["_meta"][SUBSCRIPTION], *id, "{params}");
    params
}

/// A source that a test controls.
#[derive(Debug, Clone, Default)]
pub(crate) struct Controlled {
    pub(crate) log: Arc<Mutex<Vec<String>>>,
    pub(crate) logged: Arc<Notify>,
    pub(crate) fails: Arc<AtomicBool>,
    pub(crate) is_forbidden: Arc<AtomicBool>,
    pub(crate) signal: EventSignal,
    pub(crate) only_polls: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Topic {
    pub(crate) topic: String,
}

impl Controlled {
    fn record(&self, what: &str, topic: &Topic) {
        let mut log = self.log.lock().unwrap();
        log.push(format!("{what} {}", topic.topic));
        self.logged.notify_one();
    }

    pub(crate) fn take_log(&self) -> Vec<String> {
        std::mem::take(&mut self.log.lock().unwrap())
    }
}

impl EventSource for Controlled {
    type Arguments = Topic;
    type Payload = u32;

    const TRACKS_SUBSCRIPTIONS: bool = true;

    /// Each page has one event, whose number is the cursor.
    async fn after(
        &self,
        _: &EventContext,
        _: &Topic,
        since: Since<'_>,
    ) -> Result<EventPage<u32>, ErrorObject> {
        if self.fails.load(Ordering::Relaxed) {
            return Err(ErrorObject::internal("the database is away"));
        }
        let Some(cursor) = since.cursor() else {
            return Ok(EventPage::empty("0"));
        };
        let number: u32 = cursor.parse().unwrap_or_default();
        let next = (number + 1).to_string();
        Ok(EventPage::new([Event::new(number + 1)], next))
    }

    async fn authorize(&self, _: &EventContext, _: &Topic) -> Result<(), ErrorObject> {
        if self.is_forbidden.load(Ordering::Relaxed) {
            return Err(forbidden("the topic is secret now"));
        }
        Ok(())
    }

    fn delivery(&self) -> Vec<DeliveryMode> {
        if self.only_polls {
            vec![DeliveryMode::Poll]
        } else {
            vec![DeliveryMode::Poll, DeliveryMode::Push]
        }
    }

    fn signal(&self) -> Option<EventSignal> {
        Some(self.signal.clone())
    }

    async fn subscribed(&self, _: &EventContext, topic: &Topic) -> Result<(), ErrorObject> {
        self.record("subscribed", topic);
        Ok(())
    }

    async fn unsubscribed(&self, _: &EventContext, topic: &Topic) {
        self.record("unsubscribed", topic);
    }
}

/// A source that never returns its second page.
#[derive(Debug)]
pub(crate) struct Stuck;

impl EventSource for Stuck {
    type Arguments = NoArguments;
    type Payload = u32;

    async fn after(
        &self,
        _: &EventContext,
        _: &NoArguments,
        since: Since<'_>,
    ) -> Result<EventPage<u32>, ErrorObject> {
        match since.cursor() {
            None => Ok(EventPage::empty("start")),
            Some(_) => std::future::pending().await,
        }
    }
}
