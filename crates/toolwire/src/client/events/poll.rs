//! Delivery by `events/poll`.

use std::convert::Infallible;

use toolwire_proto::events::poll_wait;
use toolwire_proto::sse::Reconnects;
use toolwire_types::events::{PollEventsParams, PollEventsResult};

use crate::client::events::delivery::{Dropped, EventDelivery};
use crate::client::events::item::EventItem;
use crate::error::Error;

/// Polls until the subscription ends. Returns the reason.
pub(super) async fn run(delivery: &mut EventDelivery) -> Error {
    match poll(delivery).await {
        Ok(never) => match never {},
        Err(error) => error,
    }
}

async fn poll(delivery: &mut EventDelivery) -> Result<Infallible, Error> {
    let mut reconnects = Reconnects::new(delivery.client.shared.config.limits.reconnects);
    loop {
        let mut params = PollEventsParams::new(delivery.state.name.as_str());
        params.arguments = Some(delivery.state.arguments.clone());
        params.cursor.clone_from(&delivery.state.cursor);
        params.max_age_ms = delivery.max_age_ms.filter(|_| !delivery.is_open());
        let result = match delivery.client.poll_events(&params).await {
            Ok(result) => result,
            Err(error) => {
                let is_lost = delivery.client.session().transport.is_closed();
                if !delivery.is_open() || is_lost || error.rpc().is_some() {
                    return Err(error);
                }
                let pause = reconnects.next(None).map_err(|_| error)?;
                tokio::time::sleep(pause).await;
                continue;
            }
        };
        reconnects.record_event();
        delivery.set_open();
        let pause = poll_wait(result.has_more, result.next_poll_ms);
        if forward(delivery, result).await.is_err() {
            return Err(Error::closed());
        }
        tokio::time::sleep(pause).await;
    }
}

async fn forward(delivery: &mut EventDelivery, result: PollEventsResult) -> Result<(), Dropped> {
    if result.truncated {
        delivery.forward(Some(EventItem::Gap), None).await?;
    }
    for event in result.events {
        delivery.forward_event(event, None).await?;
    }
    delivery.forward(None, Some(result.cursor)).await
}
