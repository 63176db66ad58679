//! The start of a subscription to events, with its options.

use std::fmt;
use std::future::IntoFuture;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use toolwire_proto::events::SeenEvents;
use toolwire_types::RawJson;
use toolwire_types::events::DeliveryMode;

use crate::client::Client;
use crate::client::events::delivery::EventDelivery;
use crate::client::events::mode::{self, Modes};
use crate::client::events::state::EventSubscriptionState;
use crate::client::events::subscription::EventSubscription;
#[cfg(feature = "http-client")]
use crate::client::webhooks::WebhookReceiver;
use crate::engine::BoxFuture;
use crate::error::Error;

/// The number of items that wait for the application. Items have no limit of their own in bytes: what arrives before they
/// are read waits in the queue of the stream, in the result of a poll, or at the server.
const QUEUED_ITEMS: usize = 1;

/// A subscription to events that starts when it is awaited.
#[must_use = "a subscription starts when it is awaited"]
pub struct SubscribeEvents {
    client: Client,
    state: Result<EventSubscriptionState, Error>,
    max_age: Option<Duration>,
    modes: Modes,
}

impl SubscribeEvents {
    pub(super) fn new(client: &Client, name: String, arguments: Result<RawJson, Error>) -> Self {
        let state = arguments.map(|arguments| EventSubscriptionState {
            name,
            arguments,
            cursor: None,
            recent: Vec::new(),
        });
        Self {
            client: client.clone(),
            state,
            max_age: None,
            modes: Modes::default(),
        }
    }

    pub(super) fn resume(client: &Client, state: EventSubscriptionState) -> Self {
        Self {
            client: client.clone(),
            state: Ok(state),
            max_age: None,
            modes: Modes::default(),
        }
    }

    /// Starts after a cursor, for example one of an earlier event. Default: now.
    pub fn with_cursor(mut self, cursor: impl Into<String>) -> Self {
        if let Ok(state) = &mut self.state {
            state.cursor = Some(cursor.into());
        }
        self
    }

    /// Sets the maximum age of events from before the subscription. Default: what the server stores.
    pub fn with_max_age(mut self, age: Duration) -> Self {
        self.max_age = Some(age);
        self
    }

    /// Uses only this way of delivery. Default: the best that the server has for the type. Webhooks are preferred if there
    /// is a [receiver](Self::with_receiver), then streams, then polls.
    pub fn with_mode(mut self, mode: DeliveryMode) -> Self {
        self.modes.only = Some(mode);
        self
    }

    /// Sets the receiver for webhooks, which must be running. An event is accepted when
    /// [`EventSubscription::next`] returns it. To accept it later, use
    /// [`WebhookReceiver::subscribe`].
    #[cfg(feature = "http-client")]
    pub fn with_receiver(mut self, receiver: &WebhookReceiver) -> Self {
        self.modes.receiver = Some(receiver.clone());
        self
    }

    async fn start(self) -> Result<EventSubscription, Error> {
        let state = self.state?;
        self.client.check_events()?;
        let (sender, items) = mpsc::channel(QUEUED_ITEMS);
        let (fail, failure) = oneshot::channel();
        let (open, opened) = oneshot::channel();
        let mut seen = SeenEvents::new();
        for id in &state.recent {
            seen.insert(id);
        }
        let millis = |age: Duration| u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
        let delivery = EventDelivery {
            client: self.client,
            state: state.clone(),
            max_age_ms: self.max_age.map(millis),
            seen,
            items: sender,
            opened: Some(open),
        };
        let task = tokio::spawn(mode::run(delivery, self.modes, fail));
        let mut subscription = EventSubscription::new(state, items, failure, task);
        match opened.await {
            Ok(()) => Ok(subscription),
            Err(_) => Err(subscription.take_failure().unwrap_or_else(Error::closed)),
        }
    }
}

impl IntoFuture for SubscribeEvents {
    type Output = Result<EventSubscription, Error>;
    type IntoFuture = BoxFuture<'static, Result<EventSubscription, Error>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.start())
    }
}

impl fmt::Debug for SubscribeEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SubscribeEvents")
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}
