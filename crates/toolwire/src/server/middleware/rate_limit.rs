//! Rate limits per caller, per client address, and of all callers together.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;
use toolwire_proto::methods::is_about_task;
use toolwire_proto::relay::glob::Glob;
use toolwire_proto::relay::rate_limit::{CallRate as Rate, RateLimiter};
use toolwire_types::ErrorObject;

use crate::engine::BoxFuture;
use crate::server::middleware::{CallerKey, Middleware, Next, Outcome, Request, runs_handler};
use crate::sync::lock;

/// Limits the calls, reads and prompts of each caller. The others are rejected with −32603, `data.reason`
/// `"rate_limited"` and `data.retryAfterMs`.
///
/// A caller is the principal of an access token. Without one, it is the client's connection or session; anonymous callers
/// of 2026-07-28 over HTTP have neither and share one limit.
///
/// Each round of a call counts. A client can send the state of an earlier round as often as it wants, and the handler runs
/// each time. In the middleware of a mount, requests about tasks of its upstream server count, too.
///
/// ```
/// use std::time::Duration;
/// use toolwire::Server;
/// use toolwire::middleware::RateLimit;
///
/// let limit = RateLimit::per_caller(30, Duration::from_secs(60)).for_tools("write_*");
/// let server = Server::new("demo", "1.0.0").with_middleware(limit);
/// # drop(server);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RateLimit {
    limiter: Arc<Mutex<RateLimiter<CallerKey>>>,
    start: Instant,
    tools: Vec<Glob>,
    sharing: LimitSharing,
}

/// Who shares a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LimitSharing {
    Caller,
    ClientAddress,
    Everyone,
}

impl RateLimit {
    /// Creates a limit of this many requests of each caller in a period. They may come at once.
    #[must_use]
    pub fn per_caller(requests: u32, period: Duration) -> Self {
        let limiter = RateLimiter::new(Rate::new(requests, period));
        Self {
            limiter: Arc::new(Mutex::new(limiter)),
            start: Instant::now(),
            tools: Vec::new(),
            sharing: LimitSharing::Caller,
        }
    }

    /// Creates a limit of this many requests in a period, which all callers share. They may come at once.
    #[must_use]
    pub fn of_all_callers(requests: u32, period: Duration) -> Self {
        Self {
            sharing: LimitSharing::Everyone,
            ..Self::per_caller(requests, period)
        }
    }

    /// Creates a limit of this many requests of each client address in a period. They may come at once. The addresses of an
    /// IPv6 network of 64 bits count as one, because a client can choose among them.
    ///
    /// Behind reverse proxies, set
    /// [`HttpOptions::with_trusted_proxies`](crate::transport::http::HttpOptions::with_trusted_proxies): without it, all
    /// clients have the address of the proxy. A request whose address is not known, for example on standard input and
    /// output, counts for its caller.
    #[must_use]
    pub fn per_client_address(requests: u32, period: Duration) -> Self {
        Self {
            sharing: LimitSharing::ClientAddress,
            ..Self::per_caller(requests, period)
        }
    }

    /// Limits only the calls of tools whose names match a pattern, in which `*` stands for any text and `?` for one
    /// character. Reads, prompts and other methods are then not limited. With several patterns, one has to match. The calls
    /// of all matching tools count together.
    ///
    /// # Panics
    /// Panics if the pattern is empty or longer than 256 bytes.
    #[must_use]
    pub fn for_tools(mut self, pattern: &str) -> Self {
        match pattern.parse() {
            Ok(pattern) => self.tools.push(pattern),
            Err(error) => panic!("{error}"),
        }
        self
    }

    fn applies_to(&self, request: &Request) -> bool {
        if self.tools.is_empty() {
            return runs_handler(request.method()) || is_about_mounted_task(request);
        }
        let name = request.name().unwrap_or_default();
        request.method() == "tools/call" && self.tools.iter().any(|tools| tools.matches(name))
    }

    fn check(&self, request: &Request) -> Result<(), ErrorObject> {
        let now = Instant::now().duration_since(self.start);
        let client = &**request.scope().transport();
        let key = match self.sharing {
            LimitSharing::Caller => CallerKey::of(client),
            LimitSharing::ClientAddress => {
                CallerKey::of_address(client).unwrap_or_else(|| CallerKey::of(client))
            }
            LimitSharing::Everyone => CallerKey::Everyone,
        };
        let checked = lock(&self.limiter).check(key, now);
        checked.map_err(ErrorObject::from)
    }
}

/// Returns `true` if a request is about a task of the mounted server, which receives it.
fn is_about_mounted_task(request: &Request) -> bool {
    request.source_name().is_some() && is_about_task(request.method())
}

impl Middleware for RateLimit {
    fn handle<'a>(&'a self, request: &'a mut Request, next: Next<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            if self.applies_to(request)
                && let Err(error) = self.check(request)
            {
                return error.into();
            }
            next.run(request).await
        })
    }
}
