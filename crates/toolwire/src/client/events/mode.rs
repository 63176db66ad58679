//! Selects the way of delivery of a subscription.

use tokio::sync::oneshot;
use toolwire_types::events::{DeliveryMode, code};

use crate::client::events::delivery::EventDelivery;
#[cfg(feature = "http-client")]
use crate::client::events::webhook;
use crate::client::events::{poll, push};
#[cfg(feature = "http-client")]
use crate::client::webhooks::WebhookReceiver;
use crate::error::Error;

/// The ways of delivery that a subscription may use.
#[derive(Default)]
pub(super) struct Modes {
    /// The only permitted one. Without it, the best one that the server has for the type is used.
    pub(super) only: Option<DeliveryMode>,
    #[cfg(feature = "http-client")]
    pub(super) receiver: Option<WebhookReceiver>,
}

/// Delivers events until the subscription ends, and sends the reason.
pub(super) async fn run(mut delivery: EventDelivery, modes: Modes, fail: oneshot::Sender<Error>) {
    let error = match &modes.only {
        Some(DeliveryMode::Push) => push::run(&mut delivery).await,
        Some(DeliveryMode::Poll) => poll::run(&mut delivery).await,
        Some(DeliveryMode::Webhook) => match run_webhook(&mut delivery, &modes).await {
            Some(error) => error,
            None => Error::invalid_request(
                "the delivery mode `webhook` needs a receiver: set one with `with_receiver`",
            ),
        },
        Some(mode) => Error::invalid_request(format!(
            "this client does not receive events with the delivery mode `{mode}`"
        )),
        None => run_best(&mut delivery, &modes).await,
    };
    drop(fail.send(error));
}

/// Prefers webhooks to a stream, and a stream to polls.
async fn run_best(delivery: &mut EventDelivery, modes: &Modes) -> Error {
    if let Some(error) = run_webhook(delivery, modes).await
        && (delivery.is_open() || !may_use_another(&error))
    {
        return error;
    }
    match push::run(delivery).await {
        error if !delivery.is_open() && may_use_another(&error) => poll::run(delivery).await,
        error => error,
    }
}

/// Delivers events to the receiver. Returns `None` if there is no receiver.
#[cfg(feature = "http-client")]
async fn run_webhook(delivery: &mut EventDelivery, modes: &Modes) -> Option<Error> {
    let receiver = modes.receiver.as_ref()?;
    Some(webhook::run(delivery, receiver).await)
}

/// There is no receiver without HTTP.
#[cfg(not(feature = "http-client"))]
async fn run_webhook(_: &mut EventDelivery, _: &Modes) -> Option<Error> {
    None
}

/// Returns `true` if the server does not have this mode for the type, or nothing left for it, or cannot reach the
/// receiver, so that another mode may work.
fn may_use_another(error: &Error) -> bool {
    let reasons = [
        code::UNSUPPORTED,
        code::RESOURCE_EXHAUSTED,
        code::FORBIDDEN,
        code::CALLBACK_ENDPOINT_ERROR,
    ];
    error.rpc().is_some_and(|rpc| reasons.contains(&rpc.code))
}
