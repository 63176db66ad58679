//! Sends `events/subscribe`, and repeats it before the subscription expires.

use std::sync::Arc;
use std::time::Duration;

use toolwire_proto::events::webhook::parse_date_time;
use toolwire_types::events::{SubscribeEventsParams, SubscribeEventsResult};

use crate::client::Client;
use crate::client::webhooks::delivery_queue::DeliveryQueue;
use crate::engine::since_epoch;
use crate::error::Error;

/// The shortest time between two renewals, and the time after a failed one.
const MIN_WAIT: Duration = Duration::from_secs(10);

/// The longest time between two renewals, so that a suspended delivery continues.
const MAX_WAIT: Duration = Duration::from_secs(60 * 60);

/// Repeats a subscription until the task is aborted.
pub(super) async fn renew(
    client: Client,
    params: SubscribeEventsParams,
    mut refresh_before: Option<String>,
    queue: Arc<DeliveryQueue>,
) {
    loop {
        tokio::time::sleep(wait(refresh_before.as_deref(), since_epoch())).await;
        match send(&client, &params).await {
            Ok(result) => {
                refresh_before = result.refresh_before;
                if result.truncated {
                    queue.push_gap();
                }
            }
            Err(error) => {
                tracing::warn!(%error, "a webhook subscription could not be renewed");
                tokio::time::sleep(MIN_WAIT).await;
            }
        }
    }
}

/// Returns how long to wait: half of the time that is left, so that a renewal can fail and be repeated.
fn wait(refresh_before: Option<&str>, now: Duration) -> Duration {
    let expiry = refresh_before.and_then(parse_date_time);
    let Some(expiry) = expiry.map(Duration::from_millis) else {
        return MAX_WAIT;
    };
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
        let now = Duration::from_millis(parse_date_time("2026-10-05T12:00:00Z").unwrap());
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
