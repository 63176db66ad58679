//! One subscription, and the state of its delivery.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use tokio::sync::watch;
use tokio::time::Instant;
use toolwire_proto::events::webhook::delivery::DeliveryHealth;
use toolwire_proto::events::webhook::secret::WebhookSecret;
use toolwire_proto::task_rules::time_text;
use toolwire_types::RawJson;
use toolwire_types::events::DeliveryStatus;

use crate::engine::{Principal, deadline_after, since_epoch};
use crate::server::events::context::EventContext;
use crate::store::SubscriptionRecord;
use crate::sync::lock;

/// How long deliveries are also signed with the secret that a client replaced. Longer than the attempts of one message.
const SECRET_OVERLAP: Duration = Duration::from_secs(15 * 60);

/// A subscription: its key, and the state of its delivery.
#[derive(Debug)]
pub(super) struct UrlSubscription {
    pub(super) id: String,
    pub(super) principal: Principal,
    pub(super) url: String,
    /// The host of the URL, for the rate limit.
    pub(super) host: String,
    pub(super) name: String,
    pub(super) arguments: RawJson,
    /// The time before which no event is delivered.
    pub(super) not_before: Option<SystemTime>,
    state: Mutex<SubscriptionState>,
    refreshed: watch::Sender<()>,
}

#[derive(Debug)]
pub(super) struct SubscriptionState {
    /// The caller with its last token.
    ctx: EventContext,
    secret: WebhookSecret,
    /// The secret before, and until when it signs.
    previous_secret: Option<(WebhookSecret, Instant)>,
    expiry: Option<Expiry>,
    /// Whether the subscription has ended. It is removed as soon as its receiver knows that.
    is_ended: bool,
    /// The position up to which every event was accepted or given up.
    pub(super) cursor: Option<String>,
    /// The events after the cursor that were accepted or given up. Not every event has a cursor of its own.
    pub(super) finished_ids: HashSet<String>,
    /// The id of the gap message that is not accepted yet.
    pub(super) gap_id: Option<String>,
    /// Whether the client knows already that the page after the cursor is truncated.
    pub(super) is_truncation_known: bool,
    pub(super) is_throttled: bool,
    pub(super) health: DeliveryHealth,
}

/// When a subscription expires, on the clock of the runtime and as a date.
#[derive(Debug, Clone, Copy)]
pub(super) struct Expiry {
    at: Instant,
    epoch_ms: u64,
}

impl Expiry {
    pub(super) fn after(ttl: Duration) -> Self {
        let epoch = since_epoch().saturating_add(ttl);
        Self {
            at: deadline_after(Instant::now(), ttl),
            epoch_ms: u64::try_from(epoch.as_millis()).unwrap_or(u64::MAX),
        }
    }

    /// Returns the expiry at a stored date.
    pub(super) fn at_epoch_ms(epoch_ms: u64) -> Self {
        let left = Duration::from_millis(epoch_ms).saturating_sub(since_epoch());
        Self {
            at: deadline_after(Instant::now(), left),
            epoch_ms,
        }
    }
}

impl UrlSubscription {
    pub(super) fn new(key: SubscriptionKey, start: SubscriptionStart) -> Self {
        Self {
            id: key.id,
            principal: key.ctx.principal().clone(),
            url: key.url,
            host: key.host,
            name: key.name,
            arguments: key.arguments,
            not_before: start.not_before,
            state: Mutex::new(SubscriptionState {
                ctx: key.ctx,
                secret: start.secret,
                previous_secret: None,
                expiry: start.expiry,
                is_ended: false,
                cursor: start.cursor,
                finished_ids: HashSet::new(),
                gap_id: None,
                is_truncation_known: start.is_truncation_known,
                is_throttled: false,
                health: DeliveryHealth::default(),
            }),
            refreshed: watch::Sender::new(()),
        }
    }

    /// Runs a function on the state.
    pub(super) fn with_state<T>(&self, change: impl FnOnce(&mut SubscriptionState) -> T) -> T {
        change(&mut lock(&self.state))
    }

    /// Replaces the token, the secret and the expiry, and ends a suspension. Returns `false` if the subscription has ended.
    pub(super) fn refresh(
        &self,
        ctx: EventContext,
        secret: WebhookSecret,
        expiry: Option<Expiry>,
    ) -> bool {
        let is_refreshed = self.with_state(|state| {
            if state.is_ended {
                return false;
            }
            state.ctx = ctx;
            if state.secret != secret {
                let replaced = std::mem::replace(&mut state.secret, secret);
                state.previous_secret = Some((replaced, Instant::now() + SECRET_OVERLAP));
            }
            state.expiry = expiry;
            state.health.reactivate();
            true
        });
        self.refreshed.send_replace(());
        is_refreshed
    }

