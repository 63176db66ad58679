//! The methods `events/subscribe` and `events/unsubscribe`.

use toolwire_proto::events::{unknown_subscription, unsupported_mode};
use toolwire_types::EmptyResult;
use toolwire_types::events::{DeliveryMode, SubscribeEventsParams, UnsubscribeEventsParams};

use crate::engine::Outcome;
use crate::server::events::lookup::find;
use crate::server::request::Exchange;

/// Handles `events/subscribe`.
pub(super) async fn subscribe(exchange: &Exchange) -> Outcome {
    let params: SubscribeEventsParams = exchange.decode_params()?;
    let snapshot = exchange.snapshot();
    let entry = find(snapshot, &exchange.context, &params.name)?;
    let mode = &params.delivery.mode;
    entry.check_mode(mode, snapshot.events.has_webhooks())?;
    let webhooks = snapshot.events.webhooks.as_ref();
    let webhooks = webhooks.filter(|_| *mode == DeliveryMode::Webhook);
    let webhooks = webhooks.ok_or_else(|| unsupported_mode(entry.name(), mode))?;
    let auth = exchange.context.auth();
    let result = webhooks.subscribe(auth, params).await?;
    snapshot.finish(result, exchange.context.version())
}

/// Handles `events/unsubscribe`.
pub(super) async fn unsubscribe(exchange: &Exchange) -> Outcome {
    let params: UnsubscribeEventsParams = exchange.decode_params()?;
    let snapshot = exchange.snapshot();
    let webhooks = snapshot.events.webhooks.as_ref();
    let webhooks = webhooks.ok_or_else(unknown_subscription)?;
    webhooks
        .unsubscribe(exchange.context.auth(), params)
        .await?;
    snapshot.finish(EmptyResult::default(), exchange.context.version())
}
