//! The delivery of one subscription.
//!
//! A task requests pages of events from the source and sends the events one after the other. Nothing is stored between
//! two attempts: after a failure, the page is requested again from the position up to which all events are finished.

use std::sync::{Arc, Weak};
use std::time::Duration;

use toolwire_proto::events::unknown_event;
use toolwire_proto::events::webhook::delivery::{AfterAttempt, AttemptOutcome, MAX_BODY_BYTES};
use toolwire_proto::events::webhook::message::WebhookMessage;
use toolwire_types::ErrorObject;
use toolwire_types::events::EventOccurrence;

use crate::server::events::entry::EventEntry;
use crate::server::events::signal::NewEvents;
use crate::server::events::source::Since;
use crate::server::events::webhooks::registry::UrlSubscriptions;
use crate::server::events::webhooks::shared::{Shared, SignedMessage, random};
use crate::server::events::webhooks::subscription::{SubscriptionState, UrlSubscription};

/// The number of events of a page.
const PAGE_EVENTS: usize = 8;

/// How long a delivery waits after an error of its source.
const SOURCE_RETRY: Duration = Duration::from_secs(30);

/// How often, and at which interval, a subscription of the store waits for its event type to be registered.
const REGISTRATION_ATTEMPTS: u32 = 60;
const REGISTRATION_INTERVAL: Duration = Duration::from_secs(1);

/// Delivers events until the subscription ends, and then removes it. A subscription of the store has no event type yet.
pub(super) async fn deliver(
    shared: Arc<Shared>,
    subscription: Arc<UrlSubscription>,
    event_type: Option<Arc<EventEntry>>,
    registry: Weak<UrlSubscriptions>,
) {
    let delivery = Delivery {
        shared: &shared,
        subscription: &subscription,
        registry: &registry,
    };
    let ended = tokio::select! {
        () = subscription.expired() => None,
        error = delivery.run(event_type) => Some(error),
    };
    if let Some(error) = ended {
        subscription.end();
        tokio::select! {
            () = subscription.expired() => {}
            () = delivery.terminate(error) => {}
        }
    }
    if let Err(error) = shared.write_record(&registry, &subscription.id).await {
        tracing::warn!(%error, "an ended webhook subscription could not be removed from its store");
    }
    // Removing the entry also ends this task, so it is the last step.
    if let Some(registry) = registry.upgrade() {
        registry.remove_this(&subscription);
    }
}

struct Delivery<'a> {
    shared: &'a Shared,
    subscription: &'a UrlSubscription,
    registry: &'a Weak<UrlSubscriptions>,
}

/// What follows a page.
enum AfterPage {
    /// All events are finished. The next ones are awaited.
    Wait,
    /// More events are ready.
    Continue,
    /// An attempt failed. The page is requested again after this time.
    Retry(Duration),
    /// Delivery is suspended until the client repeats its subscription.
    Suspend,
}

/// The reason why a page was not delivered.
enum PageError {
    /// The caller may no longer receive these events. The subscription ends.
    Denied(ErrorObject),
    /// The source failed. It is asked again later.
    Source(ErrorObject),
}

