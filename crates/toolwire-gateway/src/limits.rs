//! The limits of calls, as middleware of the mounts.

use toolwire::middleware::{
    ConcurrencyLimit, Deadline, Middleware, Next, Outcome, RateLimit, Request, ResponseBudget,
};
use toolwire::{BoxFuture, Mount};
use toolwire_proto::relay::glob::Glob;

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

/// The limits of one upstream. Clones share what is counted.
#[derive(Debug, Clone, Default)]
pub(crate) struct UpstreamLimits(Vec<UpstreamLimit>);

/// One limit of an upstream.
#[derive(Debug, Clone)]
struct UpstreamLimit {
    limit: RateLimit,
    /// Patterns of the names at the upstream. Empty: every request that runs code of the upstream counts, also one about a
    /// task.
    tools: Vec<Glob>,
}

impl UpstreamLimits {
    pub(crate) fn new(config: &[CallLimit]) -> Self {
        let limits = config.iter().map(|config| UpstreamLimit {
            limit: match config.key {
                LimitKey::Principal => RateLimit::per_caller(config.calls, config.period),
                LimitKey::Address => RateLimit::per_client_address(config.calls, config.period),
                LimitKey::Upstream => RateLimit::of_all_callers(config.calls, config.period),
            },
            tools: config.tools.clone(),
        });
        Self(limits.collect())
    }

    /// Adds the limits to a mount.
    pub(crate) fn add_to(&self, mount: Mount) -> Mount {
        let add = |mount: Mount, limit: &UpstreamLimit| mount.with_middleware(limit.clone());
        self.0.iter().fold(mount, add)
    }
}

impl UpstreamLimit {
    /// Returns `true` if a request counts. The names at the upstream decide, because exposed names may be shortened.
    fn applies_to(&self, request: &Request) -> bool {
        let name = request.source_name().unwrap_or_default();
        let is_matching = || self.tools.iter().any(|pattern| pattern.matches(name));
        self.tools.is_empty() || (request.method() == "tools/call" && is_matching())
    }
}

impl Middleware for UpstreamLimit {
    fn handle<'a>(&'a self, request: &'a mut Request, next: Next<'a>) -> BoxFuture<'a, Outcome> {
        if self.applies_to(request) {
            self.limit.handle(request, next)
        } else {
            Box::pin(next.run(request))
        }
    }
}
