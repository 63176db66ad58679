//! The webhook subscriptions of a server: subscribe, refresh, unsubscribe, and the start after a restart.

use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::OnceCell;
use toolwire_proto::events::webhook::secret::WebhookSecret;
use toolwire_proto::events::webhook::subscription_id;
use toolwire_proto::events::{forbidden, unknown_event, unknown_subscription};
use toolwire_proto::web_url::{InvalidUrl, InvalidUrlKind, WebUrl};
use toolwire_types::events::{
    SubscribeEventsParams, SubscribeEventsResult, UnsubscribeEventsParams,
};
use toolwire_types::{ErrorObject, RawJson};

use crate::engine::{BoxFuture, TokenInfo};
use crate::server::events::context::EventContext;
use crate::server::events::entry::EventEntry;
use crate::server::events::source::{Since, earliest};
use crate::server::events::webhook_service::WebhookService;
use crate::server::events::webhooks::delivery::deliver;
use crate::server::events::webhooks::options::WebhookOptions;
use crate::server::events::webhooks::registry::{RegistryLimits, UrlSubscriptions};
use crate::server::events::webhooks::sender::WebhookSender;
use crate::server::events::webhooks::shared::Shared;
use crate::server::events::webhooks::subscription::{
    Expiry, SubscriptionKey, SubscriptionStart, UrlSubscription,
};
use crate::server::events::webhooks::verification::Verifications;
use crate::store::{StoreError, SubscriptionRecord};

/// The webhook subscriptions of a server. Dropping it stops all deliveries.
#[derive(Debug)]
pub(super) struct WebhookRuntime {
    shared: Arc<Shared>,
    registry: Arc<UrlSubscriptions>,
    verifications: Verifications,
    /// Set when the subscriptions of the store are running.
    restored: OnceCell<()>,
}

impl WebhookRuntime {
    pub(super) fn new(
        options: WebhookOptions,
        sender: Arc<dyn WebhookSender>,
        event_type: impl Fn(&str) -> Option<Arc<EventEntry>> + Send + Sync + 'static,
    ) -> Self {
        Self {
            shared: Arc::new(Shared::new(options, sender, event_type)),
            registry: Arc::default(),
            verifications: Verifications::default(),
            restored: OnceCell::new(),
        }
    }

    /// Continues the subscriptions of a durable store, if there is a runtime. Otherwise the first request does it.
    pub(super) fn start(self: &Arc<Self>) {
        if self.shared.options.store.is_durable()
            && let Ok(runtime) = Handle::try_current()
        {
            let webhooks = Arc::downgrade(self);
            runtime.spawn(async move {
                if let Some(webhooks) = webhooks.upgrade()
                    && let Err(error) = webhooks.restore().await
                {
                    tracing::warn!(%error, "stored webhook subscriptions could not be read");
                }
            });
        }
    }

