//! The limits of calls, as middleware of the mounts.

use toolwire::Mount;
use toolwire::middleware::{ConcurrencyLimit, Deadline, RateLimit, ResponseBudget};

use crate::config::{CallLimit, LimitKey, LimitsConfig};

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
pub(crate) struct UpstreamLimit(RateLimit);

impl UpstreamLimit {
    pub(crate) fn new(config: &CallLimit) -> Self {
        let limit = match config.key {
            LimitKey::Principal => RateLimit::per_caller(config.calls, config.period),
            LimitKey::Upstream => RateLimit::of_all_callers(config.calls, config.period),
        };
        Self(limit)
    }

    /// Adds the limit to a mount.
    pub(crate) fn add_to(&self, mount: Mount) -> Mount {
        mount.with_middleware(self.0.clone())
    }
}
