//! Selects the way of delivery of a subscription.

use tokio::sync::oneshot;
use toolwire_types::events::{DeliveryMode, code};

use crate::client::events::delivery::EventDelivery;
use crate::client::events::{poll, push};
use crate::error::Error;

/// Delivers events until the subscription ends, and sends the reason. Without a mode, a stream is preferred to polls.
pub(super) async fn run(
    mut delivery: EventDelivery,
    mode: Option<DeliveryMode>,
    fail: oneshot::Sender<Error>,
) {
    let error = match mode {
        Some(DeliveryMode::Push) => push::run(&mut delivery).await,
        Some(DeliveryMode::Poll) => poll::run(&mut delivery).await,
        Some(mode) => Error::invalid_request(format!(
            "this client does not receive events with the delivery mode `{mode}`"
        )),
        None => match push::run(&mut delivery).await {
            error if !delivery.is_open() && has_no_stream(&error) => poll::run(&mut delivery).await,
            error => error,
        },
    };
    drop(fail.send(error));
}

/// Returns `true` if the server does not stream this type, or has no stream left, so that polling may work.
fn has_no_stream(error: &Error) -> bool {
    let reasons = [code::UNSUPPORTED, code::RESOURCE_EXHAUSTED];
    error.rpc().is_some_and(|rpc| reasons.contains(&rpc.code))
}