    async fn add_or_repeat(
        &self,
        auth: &TokenInfo,
        params: SubscribeEventsParams,
    ) -> Result<SubscribeEventsResult, ErrorObject> {
        let entry = self.shared.event_type(&params.name);
        let entry = entry.ok_or_else(|| unknown_event(&params.name))?;
        let arguments = params.arguments.unwrap_or_else(RawJson::empty_object);
        let ctx = EventContext::new(auth.clone());
        let key = self.key(ctx, &params.delivery.url, &params.name, arguments)?;
        entry.admit(&key.ctx, &key.arguments).await?;
        let secret = WebhookSecret::parse(&params.delivery.secret)
            .map_err(|invalid| ErrorObject::invalid_params(invalid.to_string()))?;
        self.restore().await.map_err(|error| store_failed(&error))?;
        let ttl = self.shared.options.ttl.grant(params.ttl_ms);
        let expiry = ttl.map(Expiry::after);
        if let Some(existing) = self.registry.get(&key.id) {
            let refreshed = self.refresh(&existing, key.ctx.clone(), secret.clone(), expiry);
            if let Some(result) = refreshed.await? {
                return Ok(result);
            }
        }
        self.registry
            .check_limits(key.ctx.principal(), self.limits())?;
        let not_before = earliest(params.cursor.as_deref(), params.max_age_ms);
        let since = Since {
            cursor: params.cursor.as_deref(),
            not_before,
            limit: 1,
        };
        // Events that happen during the verification are delivered, too.
        let first = entry.source.page(&key.ctx, &key.arguments, since).await?;
        self.verifications
            .verify(&self.shared, &key, &secret)
            .await?;
        // Nothing is delivered yet, so the position is that of the client if there are events after it.
        let before_events = params.cursor.filter(|_| !first.events.is_empty());
        let start = SubscriptionStart {
            secret: secret.clone(),
            expiry,
            not_before,
            // A position after the first page is also after its gap.
            is_truncation_known: first.truncated && before_events.is_some(),
            cursor: Some(before_events.unwrap_or(first.cursor)),
        };
        let ctx = key.ctx.clone();
        let subscription = Arc::new(UrlSubscription::new(key, start));
        let mut result = self.result(&subscription);
        result.truncated = first.truncated;
        // Another request with the same key may have been faster.
        while let Some(existing) = self.add(&subscription, Some(Arc::clone(&entry)))? {
            let refreshed = self.refresh(&existing, ctx.clone(), secret.clone(), expiry);
            if let Some(result) = refreshed.await? {
                return Ok(result);
            }
        }
        if let Err(error) = self.write_record(&subscription.id).await {
            self.registry.remove_this(&subscription);
            return Err(error);
        }
        Ok(result)
    }

    async fn end(
        &self,
        auth: &TokenInfo,
        params: UnsubscribeEventsParams,
    ) -> Result<(), ErrorObject> {
        let arguments = params.arguments.unwrap_or_else(RawJson::empty_object);
        let ctx = EventContext::new(auth.clone());
        let key = self.key(ctx, &params.delivery.url, &params.name, arguments)?;
        self.restore().await.map_err(|error| store_failed(&error))?;
        if !self.registry.remove(&key.id) {
            return Err(unknown_subscription());
        }
        self.write_record(&key.id).await
    }

    /// Returns the key of a subscription.
    fn key(
        &self,
        ctx: EventContext,
        url: &str,
        name: &str,
        arguments: RawJson,
    ) -> Result<SubscriptionKey, ErrorObject> {
        let Some(principal) = ctx.principal().as_str() else {
            return Err(forbidden(
                "webhooks need an authenticated caller; send an access token",
            ));
        };
        let parsed = self.check_url(url)?;
        Ok(SubscriptionKey {
            id: subscription_id(principal, url, name, &arguments),
            host: parsed.host().to_ascii_lowercase(),
            url: url.to_owned(),
            name: name.to_owned(),
            arguments,
            ctx,
        })
    }

