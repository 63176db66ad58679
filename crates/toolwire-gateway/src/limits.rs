//! The limits of calls, as middleware of the mounts.

use std::sync::{Arc, Mutex};

use tokio::time::Instant;
use toolwire::middleware::{
    ConcurrencyLimit, Deadline, Middleware, Next, Outcome, RateLimit, Request, ResponseBudget,
};
use toolwire::{BoxFuture, ErrorObject, Mount};
use toolwire_proto::relay::rate_limit::{CallRate, RateLimiter};

use crate::config::{CallLimit, LimitKey, LimitsConfig};
use crate::sync::lock;

/// The limits of all calls together. Clones share what is counted.
#[derive(Debug, Clone, Default)]
pub(crate) struct CommonLimits {
    at_once: Option<ConcurrencyLimit>,
    result: Option<ResponseBudget>,
    deadline: Option<Deadline>,
}

impl CommonLimits {
    pub(crate) fn new(config: &LimitsConfig) -> Self {
        Self {
            at_once: config.calls_at_once.map(ConcurrencyLimit::new),
            result: config.result_bytes.map(ResponseBudget::new),
            deadline: config.call_timeout.map(Deadline::new),
        }
    }

    /// Adds the limits to a mount.
    pub(crate) fn add_to(&self, mut mount: Mount) -> Mount {
        if let Some(at_once) = &self.at_once {
            mount = mount.with_middleware(at_once.clone());
        }
        if let Some(result) = &self.result {
            mount = mount.with_middleware(result.clone());
        }
        if let Some(deadline) = &self.deadline {
            mount = mount.with_middleware(deadline.clone());
        }
        mount
    }
}

/// The limit of one upstream. Clones share what is counted.
#[derive(Debug, Clone)]
pub(crate) enum UpstreamLimit {
    PerCaller(RateLimit),
    Shared(SharedLimit),
}

impl UpstreamLimit {
    pub(crate) fn new(config: &CallLimit) -> Self {
        match config.key {
            LimitKey::Principal => {
                Self::PerCaller(RateLimit::per_caller(config.calls, config.period))
            }
            LimitKey::Upstream => Self::Shared(SharedLimit::new(config)),
        }
    }

    /// Adds the limit to a mount.
    pub(crate) fn add_to(&self, mount: Mount) -> Mount {
        match self {
            Self::PerCaller(limit) => mount.with_middleware(limit.clone()),
            Self::Shared(limit) => mount.with_middleware(limit.clone()),
        }
    }
}

/// A limit that all callers share. Further rounds of a call do not count.
#[derive(Debug, Clone)]
pub(crate) struct SharedLimit {
    limiter: Arc<Mutex<RateLimiter<()>>>,
    start: Instant,
}

impl SharedLimit {
    fn new(config: &CallLimit) -> Self {
        let limiter = RateLimiter::new(CallRate::new(config.calls, config.period));
        Self {
            limiter: Arc::new(Mutex::new(limiter)),
            start: Instant::now(),
        }
    }
}

impl Middleware for SharedLimit {
    fn handle<'a>(&'a self, request: &'a mut Request, next: Next<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            if !request.is_retry() {
                let now = Instant::now().duration_since(self.start);
                let checked = lock(&self.limiter).check((), now);
                if let Err(limited) = checked {
                    return ErrorObject::from(limited).into();
                }
            }
            next.run(request).await
        })
    }
}
