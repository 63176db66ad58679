//! The check that a URL belongs to the client that subscribes it.
//!
//! The server sends a challenge, and the receiver responds with it. Otherwise, a client could make the server send
//! requests to any other server.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;
use toolwire_proto::events::webhook::delivery::AttemptOutcome;
use toolwire_proto::events::webhook::message::{WebhookMessage, challenge, echoes_challenge};
use toolwire_proto::events::webhook::secret::WebhookSecret;
use toolwire_proto::events::{callback_failed, exhausted};
use toolwire_proto::web_url::WebUrl;
use toolwire_types::ErrorObject;
use toolwire_types::events::CallbackFailure;

use crate::server::events::webhooks::shared::{Shared, SignedMessage, random};
use crate::server::events::webhooks::subscription::SubscriptionKey;
use crate::sync::lock;

/// How long a verification is valid without a subscription.
const VERIFICATION_TTL: Duration = Duration::from_secs(24 * 60 * 60);

/// The maximum number of stored verifications.
const MAX_VERIFICATIONS: usize = 10_000;

/// How long the rate limit of a host may delay a challenge. The client waits for it.
const MAX_CHALLENGE_WAIT: Duration = Duration::from_secs(5);

/// The URLs that were verified, by principal.
#[derive(Debug, Default)]
pub(super) struct Verifications {
    by_caller_and_url: Mutex<HashMap<(String, String), Instant>>,
}

impl Verifications {
    /// Verifies the URL of a subscription, unless the author trusts it or the same caller verified it before.
    ///
    /// # Errors
    /// Returns −32027 if the receiver does not respond with the challenge.
    pub(super) async fn verify(
        &self,
        shared: &Shared,
        key: &SubscriptionKey,
        secret: &WebhookSecret,
    ) -> Result<(), ErrorObject> {
        let is_trusted = WebUrl::parse(&key.url).is_ok_and(|url| shared.options.trusts(&url));
        if is_trusted || self.is_verified(key) {
            return Ok(());
        }
        let Some(wait) = shared.reserve_within(&key.host, MAX_CHALLENGE_WAIT) else {
            let message = "the host of the callback URL gets too many requests; try again later";
            return Err(exhausted(
                message,
                "requestsPerSecond",
                shared.options.rate.per_second(),
            ));
        };
        tokio::time::sleep(wait).await;
        send_challenge(shared, key, secret)
            .await?
            .map_err(callback_failed)?;
        self.add(key);
        Ok(())
    }

    fn is_verified(&self, key: &SubscriptionKey) -> bool {
        let verified = lock(&self.by_caller_and_url);
        let valid_until = verified.get(&caller_and_url(key));
        valid_until.is_some_and(|until| *until > Instant::now())
    }

    fn add(&self, key: &SubscriptionKey) {
        let mut verified = lock(&self.by_caller_and_url);
        let now = Instant::now();
        if verified.len() >= MAX_VERIFICATIONS {
            verified.retain(|_, until| *until > now);
        }
        // A full table is no problem: the URL is verified again.
        if verified.len() < MAX_VERIFICATIONS {
            verified.insert(caller_and_url(key), now + VERIFICATION_TTL);
        }
    }
}

fn caller_and_url(key: &SubscriptionKey) -> (String, String) {
    let principal = key.ctx.principal().as_str().unwrap_or_default();
    (principal.to_owned(), key.url.clone())
}

/// Sends a challenge. The inner result is the one of the receiver.
async fn send_challenge(
    shared: &Shared,
    key: &SubscriptionKey,
    secret: &WebhookSecret,
) -> Result<Result<(), CallbackFailure>, ErrorObject> {
    let challenge = challenge(random()?);
    let message = WebhookMessage::Verification {
        challenge: challenge.clone(),
    };
    let signed = SignedMessage {
        subscription_id: &key.id,
        url: &key.url,
        id: message.id(random()?),
        body: message.to_body(),
    };
    let response = match shared.send(signed, std::slice::from_ref(secret)).await {
        Ok(response) => response,
        Err(failure) => return Ok(Err(failure)),
    };
    Ok(match AttemptOutcome::of_status(response.status) {
        AttemptOutcome::Rejected(failure) | AttemptOutcome::Failed(failure) => Err(failure),
        AttemptOutcome::Accepted if echoes_challenge(&response.body, &challenge) => Ok(()),
        AttemptOutcome::Accepted => Err(CallbackFailure::ChallengeFailed),
    })
}