    fn check_url<'a>(&self, text: &'a str) -> Result<WebUrl<'a>, ErrorObject> {
        let url = WebUrl::parse(text).and_then(|url| {
            let permits_plain = self.shared.sender.permits_plain_loopback() && url.is_loopback();
            if url.has_fragment {
                Err(InvalidUrl::new(text, InvalidUrlKind::HasFragment))
            } else if url.is_secure || permits_plain {
                Ok(url)
            } else {
                Err(InvalidUrl::new(text, InvalidUrlKind::NotHttps))
            }
        });
        url.map_err(|invalid| ErrorObject::invalid_params(format!("delivery.url: {invalid}")))
    }

    /// Repeats a subscription: replaces its token, its secret and its expiry, and continues its delivery. Removes one that
    /// has ended and returns `None`, so that a new one can replace it.
    async fn refresh(
        &self,
        subscription: &Arc<UrlSubscription>,
        ctx: EventContext,
        secret: WebhookSecret,
        expiry: Option<Expiry>,
    ) -> Result<Option<SubscribeEventsResult>, ErrorObject> {
        let is_refreshed = subscription.refresh(ctx, secret, expiry);
        if !is_refreshed {
            self.registry.remove_this(subscription);
        }
        self.write_record(&subscription.id).await?;
        if !is_refreshed {
            return Ok(None);
        }
        let mut result = self.result(subscription);
        result.truncated = subscription.with_state(|state| state.gap_id.is_some());
        result.delivery_status = Some(subscription.status(self.shared.now()));
        Ok(Some(result))
    }

    /// Writes the subscription with this id to the store, or removes it there if it has ended.
    async fn write_record(&self, id: &str) -> Result<(), ErrorObject> {
        let registry = Arc::downgrade(&self.registry);
        let written = self.shared.write_record(&registry, id).await;
        written.map_err(|error| store_failed(&error))
    }

    fn result(&self, subscription: &UrlSubscription) -> SubscribeEventsResult {
        let mut result = SubscribeEventsResult::new(&subscription.id);
        result.refresh_before = subscription.refresh_before();
        result.cursor = subscription.with_state(|state| state.cursor.clone());
        result
    }

    /// Starts the delivery of a subscription. Returns the one that exists already, if any.
    fn add(
        &self,
        subscription: &Arc<UrlSubscription>,
        event_type: Option<Arc<EventEntry>>,
    ) -> Result<Option<Arc<UrlSubscription>>, ErrorObject> {
        self.registry.add(subscription, self.limits(), || {
            let delivery = deliver(
                Arc::clone(&self.shared),
                Arc::clone(subscription),
                event_type,
                Arc::downgrade(&self.registry),
            );
            tokio::spawn(delivery).abort_handle()
        })
    }

    fn limits(&self) -> RegistryLimits {
        RegistryLimits {
            total: self.shared.options.max_subscriptions,
            per_principal: self.shared.options.max_subscriptions_per_principal,
        }
    }

    /// Continues the subscriptions of a durable store, once.
    async fn restore(&self) -> Result<(), StoreError> {
        if !self.shared.options.store.is_durable() {
            return Ok(());
        }
        let restore = async || {
            for record in self.shared.options.store.load().await? {
                let id = record.id.clone();
                let restored = self.restore_one(record);
                if let Err(error) = restored {
                    tracing::warn!(id, error = %error.message, "a stored webhook subscription is not continued");
                }
            }
            Ok(())
        };
        self.restored.get_or_try_init(restore).await.copied()
    }

    fn restore_one(&self, record: SubscriptionRecord) -> Result<(), ErrorObject> {
        let arguments = record.arguments.unwrap_or_else(RawJson::empty_object);
        let ctx = EventContext::new(TokenInfo::clone(&record.caller));
        let key = self.key(ctx, &record.url, &record.name, arguments)?;
        let secret = WebhookSecret::parse(&record.secret)
            .map_err(|invalid| ErrorObject::invalid_params(invalid.to_string()))?;
        let start = SubscriptionStart {
            secret,
            expiry: record.expires_at_ms.map(Expiry::at_epoch_ms),
            cursor: record.cursor,
            not_before: None,
            is_truncation_known: false,
        };
        let subscription = Arc::new(UrlSubscription::new(key, start));
        self.add(&subscription, None).map(drop)
    }
}

impl WebhookService for WebhookRuntime {
    fn subscribe<'a>(
        &'a self,
        auth: &'a TokenInfo,
        params: SubscribeEventsParams,
    ) -> BoxFuture<'a, Result<SubscribeEventsResult, ErrorObject>> {
        Box::pin(self.add_or_repeat(auth, params))
    }

    fn unsubscribe<'a>(
        &'a self,
        auth: &'a TokenInfo,
        params: UnsubscribeEventsParams,
    ) -> BoxFuture<'a, Result<(), ErrorObject>> {
        Box::pin(self.end(auth, params))
    }
}

fn store_failed(error: &StoreError) -> ErrorObject {
    tracing::error!(%error, "the store of webhook subscriptions failed");
    ErrorObject::internal("the store of webhook subscriptions is unavailable; try again later")
}