    /// Ends the subscription. It cannot be refreshed any more.
    pub(super) fn end(&self) {
        self.with_state(|state| state.is_ended = true);
    }

    /// Returns the caller with its last token.
    pub(super) fn ctx(&self) -> EventContext {
        self.with_state(|state| state.ctx.clone())
    }

    /// Waits until delivery is not suspended.
    pub(super) async fn resumed(&self) {
        let mut refreshes = self.refreshed.subscribe();
        while self.with_state(|state| state.health.is_suspended()) {
            if refreshes.changed().await.is_err() {
                return;
            }
        }
    }

    /// Returns the secrets that sign a delivery, the current one first.
    pub(super) fn secrets(&self) -> Vec<WebhookSecret> {
        self.with_state(|state| {
            let now = Instant::now();
            state.previous_secret.take_if(|(_, until)| *until <= now);
            let previous = state.previous_secret.iter().map(|(secret, _)| secret);
            std::iter::once(&state.secret)
                .chain(previous)
                .cloned()
                .collect()
        })
    }

    /// Waits until the subscription has expired, which ends it.
    pub(super) async fn expired(&self) {
        let mut refreshes = self.refreshed.subscribe();
        loop {
            let (expiry, is_expired) = self.with_state(|state| {
                let is_past = |expiry: Expiry| expiry.at <= Instant::now();
                let is_expired = state.expiry.is_some_and(is_past);
                state.is_ended |= is_expired;
                (state.expiry, is_expired)
            });
            match expiry {
                _ if is_expired => return,
                Some(expiry) => {
                    tokio::select! {
                        () = tokio::time::sleep_until(expiry.at) => {}
                        _ = refreshes.changed() => {}
                    }
                }
                None => drop(refreshes.changed().await),
            }
        }
    }

    /// Returns when the subscription expires, as an RFC 3339 date and time.
    pub(super) fn refresh_before(&self) -> Option<String> {
        let expiry = self.with_state(|state| state.expiry);
        expiry.map(|expiry| time_text(expiry.epoch_ms))
    }

    /// Returns the state of the delivery for the client. `now` is the time of the health.
    pub(super) fn status(&self, now: Duration) -> DeliveryStatus {
        let date = |time: Duration| {
            let ago = now.saturating_sub(time);
            let date = since_epoch().saturating_sub(ago);
            time_text(u64::try_from(date.as_millis()).unwrap_or(u64::MAX))
        };
        self.with_state(|state| {
            let health = &state.health;
            let mut status = DeliveryStatus::new(!health.is_suspended());
            status.last_delivery_at = health.last_delivery().map(date);
            status.last_error = health.last_failure();
            status.failed_since = health.failed_since().map(date);
            status.throttled = state.is_throttled.then_some(true);
            status.retry_after_ms = health.retry_at().map(|at| {
                let wait = at.saturating_sub(now).as_millis();
                u64::try_from(wait).unwrap_or(u64::MAX)
            });
            status
        })
    }

    /// Returns the record for the store, or `None` after the end of the subscription.
    pub(super) fn stored_record(&self) -> Option<SubscriptionRecord> {
        self.with_state(|state| {
            (!state.is_ended).then(|| SubscriptionRecord {
                id: self.id.clone(),
                caller: Arc::new(state.ctx.auth().clone()),
                url: self.url.clone(),
                name: self.name.clone(),
                arguments: Some(self.arguments.clone()),
                secret: state.secret.expose(),
                cursor: state.cursor.clone(),
                expires_at_ms: state.expiry.map(|expiry| expiry.epoch_ms),
            })
        })
    }
}

/// What identifies a subscription. Nothing of it changes.
#[derive(Debug, Clone)]
pub(super) struct SubscriptionKey {
    pub(super) id: String,
    pub(super) ctx: EventContext,
    pub(super) url: String,
    pub(super) host: String,
    pub(super) name: String,
    pub(super) arguments: RawJson,
}

/// The state in which a subscription starts.
#[derive(Debug)]
pub(super) struct SubscriptionStart {
    pub(super) secret: WebhookSecret,
    pub(super) expiry: Option<Expiry>,
    pub(super) cursor: Option<String>,
    pub(super) not_before: Option<SystemTime>,
    /// Whether the response to the client says that events before the next page were skipped.
    pub(super) is_truncation_known: bool,
}

impl SubscriptionState {
    /// Records that an event was accepted or given up.
    pub(super) fn finish_event(&mut self, id: String, cursor: Option<String>) {
        match cursor {
            Some(cursor) => self.advance(cursor),
            None => drop(self.finished_ids.insert(id)),
        }
    }

    /// Moves the position. Everything up to it was accepted or given up.
    pub(super) fn advance(&mut self, cursor: String) {
        self.cursor = Some(cursor);
        self.finished_ids.clear();
        self.is_truncation_known = false;
    }
}
