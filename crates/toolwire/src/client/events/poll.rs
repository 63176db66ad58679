//! Delivery by `events/poll`.

use std::convert::Infallible;

use toolwire_proto::events::poll_wait;
use toolwire_proto::sse::Reconnects;
use toolwire_types::events::{PollEventsParams, PollEventsResult};

use crate::client::events::subscription::EventItem;
use crate::client::events::task::{Dropped, SubscriptionTask};
use crate::error::Error;

/// Polls until the subscription ends. Returns the reason.
pub(super) async fn run(task: &mut SubscriptionTask) -> Error {
    match poll(task).await {
        Ok(never) => match never {},
        Err(error) => error,
    }
}

async fn poll(task: &mut SubscriptionTask) -> Result<Infallible, Error> {
    let mut reconnects = Reconnects::new(task.client.shared.config.limits.reconnects);
    loop {
        let mut params = PollEventsParams::new(task.state.name.as_str());
        params.arguments = Some(task.state.arguments.clone());
        params.cursor.clone_from(&task.state.cursor);
        params.max_age_ms = task.max_age_ms.filter(|_| !task.is_open());
        let result = match task.client.poll_events(&params).await {
            Ok(result) => result,
            Err(error) => {
                let is_lost = task.client.session().transport.is_closed();
                if !task.is_open() || is_lost || error.rpc().is_some() {
                    return Err(error);
                }
                let pause = reconnects.next(None).map_err(|_| error)?;
                tokio::time::sleep(pause).await;
                continue;
            }
        };
        reconnects.record_event();
        task.set_open();
        let pause = poll_wait(result.has_more, result.next_poll_ms);
        if forward(task, result).await.is_err() {
            return Err(Error::closed());
        }
        tokio::time::sleep(pause).await;
    }
}

async fn forward(task: &mut SubscriptionTask, result: PollEventsResult) -> Result<(), Dropped> {
    if result.truncated {
        task.forward(Some(EventItem::Gap), None).await?;
    }
    for event in result.events {
        task.forward_event(event).await?;
    }
    task.forward(None, Some(result.cursor)).await
}
