//! Delivery to the receiver of the application.

use crate::client::events::delivery::EventDelivery;
use crate::client::events::item::EventItem;
use crate::client::webhooks::{WebhookItem, WebhookReceiver};
use crate::error::Error;

/// Subscribes with a receiver, and forwards what it receives until the subscription ends. Returns the reason.
pub(super) async fn run(delivery: &mut EventDelivery, receiver: &WebhookReceiver) -> Error {
    let (client, max_age_ms) = (delivery.client.clone(), delivery.max_age_ms);
    let subscribed = receiver.subscribe_from(&client, &delivery.state, max_age_ms);
    let mut subscription = match subscribed.await {
        Ok(subscription) => subscription,
        Err(error) => return error,
    };
    delivery.set_open();
    while let Some(item) = subscription.next().await {
        let forwarded = match item {
            WebhookItem::Event(waiting) => {
                let event = waiting.event().clone();
                let accept = Box::new(move || drop(waiting.accept()));
                delivery.forward_event(event, Some(accept)).await
            }
            WebhookItem::Gap => delivery.forward(Some(EventItem::Gap), None).await,
            WebhookItem::Ended(error) => return Error::from(error),
        };
        if forwarded.is_err() {
            return Error::closed();
        }
    }
    Error::invalid_request(
        "another subscription of this receiver with the same name and arguments has replaced this one",
    )
}
