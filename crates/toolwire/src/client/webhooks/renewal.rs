//! Sends `events/subscribe`, and repeats it before the subscription expires.

use std::sync::Arc;
use std::time::Duration;

use toolwire_proto::date_time::date_time_ms;
use toolwire_proto::events::is_final_rejection;
use toolwire_types::events::{SubscribeEventsParams, SubscribeEventsResult};

use crate::client::Client;
use crate::client::webhooks::delivery_queue::DeliveryQueue;
use crate::client::webhooks::delivery_queues::DeliveryQueues;
use crate::engine::since_epoch;
use crate::error::Error;

/// The shortest time between two renewals.
const MIN_WAIT: Duration = Duration::from_secs(10);

/// The time after a failed renewal. It is doubled after each further failure, up to the longest.
const RETRY_PAUSE: Duration = Duration::from_secs(10);
const MAX_RETRY_PAUSE: Duration = Duration::from_secs(5 * 60);

/// The longest time between two renewals, so that a suspended delivery continues.
const MAX_WAIT: Duration = Duration::from_secs(60 * 60);

/// Repeats a subscription until the server rejects it or the task is aborted. `last` is the result of the last request.
/// The caller drops the future when another subscription has replaced this one.
pub(super) async fn renew(
    client: Client,
    mut params: SubscribeEventsParams,
    mut last: SubscribeEventsResult,
    queue: Arc<DeliveryQueue>,
    queues: Arc<DeliveryQueues>,
) {
    // The limit of the client for the history counts once.
    params.max_age_ms = None;
    loop {
        // A server that lost the subscription starts it again here, and not where it began.
        params.cursor = last.cursor;
        tokio::time::sleep(wait(last.refresh_before.as_deref(), since_epoch())).await;
        let mut pause = RETRY_PAUSE;
        last = loop {
            let guard = queues.lock_calls(&params).await;
            let sent = send(&client, &params).await;
            drop(guard);
            match sent {
                Ok(result) => break result,
                Err(error) => {
                    tracing::warn!(%error, "a webhook subscription could not be renewed");
                    if let Some(rejection) = error.rpc()
                        && is_final_rejection(rejection.code)
                    {
                        queue.push_end(rejection.clone()).await;
                        return;
                    }
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(MAX_RETRY_PAUSE);
                }
            }
        };
        if last.truncated {
            queue.push_gap();
        }
    }
}

/// Returns how long to wait: half of the time that is left, so that a renewal can fail and be repeated.
fn wait(refresh_before: Option<&str>, now: Duration) -> Duration {
    let Some(expiry) = refresh_before.and_then(date_time_ms) else {
        return MAX_WAIT;
    };
    let expiry = Duration::from_millis(u64::try_from(expiry).unwrap_or(0));
    (expiry.saturating_sub(now) / 2).clamp(MIN_WAIT, MAX_WAIT)
}

/// Sends `events/subscribe`.
pub(super) async fn send(
    client: &Client,
    params: &SubscribeEventsParams,
) -> Result<SubscribeEventsResult, Error> {
    let result = client.request("events/subscribe", params).await?;
    result
        .parse()
        .map_err(|error| Error::decode("the result of events/subscribe", error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subscription_is_renewed_after_half_of_its_time() {
        let now = Duration::from_secs(1_791_201_600);
        let check = |refresh_before: Option<&str>, expected: u64| {
            let seconds = wait(refresh_before, now).as_secs();
            assert_eq!(seconds, expected, "{refresh_before:?}");
        };
        check(Some("2026-10-05T12:10:00Z"), 300);
        check(Some("2026-10-05T12:00:30Z"), 15);
        check(Some("2026-10-05T12:00:01Z"), 10);
        check(Some("2026-10-05T11:00:00Z"), 10);
        check(Some("2026-10-06T12:00:00Z"), 3600);
        check(Some("tomorrow"), 3600);
        check(None, 3600);
    }
}
