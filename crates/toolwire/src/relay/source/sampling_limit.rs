//! The limit on the sampling requests of an upstream server, because the models of its callers have a price.

use std::sync::{Arc, Mutex};

use tokio::time::Instant;
use toolwire_proto::relay::rate_limit::{CallRate, RateLimiter};
use toolwire_types::ErrorObject;

use crate::engine::TransportContext;
use crate::server::middleware::CallerKey;
use crate::sync::lock;

/// The sampling requests of one upstream server, by caller. Clones share what is counted.
#[derive(Debug, Clone)]
pub(super) struct SamplingLimit {
    limiter: Arc<Mutex<RateLimiter<CallerKey>>>,
    start: Instant,
}

impl SamplingLimit {
    pub(super) fn new(rate: CallRate) -> Self {
        Self {
            limiter: Arc::new(Mutex::new(RateLimiter::new(rate))),
            start: Instant::now(),
        }
    }

    /// Returns the limit as it applies to a client.
    pub(super) fn of(&self, client: &dyn TransportContext) -> SamplingOfCaller {
        SamplingOfCaller {
            limit: self.clone(),
            caller: CallerKey::of(client),
        }
    }
}

/// The sampling requests that reach one caller.
#[derive(Debug, Clone)]
pub(super) struct SamplingOfCaller {
    limit: SamplingLimit,
    caller: CallerKey,
}

impl SamplingOfCaller {
    /// Counts a request.
    ///
    /// # Errors
    /// Returns an error if the caller received too many. This one is not counted then.
    pub(super) fn count(&self) -> Result<(), ErrorObject> {
        let now = self.limit.start.elapsed();
        let counted = lock(&self.limit.limiter).check(self.caller.clone(), now);
        counted.map_err(ErrorObject::from)
    }
}