impl Delivery<'_> {
    /// Delivers events. Returns the reason why the subscription ends.
    async fn run(&self, event_type: Option<Arc<EventEntry>>) -> ErrorObject {
        let entry = match event_type {
            Some(entry) => Some(entry),
            None => self.registered_type().await,
        };
        let Some(entry) = entry else {
            return unknown_event(&self.subscription.name);
        };
        let ctx = self.subscription.ctx();
        // The hooks of the source count this subscription until it ends.
        let subscribed = entry.subscribe(&ctx, &self.subscription.arguments).await;
        let _guard = match subscribed {
            Ok(guard) => guard,
            Err(error) => return error,
        };
        tokio::select! {
            () = entry.removed.cancelled() => unknown_event(&self.subscription.name),
            error = self.deliver_pages(&entry) => error,
        }
    }

    /// Waits for the event type. After a restart it may be registered later than the subscription.
    async fn registered_type(&self) -> Option<Arc<EventEntry>> {
        for _ in 0..REGISTRATION_ATTEMPTS {
            let entry = self.shared.event_type(&self.subscription.name);
            if entry.is_some() {
                return entry;
            }
            tokio::time::sleep(REGISTRATION_INTERVAL).await;
        }
        None
    }

    async fn deliver_pages(&self, entry: &EventEntry) -> ErrorObject {
        // It exists before a page is requested, so that no signal is lost.
        let mut new_events = NewEvents::new(entry.source.signal(), entry.source.poll_interval());
        loop {
            match self.deliver_page(entry).await {
                Ok(AfterPage::Continue) => {}
                Ok(AfterPage::Wait) => new_events.wait().await,
                Ok(AfterPage::Retry(delay)) => tokio::time::sleep(delay).await,
                Ok(AfterPage::Suspend) => {
                    let id = &self.subscription.id;
                    tracing::warn!(
                        id,
                        "webhook delivery is suspended, because the receiver fails"
                    );
                    self.subscription.resumed().await;
                }
                Err(PageError::Denied(error)) => return error,
                Err(PageError::Source(error)) => {
                    let id = &self.subscription.id;
                    tracing::warn!(id, error = %error.message, "an event source failed");
                    tokio::time::sleep(SOURCE_RETRY).await;
                }
            }
        }
    }

    async fn deliver_page(&self, entry: &EventEntry) -> Result<AfterPage, PageError> {
        let (ctx, arguments) = (self.subscription.ctx(), &self.subscription.arguments);
        let Ok(_permit) = self.shared.pages.acquire().await else {
            return Ok(AfterPage::Wait);
        };
        let source = &entry.source;
        let authorized = source.authorize(&ctx, arguments).await;
        authorized.map_err(PageError::Denied)?;
        let cursor = self.subscription.with_state(|state| state.cursor.clone());
        let since = Since {
            cursor: cursor.as_deref(),
            not_before: self.subscription.not_before,
            limit: PAGE_EVENTS,
        };
        let page = source.page(&ctx, arguments, since).await;
        let page = page.map_err(PageError::Source)?;
        self.subscription.with_state(|state| {
            if page.truncated && !state.is_truncation_known {
                state.gap_id.get_or_insert_with(new_gap_id);
            }
            if page.events.is_empty() {
                state.advance(page.cursor.clone());
            } else if page.truncated {
                // If an event fails, the same page is requested again, and the gap was reported by then.
                state.is_truncation_known = true;
            }
        });
        if let Some(after) = self.deliver_gap().await {
            return Ok(after);
        }
        for event in page.events {
            if let Some(after) = self.deliver_event(event).await {
                return Ok(after);
            }
        }
        self.subscription
            .with_state(|state| state.advance(page.cursor));
        if cursor != self.subscription.with_state(|state| state.cursor.clone()) {
            self.store().await;
        }
        Ok(if page.has_more {
            AfterPage::Continue
        } else {
            AfterPage::Wait
        })
    }

    /// Delivers a pending gap message. Returns what follows if the page must not continue.
    async fn deliver_gap(&self) -> Option<AfterPage> {
        let (id, cursor) = self.subscription.with_state(|state| {
            let id = state.gap_id.clone();
            id.map(|id| (id, state.cursor.clone()))
        })?;
        let message = WebhookMessage::Gap { cursor };
        let (outcome, after) = self.attempt(id, message.to_body()).await;
        if outcome == AttemptOutcome::Accepted {
            self.subscription.with_state(|state| state.gap_id = None);
        }
        after_page(after)
    }

    /// Delivers an event. Returns what follows if the page must not continue.
    async fn deliver_event(&self, event: EventOccurrence) -> Option<AfterPage> {
        let (id, cursor) = (event.event_id.clone(), event.cursor.clone());
        let is_finished = |state: &mut SubscriptionState| state.finished_ids.contains(&id);
        if self.subscription.with_state(is_finished) {
            return None;
        }
        let message = WebhookMessage::Event(Box::new(event));
        let body = message.to_body();
        if body.len() > MAX_BODY_BYTES {
            let bytes = body.len();
            tracing::warn!(
                id,
                bytes,
                "an event is too large for a webhook and is skipped"
            );
            self.subscription.with_state(|state| {
                state.finish_event(id, cursor);
                state.gap_id.get_or_insert_with(new_gap_id);
            });
            return self.deliver_gap().await;
        }
        // The id of an event does not depend on the random bytes.
        let (outcome, after) = self.attempt(message.id([0; 16]), body).await;
        if let AfterAttempt::Retry(delay) = after {
            return Some(AfterPage::Retry(delay));
        }
        self.subscription.with_state(|state| {
            state.finish_event(id, cursor);
            if matches!(outcome, AttemptOutcome::Failed(_)) {
                state.gap_id.get_or_insert_with(new_gap_id);
            }
        });
        after_page(after)
    }

    /// Tells the receiver that the subscription ended.
    async fn terminate(&self, error: ErrorObject) {
        let message = WebhookMessage::Terminated { error };
        let id = message.id(random().unwrap_or_default());
        let body = message.to_body();
        while let (_, AfterAttempt::Retry(delay)) = self.attempt(id.clone(), body.clone()).await {
            tokio::time::sleep(delay).await;
        }
    }

    /// Sends a message once.
    async fn attempt(&self, id: String, body: Vec<u8>) -> (AttemptOutcome, AfterAttempt) {
        let subscription = self.subscription;
        let wait = self.shared.reserve(&subscription.host);
        if !wait.is_zero() {
            subscription.with_state(|state| state.is_throttled = true);
            tokio::time::sleep(wait).await;
            subscription.with_state(|state| state.is_throttled = false);
        }
        let message = SignedMessage {
            subscription_id: &subscription.id,
            url: &subscription.url,
            id,
            body,
        };
        let response = self.shared.send(message, &subscription.secrets()).await;
        let outcome = match response {
            Ok(response) => AttemptOutcome::of_status(response.status),
            Err(failure) => AttemptOutcome::Failed(failure),
        };
        let now = self.shared.now();
        let after = subscription.with_state(|state| state.health.record(outcome, now));
        (outcome, after)
    }

    /// Stores the position.
    async fn store(&self) {
        let id = &self.subscription.id;
        if let Err(error) = self.shared.write_record(self.registry, id).await {
            tracing::warn!(%error, id, "the position of a webhook subscription could not be stored");
        }
    }
}

fn after_page(after: AfterAttempt) -> Option<AfterPage> {
    match after {
        AfterAttempt::Continue => None,
        AfterAttempt::Retry(delay) => Some(AfterPage::Retry(delay)),
        AfterAttempt::Suspend => Some(AfterPage::Suspend),
    }
}

/// Returns the id of a gap message. Without random bytes, receivers may ignore the second gap.
fn new_gap_id() -> String {
    WebhookMessage::Gap { cursor: None }.id(random().unwrap_or_default())
}
